// The live board: choosing, watching, playing, finding and simulating. Whatever players chose is put in as text, never as markup.

const EVERY_MS = 1000;
const FRESH_MS = 3000; // how long a movement stays marked: one poll would be too short to be read
const PAGE = matchMedia("(max-width: 480px)").matches ? 10 : 25;
const MOST = 500; // rows that are kept live; further down, "find" is the better tool
const GLIDE = { duration: 450, easing: "cubic-bezier(.2,.8,.2,1)" };
const calm = matchMedia("(prefers-reduced-motion: reduce)");

const byId = (id) => document.getElementById(id);
const choices = byId("choices").elements;
const play = byId("play").elements;
const body = byId("standings").tBodies[0];

let boards = [];
let board = null; // the definition of the chosen one
let page = null; // the last answer to "top"
let rows = new Map(); // player id → its row
let limit = PAGE;
let turn = 0; // grows with every poll and choice, so that a late answer to an old question is dropped
let timer = 0;
let failures = 0; // polls in a row that did not work
let sought = null; // the player that "find" follows

// -- small tools --------------------------------------------------------------------------------------------------------

function make(tag, className = "", ...content) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...content);
  return element;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function say(text) {
  setText(byId("say"), text);
}

function stored(key, value) {
  // Storage may be forbidden; the page works without.
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

class Refusal extends Error {}

async function call(path, options = {}) {
  const answer = await fetch(path, { cache: "no-cache", signal: AbortSignal.timeout(8000), ...options });
  if (answer.ok) return answer.json();
  const problem = await answer.json().catch(() => ({}));
  const error = new Refusal(sentence(problem.detail ?? `The service answered ${answer.status}`));
  error.away = answer.status >= 500;
  throw error;
}

function post(path, text) {
  return call(path, { method: "POST", body: text, headers: { "content-type": "application/json" } });
}

function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}

const reason = (error) => (error instanceof Refusal ? error.message : "The service does not answer. Trying again…");

function boardPath(rest) {
  return `/v1/boards/${encodeURIComponent(board.name)}/${rest}`;
}

function viewQuery(more = {}) {
  const query = new URLSearchParams({ window: choices.window.value, rank: choices.rank.value, ...more });
  if (segment()) query.set("segment", segment());
  return query;
}

const segment = () => (board.segments.length ? choices.segment.value.trim() : "");

function shownScore(score) {
  const digits = { minimumFractionDigits: board.decimals, maximumFractionDigits: board.decimals };
  return Number(score).toLocaleString("en", digits);
}

const count = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;

