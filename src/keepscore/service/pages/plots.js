// Plots, drawn as SVG: how scores are distributed, and a player's rank over time.

import { call } from "./api.js";
import { byId, make } from "./dom.js";
import { count, score, windowLabel } from "./format.js";
import { board, boardPath, view, viewQuery } from "./view.js";

const AGAIN_MS = 3000; // between two looks at the distribution
const [WIDE, HIGH] = [340, 130];

let here = null; // the score of the player who is looked at
let lookedAt = 0;
let turn = 0;

export function forgetPlots() {
  turn += 1;
  here = null;
  lookedAt = 0;
  byId("spread").replaceChildren();
  byId("course").hidden = true;
}

/** Shows how many players have which scores, with the given one marked. */
export async function showSpread(total, now, points) {
  if (points !== undefined) here = points;
  if (!now && Date.now() - lookedAt < AGAIN_MS) return;
  lookedAt = Date.now();
  byId("plots").hidden = total < 2;
  if (total < 2) return;
  const mine = turn;
  const found = await call(boardPath(`distribution?${viewQuery({ rank: null })}`)).catch(() => null);
  if (mine === turn && found) byId("spread").replaceChildren(spread(found));
}

function spread({ bins }) {
  const most = Math.max(1, ...bins.map(({ players }) => players));
  const low = Number(bins[0].min);
  const high = Number(bins.at(-1).max);
  const step = WIDE / bins.length;
  const bars = bins.map(({ min, max, players }, index) => {
    const height = players ? Math.max(2, (players / most) * (HIGH - 36)) : 0;
    const bar = svg("rect", { x: index * step + 1, y: HIGH - 18 - height, width: Math.max(1, step - 2), height, rx: 2, class: "bar" });
    bar.append(svg("title", {}, `${score(board, min)} to ${score(board, max)}: ${count(players, "player")}`));
    return bar;
  });
  const axis = [text(0, HIGH - 4, "start", score(board, bins[0].min)), text(WIDE, HIGH - 4, "end", score(board, bins.at(-1).max))];
  const marks = [];
  if (here !== null && Number(here) >= low && Number(here) <= high) {
    const x = high > low ? ((Number(here) - low) / (high - low)) * WIDE : WIDE / 2;
    marks.push(svg("line", { x1: x, x2: x, y1: 14, y2: HIGH - 18, class: "here" }));
    marks.push(text(Math.min(WIDE - 40, Math.max(40, x)), 11, "middle", "you are here"));
  }
  const label = `Distribution of scores, from ${score(board, bins[0].min)} to ${score(board, bins.at(-1).max)}`;
  return picture(label, [...bars, ...axis, ...marks]);
}

/** Shows a player's rank in past windows, the newest on the right. */
export async function showCourse(player) {
  const mine = turn;
  const path = boardPath(`history/${encodeURIComponent(player)}?${new URLSearchParams({ window: view.window, limit: 30 })}`);
  const found = await call(path).catch(() => null);
  if (mine !== turn || !found) return;
  const places = found.history.filter(({ rank }) => rank !== null).reverse();
  byId("course").hidden = places.length < 2;
  if (places.length < 2) return;
  const worst = Math.max(...places.map(({ rank }) => rank));
  const best = Math.min(...places.map(({ rank }) => rank));
  const points = places.map(({ rank }, index) => {
    const x = 8 + (index / (places.length - 1)) * (WIDE - 16);
    const y = worst > best ? 18 + ((rank - best) / (worst - best)) * (HIGH - 44) : HIGH / 2;
    return [x, y];
  });
  const dots = points.map(([x, y], index) => {
    const dot = svg("circle", { cx: x, cy: y, r: 3.5, class: "dot" });
    dot.append(svg("title", {}, `${windowLabel(view.window, places[index].window_id)}: #${places[index].rank}`));
    return dot;
  });
  const line = svg("polyline", { points: points.map((point) => point.join()).join(" "), class: "line" });
  const axis = [text(0, 11, "start", `best #${best.toLocaleString("en")}`), text(0, HIGH - 4, "start", places[0].window_id), text(WIDE, HIGH - 4, "end", places.at(-1).window_id)];
  byId("course").replaceChildren(make("h3", {}, "Rank over time"), picture(`Rank of ${player} over ${places.length} windows, at best ${best}`, [line, ...dots, ...axis]));
}

function picture(label, content) {
  const image = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "plot", role: "img", "aria-label": label });
  image.append(...content);
  return image;
}

function svg(tag, attributes = {}, content = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (content) element.textContent = content;
  return element;
}

function text(x, y, anchor, content) {
  return svg("text", { x, y, "text-anchor": anchor }, content);
}
