// What several parts of the board page show, say or remember in the same way.

import { reason } from "./api.js";
import { byId, make, setText } from "./dom.js";

/** For those who listen instead of look. */
export function say(text) {
  setText(byId("say"), text);
}

export function stored(key, value) {
  // Storage may be forbidden; the page works without.
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export const count = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;

export function movementText(by) {
  return by > 0 ? `up ${by}` : by < 0 ? `down ${-by}` : "unchanged";
}

export function factList(facts) {
  const entries = Object.entries(facts).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value))));
  return make("dl", "facts", ...entries);
}

export function showProblem(element, error) {
  element.replaceChildren(make("p", "problem", reason(error)));
}
