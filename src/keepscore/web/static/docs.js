// The reference, drawn from /openapi.json in the browser, so that it says what this very service does, and needs no network.

import { byId, copyOnClick, make } from "./dom.js";

const GROUPS = [
  ["Boards", /^\/v1\/boards(\/\{board\})?$/],
  ["Submitting scores", /^\/v1\/boards\/\{board\}\/(scores|increments)/],
  ["Reading rankings", /^\/v1\/boards\/\{board\}\/(top|players|ranks|count)/],
  ["Players", /^\/v1\/players/],
  ["Existing clients", /^\/api\//],
  ["Service", /./],
];

// What the description leaves unsaid about parameters and fields that many operations share.
const MEANINGS = {
  board: "the board's name",
  "field rank": "from 1",
  "field window": "the window that was read",
  "field window_id": "its period",
  "field segment": "null: everyone",
  "field type": "stable, for programs",
  "field board": "",
  "field player_id": "1 to 128 bytes, any script",
  "field period": "",
  "field min": "",
  "field max": "",
  "field results": "the receipts of the accepted, where asked for",
  "field region": "",
  player_id: "the player's id, percent-encoded",
  "path rank": "a rank, from 1",
  window: "daily, weekly, monthly, yearly, all_time or season; the board's first where left out",
  window_id: "a period, such as 2026-11-15 or 2026-W46; the current one where left out",
  segment: "a slice, such as region:eu; everyone where left out",
  rank: "numbering: unique (1 2 3 4), standard (1 1 3 4) or dense (1 1 2 3)",
  limit: "players on the page, at most 1,000",
  offset: "players to leave out at the top",
  cursor: "next_cursor of the page before",
  around: "players above and below",
  min: "the lowest score that counts",
  max: "the highest score that counts",
  results: "true: answer with the ranks, too",
  backfill: "true: scores count in closed windows, too",
  type: "global, or regional with a region",
  period: "daily, weekly, monthly or all_time",
  region: "the region of a regional ranking",
  n: "how many players",
  range: "players above and below",
  "Idempotency-Key": "makes a retry safe: see above",
  idempotency_key: "the same as the Idempotency-Key header",
  at: "when it happened, a time with an offset; now where left out",
  segments: "the player's slices, such as {\"region\": \"eu\"}",
  game_id: "the game it comes from, kept with the event",
  metadata: "anything to keep with the event",
  score: "with at most as many decimals as the board has",
  amount: "what is added; on sum and last boards",
  updated: "whether the player's score changed",
  previous_rank: "null for a new player",
  rank_change: "positive: moved up",
  percentile: "100 for the first",
  since: "when the score was reached",
  as_of: "when the answer was made",
  next_cursor: "null on the last page",
  replayed: "true: the answer to the first request with this key",
  missing: "players who are not in the ranking",
};

const SAMPLES = {
  board: "global", player_id: "ada", rank: 1, score: 1500, amount: 25, score_delta: 25, name: "Ada", limit: 10, around: 5, n: 10, range: 5,
  player_ids: ["ada", "bruno"], scores: [{ player_id: "ada", score: 1500 }, { player_id: "bruno", score: 1450 }], results: true,
};
// A board to define or delete is never one of those that the examples read.
const SAMPLE_BOARD = { name: "arcade", operator: "best", windows: ["daily", "all_time"] };
const SAMPLE_QUERY = ["limit", "around", "n", "range", "results"];

let api = {};

// -- small tools --------------------------------------------------------------------------------------------------------

function badge(method) {
  const element = make("span", { className: "badge" }, method.toUpperCase());
  element.dataset.method = method;
  return element;
}

function resolve(schema = {}) {
  return schema.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema;
}

const alternatives = (schema) => schema.anyOf ?? schema.oneOf ?? [schema];

/** A type in a few words: "integer or null", "list of Standing", "one of: best, sum". */
function typeName(schema) {
  const names = alternatives(schema).map((one) => {
    if (one.$ref) return resolve(one).title ?? one.$ref.split("/").pop();
    if (one.enum) return one.enum.map((value) => JSON.stringify(value)).join(" | ");
    if (one.type === "array") return `list of ${one.items ? typeName(one.items) : "anything"}`;
    if (one.additionalProperties?.type || one.additionalProperties?.$ref) return `table of ${typeName(one.additionalProperties)}`;
    // Decimal scores are written out as numbers.
    if (one.format === "decimal") return "number";
    return one.format ? `${one.type} (${one.format})` : [one.type ?? "anything"].flat().join(" or ");
  });
  return [...new Set(names)].join(" or ");
}

/** The object inside a schema, through lists, tables and alternatives: what has fields of its own. */
function inner(schema) {
  for (const one of alternatives(schema ?? {})) {
    const found = resolve(one);
    if (found.properties) return found;
    const nested = one.items ?? one.additionalProperties;
    if (nested && typeof nested === "object") {
      const deeper = inner(nested);
      if (deeper) return deeper;
    }
  }
  return null;
}

/** A description for readers: what is meant for programmers of the service stays out. */
function prose(text = "") {
  return text.startsWith("dict(") ? "" : text.split(/\s*>>>/)[0].replace(/\s+/g, " ").replaceAll("`", "").trim();
}

// -- fields -------------------------------------------------------------------------------------------------------------

function fieldRow(name, schema, required, meaning, depth) {
  const limits = schema.maxLength ? `, at most ${schema.maxLength} characters` : schema.maxItems ? `, at most ${schema.maxItems}` : "";
  const preset = schema.default === undefined || schema.default === null ? [] : [`default: ${JSON.stringify(schema.default)}`];
  const head = make("th", { scope: "row", className: required ? "must" : "" }, name);
  const text = [prose(schema.description) || meaning, ...preset].filter(Boolean).join("; ");
  return make("tr", { className: `depth-${depth}` }, head, make("td", {}, typeName(schema) + limits), make("td", {}, text));
}

function objectRows(object, isRequest, seen = [object]) {
  const depth = seen.length - 1;
  return Object.entries(object.properties).flatMap(([name, schema]) => {
    const meaning = MEANINGS[`field ${name}`] ?? MEANINGS[name];
    const row = fieldRow(name, schema, isRequest && object.required?.includes(name), meaning, depth);
    const nested = inner(schema);
    if (!nested || depth === 3 || seen.includes(nested)) return [row];
    return [row, ...objectRows(nested, isRequest, [...seen, nested])];
  });
}

function fieldTable(caption, rows) {
  return make("table", { className: "fields", ariaLabel: caption }, make("tbody", {}, ...rows));
}

function block(title, note, ...content) {
  return make("div", {}, make("h4", {}, title, " ", make("small", {}, note)), ...content);
}

function parameterBlock({ parameters }) {
  const rows = parameters.map(({ name, in: place, schema, required }) => {
    const meaning = MEANINGS[`${place} ${name}`] ?? MEANINGS[name];
    // What is null in a query is left out.
    const given = schema.anyOf ? { ...schema, anyOf: schema.anyOf.filter(({ type }) => type !== "null") } : schema;
    return fieldRow(place === "header" ? `${name} (header)` : name, given, required, meaning, 0);
  });
  return rows.length ? [block("Parameters", "", fieldTable("Parameters", rows))] : [];
}

function contentBlock(title, content, note, isRequest = false) {
  const object = inner(Object.values(content ?? {})[0]?.schema);
  const rows = object ? [fieldTable(title, objectRows(object, isRequest))] : [];
  return block(title, note, ...rows);
}

function answerBlocks({ responses }) {
  const byContent = new Map();
  for (const [status, answer] of Object.entries(responses)) {
    // Every operation may answer with a problem, which is told once, above.
    if (status === "default") continue;
    const key = JSON.stringify(answer);
    byContent.set(key, { ...answer, statuses: [...(byContent.get(key)?.statuses ?? []), status] });
  }
  return [...byContent.values()].map(({ statuses, description, content }) =>
    contentBlock(`Answer ${statuses.join(" or ")}`, content, prose(description)),
  );
}

// -- examples -----------------------------------------------------------------------------------------------------------

function sample(name, operation) {
  return name === "board" && operation.changesBoard ? SAMPLE_BOARD.name : SAMPLES[name];
}

function sampleBody(operation) {
  const schema = operation.requestBody?.content["application/json"].schema;
  if (!schema) return null;
  if (operation.changesBoard) return SAMPLE_BOARD;
  return Object.fromEntries(inner(schema).required.map((name) => [name, SAMPLES[name] ?? name]));
}

function address(path, values, query) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? name));
  const text = new URLSearchParams(query).toString();
  return filled + (text && `?${text}`);
}

