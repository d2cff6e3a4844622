// Past windows: days in a calendar, other windows in a list.

import { call, reason } from "./api.js";
import { byId, make } from "./dom.js";
import { count, windowLabel } from "./format.js";
import { boardPath, view } from "./view.js";

const MOST = 400; // windows that are listed: a year of days and some
const panel = byId("past");
let go = () => {};

export function preparePast(watch) {
  go = watch;
  panel.addEventListener("toggle", () => panel.open && load());
  panel.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    panel.open = false;
    panel.querySelector("summary").focus();
  });
  document.addEventListener("click", ({ target }) => panel.contains(target) || (panel.open = false));
}

export function forgetPast() {
  panel.open = false;
  panel.querySelector("summary").textContent = view.window_id ? windowLabel(view.window, view.window_id) : "Past windows";
}

async function load() {
  const list = byId("past-list");
  try {
    const { windows } = await call(boardPath(`windows?${new URLSearchParams({ window: view.window, limit: MOST })}`));
    const past = windows.filter(({ state }) => state !== "open");
    const content = past.length ? (view.window === "daily" ? calendar(past) : plain(past)) : [make("p", "quiet", "None has ended yet.")];
    list.replaceChildren(...content);
  } catch (error) {
    list.replaceChildren(make("p", "problem", reason(error)));
  }
}

function plain(windows) {
  return windows.map((one) => choice(one, windowLabel(view.window, one.window_id), "wide-choice"));
}

function choice(one, label, kind) {
  const button = make("button", { type: "button", className: kind }, label);
  button.title = `${one.window_id}: ${count(one.players, "player")}, ${one.state}`;
  button.setAttribute("aria-pressed", String(one.window_id === view.window_id));
  button.addEventListener("click", () => go({ window_id: one.window_id }, { step: true }));
  return button;
}

/** A grid for each month, the newest first. */
function calendar(windows) {
  const months = Map.groupBy ? Map.groupBy(windows, ({ window_id: id }) => id.slice(0, 7)) : grouped(windows);
  return [...months].map(([month, days]) => {
    const [year, number] = month.split("-").map(Number);
    const byDay = new Map(days.map((one) => [Number(one.window_id.slice(8, 10)), one]));
    const first = (new Date(Date.UTC(year, number - 1, 1)).getUTCDay() + 6) % 7; // weeks begin on Monday
    const last = new Date(Date.UTC(year, number, 0)).getUTCDate();
    const cells = Array.from({ length: first }, () => make("span"));
    for (let day = 1; day <= last; day += 1) {
      const one = byDay.get(day);
      cells.push(one ? choice(one, String(day), "day") : make("span", "day quiet", String(day)));
    }
    const name = new Date(Date.UTC(year, number - 1, 1)).toLocaleDateString("en", { month: "long", year: "numeric", timeZone: "UTC" });
    return make("section", "month", make("h3", {}, name), make("div", "days", ...cells));
  });
}

function grouped(windows) {
  const months = new Map();
  for (const one of windows) {
    const month = one.window_id.slice(0, 7);
    months.set(month, [...(months.get(month) ?? []), one]);
  }
  return months;
}
