// Playing: the form, the same as a line for a terminal, and the receipt.

import { post, reason } from "./api.js";
import { byId, make, setText } from "./dom.js";
import { count, factList, movementText, say, showProblem, stored } from "./parts.js";
import { startingScore } from "./samples.js";
import { board, boardPath, choices, shownScore } from "./view.js";

const play = byId("play").elements;

/** Makes the form fit the chosen board. `tag`: what a segment may look like there. */
export function prepareForm(tag) {
  const adds = ["sum", "last"].includes(board.operator);
  byId("modes").hidden = !adds;
  play.mode.value = board.operator === "sum" ? "amount" : "score";
  play.player.value ||= stored("keepscore.player") ?? "newcomer";
  play.tags.value = "";
  play.tags.placeholder = tag;
  byId("receipt").replaceChildren(make("p", "quiet", "The answer comes with your rank."));
  play.number.value = board.operator === "sum" ? "100" : (startingScore() || 1).toFixed(board.decimals);
  showCurl();
}

export function showCurl() {
  setText(byId("number-label"), play.mode.value === "score" ? "Score" : "Amount");
  const { path, text } = submission();
  setText(byId("curl"), `curl '${location.origin}${path}' --json '${text.replaceAll("'", "'\\''")}'`);
}

/** Submits what the form says; whether that was accepted. */
export async function submit() {
  const { path, text } = submission();
  stored("keepscore.player", play.player.value);
  try {
    showReceipt(await post(path, text));
    return true;
  } catch (error) {
    showProblem(byId("receipt"), error);
    say(reason(error));
    return false;
  }
}

function submission() {
  const typed = play.number.value;
  // The digits go out as they were typed: a JavaScript number would round long ones.
  const number = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(typed) ? typed : String(Number(typed));
  const tags = play.tags.value.split(",").map((tag) => tag.split(":").map((part) => part.trim())).filter(([name]) => name);
  const segments = board.segments.length && tags.length ? `,"segments":${JSON.stringify(Object.fromEntries(tags))}` : "";
  const field = play.mode.value;
  const text = `{"player_id":${JSON.stringify(play.player.value)},"${field}":${number}${segments}}`;
  return { path: boardPath(field === "score" ? "scores" : "increments"), text };
}

function showReceipt(receipt) {
  const place = receipt.windows[choices.window.value] ?? receipt;
  if (place.rank === null) {
    byId("receipt").replaceChildren(make("p", "headline", "Recorded. The rank follows."));
    return;
  }
  const score = shownScore(place.score);
  const change = place.previous_rank === null ? "new on the board" : movementText(place.rank_change);
  const headline = `of ${count(place.total_players, "player")} with ${score} · ${receipt.updated ? change : "not better than before"}`;
  const ranks = Object.entries(receipt.windows).map(([name, { rank }]) => [name.replaceAll("_", " "), `#${rank}`]);
  const facts = factList({ percentile: place.percentile.toFixed(1), ...Object.fromEntries(ranks) });
  byId("receipt").replaceChildren(make("p", "headline", make("strong", {}, `#${place.rank} `), headline), facts);
  say(`Rank ${place.rank} ${headline}.`);
}
