// Scores and segments that look natural on the chosen board.

import { board } from "./view.js";

const VALUES = { region: ["eu", "us", "asia"], country: ["BR", "DE", "JP"] };

export const sampleValues = (name) => VALUES[name] ?? ["one", "two", "three"];

/** A score in the middle of what looks natural on the board, within its bounds. */
export function startingScore() {
  const width = board.decimals ? 100 : 10000;
  const low = board.min_score ?? (board.max_score === null || board.max_score > 0 ? 0 : board.max_score - width);
  const high = board.max_score ?? low + width;
  return Number(((low + high) / 2).toFixed(board.decimals));
}
