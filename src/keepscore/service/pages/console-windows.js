// Windows with their archives, and prizes: who wins, who waits, and what is paid.

import { askReason, board, button, call, form, moment, read, table } from "./console-api.js";
import { make } from "./dom.js";

export async function windowsSection(name, again) {
  const { boards } = await read("/v1/boards");
  const chosen = name || boards[0]?.name;
  if (!chosen) return { content: [make("p", "quiet", "There are no boards yet.")] };
  const choose = form({ board: ["Board", chosen, { required: true }] }, "Show", ({ board: wanted }) => {
    location.hash = `#windows/${encodeURIComponent(wanted)}`;
  });
  const { windows } = await read(`${board(chosen)}/windows?limit=100`);
  const rows = windows.map((one) => {
    const page = make("a", { href: `/boards/${encodeURIComponent(chosen)}?window=${one.window}&window_id=${encodeURIComponent(one.window_id)}` }, one.window_id);
    const revise = button("Revise…", async () => {
      const reason = askReason(`Archive the final standings of ${one.window} ${one.window_id} again`);
      if (!reason) return;
      await call("POST", `${board(chosen)}/windows/${one.window}/${encodeURIComponent(one.window_id)}/revise`, { reason });
      again();
    });
    return [one.window, page, moment(one.start), moment(one.end), make("span", "tag", one.state), one.players.toLocaleString("en"), one.state === "closed" ? revise : ""];
  });
  return { content: [choose, table(["Window", "Id", "From", "To", "State", "Players", ""], rows, "Nobody has played yet.")] };
}

export async function prizesSection(address, again) {
  const { boards } = await read("/v1/boards");
  const prizes = boards.filter(({ prize }) => prize);
  if (!prizes.length) return { content: [make("p", "quiet", "No board has a prize. Give one a field “prize” to begin.")] };
  const [name = prizes[0].name, window, id] = address ? address.split("|") : [];
  const choices = make("p", "line", ...prizes.map((one) => make("a", { href: `#prizes/${encodeURIComponent(one.name)}` }, one.name)));
  const { windows } = await read(`${board(name)}/windows?limit=50`);
  const list = table(
    ["Window", "Players", "State", ""],
    windows.filter((one) => one.window !== "all_time").map((one) => [`${one.window} ${one.window_id}`, one.players.toLocaleString("en"), one.state, make("a", { href: `#prizes/${encodeURIComponent(`${name}|${one.window}|${one.window_id}`)}` }, "Winners")]),
    "Nobody has played yet.",
  );
  return { content: [choices, make("h2", {}, name), list, ...(id ? await winners(name, window, id, again) : [])] };
}

async function winners(name, window, id, again) {
  const at = `${board(name)}/windows/${window}/${encodeURIComponent(id)}`;
  const found = await read(`${at}/winners`);
  const act = (path, label, question, body = {}) =>
    button(label, async () => {
      const reason = askReason(question);
      if (!reason) return;
      await call("POST", `${at}/${path}`, { ...body, reason });
      again();
    });
  const rows = found.winners.map((one) => [`#${one.rank}`, make("bdi", {}, one.player_id), String(one.score), one.reward ?? "", one.reward_state ?? "", found.state === "provisional" ? act("hold", "Hold…", `Hold the reward of ${one.player_id}`, { player_id: one.player_id }) : ""]);
  return [
    make("h2", {}, `${window} ${id}: `, make("span", "tag", found.state)),
    make("div", "line", act("close", "Close early…", `Close ${window} ${id} now`), act("finalize", "Finalize…", `Make the winners of ${window} ${id} final`)),
    table(["Rank", "Player", "Score", "Reward", "State", ""], rows, "There are no winners before the window is closed."),
  ];
}
