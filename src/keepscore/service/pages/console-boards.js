// Boards: create and edit by a form that says what each field means and, before saving, what a change would rebuild or lose.

import { Refusal } from "./api.js";
import { button, call, form, read, table } from "./console-api.js";
import { make, setText } from "./dom.js";
import { windowNames } from "./format.js";

export async function boardsSection(name, again) {
  return { content: name ? await editor(name) : await overview(again) };
}

async function overview(again) {
  const { boards } = await read("/v1/boards");
  const rows = boards.map((board) => [make("a", { href: `#boards/${encodeURIComponent(board.name)}` }, board.name), board.rollup ? "roll-up" : board.operator, windowNames(board).join(", "), board.consistency, `v${board.version}`]);
  const create = form({ name: ["Name of a new board", "", { required: true, pattern: "[A-Za-z0-9_.\\-]{1,64}" }] }, "Create", async ({ name }) => {
    await call("PUT", `/v1/boards/${encodeURIComponent(name)}`, {});
    location.hash = `#boards/${encodeURIComponent(name)}`;
    again();
  });
  return [table(["Board", "Operator", "Windows", "Consistency", "Version"], rows, "There are no boards yet."), create];
}

async function editor(name) {
  const [board, description] = await Promise.all([read(`/v1/boards/${encodeURIComponent(name)}`), read("/openapi.json")]);
  const fields = description.components.schemas.Board.properties;
  const { version, layouts: _, ...definition } = board;
  const inputs = new Map(Object.keys(fields).filter((field) => field !== "name" && field in definition).map((field) => [field, editorOf(field, fields[field], definition[field])]));
  const grid = make("div", "fields-grid", ...[...inputs.values()].map(({ element }) => element));
  const outcome = make("p", "quiet", `Version ${version}.`);
  const warning = make("div", {});
  const changes = () => Object.fromEntries([...inputs].map(([field, { value }]) => [field, value()]).filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(definition[field])));
  const save = async (confirm) => {
    const changed = changes();
    if (!Object.keys(changed).length) return setText(outcome, "Nothing has changed.");
    try {
      const saved = await call("PATCH", `/v1/boards/${encodeURIComponent(name)}${confirm ? "?confirm=true" : ""}`, changed);
      location.hash = "#boards";
      return setText(outcome, `Saved as version ${saved.version}.`);
    } catch (error) {
      if (!(error instanceof Refusal) || error.type !== "urn:keepscore:confirmation-needed") throw error;
      warning.replaceChildren(make("p", "problem", error.message), button("Change it all the same", () => save(true), "danger"));
      return undefined;
    }
  };
  return [make("h2", {}, name), grid, warning, make("div", "line", button("Save", () => save(false), "primary"), make("a", { href: "#boards" }, "Back")), outcome];
}

/** An input that fits a field: a choice, a number, a switch, or JSON for all that has parts. */
function editorOf(field, schema, value) {
  const choices = choicesOf(schema);
  const meaning = make("small", {}, (schema.description ?? "").replaceAll("`", ""));
  if (choices) {
    const select = make("select", { name: field }, ...choices.map((choice) => new Option(choice, choice)));
    select.value = value;
    return { element: make("label", {}, field, select, meaning), value: () => select.value };
  }
  if (typeof value === "boolean") {
    const select = make("select", { name: field }, new Option("yes", "true"), new Option("no", "false"));
    select.value = String(value);
    return { element: make("label", {}, field, select, meaning), value: () => select.value === "true" };
  }
  const plain = typeof value === "string" || typeof value === "number";
  const input = plain ? make("input", { name: field, value: String(value) }) : make("textarea", { name: field, value: value === null ? "" : JSON.stringify(value, null, 1), spellcheck: false });
  const parsed = () => (typeof value === "number" ? Number(input.value) : typeof value === "string" ? input.value : input.value.trim() ? JSON.parse(input.value) : null);
  return { element: make("label", {}, field, input, meaning), value: parsed };
}

function choicesOf(schema) {
  return schema.enum ?? schema.anyOf?.find((one) => one.enum && !schema.anyOf.some((other) => other.type === "null"))?.enum ?? null;
}
