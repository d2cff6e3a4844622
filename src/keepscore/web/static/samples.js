// Scores and segments that look natural on the chosen board.

import { board } from "./view.js";

const VALUES = { region: ["eu", "us", "asia"], country: ["BR", "DE", "JP"] };

export const sampleValues = (name) => VALUES[name] ?? ["one", "two", "three"];

/** Lowest and highest score that look natural on the board, within its bounds. */
export function naturalRange() {
  const width = board.decimals ? 100 : 10000;
  const low = board.min_score ?? (board.max_score === null || board.max_score > 0 ? 0 : board.max_score - width);
  return [low, board.max_score ?? low + width];
}

export function startingScore(part = 0.5) {
  const [low, high] = naturalRange();
  return rounded(low + (high - low) * part);
}

export function rounded(score) {
  const fitting = Math.min(board.max_score ?? Infinity, Math.max(board.min_score ?? -Infinity, score));
  return Number(fitting.toFixed(board.decimals));
}
