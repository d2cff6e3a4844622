// One player: the place, what is around it, and the course of it.

import { call, reason } from "./api.js";
import { avatar } from "./avatars.js";
import { byId, make } from "./dom.js";
import { count, score } from "./format.js";
import { markMine } from "./list.js";
import { me, say } from "./me.js";
import { showCourse, showSpread } from "./plots.js";
import { board, boardPath, look, view, viewQuery } from "./view.js";

const AGAIN_MS = 1000; // between two looks at a player who is followed
const SEARCH_MS = 200; // after the last key, before names are looked up

let sought = null; // the player that is followed
let lookedAt = 0;
let typing = 0;
let toPlace = () => {};

export const follows = () => sought !== null;

export function prepareFind(handlers) {
  toPlace = handlers.toPlace;
  const field = byId("find").elements.player;
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    showPlayer(field.value, { scroll: true, byName: true });
  });
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => suggest(field.value.trim()), SEARCH_MS);
  });
}

/** Suggests ranked players whose names begin like that. */
async function suggest(prefix) {
  if (!prefix) return;
  const found = await byPrefix(prefix).catch(() => []);
  const option = ({ player_id: id, name }) => Object.assign(new Option(name ?? id, id), { label: name && name !== id ? `${name} (${id})` : id });
  byId("names").replaceChildren(...found.map(option));
}

async function byPrefix(name) {
  return (await call(boardPath(`players?${viewQuery({ name, limit: 10, rank: null })}`))).standings;
}

/** Shows a place and follows it from then on. */
export async function showPlayer(id, { scroll = false, byName = false } = {}) {
  sought = id;
  lookedAt = Date.now();
  try {
    let place;
    try {
      place = await placeOf(id);
    } catch (error) {
      const [named] = byName ? await byPrefix(id).catch(() => []) : [];
      if (!named || sought !== id) throw error;
      sought = named.player_id;
      place = await placeOf(sought);
    }
    if (sought !== place.player_id) return;
    look({ player: place.player_id });
    byId("find").elements.player.value = place.player_id;
    show(place);
    say(`${place.name ?? place.player_id} has rank ${place.rank} of ${place.total_players}.`);
    if (scroll) toPlace(place.ranks.unique);
    showSpread(place.total_players, true, place.score);
    showCourse(place.player_id);
  } catch (error) {
    if (sought !== id) return;
    sought = null;
    byId("found").replaceChildren(make("p", "problem", reason(error)));
    say(reason(error));
  }
}

/** The ranking changed: so may have the place of who is followed. */
export async function showPlayerAgain() {
  if (Date.now() - lookedAt < AGAIN_MS || view.window_id) return;
  lookedAt = Date.now();
  const id = sought;
  const place = await placeOf(id).catch(() => null);
  if (place && sought === id) show(place);
}

/** Where a player stands, with those around where they are kept. */
async function placeOf(id) {
  const path = (more) => boardPath(`players/${encodeURIComponent(id)}?${viewQuery(more)}`);
  try {
    return await call(path({ around: 3 }));
  } catch (error) {
    if (error.type !== "urn:keepscore:invalid-page") throw error;
    return call(path({}));
  }
}

export function forgetFound() {
  sought = null;
  byId("found").replaceChildren(make("p", "quiet", "Or choose a name in the list."));
}

function show(place) {
  const { percentile, total_players: total, tier } = place;
  const rank = place.approximate ? `#${place.rank.toLocaleString("en")} ± ${place.error}` : `#${place.rank.toLocaleString("en")}`;
  const summary = make("span", {}, ` of ${count(total, "player")} with ${score(board, place.score)}`);
  const headline = make("p", "headline", avatar(place), make("bdi", "who", place.name ?? place.player_id), make("br"), make("strong", {}, rank), summary);
  const facts = { percentile: `${percentile.toFixed(1)} %` };
  if (tier) facts.tier = tier.name ?? tier;
  const items = Object.entries(facts).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value))));
  const content = [headline, make("dl", "facts", ...items)];
  if (place.around.length) content.push(around(place));
  const button = make("button", { type: "button" }, me() === place.player_id ? "This is you" : "This is me");
  button.disabled = me() === place.player_id;
  button.addEventListener("click", () => {
    me(place.player_id);
    markMine();
    byId("to-me").hidden = false;
    show(place);
  });
  byId("found").replaceChildren(...content, button);
}

function around(place) {
  const rows = place.around.map(({ rank, player_id: id, name, score: points }) => {
    const player = make("th", "player", make("bdi", {}, name ?? id));
    player.scope = "row";
    const cells = [make("td", "rank", rank.toLocaleString("en")), player, make("td", "score", score(board, points))];
    return make("tr", id === place.player_id ? "mine" : "", ...cells);
  });
  const table = make("table", "around", make("tbody", {}, ...rows));
  table.ariaLabel = "The players around";
  return table;
}
