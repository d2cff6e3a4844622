// Made-up players, on a board of their own: no real board gets a score from here.

import { call, post, Refusal } from "./api.js";
import { byId } from "./dom.js";
import { showProblem } from "./parts.js";

/** The board that made-up players have to themselves. It is created when it is first used. */
export const DEMO = "keepscore-demo";
const DEFINITION = { operator: "last", windows: ["all_time", "daily"], segments: ["region"], min_score: 0, max_score: 10000 };
const NAMES = (
  "Ada Bruno Chiara Dmitri Emeka Fatima Gonzalo Hana Ingrid Jun Kofi Léa Mateo Nadia Omar " +
  "Priya Quinn Ravi Sofía Tomasz Uma Viktor Wen Ximena Yuki Zara Åsa Çelik Юля Σοφία"
).split(" ");
const REGIONS = ["eu", "us", "asia"];
const LONGEST_MS = 10 * 60 * 1000; // a page that is left open stops by itself: every score is recorded

let simulating = 0; // the timer of the next round; 0: off
let until = 0;
let cast = new Map(); // made-up player → score, as far as the page knows

const path = (rest = "") => `/v1/boards/${DEMO}${rest}`;
const pick = (list) => list[Math.floor(Math.random() * list.length)];

export const isSimulating = () => simulating !== 0;

/** Sees that the demo board is there; `boards` are those that are known. Whether it had to be made. */
export async function prepareDemo(boards) {
  if (boards.some(({ name }) => name === DEMO)) return false;
  const options = { method: "PUT", body: JSON.stringify(DEFINITION), headers: { "content-type": "application/json" } };
  await call(path(), options);
  return true;
}

export async function startSimulation() {
  if (simulating) return;
  simulating = -1;
  until = Date.now() + LONGEST_MS;
  showSwitch();
  cast = new Map();
  try {
    // Who played before goes on from there.
    const { standings } = await post(path("/players/lookup"), JSON.stringify({ player_ids: NAMES }));
    for (const { player_id: id, score } of standings) cast.set(id, Number(score));
    // Switched off, or another board chosen, in the meantime?
    if (simulating) await simulateRound();
  } catch (error) {
    refuseSimulation(error);
  }
}

export function stopSimulation() {
  clearTimeout(simulating);
  simulating = 0;
  showSwitch();
}

async function simulateRound() {
  if (!document.hidden) {
    const sent = await Promise.allSettled(nextNames().map((name) => post(path("/scores"), JSON.stringify(nextEntry(name)))));
    const reasons = sent.map(({ reason: error }) => error).filter((error) => error instanceof Refusal && !error.away);
    // An outage passes, and the status tells of it; what the board refuses to all would only be refused again.
    if (reasons.length === sent.length) return refuseSimulation(reasons[0]);
  }
  if (Date.now() > until) stopSimulation();
  if (simulating) simulating = setTimeout(simulateRound, 300 + 200 * Math.random());
}

function nextNames() {
  const absent = NAMES.filter((name) => !cast.has(name));
  return absent.length ? absent : [...new Set([pick(NAMES), pick(NAMES), pick(NAMES)])];
}

function nextEntry(name) {
  const known = cast.get(name);
  const highest = DEFINITION.max_score;
  const score = Math.round(known === undefined ? highest * (0.2 + 0.6 * Math.random()) : nextScore(known, highest));
  cast.set(name, score);
  return { player_id: name, score, segments: { region: REGIONS[name.length % REGIONS.length] } };
}

/** A step up, sometimes down. Near the highest score the steps get small, so that not all end there. */
function nextScore(score, highest) {
  const way = Math.random() < 0.45 ? -1 : 1;
  return Math.min(highest, Math.max(0, score + (highest - score) * way * Math.random() * 0.12));
}

export function refuseSimulation(error) {
  stopSimulation();
  showProblem(byId("receipt"), error);
}

function showSwitch() {
  byId("simulate").setAttribute("aria-checked", String(isSimulating()));
}
