// Made-up players, who play on the chosen board for as long as the switch is on.

import { post, Refusal } from "./api.js";
import { byId } from "./dom.js";
import { showProblem } from "./parts.js";
import { naturalRange, rounded, sampleValues, startingScore } from "./samples.js";
import { board, boardPath } from "./view.js";

const NAMES = (
  "Ada Bruno Chiara Dmitri Emeka Fatima Gonzalo Hana Ingrid Jun Kofi Léa Mateo Nadia Omar " +
  "Priya Quinn Ravi Sofía Tomasz Uma Viktor Wen Ximena Yuki Zara Åsa Çelik Юля Σοφία"
).split(" ");
const NEWCOMERS = 300; // where the first score counts, only new players change anything

let simulating = 0; // the timer of the next round; 0: off
let cast = new Map(); // made-up player → score, as far as the page knows
let newcomers = 0;

const pick = (list) => list[Math.floor(Math.random() * list.length)];

export const isSimulating = () => simulating !== 0;

export async function startSimulation() {
  if (simulating) return;
  simulating = -1;
  showSwitch();
  cast = new Map();
  try {
    // Who played before goes on from there.
    const { standings } = await post(boardPath("players/lookup"), JSON.stringify({ player_ids: NAMES }));
    for (const { player_id: id, score } of standings) cast.set(id, Number(score));
    // Switched off, or another board chosen, in the meantime?
    if (simulating) await simulateRound();
  } catch (error) {
    refuseSimulation(error);
  }
}

export function stopSimulation() {
  clearTimeout(simulating);
  simulating = newcomers = 0;
  showSwitch();
}

async function simulateRound() {
  if (!document.hidden) {
    const path = boardPath(board.operator === "sum" ? "increments" : "scores");
    const sent = await Promise.allSettled(nextNames().map((name) => post(path, JSON.stringify(nextEntry(name)))));
    const reasons = sent.map(({ reason: error }) => error).filter((error) => error instanceof Refusal && !error.away);
    // An outage passes, and the status tells of it; what the board refuses to all would only be refused again.
    if (reasons.length === sent.length) return refuseSimulation(reasons[0]);
  }
  if (newcomers >= NEWCOMERS) stopSimulation();
  if (simulating) simulating = setTimeout(simulateRound, 300 + 200 * Math.random());
}

function nextNames() {
  const absent = NAMES.filter((name) => !cast.has(name));
  if (absent.length) return absent;
  if (board.operator === "first") return [`${pick(NAMES)} ${++newcomers + 1}`];
  return [...new Set([pick(NAMES), pick(NAMES), pick(NAMES)])];
}

function nextEntry(name) {
  const [low, high] = naturalRange();
  const known = cast.get(name);
  const segments = Object.fromEntries(board.segments.map((key) => [key, sampleValues(key)[name.length % 3]]));
  if (board.operator === "sum") {
    const amount = Number((((high - low) * Math.random()) / (known === undefined ? 4 : 80)).toFixed(board.decimals));
    cast.set(name, (known ?? 0) + amount);
    return { player_id: name, amount, segments };
  }
  const score = known === undefined ? startingScore(0.2 + 0.6 * Math.random()) : nextScore(known);
  cast.set(name, score);
  return { player_id: name, score, segments };
}

/** A step towards the good side; on "last" boards sometimes back. Near a bound the steps get small, so that not all end there. */
function nextScore(score) {
  const [low, high] = naturalRange();
  const bound = board.order === "asc" ? low : board.max_score;
  const room = bound === null ? (high - low) * 0.4 : bound - score;
  const way = board.operator === "last" && Math.random() < 0.45 ? -1 : 1;
  return rounded(score + room * way * Math.random() * 0.12);
}

function refuseSimulation(error) {
  stopSimulation();
  showProblem(byId("receipt"), error);
}

function showSwitch() {
  byId("simulate").setAttribute("aria-checked", String(isSimulating()));
}
