// How numbers, times and boards are written on every page.

/** The board that made-up players have to themselves. */
const DEMO = "keepscore-demo";
export const isDemoBoard = (name) => name === DEMO;

export const count = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;

export function score(board, value) {
  const digits = { minimumFractionDigits: board.decimals, maximumFractionDigits: board.decimals };
  // Scores have up to 16 digits, and a number of JavaScript holds those.
  return Number(value).toLocaleString("en", digits);
}

export const windowNames = ({ windows }) => (Array.isArray(windows) ? windows : Object.keys(windows));

/** The names of a board's segments; combinations of several as `region,level`. */
export function segmentNames({ segments }) {
  return segments.map((one) => (typeof one === "string" ? one : Array.isArray(one) ? one.join(",") : one.name));
}

export function describe({ name, operator, order, ties, rollup, rating }) {
  if (isDemoBoard(name)) return "Made-up players only: real boards get no scores from here.";
  if (rollup) return `Made from ${rollup.of.join(", ")}.`;
  if (rating) return "Matches decide; the highest rating leads.";
  const counts = { best: "The best score counts", sum: "Scores add up", last: "The latest score counts", first: "The first score counts" };
  const tie = { first: "ties go to the first to reach a score", last: "ties go to the last to reach a score", player: "ties are ordered by player id" };
  return `${counts[operator]}, ${order === "asc" ? "lower" : "higher"} is better, ${tie[ties]}.`;
}

export function movementText(by) {
  return by > 0 ? `up ${by}` : by < 0 ? `down ${-by}` : "unchanged";
}

export function ago(since, now = Date.now()) {
  if (!since) return "–";
  const seconds = Math.max(0, Math.round((now - since) / 1000));
  if (seconds < 2) return "now";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit} ago`;
  }
  return `${seconds}s ago`;
}

/** What a window is called: `weekly 2026-W46`, or `all time`. */
export function windowLabel(window, id) {
  const name = window.replaceAll("_", " ");
  return !id || id === window ? name : `${name} ${id.replaceAll("_", " ")}`;
}
