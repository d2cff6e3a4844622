// The live board: choosing what to look at, polling for it, and wiring the controls.

import { call, reason, Refusal } from "./api.js";
import { byId, copyOnClick, setText } from "./dom.js";
import { find, findAgain, forgetFound } from "./find.js";
import { prepareForm, showCurl, submit } from "./play.js";
import { sampleValues } from "./samples.js";
import { DEMO, isSimulating, prepareDemo, refuseSimulation, startSimulation, stopSimulation } from "./simulate.js";
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

/** Learns which boards there are; whether there is one. */
async function loadBoards() {
  const found = (await call("/v1/boards")).boards;
  showNoBoards(!found.length);
  if (!found.length) {
    boards = [];
    setBoard(null);
    return false;
  }
  if (JSON.stringify(found) === JSON.stringify(boards)) return true;
  const wanted = new URLSearchParams(board ? choice() : location.hash.slice(1));
  boards = found;
  choices.board.replaceChildren(...boards.map(({ name }) => new Option(name, name)));
  const named = (wantedName) => boards.find(({ name }) => name === wantedName);
  choices.board.value = (named(wanted.get("board")) ?? named("global") ?? boards[0]).name;
  chooseBoard(wanted);
  return true;
}

/** Without a board there is nothing to look at: the page says what to do next. */
function showNoBoards(none) {
  document.body.classList.toggle("no-boards", none);
  byId("none").hidden = !none;
  if (!none) return;
  setText(byId("title"), "No boards yet");
  setText(byId("about"), "A board says what is ranked, and how.");
  byId("demo").hidden = true;
  setText(byId("define"), `curl -X PUT '${location.origin}/v1/boards/global' -H 'Content-Type: application/json' -d '{}'`);
}

async function createBoard() {
  try {
    await call("/v1/boards/global", { method: "PUT", body: "{}", headers: { "content-type": "application/json" } });
    poll();
  } catch (error) {
    failed(error);
  }
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
  setText(byId("about"), board.name === DEMO ? "Made-up players only: real boards get no scores from here." : describe(board));
  byId("demo").hidden = board.name !== DEMO;
  stopSimulation();
  prepareForm(suggestions[0] ?? "");
  forget();
}

function describe({ operator, order, ties }) {
  const counts = { best: "The best score counts", sum: "Scores add up", last: "The latest score counts", first: "The first score counts" };
  const tie = { first: "ties go to the first to reach a score", last: "ties go to the last to reach a score", player: "ties are ordered by player id" };
  return `${counts[operator]}, ${order === "asc" ? "lower" : "higher"} is better, ${tie[ties]}.`;
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
    const some = board && !failures ? true : await loadBoards();
    const answer = some ? await call(boardPath(`top?${viewQuery({ limit })}`)) : null;
    if (mine === turn && answer) arrived(answer);
    else if (mine === turn) works("live", "ready");
  } catch (error) {
    if (mine === turn) failed(error);
  }
  if (mine === turn) timer = setTimeout(poll, Math.min(EVERY_MS * (failures + 1), 5000));
}

/** The service answers. */
function works(state, text) {
  failures = 0;
  byId("problem").hidden = true;
  status(state, text);
}

function arrived(answer, quietly = false) {
  works("live", "live");
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
  status(refused ? "waiting" : "away", refused ? "nothing to show" : "reconnecting…");
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

/** Goes to the demo board, which is made when it is first used, and lets made-up players in. */
async function simulate() {
  try {
    if (await prepareDemo(boards)) await loadBoards();
    if (board.name !== DEMO) {
      choices.board.value = DEMO;
      chooseBoard();
    }
    await startSimulation();
  } catch (error) {
    if (!board) return failed(error);
    refuseSimulation(error);
  }
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
for (const id of ["wake", "watch"]) byId(id).addEventListener("click", simulate);
byId("create").addEventListener("click", createBoard);
copyOnClick(byId("copy-define"), byId("define"));
document.addEventListener("visibilitychange", poll);
poll();
