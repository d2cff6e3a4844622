// What is looked at: the chosen board, and the ranking of it that the controls name.

import { byId } from "./dom.js";

export const choices = byId("choices").elements;
export let board = null; // the definition of the chosen one

export function setBoard(definition) {
  board = definition;
}

export function boardPath(rest) {
  return `/v1/boards/${encodeURIComponent(board.name)}/${rest}`;
}

export const segment = () => (board.segments.length ? choices.segment.value.trim() : "");

export function viewQuery(more = {}) {
  const query = new URLSearchParams({ window: choices.window.value, rank: choices.rank.value, ...more });
  if (segment()) query.set("segment", segment());
  return query;
}

export function shownScore(score) {
  const digits = { minimumFractionDigits: board.decimals, maximumFractionDigits: board.decimals };
  return Number(score).toLocaleString("en", digits);
}
