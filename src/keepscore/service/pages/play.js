// Playing, on services that show themselves: the form, the same as a line for a terminal, and the receipt.

import { post, reason } from "./api.js";
import { byId, copyOnClick, make, setText } from "./dom.js";
import { count, movementText, score } from "./format.js";
import { me, say } from "./me.js";
import { board, boardPath, view } from "./view.js";

const play = byId("play").elements;

/** Makes the form fit the board. Roll-ups, ratings and the demo take no scores from here. */
export function preparePlay() {
  if (board.rollup || board.rating || board.following) return;
  byId("play-card").hidden = false;
  const adds = ["sum", "last"].includes(board.operator) || board.increments;
  byId("modes").hidden = !adds;
  play.mode.value = board.operator === "sum" ? "amount" : "score";
  play.player.value = me() ?? "newcomer";
  play.number.value = board.operator === "sum" ? "100" : (1000).toFixed(board.decimals);
  byId("play").addEventListener("input", showCurl);
  byId("play").addEventListener("submit", async (event) => {
    event.preventDefault();
    await submit();
  });
  copyOnClick(byId("copy"), byId("curl"));
  showCurl();
}

export function forgetPlayer() {
  byId("receipt").replaceChildren(make("p", "quiet", "The answer comes with your rank."));
}

function showCurl() {
  setText(byId("number-label"), play.mode.value === "score" ? "Score" : "Amount");
  const { path, text } = submission();
  setText(byId("curl"), `curl '${location.origin}${path}' --json '${text.replaceAll("'", "'\\''")}'`);
}

async function submit() {
  const { path, text } = submission();
  me(play.player.value);
  try {
    showReceipt(await post(path, text));
  } catch (error) {
    byId("receipt").replaceChildren(make("p", "problem", reason(error)));
    say(reason(error));
  }
}

function submission() {
  const typed = play.number.value;
  // The digits go out as they were typed: a JavaScript number would round long ones.
  const number = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(typed) ? typed : String(Number(typed));
  const field = play.mode.value;
  const [segment, value] = (view.segment ?? "").includes(",") ? [] : (view.segment ?? "").split(":");
  const segments = value ? `,"segments":${JSON.stringify({ [segment]: value })}` : "";
  const text = `{"player_id":${JSON.stringify(play.player.value)},"${field}":${number}${segments}}`;
  return { path: boardPath(field === "score" ? "scores" : "increments"), text };
}

function showReceipt(receipt) {
  const place = receipt.windows[view.window] ?? receipt;
  if (place.rank === null) {
    byId("receipt").replaceChildren(make("p", "headline", "Recorded. The rank follows."));
    return;
  }
  const change = place.previous_rank === null ? "new on the board" : movementText(place.rank_change);
  const headline = `of ${count(place.total_players, "player")} with ${score(board, place.score)} · ${receipt.updated ? change : "not better than before"}`;
  byId("receipt").replaceChildren(make("p", "headline", make("strong", {}, `#${place.rank} `), headline));
  say(`Rank ${place.rank} ${headline}.`);
}
