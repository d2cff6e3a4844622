// The home page: all boards, each with its leader, its size and its pace, and the demo, which moves by itself.

import { call, reason } from "./api.js";
import { avatar } from "./avatars.js";
import { byId, copyOnClick, make, setText } from "./dom.js";
import { count, describe, isDemoBoard, score } from "./format.js";
import { follow } from "./live.js";

const EVERY_MS = 5000; // between two looks at a board that is not live
const STEP = 24; // cards that are added at a time
const LIVE = 4; // cards with rows that move; more would need a connection each

const mode = document.body.dataset.page;
let boards = [];
let shown = STEP;
let cards = new Map(); // board name → its card

async function load() {
  try {
    boards = (await call("/v1/boards")).boards;
    // What moves by itself comes first.
    boards.sort((a, b) => isDemoBoard(b.name) - isDemoBoard(a.name) || a.name.localeCompare(b.name));
    show();
    status("live", "live");
  } catch (error) {
    status("away", "reconnecting…");
    setText(byId("problem"), reason(error));
    byId("problem").hidden = false;
    setTimeout(load, EVERY_MS);
  }
}

function show() {
  byId("problem").hidden = true;
  byId("none").hidden = boards.length > 0;
  byId("create-field").hidden = mode !== "demo";
  setText(byId("define"), `curl -X PUT '${location.origin}/v1/boards/global' --json '{}'`);
  const wanted = boards.slice(0, shown);
  const kept = new Map(wanted.map((board, place) => [board.name, cards.get(board.name) ?? newCard(board, place < LIVE)]));
  cards.forEach((card, name) => kept.has(name) || card.close());
  cards = kept;
  byId("boards").replaceChildren(...[...kept.values()].map(({ element }) => element));
  byId("more").hidden = boards.length <= shown;
}

function newCard(board, isLive) {
  const players = make("span", "quiet", "…");
  const pace = make("span", "quiet");
  const rows = make("ol", "leaders");
  const link = make("a", { href: `/boards/${encodeURIComponent(board.name)}` }, board.name);
  const title = make("h2", {}, link);
  if (isDemoBoard(board.name)) title.append(make("span", "label", "demo"));
  const element = make("li", "card board-card", title, make("p", "quiet", describe(board)), rows, make("p", "facts-line", players, pace));
  const seen = [];
  const update = ({ standings, total_players: total, position }) => {
    setText(players, count(total, "player"));
    setText(pace, paceOf(seen, position));
    showLeaders(rows, board, standings.slice(0, 3), total);
  };
  const query = new URLSearchParams({ board: board.name, top: 3 });
  const subscription = follow(query, { state: update, trouble: (error) => setText(players, reason(error)) }, { askMs: isLive ? 0 : EVERY_MS });
  return { element, close: subscription.close };
}

/** Changes a minute, as positions count them: `epoch:seq`. */
function paceOf(seen, position) {
  const [epoch, seq] = String(position ?? "").split(":");
  if (seq === undefined) return "";
  const now = Date.now();
  if (seen.length && seen[0].epoch !== epoch) seen.length = 0;
  seen.push({ epoch, seq: Number(seq), now });
  while (seen.length > 1 && now - seen[0].now > 60_000) seen.shift();
  const minutes = (now - seen[0].now) / 60_000;
  const changes = Number(seq) - seen[0].seq;
  return minutes < 0.03 || !changes ? "" : ` · ${Math.round(changes / minutes).toLocaleString("en")} changes a minute`;
}

function showLeaders(list, board, standings, total) {
  const items = standings.map((standing) => {
    const name = make("bdi", "who", standing.name ?? standing.player_id);
    return make("li", {}, avatar(standing), name, make("span", "points", score(board, standing.score)));
  });
  list.replaceChildren(...items);
  if (!total) list.replaceChildren(make("li", "quiet", "Nobody has played here yet."));
}

function status(state, text) {
  byId("status").dataset.state = state;
  setText(byId("status"), text);
}

async function createBoard() {
  try {
    await call("/v1/boards/global", { method: "PUT", body: "{}", headers: { "content-type": "application/json" } });
    location.assign("/boards/global");
  } catch (error) {
    setText(byId("problem"), reason(error));
    byId("problem").hidden = false;
  }
}

byId("create").addEventListener("click", createBoard);
copyOnClick(byId("copy-define"), byId("define"));
byId("more").addEventListener("click", () => {
  shown += STEP;
  show();
});
// The demo may be made a moment after the page was asked for.
if (mode === "demo") setTimeout(load, 2000);
load();
