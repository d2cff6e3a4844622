// The race: how the first places came about, replayed from the ledger, a moment at a time.

import { call, reason } from "./api.js";
import { byId, make, setText } from "./dom.js";
import { score, windowLabel } from "./format.js";
import { board, boardPath, view } from "./view.js";

const FRAMES = 24;
const FRAME_MS = 700;
const PLACES = 8;

let turn = 0;

export function prepareRace() {
  byId("replay").addEventListener("click", replay);
}

export function forgetRace() {
  turn += 1;
  byId("replay").disabled = false;
  byId("race").replaceChildren(make("p", "quiet", "See how the first places came about, from the recorded scores."));
}

async function replay() {
  const mine = ++turn;
  byId("replay").disabled = true;
  const bars = make("ol", "race-bars");
  const clock = make("p", "quiet", "Reading the recorded scores…");
  byId("race").replaceChildren(clock, bars);
  try {
    const moments = await momentsOf();
    let next = frame(moments[0]);
    for (let index = 0; index < moments.length && mine === turn; index += 1) {
      const now = await next;
      // The next one is read while this one is shown.
      if (index + 1 < moments.length) next = frame(moments[index + 1]);
      if (mine !== turn) return;
      setText(clock, `${windowLabel(view.window, now.window_id)} · ${new Date(moments[index]).toLocaleString()}`);
      draw(bars, now.standings);
      await new Promise((done) => setTimeout(done, FRAME_MS));
    }
  } catch (error) {
    if (mine === turn) byId("race").replaceChildren(make("p", "problem", reason(error)));
  }
  if (mine === turn) byId("replay").disabled = false;
}

/** Moments from the first score of the window on to its end, or to now. */
async function momentsOf() {
  const { windows } = await call(boardPath(`windows?${new URLSearchParams({ window: view.window, limit: 1000 })}`));
  const own = windows.find(({ window_id: id }) => (view.window_id ? id === view.window_id : true));
  const { standings } = await call(boardPath(`top?${new URLSearchParams({ window: view.window, limit: 100, ...(view.window_id ? { window_id: view.window_id } : {}) })}`));
  const times = standings.map(({ since }) => Date.parse(since)).filter(Boolean);
  const end = Math.min(Date.now() - 1000, own?.end ? Date.parse(own.end) - 1 : Infinity);
  const start = Math.max(own?.start ? Date.parse(own.start) : 0, Math.min(...times, end - 60_000) - 1000);
  return Array.from({ length: FRAMES }, (_, index) => new Date(start + ((end - start) * (index + 1)) / FRAMES).toISOString());
}

function frame(at) {
  const query = new URLSearchParams({ at, window: view.window, limit: PLACES });
  if (view.segment) query.set("segment", view.segment);
  return call(boardPath(`as-of?${query}`), { signal: AbortSignal.timeout(60_000) });
}

function draw(list, standings) {
  const before = new Map([...list.children].map((item) => [item.dataset.player, item]));
  const most = Math.max(1, ...standings.map(({ score: points }) => Math.abs(Number(points))));
  const items = standings.map(({ player_id: id, name, score: points }, place) => {
    const item = before.get(id) ?? newBar(id, name);
    item.style.transform = `translateY(${place * 30}px)`;
    item.querySelector(".bar-fill").style.width = `${(Math.abs(Number(points)) / most) * 100}%`;
    setText(item.querySelector(".points"), score(board, points));
    return item;
  });
  list.style.height = `${standings.length * 30}px`;
  list.replaceChildren(...items);
}

function newBar(id, name) {
  const item = make("li", {}, make("span", "bar-fill"), make("bdi", "who", name ?? id), make("span", "points"));
  item.dataset.player = id;
  return item;
}
