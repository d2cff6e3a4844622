// What is looked at: the address holds all of it, so that a link shows the same to somebody else.

import { segmentNames, windowNames } from "./format.js";

export const boardName = decodeURIComponent(location.pathname.split("/")[2] ?? "");

/** The definition of the board; set once it is known. */
export let board = null;
export let view = read();

function read() {
  const query = new URLSearchParams(location.search);
  const text = (name) => query.get(name) || null;
  return { window: text("window"), window_id: text("window_id"), segment: text("segment"), rank: text("rank"), player: text("player") };
}

export function setBoard(definition) {
  board = definition;
  const windows = windowNames(board);
  if (!windows.includes(view.window)) Object.assign(view, { window: windows[0], window_id: null });
  if (!segmentNames(board).length) view.segment = null;
  view.rank ??= board.rank;
}

/** Looks at something else. Steps between windows are steps of the browser's history, others are not. */
export function look(changes, { step = false } = {}) {
  view = { ...view, ...changes };
  const query = new URLSearchParams(Object.entries(view).filter(([name, value]) => value && !(name === "rank" && value === board.rank)));
  history[step ? "pushState" : "replaceState"](null, "", query.size ? `?${query}` : location.pathname);
}

/** Goes where the browser's history says. */
export function lookBack() {
  view = read();
  setBoard(board);
}

export function boardPath(rest) {
  return `/v1/boards/${encodeURIComponent(boardName)}/${rest}`;
}

/** The parameters of a read of what is looked at. */
export function viewQuery(more = {}) {
  const { window, window_id, segment, rank } = view;
  return new URLSearchParams(Object.entries({ window, window_id, segment, rank, ...more }).filter(([, value]) => value !== null && value !== undefined));
}
