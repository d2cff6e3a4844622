// The standings: rows that stay with their players, move with them, and mark what changed.

import { byId, make, setText } from "./dom.js";
import { find } from "./find.js";
import { count, movementText, say, stored } from "./parts.js";
import { choices, segment, shownScore } from "./view.js";

const FRESH_MS = 3000; // how long a movement stays marked: one poll would be too short to be read
const WIDE = 9; // characters of a score that fit beside the times on a phone
const GLIDE = { duration: 450, easing: "cubic-bezier(.2,.8,.2,1)" };
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const body = byId("standings").tBodies[0];

let rows = new Map(); // player id → its row

/** Brings the table from the page before (null: none) to another one. Quietly: rows that come in are not marked. */
export function showStandings({ standings, total_players: total, window_id: windowId }, previous, quietly) {
  const first = previous === null;
  const before = first ? new Map() : positions();
  // A row that was not there is a new player only where there are more players than before.
  const entrance = quietly || first ? "" : total > previous.total_players ? "new" : "up";
  const kept = new Map();
  const leader = standings[0];
  if (!first && leader && leader.player_id !== previous.standings[0]?.player_id) say(`${leader.name ?? leader.player_id} leads now.`);
  for (const standing of standings) {
    const row = rows.get(standing.player_id) ?? newRow(standing, entrance);
    updateRow(row, standing);
    kept.set(standing.player_id, row);
  }
  rows.forEach((row, id) => kept.has(id) || row.element.remove());
  rows = kept;
  // On a phone, long scores get the room of movements and times.
  byId("standings").classList.toggle("wide", standings.some(({ score }) => shownScore(score).length > WIDE));
  placeRows([...kept.values()].map((row) => row.element));
  animateMoves(before);
  byId("empty").hidden = total > 0;
  const period = windowId === choices.window.value ? windowId.replaceAll("_", " ") : `${choices.window.value} ${windowId}`;
  setText(byId("shown"), `${count(total, "player")} · ${period}${segment() ? ` · ${segment()}` : ""}`);
}

export function clearStandings() {
  body.replaceChildren();
  rows = new Map();
}

/** What changes by the passing of time alone. */
export function showTimes() {
  for (const row of rows.values()) {
    setText(row.time, ago(row.at));
    if (row.movedAt && Date.now() - row.movedAt > FRESH_MS) {
      row.move.replaceChildren();
      row.movedAt = 0;
    }
  }
}

function placeRows(elements) {
  // Only what is out of place is moved, so that focus and a selection stay where they are.
  elements.forEach((element, index) => body.children[index] === element || body.insertBefore(element, body.children[index] ?? null));
}

function newRow(standing, entrance) {
  const name = make("button", "name");
  name.type = "button";
  name.addEventListener("click", () => find(standing.player_id, true));
  const cells = { rank: make("td", "rank"), move: make("td", "move"), player: make("th", "player", name), score: make("td", "score") };
  cells.player.scope = "row";
  const time = make("time");
  const element = make("tr", {}, ...Object.values(cells), make("td", "since", time));
  const medal = make("span", "medal");
  cells.rank.append(medal);
  const row = { element, name, time, medal, ...cells };
  if (entrance) {
    markMovement(row, entrance, entrance === "new" ? "new" : "▲", entrance === "new" ? "new" : "moved up");
    flash(element);
  }
  return row;
}

function updateRow(row, standing) {
  const { rank, score, since, player_id: id, name } = standing;
  const by = row.standing ? row.standing.rank - rank : 0;
  if (by) markMovement(row, by > 0 ? "up" : "down", `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`, movementText(by));
  if (row.standing && row.standing.score !== score) flash(row.element);
  setText(row.medal, String(rank));
  row.medal.dataset.rank = rank;
  setText(row.name, name ?? id);
  row.name.title = name ? `${name} (${id})` : id;
  row.element.classList.toggle("mine", id === stored("keepscore.player"));
  setText(row.score, shownScore(score));
  // Where ties are ordered by player id, times may not be kept.
  row.time.dateTime = since ?? "";
  row.time.title = since ? new Date(since).toLocaleString() : "";
  Object.assign(row, { standing, at: since ? Date.parse(since) : null });
}

function markMovement(row, way, sign, spoken) {
  row.movedAt = Date.now();
  row.move.dataset.way = way;
  const hidden = make("span", {}, sign);
  hidden.setAttribute("aria-hidden", "true");
  row.move.replaceChildren(hidden, make("span", "unseen", spoken));
}

function ago(since) {
  if (since === null) return "–";
  const seconds = Math.max(0, Math.round((Date.now() - since) / 1000));
  if (seconds < 2) return "now";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit} ago`;
  }
  return `${seconds}s ago`;
}

function positions() {
  return new Map([...rows.values()].map(({ element }) => [element, element.getBoundingClientRect().top]));
}

function animateMoves(before) {
  if (calm.matches) return;
  for (const { element } of rows.values()) {
    const old = before.get(element);
    const by = old === undefined ? 0 : old - element.getBoundingClientRect().top;
    if (by) element.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], GLIDE);
    else if (old === undefined && before.size) element.animate([{ opacity: 0 }, { opacity: 1 }], 450);
  }
}

function flash(element) {
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--flash");
  element.animate([{ backgroundColor: colour, offset: 0 }], { duration: 1400, easing: "ease-out" });
}