function parametersIn(operation, place) {
  return operation.parameters.filter((parameter) => parameter.in === place).map(({ name }) => name);
}

function curl(operation) {
  const values = Object.fromEntries(parametersIn(operation, "path").map((name) => [name, sample(name, operation)]));
  const wanted = parametersIn(operation, "query").filter((name) => SAMPLE_QUERY.includes(name));
  const url = `'${location.origin}${address(operation.path, values, wanted.map((name) => [name, SAMPLES[name]]))}'`;
  const method = operation.method === "get" ? "" : `-X ${operation.method.toUpperCase()} `;
  const retriable = parametersIn(operation, "header").includes("Idempotency-Key");
  const key = retriable ? ` \\\n  -H 'Idempotency-Key: ${operation.operationId.split("_").pop()}-0001'` : "";
  const body = sampleBody(operation);
  return `curl ${method}${url}${key}${body ? ` \\\n  -d '${JSON.stringify(body)}'` : ""}`;
}

function curlBlock(operation) {
  const code = make("code", {}, curl(operation));
  const copy = make("button", { type: "button" }, "Copy");
  copyOnClick(copy, code);
  return make("div", { className: "curl" }, make("div", { className: "curl-head" }, "Example", copy), make("pre", { tabIndex: 0 }, code));
}

