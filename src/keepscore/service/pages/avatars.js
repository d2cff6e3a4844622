// Avatars: the player's own picture, or the first letter on a colour of its own.

import { make } from "./dom.js";

export function avatar({ player_id: id, name, avatar_url: url }) {
  const letter = [...(name ?? id)][0]?.toUpperCase() ?? "?";
  const element = make("span", "avatar", letter);
  element.style.setProperty("--hue", hue(id));
  element.setAttribute("aria-hidden", "true");
  if (url) {
    const picture = make("img", { alt: "", loading: "lazy", decoding: "async", referrerPolicy: "no-referrer" });
    picture.addEventListener("load", () => element.replaceChildren(picture));
    picture.src = url;
  }
  return element;
}

function hue(text) {
  let number = 7;
  for (const letter of text) number = (number * 31 + letter.codePointAt(0)) % 360;
  return number;
}