function ago(since) {
  const seconds = Math.max(0, Math.round((Date.now() - since) / 1000));
  if (seconds < 2) return "now";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit} ago`;
  }
  return `${seconds}s ago`;
}

function movementText(by) {
  return by > 0 ? `up ${by}` : by < 0 ? `down ${-by}` : "unchanged";
}

// -- choosing -----------------------------------------------------------------------------------------------------------

const choice = () => new URLSearchParams({ board: board.name, ...Object.fromEntries(viewQuery()) });

async function loadBoards() {
  const found = (await call("/v1/boards")).boards;
  if (!found.length) throw new Refusal("There is no board yet: define one in the configuration or with PUT /v1/boards/{board}.");
  if (JSON.stringify(found) === JSON.stringify(boards)) return;
  const wanted = new URLSearchParams(board ? choice() : location.hash.slice(1));
  boards = found;
  choices.board.replaceChildren(...boards.map(({ name }) => new Option(name, name)));
  choices.board.value = (boards.find(({ name }) => name === wanted.get("board")) ?? boards[0]).name;
  chooseBoard(wanted);
}

function chooseBoard(wanted = new URLSearchParams()) {
  board = boards.find(({ name }) => name === choices.board.value);
  const windows = Array.isArray(board.windows) ? board.windows : Object.keys(board.windows);
  choices.window.replaceChildren(...windows.map((name) => new Option(name.replaceAll("_", " "), name)));
  choices.window.value = windows.includes(wanted.get("window")) ? wanted.get("window") : windows[0];
  choices.rank.value = wanted.get("rank") ?? board.rank;
  if (!choices.rank.value) choices.rank.value = board.rank;
  choices.segment.value = wanted.get("segment") ?? "";
  const suggestions = board.segments.flatMap((name) => sampleValues(name).map((value) => `${name}:${value}`));
  for (const id of ["segment-field", "tags-field"]) byId(id).hidden = !board.segments.length;
  byId("segments").replaceChildren(...suggestions.map((value) => new Option(value)));
  play.tags.placeholder = suggestions[0] ?? "";
  setText(byId("title"), board.name);
  setText(byId("about"), describe(board));
  stopSimulation();
  prepareForm();
  forget();
}

function describe({ operator, order, ties }) {
  const counts = { best: "The best score counts", sum: "Scores add up", last: "The latest score counts", first: "The first score counts" };
  const tie = { first: "ties go to who got there first", last: "ties go to who got there last", player: "ties are ordered by player id" };
  return `${counts[operator]}, ${order === "asc" ? "low" : "high"} is good, ${tie[ties]}.`;
}

/** Another ranking is looked at: nothing of the former stays. */
function forget() {
  body.replaceChildren();
  rows = new Map();
  page = sought = null;
  limit = PAGE;
  byId("found").replaceChildren(make("p", "quiet", "Or choose a name in the table."));
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
    showStandings(answer, quietly);
    if (sought !== null) find(sought, false);
  }
  page = answer;
  rows.forEach(showTimes);
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

function showStandings({ standings, total_players: total, next_cursor: cursor, window_id: windowId }, quietly) {
  const first = page === null;
  const before = first ? new Map() : positions();
  // A row that was not there is a new player only where there are more players than before.
  const entrance = quietly || first ? "" : total > page.total_players ? "new" : "up";
  const kept = new Map();
  const leader = standings[0];
  if (!first && leader && leader.player_id !== page.standings[0]?.player_id) say(`${leader.name ?? leader.player_id} leads now.`);
  for (const standing of standings) {
    const row = rows.get(standing.player_id) ?? newRow(standing, entrance);
    updateRow(row, standing);
    kept.set(standing.player_id, row);
  }
  rows.forEach((row, id) => kept.has(id) || row.element.remove());
  rows = kept;
  placeRows([...kept.values()].map((row) => row.element));
  animateMoves(before);
  byId("empty").hidden = total > 0;
  byId("more").hidden = !cursor || standings.length >= MOST;
  const period = windowId === choices.window.value ? windowId.replaceAll("_", " ") : `${choices.window.value} ${windowId}`;
  setText(byId("shown"), `${count(total, "player")} · ${period}${segment() ? ` · ${segment()}` : ""}`);
}

function placeRows(elements) {
  // Only what is out of place is moved, so that focus and a selection stay where they are.
  elements.forEach((element, index) => body.children[index] === element || body.insertBefore(element, body.children[index] ?? null));
}

function newRow(standing, entrance) {
  const name = make("button", "name");
  name.type = "button";
  name.addEventListener("click", () => find(standing.player_id, true));
  const cells = { rank: make("td", "rank"), move: make("td", "move"), player: make("th", "player", name), score: make("td", "score") };
  cells.player.scope = "row";
  const time = make("time");
  const element = make("tr", "", ...Object.values(cells), make("td", "since", time));
  const medal = make("span", "medal");
  cells.rank.append(medal);
  const row = { element, name, time, medal, ...cells };
  if (entrance) {
    markMovement(row, entrance, entrance === "new" ? "new" : "▲", entrance === "new" ? "new" : "moved up");
    flash(element);
  }
  return row;
}

function updateRow(row, standing) {
  const { rank, score, since, player_id: id, name } = standing;
  const by = row.standing ? row.standing.rank - rank : 0;
  if (by) markMovement(row, by > 0 ? "up" : "down", `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`, movementText(by));
  if (row.standing && row.standing.score !== score) flash(row.element);
  setText(row.medal, String(rank));
  row.medal.dataset.rank = rank;
  setText(row.name, name ?? id);
  row.name.title = name ? `${name} (${id})` : id;
  row.element.classList.toggle("mine", id === stored("keepscore.player"));
  setText(row.score, shownScore(score));
  row.time.dateTime = since;
  row.time.title = new Date(since).toLocaleString();
  Object.assign(row, { standing, at: Date.parse(since) });
}

function markMovement(row, way, sign, spoken) {
  row.movedAt = Date.now();
  row.move.dataset.way = way;
  const hidden = make("span", "", sign);
  hidden.setAttribute("aria-hidden", "true");
  row.move.replaceChildren(hidden, make("span", "unseen", spoken));
}

function showTimes(row) {
  setText(row.time, ago(row.at));
  if (row.movedAt && Date.now() - row.movedAt > FRESH_MS) {
    row.move.replaceChildren();
    row.movedAt = 0;
  }
}

function positions() {
  return new Map([...rows.values()].map(({ element }) => [element, element.getBoundingClientRect().top]));
}

function animateMoves(before) {
  if (calm.matches) return;
  for (const { element } of rows.values()) {
    const old = before.get(element);
    const by = old === undefined ? 0 : old - element.getBoundingClientRect().top;
    if (by) element.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], GLIDE);
    else if (old === undefined && before.size) element.animate([{ opacity: 0 }, { opacity: 1 }], 450);
  }
}

function flash(element) {
  const colour = getComputedStyle(document.documentElement).getPropertyValue("--flash");
  element.animate([{ backgroundColor: colour, offset: 0 }], { duration: 1400, easing: "ease-out" });
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
  timer = setTimeout(poll, EVERY_MS);
}

// -- finding ------------------------------------------------------------------------------------------------------------

async function find(id, asked) {
  sought = id;
  if (asked) byId("find").elements.player.value = id;
  try {
    const place = await call(boardPath(`players/${encodeURIComponent(id)}?${viewQuery({ around: 5 })}`));
    if (sought !== id) return;
    showPlace(place);
    if (asked) say(`${id} has rank ${place.rank} of ${place.total_players}.`);
  } catch (error) {
    if (sought !== id) return;
    sought = null;
    byId("found").replaceChildren(make("p", "problem", reason(error)));
    if (asked) say(reason(error));
  }
}

function showPlace(place) {
  const { ranks, percentile, total_players: total } = place;
  const facts = { unique: ranks.unique, standard: ranks.standard, dense: ranks.dense, percentile: percentile.toFixed(1) };
  const neighbours = place.around.map(({ rank, player_id: id, name, score }) => {
    const player = make("th", "player", name ?? id);
    player.scope = "row";
    const cells = [make("td", "rank", String(rank)), player, make("td", "score", shownScore(score))];
    return make("tr", id === place.player_id ? "mine" : "", ...cells);
  });
  const summary = ` of ${count(total, "player")} with ${shownScore(place.score)}`;
  const headline = make("p", "headline", make("strong", "", `#${place.rank}`), summary);
  const table = make("table", "around", make("tbody", "", ...neighbours));
  table.ariaLabel = "The players around";
  byId("found").replaceChildren(headline, factList(facts), table);
}

