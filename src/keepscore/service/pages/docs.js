// The reference, drawn from /openapi.json in the browser. All that it says comes from there.

import { byId, copyOnClick, make } from "./dom.js";

const KEY = "Idempotency-Key";

let api = {};

// -- small tools --------------------------------------------------------------------------------------------------------

function badge(method) {
  const element = make("span", { className: "badge" }, method.toUpperCase());
  element.dataset.method = method;
  return element;
}

/** What a reference stands for. */
function resolve(part = {}) {
  return part.$ref ? part.$ref.split("/").slice(1).reduce((found, name) => found[name], api) : part;
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

/** A text with `code` and *emphasis* as nodes. */
function rich(text = "") {
  return text.split(/(`[^`]+`|\*[^*]+\*)/).filter(Boolean).map((part) => {
    if (part.length > 1 && part[0] === "`") return make("code", {}, part.slice(1, -1));
    return part.length > 1 && part[0] === "*" ? make("em", {}, part.slice(1, -1)) : part;
  });
}

const capital = (text = "") => text.charAt(0).toUpperCase() + text.slice(1);

// -- fields -------------------------------------------------------------------------------------------------------------

function bounds(schema) {
  const [part] = alternatives(schema).filter(({ type }) => type !== "null");
  const { minimum, maximum, maxLength, maxItems } = part ?? {};
  if (maximum !== undefined) return `, ${minimum.toLocaleString("en")} to ${maximum.toLocaleString("en")}`;
  if (maxLength) return `, at most ${maxLength} bytes`;
  return maxItems ? `, at most ${maxItems.toLocaleString("en")}` : "";
}

function fieldRow(name, schema, required, meaning, depth) {
  const preset = schema.default === undefined || schema.default === null ? [] : [" Default: ", make("code", {}, JSON.stringify(schema.default)), "."];
  const head = make("th", { scope: "row", className: required ? "must" : "" }, name);
  const text = capital(meaning).replace(/([^.])$/, "$1.");
  return make("tr", { className: `depth-${depth}` }, head, make("td", {}, typeName(schema) + bounds(schema)), make("td", {}, ...rich(text), ...preset));
}

function objectRows(object, isRequest, seen = [object]) {
  const depth = seen.length - 1;
  return Object.entries(object.properties).flatMap(([name, schema]) => {
    const row = fieldRow(name, schema, isRequest && object.required?.includes(name), schema.description, depth);
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
  const rows = parameters.map(({ name, in: place, schema, required, description }) => {
    // What is null in a query is left out.
    const given = schema.anyOf ? { ...schema, anyOf: schema.anyOf.filter(({ type }) => type !== "null") } : schema;
    // What keys are for is said in full once, above.
    const meaning = name === KEY ? `${description.split(":")[0]}.` : description;
    return fieldRow(name, given, required, place === "header" ? `Header. ${meaning}` : meaning, 0);
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
    // Every operation may answer with a problem, which is described once, above.
    if (status === "default") continue;
    const key = JSON.stringify(answer);
    byContent.set(key, { ...answer, statuses: [...(byContent.get(key)?.statuses ?? []), status] });
  }
  return [...byContent.values()].map(({ statuses, description, content }) =>
    contentBlock(`Answer ${statuses.join(" or ")}`, content, description.replaceAll("`", "")),
  );
}

// -- examples -----------------------------------------------------------------------------------------------------------

function address(path, values, query) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? name));
  const text = new URLSearchParams(query).toString();
  return filled + (text && `?${text}`);
}

/** The values that a place of the example has: path, query or header. */
function examplesIn(operation, place) {
  const found = operation.parameters.filter((parameter) => parameter.in === place && parameter.example !== undefined);
  return Object.fromEntries(found.map(({ name, example }) => [name, example]));
}

function curl(operation) {
  const url = `'${location.origin}${address(operation.path, examplesIn(operation, "path"), examplesIn(operation, "query"))}'`;
  const method = operation.method === "get" ? "" : `-X ${operation.method.toUpperCase()} `;
  // A key of its own for each request that is meant to count.
  const key = operation.parameters.some(({ name }) => name === KEY) ? ` \\\n  -H "${KEY}: $(uuidgen)"` : "";
  const body = operation.requestBody?.content["application/json"].example;
  return `curl ${method}${url}${key}${body ? ` \\\n  --json '${JSON.stringify(body)}'` : ""}`;
}

function curlBlock(operation) {
  const code = make("code", {}, curl(operation));
  const copy = make("button", { type: "button" }, "Copy");
  copyOnClick(copy, code);
  return make("div", { className: "curl" }, make("div", { className: "curl-head" }, "Example", copy), make("pre", { tabIndex: 0 }, code));
}

function tryBlock(operation) {
  if (operation.method !== "get") return [];
  const inputs = operation.parameters.filter(({ in: place }) => place !== "header").map(({ name, in: place, required, example }) => {
    const input = make("input", { name: `${place} ${name}`, required: Boolean(required), spellcheck: false });
    input.value = example ?? "";
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
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method,
      parameters: operation.parameters.map(resolve),
    })),
  );
}

function article(operation) {
  const link = make("a", { href: `#${operation.operationId}` }, make("code", {}, operation.path));
  const body = operation.requestBody ? [contentBlock("Body", operation.requestBody.content, "", true)] : [];
  return make(
    "article",
    { className: "card operation", id: operation.operationId },
    make("h3", {}, badge(operation.method), link),
    make("p", {}, make("strong", {}, `${operation.summary}${operation.summary.endsWith("?") ? "" : "."}`), " ", ...rich(operation.description)),
    ...parameterBlock(operation),
    ...body,
    curlBlock(operation),
    ...answerBlocks(operation),
    ...tryBlock(operation),
  );
}

/** The parts that are about all operations: what the service is, its errors, and keys that make retries safe. */
function drawBasics() {
  byId("version").textContent = api.info.version;
  byId("introduction").replaceWith(...api.info.description.split("\n\n").map((text) => make("p", {}, ...rich(text))));
  const problem = api.components.responses.Problem;
  const { examples } = problem.content["application/problem+json"];
  byId("error-form").append(...rich(problem.description));
  byId("error-example").textContent = JSON.stringify(examples["unknown-board"].value, null, 1);
  const rows = Object.values(examples).map(({ summary, value: { type, status } }) =>
    make("tr", {}, make("td", {}, status), make("td", {}, make("code", {}, type.split(":").pop())), make("td", {}, ...rich(summary))),
  );
  byId("error-types").append(...rows);
  byId("idempotency-key").append(...rich(api.components.parameters.IdempotencyKey.description));
}

function drawGroup({ name, description }, members) {
  const entries = members.map((operation) => {
    const item = make("li", {}, make("a", { href: `#${operation.operationId}` }, badge(operation.method), operation.summary));
    const element = article(operation);
    return { item, element, text: element.textContent.toLowerCase() };
  });
  const heading = make("h2", {}, name);
  const section = make("section", {}, make("h2", {}, name), make("p", { className: "quiet" }, ...rich(description)), ...entries.map(({ element }) => element));
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
  drawBasics();
  const all = operations();
  const drawn = api.tags.map((tag) => drawGroup(tag, all.filter(({ tags }) => tags.includes(tag.name))));
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
