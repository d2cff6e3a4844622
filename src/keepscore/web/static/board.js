// The live board: choosing what to look at, polling for it, and wiring the controls.

import { call, reason, Refusal } from "./api.js";
import { byId, copyOnClick, setText } from "./dom.js";
import { find, findAgain, forgetFound } from "./find.js";
import { prepareForm, showCurl, submit } from "./play.js";
import { sampleValues } from "./samples.js";
import { isSimulating, startSimulation, stopSimulation } from "./simulate.js";
import { clearStandings, showStandings, showTimes } from "./table.js";
import { board, boardPath, choices, setBoard, viewQuery } from "./view.js";

const EVERY_MS = 1000;
const PAGE = matchMedia("(max-width: 480px)").matches ? 10 : 25;
const MOST = 500; // rows that are kept live; further down, "find" is the better tool

let boards = [];
let page = null; // the last answer to "top"
let limit = PAGE;
let turn = 0; // grows with every poll and choice, so that a late answer to an old question is dropped
let timer = 0;
let failures = 0; // polls in a row that did not work

// -- choosing -----------------------------------------------------------------------------------------------------------

const choice = () => new URLSearchParams({ board: board.name, ...Object.fromEntries(viewQuery()) });

async function loadBoards() {
  const found = (await call("/v1/boards")).boards;
  if (!found.length) throw new Refusal("There is no board yet: define one in the configuration or with PUT /v1/boards/{board}.");
  if (JSON.stringify(found) === JSON.stringify(boards)) return;
  const wanted = new URLSearchParams(board ? choice() : location.hash.slice(1));
  boards = found;
  choices.board.replaceChildren(...boards.map(({ name }) => new Option(name, name)));
  const named = (wantedName) => boards.find(({ name }) => name === wantedName);
  choices.board.value = (named(wanted.get("board")) ?? named("global") ?? boards[0]).name;
  chooseBoard(wanted);
}

function chooseBoard(wanted = new URLSearchParams()) {
  setBoard(boards.find(({ name }) => name === choices.board.value));
  const windows = Array.isArray(board.windows) ? board.windows : Object.keys(board.windows);
  choices.window.replaceChildren(...windows.map((name) => new Option(name.replaceAll("_", " "), name)));
  choices.window.value = windows.includes(wanted.get("window")) ? wanted.get("window") : windows[0];
  choices.rank.value = wanted.get("rank") ?? board.rank;
  if (!choices.rank.value) choices.rank.value = board.rank;
  choices.segment.value = wanted.get("segment") ?? "";
  const suggestions = board.segments.flatMap((name) => sampleValues(name).map((value) => `${name}:${value}`));
  for (const id of ["segment-field", "tags-field"]) byId(id).hidden = !board.segments.length;
  byId("segments").replaceChildren(...suggestions.map((value) => new Option(value)));
  setText(byId("title"), board.name);
  setText(byId("about"), describe(board));
  stopSimulation();
  prepareForm(suggestions[0] ?? "");
  forget();
}

function describe({ operator, order, ties }) {
  const counts = { best: "The best score counts", sum: "Scores add up", last: "The latest score counts", first: "The first score counts" };
  const tie = { first: "ties go to who got there first", last: "ties go to who got there last", player: "ties are ordered by player id" };
  return `${counts[operator]}, ${order === "asc" ? "low" : "high"} is good, ${tie[ties]}.`;
}

/** Another ranking is looked at: nothing of the former stays. */
function forget() {
  clearStandings();
  forgetFound();
  page = null;
  limit = PAGE;
  history.replaceState(null, "", `#${choice()}`);
}

// -- watching -----------------------------------------------------------------------------------------------------------

async function poll() {
  clearTimeout(timer);
  const mine = ++turn;
  if (document.hidden) return;
  try {
    // After an outage the boards may be others.
    if (!board || failures) await loadBoards();
    const answer = await call(boardPath(`top?${viewQuery({ limit })}`));
    if (mine === turn) arrived(answer);
  } catch (error) {
    if (mine === turn) failed(error);
  }
  if (mine === turn) timer = setTimeout(poll, Math.min(EVERY_MS * (failures + 1), 5000));
}

function arrived(answer, quietly = false) {
  failures = 0;
  byId("problem").hidden = true;
  status("live", "live");
  byId("frame").classList.remove("stale");
  // The same moment means a 304: nothing changed but the time that has passed.
  if (page?.as_of !== answer.as_of) {
    showStandings(answer, page, quietly);
    byId("more").hidden = !answer.next_cursor || answer.standings.length >= MOST;
    findAgain();
  }
  page = answer;
  showTimes();
}

function failed(error) {
  failures += 1;
  const refused = error instanceof Refusal && !error.away;
  status(refused ? "waiting" : "away", refused ? "waiting" : "reconnecting…");
  byId("frame").classList.add("stale");
  setText(byId("problem"), reason(error));
  byId("problem").hidden = false;
}

function status(state, text) {
  byId("status").dataset.state = state;
  setText(byId("status"), text);
}

async function showMore() {
  if (!page?.next_cursor) return;
  clearTimeout(timer);
  const mine = ++turn;
  try {
    const answer = await call(boardPath(`top?${viewQuery({ limit: PAGE, cursor: page.next_cursor })}`));
    if (mine !== turn) return;
    // From the next poll on, one longer page keeps all of them live.
    limit = Math.min(limit + PAGE, MOST);
    const moved = new Set(answer.standings.map(({ player_id: id }) => id));
    arrived({ ...answer, standings: [...page.standings.filter(({ player_id: id }) => !moved.has(id)), ...answer.standings] }, true);
  } catch (error) {
    if (mine === turn) failed(error);
  }
  if (mine === turn) timer = setTimeout(poll, EVERY_MS);
}

// -- start --------------------------------------------------------------------------------------------------------------

async function simulate() {
  await startSimulation();
  poll();
}

byId("choices").addEventListener("submit", (event) => event.preventDefault());
byId("choices").addEventListener("change", ({ target }) => {
  if (target.name === "board") chooseBoard();
  else forget();
  poll();
});
byId("more").addEventListener("click", showMore);
byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  find(event.target.elements.player.value, true);
});
byId("play").addEventListener("input", showCurl);
byId("play").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await submit()) poll();
});
copyOnClick(byId("copy"), byId("curl"));
byId("simulate").addEventListener("click", () => (isSimulating() ? stopSimulation() : simulate()));
byId("wake").addEventListener("click", simulate);
document.addEventListener("visibilitychange", poll);
poll();
