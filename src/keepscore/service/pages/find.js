// Finding a player: the place, the ranks and the neighbours.

import { call, reason } from "./api.js";
import { byId, make } from "./dom.js";
import { count, factList, say, showProblem } from "./parts.js";
import { boardPath, shownScore, viewQuery } from "./view.js";

let sought = null; // the player that is followed

/** Shows a place and follows it from then on. Asked: by the user, who sees the outcome. */
export async function find(id, asked) {
  sought = id;
  if (asked) byId("find").elements.player.value = id;
  try {
    const place = await placeOf(id);
    if (sought !== id) return;
    showPlace(place);
    if (asked) say(`${id} has rank ${place.rank} of ${place.total_players}.`);
  } catch (error) {
    if (sought !== id) return;
    sought = null;
    showProblem(byId("found"), error);
    if (asked) say(reason(error));
  }
}

/** Where a player stands, with those around where they are kept. */
async function placeOf(id) {
  const path = (more) => boardPath(`players/${encodeURIComponent(id)}?${viewQuery(more)}`);
  try {
    return await call(path({ around: 5 }));
  } catch (error) {
    if (error.type !== "urn:keepscore:invalid-page") throw error;
    return call(path({}));
  }
}

/** The ranking changed: so may have the place of who is followed. */
export function findAgain() {
  if (sought !== null) find(sought, false);
}

export function forgetFound() {
  sought = null;
  byId("found").replaceChildren(make("p", "quiet", "Or choose a name in the table."));
}

function showPlace(place) {
  const { ranks, percentile, total_players: total } = place;
  const facts = { unique: ranks.unique, standard: ranks.standard, dense: ranks.dense ?? "–", percentile: percentile.toFixed(1) };
  const neighbours = place.around.map(({ rank, player_id: id, name, score }) => {
    const player = make("th", "player", name ?? id);
    player.scope = "row";
    const cells = [make("td", "rank", String(rank)), player, make("td", "score", shownScore(score))];
    return make("tr", id === place.player_id ? "mine" : "", ...cells);
  });
  const summary = ` of ${count(total, "player")} with ${shownScore(place.score)}`;
  const rank = place.approximate ? `#${place.rank} ± ${place.error}` : `#${place.rank}`;
  const headline = make("p", "headline", make("strong", {}, rank), summary);
  const table = make("table", "around", make("tbody", {}, ...neighbours));
  table.ariaLabel = "The players around";
  byId("found").replaceChildren(headline, factList(facts), table);
}
