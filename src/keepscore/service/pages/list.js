// The standings: a list as long as the ranking, of which only the rows in sight exist. Rows stay with their players and glide with them.

import { avatar } from "./avatars.js";
import { byId, make, setText } from "./dom.js";
import { ago, movementText, score } from "./format.js";
import { me, say } from "./me.js";
import { board } from "./view.js";

export const ROW = 48; // pixels
const AHEAD = 8; // rows that exist beyond those in sight
const MOST = 400_000; // rows that a list of such a height can have; browsers draw no higher ones
const FRESH_MS = 3000; // how long a movement stays marked

const list = byId("list");
const body = byId("rows");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

let total = 0;
let data = new Map(); // place in the list, from 0 → standing
let rows = new Map(); // player id → its row
let choose = () => {};
let want = () => {}; // asks for places that are in sight and not known

export function prepareList(handlers) {
  choose = handlers.choose;
  want = handlers.want;
  list.addEventListener("scroll", () => draw(false), { passive: true });
  new ResizeObserver(() => draw(false)).observe(list);
  list.addEventListener("keydown", moveFocus);
}

/** Forgets everything: another ranking is looked at. */
export function clearList() {
  data = new Map();
  rows = new Map();
  total = 0;
  body.replaceChildren();
  list.scrollTop = 0;
}

/** Shows that rows from a place on are these. `isNews`: something changed, so that rows glide to where they belong. */
export function showRows(first, standings, players, isNews) {
  const leader = data.get(0);
  total = players;
  // One player is in one place: where somebody moved to is no longer where they were.
  const ids = new Set(standings.map(({ player_id: id }) => id));
  data.forEach((standing, place) => {
    if (place >= players || (ids.has(standing.player_id) && (place < first || place >= first + standings.length))) data.delete(place);
  });
  standings.forEach((standing, index) => data.set(first + index, standing));
  if (isNews && first === 0 && leader && standings[0] && leader.player_id !== standings[0].player_id) {
    say(`${standings[0].name ?? standings[0].player_id} leads now.`);
  }
  body.style.height = `${Math.min(total, MOST) * ROW}px`;
  list.setAttribute("aria-rowcount", String(total + 1));
  byId("empty").hidden = total > 0;
  draw(isNews);
}

/** The places in sight: the first, and the one after the last. */
export function inSight() {
  const first = Math.floor(list.scrollTop / ROW);
  return [first, Math.min(total, MOST, first + Math.ceil(list.clientHeight / ROW) + 1)];
}

/** Brings a place into the middle. */
export function scrollToPlace(place) {
  list.scrollTo({ top: Math.max(0, place * ROW - list.clientHeight / 2 + ROW / 2), behavior: "instant" });
}

function draw(isNews) {
  const [first, end] = inSight();
  const from = Math.max(0, first - AHEAD);
  const to = Math.min(total, MOST, end + AHEAD);
  const kept = new Map();
  const missing = [];
  for (let place = from; place < to; place += 1) {
    const standing = data.get(place);
    if (!standing) {
      missing.push(place);
      continue;
    }
    const known = rows.get(standing.player_id);
    const row = known ?? newRow(standing);
    fill(row, standing, isNews && Boolean(known));
    glide(row, place, isNews, !known && isNews);
    kept.set(standing.player_id, row);
  }
  rows.forEach((row, id) => kept.has(id) || row.element.remove());
  const order = [...kept.values()];
  rows = kept;
  // The order of the document is that of the ranks, for those who listen; what is out of place only is moved, so that focus stays.
  order.forEach((row, index) => body.children[index] === row.element || body.insertBefore(row.element, body.children[index] ?? null));
  byId("to-top").hidden = first < 20;
  // On a narrow screen, long scores get the room of movements and times.
  list.classList.toggle("wide", order.some(({ score: cell }) => cell.textContent.length > 9));
  if (missing.length) want(missing[0], missing.at(-1) + 1);
}

