// Who looks: the player whom the reader follows, and what is said to those who listen instead of look.

import { byId, setText } from "./dom.js";

const KEY = "keepscore.player";

/** The player who the reader is, or null. */
export function me(value) {
  // Storage may be forbidden; the page works without.
  try {
    if (value !== undefined) localStorage.setItem(KEY, value);
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function say(text) {
  setText(byId("say"), text);
}