function tryBlock(operation) {
  if (operation.method !== "get") return [];
  const inputs = operation.parameters.filter(({ in: place }) => place !== "header").map(({ name, in: place, required }) => {
    const input = make("input", { name: `${place} ${name}`, required: Boolean(required), spellcheck: false });
    if (required) input.value = SAMPLES[name] ?? "";
    return make("label", {}, place === "query" && name === "rank" ? "rank (numbering)" : name, input);
  });
  const result = make("pre", { className: "result", tabIndex: 0, hidden: true });
  result.setAttribute("aria-live", "polite");
  const form = make("form", { className: "try", autocomplete: "off" }, ...inputs, make("button", { className: "primary" }, "Send"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(operation, form, result);
  });
  return [make("details", {}, make("summary", {}, "Try it"), form, result)];
}

async function send(operation, form, result) {
  const given = [...new FormData(form)].map(([key, value]) => [...key.split(" "), value.trim()]).filter(([, , value]) => value);
  const of = (wanted) => given.filter(([place]) => place === wanted).map(([, name, value]) => [name, value]);
  const url = address(operation.path, Object.fromEntries(of("path")), of("query"));
  result.hidden = false;
  try {
    const answer = await fetch(url, { cache: "no-cache" });
    result.textContent = `GET ${url}\n${answer.status} ${answer.statusText}\n\n${pretty(await answer.text())}`;
  } catch {
    result.textContent = `GET ${url}\nThe service does not answer.`;
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// -- the page -----------------------------------------------------------------------------------------------------------

function operations() {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const changesBoard = path === "/v1/boards/{board}" && method !== "get";
      return { ...operation, path, method, changesBoard, group: GROUPS.find(([, pattern]) => pattern.test(path))[0] };
    }),
  );
}

function article(operation) {
  const link = make("a", { href: `#${operation.operationId}` }, make("code", {}, operation.path));
  const body = operation.requestBody ? [contentBlock("Body", operation.requestBody.content, "", true)] : [];
  return make(
    "article",
    { className: "card operation", id: operation.operationId },
    make("h3", {}, badge(operation.method), link),
    make("p", {}, operation.description ?? operation.summary),
    ...parameterBlock(operation),
    ...body,
    curlBlock(operation),
    ...answerBlocks(operation),
    ...tryBlock(operation),
  );
}

function drawGroup(name, members) {
  const entries = members.map((operation) => {
    const item = make("li", {}, make("a", { href: `#${operation.operationId}` }, badge(operation.method), operation.summary));
    const element = article(operation);
    return { item, element, text: element.textContent.toLowerCase() };
  });
  const heading = make("h2", {}, name);
  const section = make("section", {}, make("h2", {}, name), ...entries.map(({ element }) => element));
  const list = make("ul", {}, ...entries.map(({ item }) => item));
  byId("index").append(heading, list);
  byId("articles").append(section);
  return { entries, parts: [heading, list, section] };
}

function search(groups, wanted) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { entries, parts } of groups) {
    const shown = entries.filter(({ item, element, text }) => {
      const fits = words.every((word) => text.includes(word));
      item.hidden = element.hidden = !fits;
      return fits;
    });
    for (const part of parts) part.hidden = !shown.length;
    found += shown.length;
  }
  for (const id of ["short-title", "short", "start", "errors", "idempotency"]) byId(id).hidden = words.length > 0;
  const all = groups.flatMap(({ entries }) => entries).length;
  byId("matches").textContent = words.length ? `${found} of ${all} operations` : `${all} operations`;
}

async function draw() {
  try {
    api = await (await fetch("/openapi.json")).json();
  } catch {
    byId("matches").textContent = "The service does not answer: reload the page to try again.";
    return;
  }
  byId("version").textContent = api.info.version;
  const all = operations();
  const groups = GROUPS.map(([name]) => [name, all.filter(({ group }) => group === name)]).filter(([, members]) => members.length);
  const drawn = groups.map(([name, members]) => drawGroup(name, members));
  search(drawn, "");
  byId("search").addEventListener("input", ({ target }) => search(drawn, target.value));
  // The browser looked for the anchor before there was one.
  if (location.hash) byId(location.hash.slice(1))?.scrollIntoView();
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  byId("search").focus();
});
draw();