function glide(row, place, isNews, isNew) {
  const before = row.place;
  row.place = place;
  row.element.style.transform = `translateY(${place * ROW}px)`;
  row.element.setAttribute("aria-rowindex", String(place + 2));
  if (!isNews || calm.matches) return;
  if (isNew) row.element.animate([{ opacity: 0 }, { opacity: 1 }], 450);
  else if (before !== undefined && before !== place) {
    // Who climbs passes in front of the others.
    const way = [{ transform: `translateY(${before * ROW}px)`, zIndex: before > place ? 2 : 1 }, { transform: `translateY(${place * ROW}px)`, zIndex: before > place ? 2 : 1 }];
    row.element.animate(way, { duration: 500, easing: "cubic-bezier(.2,.8,.2,1)" });
  }
}

function newRow(standing) {
  const cell = (name, ...content) => {
    const element = make("span", name, ...content);
    element.setAttribute("role", "cell");
    return element;
  };
  const medal = make("span", "medal");
  const name = make("button", { className: "name", type: "button" });
  const text = make("bdi");
  const tier = make("span", "tier");
  name.append(text);
  name.addEventListener("click", () => choose(standing.player_id));
  const row = { medal, name, text, tier, time: make("time"), face: null };
  row.move = cell("move");
  row.score = cell("score");
  row.player = cell("player", name, tier);
  row.element = make("div", "row", cell("rank", medal), row.move, row.player, row.score, cell("since", row.time));
  row.element.setAttribute("role", "row");
  return row;
}

function fill(row, standing, isNews) {
  const { rank, score: points, since, player_id: id, name, tier, rank_change: change } = standing;
  const by = isNews && row.standing ? row.standing.rank - rank : 0;
  if (by) mark(row, by > 0 ? "up" : "down", `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`, movementText(by), FRESH_MS);
  else if (!row.until || row.until < Date.now()) markLasting(row, change, standing.new);
  if (isNews && row.standing && row.standing.score !== points) flash(row.element);
  setText(row.medal, standing.approximate ? `~${rank}` : rank.toLocaleString("en"));
  row.medal.dataset.rank = rank;
  const shown = name ?? id;
  if (row.text.textContent !== shown || row.url !== standing.avatar_url) {
    row.url = standing.avatar_url;
    const face = avatar(standing);
    if (row.face) row.face.replaceWith(face);
    else row.player.prepend(face);
    row.face = face;
  }
  setText(row.text, shown);
  row.name.title = name ? `${name} (${id})` : id;
  setText(row.tier, tier?.name ?? tier ?? "");
  row.element.classList.toggle("mine", id === me());
  setText(row.score, score(board, points));
  row.time.dateTime = since ?? "";
  row.time.title = since ? new Date(since).toLocaleString() : "";
  // Where ties are ordered by player id, times may not be kept.
  row.at = since ? Date.parse(since) : null;
  row.standing = standing;
  setText(row.time, ago(row.at));
}

/** Marks who is who again: the reader has said who they are. */
export function markMine() {
  rows.forEach(({ element }, id) => element.classList.toggle("mine", id === me()));
}

/** What changes by the passing of time alone. */
export function showTimes() {
  for (const row of rows.values()) {
    setText(row.time, ago(row.at));
    if (row.until && row.until < Date.now()) markLasting(row, row.standing.rank_change, row.standing.new);
  }
}

/** Marks the movement since the board's baseline, where it has one. */
function markLasting(row, change, isNew) {
  if (isNew) mark(row, "new", "new", "new", 0);
  else if (change) mark(row, change > 0 ? "up" : "down", `${change > 0 ? "▲" : "▼"} ${Math.abs(change)}`, movementText(change), 0);
  else row.move.replaceChildren();
  row.until = 0;
}

function mark(row, way, sign, spoken, forMs) {
  row.until = forMs ? Date.now() + forMs : 0;
  row.move.dataset.way = way;
  const seen = make("span", {}, sign);
  seen.setAttribute("aria-hidden", "true");
  row.move.replaceChildren(seen, make("span", "unseen", spoken));
}

function flash(element) {
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--flash");
  element.animate([{ backgroundColor: colour, offset: 0 }], { duration: 1400, easing: "ease-out" });
}

function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = event.target.closest?.(".row");
  if (!step || !row) return;
  const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
  if (!next) return;
  event.preventDefault();
  next.querySelector(".name").focus();
}
