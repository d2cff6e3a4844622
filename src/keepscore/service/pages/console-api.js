// The calls of the console. Each is shown as a line for a terminal.

import { call as ask, reason } from "./api.js";
import { byId, make, setText } from "./dom.js";

let last = "";

export const lastCall = () => last;
export const signedIn = () => ask("/console/session");

/** Calls the API. What changes something is shown. */
export async function call(method, path, body, { shown = method !== "GET" } = {}) {
  const headers = { "x-keepscore-console": "1" };
  if (body !== undefined) headers["content-type"] = "application/json";
  const text = body === undefined ? undefined : JSON.stringify(body);
  if (shown) showCall(method, path, text);
  try {
    const answer = await ask(path, { method, headers, body: text, signal: AbortSignal.timeout(60_000) });
    if (shown) setText(byId("outcome"), "Done.");
    return answer;
  } catch (error) {
    if (shown) setText(byId("outcome"), reason(error));
    throw error;
  }
}

export const read = (path) => call("GET", path);

/** The address of a board. */
export const board = (name) => `/v1/boards/${encodeURIComponent(name)}`;

function showCall(method, path, text) {
  const json = text === undefined ? "" : ` \\\n  --json '${text.replaceAll("'", "'\\''")}'`;
  last = `curl -X ${method} '${location.origin}${path}' \\\n  -H "Authorization: Bearer $KEEPSCORE_KEY"${json}`;
  setText(byId("call"), last);
  setText(byId("outcome"), "…");
}

// -- what sections are made of ------------------------------------------------------------------------------------------

export function table(columns, rows, empty = "Nothing here.") {
  if (!rows.length) return make("p", "quiet", empty);
  const head = make("tr", {}, ...columns.map((name) => Object.assign(make("th", {}, name), { scope: "col" })));
  const body = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, ...[cell ?? "–"].flat()))));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

export function button(label, action, kind = "") {
  const element = make("button", { type: "button", className: kind }, label);
  element.addEventListener("click", () => guarded(element, action));
  return element;
}

/** Runs an action once at a time; what goes wrong is said beside the button. */
export async function guarded(element, action) {
  element.disabled = true;
  element.parentElement?.querySelector(".problem")?.remove();
  try {
    await action();
  } catch (error) {
    element.after(make("span", "problem", reason(error)));
  }
  element.disabled = false;
}

/** A form in one line: fields by name, each `[label, value, properties]`; the action gets what was typed. */
export function form(fields, label, action, kind = "primary") {
  const inputs = Object.entries(fields).map(([name, [text, value = "", properties = {}]]) => make("label", {}, text, make("input", { name, value, ...properties })));
  const submit = make("button", { className: kind }, label);
  const element = make("form", "line", ...inputs, submit);
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(element)].map(([name, text]) => [name, text.trim()]));
    guarded(submit, () => action(given));
  });
  return element;
}

/** Asks for a reason, which every decision needs; null: the reader thinks better of it. */
export function askReason(question) {
  const given = prompt(`${question}\n\nReason (kept with the decision):`);
  return given === null ? null : given.trim();
}

export const moment = (text) => (text ? new Date(text).toLocaleString() : "–");
