// The page of a board: what is looked at, the live list, and the controls.

import { call, reason, Refusal } from "./api.js";
import { byId, copyText, setText } from "./dom.js";
import { count, describe, isDemoBoard, segmentNames, windowLabel, windowNames } from "./format.js";
import { clearList, inSight, prepareList, scrollToPlace, showRows, showTimes } from "./list.js";
import { follow } from "./live.js";
import { me } from "./me.js";
import { forgetPast, preparePast } from "./past.js";
import { forgetPlayer, preparePlay } from "./play.js";
import { follows, forgetFound, prepareFind, showPlayer, showPlayerAgain } from "./player.js";
import { forgetPlots, showSpread } from "./plots.js";
import { forgetRace, prepareRace } from "./race.js";
import { board, boardName, boardPath, look, lookBack, setBoard, view, viewQuery } from "./view.js";

const PAGE = 100; // rows that are kept live, and that are asked for at a time
const AGAIN_MS = 1000; // between two looks at rows further down, while the ranking changes
const mode = document.body.dataset.page;

let subscription = null;
let turn = 0; // grows with every choice, so that a late answer to an old question is dropped
let asked = new Set(); // pages that are on their way
let lookedAt = 0; // when rows further down were asked for last
let first = true; // whether the next state is the first of what is looked at

async function start() {
  try {
    setBoard(await call(`/v1/boards/${encodeURIComponent(boardName)}`));
  } catch (error) {
    failed(error);
    if (!(error instanceof Refusal) || error.away) setTimeout(start, 3000);
    return;
  }
  prepareControls();
  prepareList({ choose: showPlayer, want: fetchRows });
  prepareFind({ toPlace: (rank) => scrollToPlace(rank - 1) });
  preparePast(watch);
  prepareRace();
  if (mode === "demo") preparePlay();
  setInterval(showTimes, 1000);
  watch();
  if (view.player) showPlayer(view.player);
}

// -- choosing -----------------------------------------------------------------------------------------------------------

function prepareControls() {
  setText(byId("title"), board.name);
  setText(byId("about"), describe(board));
  byId("demo").hidden = !isDemoBoard(board.name);
  document.title = `${board.name} · Keepscore`;
  for (const name of windowNames(board)) {
    const button = document.createElement("button");
    button.type = "button";
    button.value = name;
    button.textContent = name.replaceAll("_", " ");
    button.addEventListener("click", () => watch({ window: name, window_id: null }, { step: true }));
    byId("windows").append(button);
  }
  const names = segmentNames(board);
  byId("segment-field").hidden = !names.length;
  if (names.length) suggestSegments(names);
  byId("segment").addEventListener("change", ({ target }) => watch({ segment: target.value.trim() || null }));
  byId("rank").addEventListener("change", ({ target }) => watch({ rank: target.value }));
  byId("share").addEventListener("click", ({ target }) => copyText(target, location.href, "Copy link"));
  byId("to-top").addEventListener("click", () => scrollToPlace(0));
  byId("to-me").addEventListener("click", () => showPlayer(me(), { scroll: true }));
  addEventListener("popstate", () => {
    lookBack();
    watch();
  });
}

/** Suggests the segments that there are, the largest first; on a service that does not list them, their names. */
async function suggestSegments(names) {
  let values = names.map((name) => `${name}:`);
  try {
    const { segments } = await call(boardPath(`segments?${viewQuery({ rank: null, segment: null })}`));
    values = segments.map(({ segment }) => segment);
  } catch {
    // The names alone are a start.
  }
  byId("segments").replaceChildren(...values.slice(0, 200).map((value) => new Option(value)));
}

/** Looks at something else, or at what the address says: nothing of the former stays. */
function watch(changes = {}, how = {}) {
  look(changes, how);
  turn += 1;
  first = true;
  asked = new Set();
  subscription?.close();
  clearList();
  forgetFound();
  forgetPlots();
  forgetRace();
  forgetPast();
  if (mode === "demo") forgetPlayer();
  for (const button of byId("windows").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.value === view.window && !view.window_id));
  }
  byId("segment").value = view.segment ?? "";
  byId("rank").value = view.rank;
  status("waiting", "connecting…");
  const mine = turn;
  const query = viewQuery({ board: boardName, top: PAGE });
  const handlers = {
    state: (state) => mine === turn && arrived(state),
    window: (event) => mine === turn && ended(event),
    trouble: (error) => mine === turn && failed(error),
  };
  // A window of the past does not change: one look is enough.
  subscription = view.window_id ? lookOnce(handlers) : follow(query, handlers, { ties: board.ties });
  if (how.step && view.player) showPlayer(view.player);
}

function lookOnce(handlers) {
  call(boardPath(`top?${viewQuery({ limit: PAGE })}`)).then(handlers.state, handlers.trouble);
  return { close() {} };
}

// -- watching -----------------------------------------------------------------------------------------------------------

function arrived(state) {
  byId("problem").hidden = true;
  byId("list").classList.remove("stale");
  status(view.window_id ? "past" : "live", view.window_id ? "past" : "live");
  const { standings, total_players: total } = state;
  showRows(0, standings, total, !first);
  const label = windowLabel(view.window, state.window_id ?? view.window_id);
  setText(byId("shown"), [count(total, "player"), label, view.segment].filter(Boolean).join(" · "));
  byId("to-me").hidden = !me() || !total;
  if (!first) refreshRest();
  showSpread(total, first);
  if (follows()) showPlayerAgain();
  first = false;
}

/** A window was closed, or everything begins again: what is looked at now is its successor. */
function ended({ event, window, window_id: id }) {
  if (window !== view.window || view.window_id) return;
  setText(byId("problem"), `${windowLabel(window, id)} was ${event}. Its final standings are under “Past windows”.`);
  watch();
  byId("problem").hidden = false;
}

/** Rows further down are read again, now and then, while they are looked at. */
function refreshRest() {
  const [from, end] = inSight();
  if (end <= PAGE || Date.now() - lookedAt < AGAIN_MS) return;
  lookedAt = Date.now();
  for (let page = Math.max(1, Math.floor(from / PAGE)); page * PAGE < end; page += 1) fetchPage(page, true);
}

function fetchRows(from, end) {
  for (let page = Math.floor(from / PAGE); page * PAGE < end; page += 1) fetchPage(page, false);
}

async function fetchPage(page, isNews) {
  if (asked.has(page)) return;
  asked.add(page);
  const mine = turn;
  try {
    const answer = await call(boardPath(`top?${viewQuery({ limit: PAGE, offset: page * PAGE })}`));
    if (mine === turn) showRows(page * PAGE, answer.standings, answer.total_players, isNews);
  } catch (error) {
    if (mine === turn) failed(error);
  }
  if (mine === turn) asked.delete(page);
}

function failed(error) {
  const refused = error instanceof Refusal && !error.away;
  status(refused ? "waiting" : "away", refused ? "nothing to show" : "reconnecting…");
  byId("list").classList.add("stale");
  setText(byId("problem"), reason(error));
  byId("problem").hidden = false;
}

function status(state, text) {
  byId("status").dataset.state = state;
  setText(byId("status"), text);
}

start();
