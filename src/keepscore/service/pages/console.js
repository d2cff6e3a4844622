// The console: signing in, the sections, and the call behind every action.

import { call, lastCall, signedIn } from "./console-api.js";
import { auditSection, healthSection, keeperSection } from "./console-health.js";
import { boardsSection } from "./console-boards.js";
import { keysSection } from "./console-keys.js";
import { appealsSection, playersSection, queueSection } from "./console-moderation.js";
import { prizesSection, windowsSection } from "./console-windows.js";
import { byId, copyText, make, setText } from "./dom.js";
import { reason } from "./api.js";

/** The sections by their addresses, each a function that fills the panel, and the scope that it needs. */
const SECTIONS = {
  boards: ["Boards", boardsSection, "moderate"],
  players: ["Players", playersSection, "moderate"],
  queue: ["Queue", queueSection, "moderate"],
  appeals: ["Appeals", appealsSection, "moderate"],
  windows: ["Windows", windowsSection, "moderate"],
  prizes: ["Prizes", prizesSection, "moderate"],
  keys: ["Keys", keysSection, "admin"],
  keeper: ["Keeper", keeperSection, "admin"],
  audit: ["Audit", auditSection, "admin"],
  health: ["Health", healthSection, "moderate"],
};

let leave = () => {}; // stops what the section in sight goes on doing

async function start() {
  let session;
  try {
    session = await signedIn();
  } catch (error) {
    return askForKey(error);
  }
  if (session === null) return askForKey();
  byId("sign-in").hidden = true;
  for (const id of ["sections", "panel", "calls"]) byId(id).hidden = false;
  byId("leave").hidden = session.key_id === null;
  const boards = session.boards.includes("*") ? "all boards" : session.boards.join(", ");
  setText(byId("who"), session.key_id === null ? "No keys are asked for here: everybody may do everything." : `${session.name ?? session.key_id} · ${session.scope} · ${boards}`);
  const allowed = Object.entries(SECTIONS).filter(([, [, , scope]]) => session.scope === "admin" || scope === "moderate");
  byId("sections").replaceChildren(...allowed.map(([name, [title]]) => make("a", { href: `#${name}` }, title)));
  addEventListener("hashchange", show);
  show();
  return undefined;
}

function askForKey(error) {
  byId("sign-in").hidden = false;
  byId("sign-in").elements.key.focus();
  byId("refused").hidden = !error;
  if (error) setText(byId("refused"), reason(error));
}

async function show() {
  leave();
  leave = () => {};
  const [name, ...rest] = decodeURIComponent(location.hash.slice(1)).split("/");
  const [title, section] = SECTIONS[name] ?? SECTIONS.boards;
  for (const link of byId("sections").children) {
    if (link.textContent === title) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const panel = byId("panel");
  panel.replaceChildren(make("h1", {}, title), make("p", "quiet", "Loading…"));
  try {
    const { content, stop } = await section(rest.join("/"), show);
    leave = stop ?? leave;
    panel.replaceChildren(make("h1", {}, title), ...content);
  } catch (error) {
    panel.replaceChildren(make("h1", {}, title), make("p", "problem", reason(error)));
  }
}

byId("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await call("POST", "/console/session", { key: event.target.elements.key.value }, { shown: false });
    event.target.reset();
    start();
  } catch (error) {
    askForKey(error);
  }
});
byId("leave").addEventListener("click", async () => {
  await call("DELETE", "/console/session", undefined, { shown: false });
  location.reload();
});
byId("copy-call").addEventListener("click", ({ target }) => copyText(target, lastCall(), "Copy as curl"));
start();