function factList(facts) {
  const entries = Object.entries(facts).map(([name, value]) => make("div", "", make("dt", "", name), make("dd", "", String(value))));
  return make("dl", "facts", ...entries);
}

// -- playing ------------------------------------------------------------------------------------------------------------

function prepareForm() {
  const adds = ["sum", "last"].includes(board.operator);
  byId("modes").hidden = !adds;
  play.mode.value = board.operator === "sum" ? "amount" : "score";
  play.player.value ||= stored("keepscore.player") ?? "newcomer";
  play.tags.value = "";
  byId("receipt").replaceChildren(make("p", "quiet", "The answer comes with your rank."));
  play.number.value = board.operator === "sum" ? "100" : (startingScore() || 1).toFixed(board.decimals);
  showCurl();
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

function showCurl() {
  setText(byId("number-label"), play.mode.value === "score" ? "Score" : "Amount");
  const { path, text } = submission();
  setText(byId("curl"), `curl -X POST '${location.origin}${path}' -d '${text.replaceAll("'", "'\\''")}'`);
}

async function submit(event) {
  event.preventDefault();
  const { path, text } = submission();
  stored("keepscore.player", play.player.value);
  try {
    showReceipt(await post(path, text));
    poll();
  } catch (error) {
    byId("receipt").replaceChildren(make("p", "problem", reason(error)));
    say(reason(error));
  }
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
  byId("receipt").replaceChildren(make("p", "headline", make("strong", "", `#${place.rank} `), headline), facts);
  say(`Rank ${place.rank} ${headline}.`);
}

async function copyCurl() {
  try {
    await navigator.clipboard.writeText(byId("curl").textContent);
    setText(byId("copy"), "Copied");
  } catch {
    // Without permission, the line is selected: one key copies it.
    getSelection().selectAllChildren(byId("curl"));
    setText(byId("copy"), "Selected");
  }
  setTimeout(() => setText(byId("copy"), "Copy"), 1500);
}

// -- simulating ---------------------------------------------------------------------------------------------------------

const NAMES = (
  "Ada Bruno Chiara Dmitri Emeka Fatima Gonzalo Hana Ingrid Jun Kofi Léa Mateo Nadia Omar " +
  "Priya Quinn Ravi Sofía Tomasz Uma Viktor Wen Ximena Yuki Zara Åsa Çelik Юля Σοφία"
).split(" ");
const VALUES = { region: ["eu", "us", "asia"], country: ["BR", "DE", "JP"] };
const NEWCOMERS = 300; // where the first score counts, only new players change anything

let simulating = 0; // the timer of the next round; 0: off
let cast = new Map(); // made-up player → score, as far as the page knows
let newcomers = 0;

const sampleValues = (name) => VALUES[name] ?? ["one", "two", "three"];
const pick = (list) => list[Math.floor(Math.random() * list.length)];

/** Lowest and highest score that look natural on the board, within its bounds. */
function naturalRange() {
  const width = board.decimals ? 100 : 10000;
  const low = board.min_score ?? (board.max_score === null || board.max_score > 0 ? 0 : board.max_score - width);
  return [low, board.max_score ?? low + width];
}

function startingScore(part = 0.5) {
  const [low, high] = naturalRange();
  return rounded(low + (high - low) * part);
}

function rounded(score) {
  const fitting = Math.min(board.max_score ?? Infinity, Math.max(board.min_score ?? -Infinity, score));
  return Number(fitting.toFixed(board.decimals));
}

/** A step towards the good side; on "last" boards sometimes back. Near a bound the steps get small, so that not all end there. */
function nextScore(score) {
  const [low, high] = naturalRange();
  const bound = board.order === "asc" ? low : board.max_score;
  const room = bound === null ? (high - low) * 0.4 : bound - score;
  const way = board.operator === "last" && Math.random() < 0.45 ? -1 : 1;
  return rounded(score + room * way * Math.random() * 0.12);
}

function nextEntry(name) {
  const [low, high] = naturalRange();
  const known = cast.get(name);
  const segments = Object.fromEntries(board.segments.map((key) => [key, sampleValues(key)[name.length % 3]]));
  if (board.operator === "sum") {
    const amount = Number((((high - low) * Math.random()) / (known === undefined ? 4 : 80)).toFixed(board.decimals));
    cast.set(name, (known ?? 0) + amount);
    return { player_id: name, amount, segments };
  }
  const score = known === undefined ? startingScore(0.2 + 0.6 * Math.random()) : nextScore(known);
  cast.set(name, score);
  return { player_id: name, score, segments };
}

function nextNames() {
  const absent = NAMES.filter((name) => !cast.has(name));
  if (absent.length) return absent;
  if (board.operator === "first") return [`${pick(NAMES)} ${++newcomers + 1}`];
  return [...new Set([pick(NAMES), pick(NAMES), pick(NAMES)])];
}

async function simulateRound() {
  if (!document.hidden) {
    const path = boardPath(board.operator === "sum" ? "increments" : "scores");
    const sent = await Promise.allSettled(nextNames().map((name) => post(path, JSON.stringify(nextEntry(name)))));
    const reasons = sent.map(({ reason: error }) => error).filter((error) => error instanceof Refusal && !error.away);
    // An outage passes, and the status tells of it; what the board refuses to all would only be refused again.
    if (reasons.length === sent.length) return refuseSimulation(reasons[0]);
  }
  if (newcomers >= NEWCOMERS) stopSimulation();
  if (simulating) simulating = setTimeout(simulateRound, 300 + 200 * Math.random());
}

async function startSimulation() {
  simulating = -1;
  showSwitch();
  cast = new Map();
  try {
    // Who played before goes on from there.
    const { standings } = await post(boardPath("players/lookup"), JSON.stringify({ player_ids: NAMES }));
    for (const { player_id: id, score } of standings) cast.set(id, Number(score));
    await simulateRound();
    poll();
  } catch (error) {
    refuseSimulation(error);
  }
}

function refuseSimulation(error) {
  stopSimulation();
  byId("receipt").replaceChildren(make("p", "problem", reason(error)));
}

function stopSimulation() {
  clearTimeout(simulating);
  simulating = newcomers = 0;
  showSwitch();
}

function showSwitch() {
  byId("simulate").setAttribute("aria-checked", String(simulating !== 0));
}

// -- start --------------------------------------------------------------------------------------------------------------

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
byId("play").addEventListener("submit", submit);
byId("copy").addEventListener("click", copyCurl);
byId("simulate").addEventListener("click", () => (simulating ? stopSimulation() : startSimulation()));
byId("wake").addEventListener("click", startSimulation);
document.addEventListener("visibilitychange", poll);
poll();
