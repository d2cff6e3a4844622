// Players, the quarantine queue with its evidence, and appeals.

import { askReason, board, button, call, form, moment, read, table } from "./console-api.js";
import { make } from "./dom.js";

// -- players ------------------------------------------------------------------------------------------------------------

export async function playersSection(address, again) {
  const [name = "", player = ""] = address ? address.split("|") : [];
  const find = form({ board: ["Board", name, { required: true }], player: ["Player id", player, { required: true }] }, "Look", ({ board: on, player: who }) => {
    location.hash = `#players/${encodeURIComponent(`${on}|${who}`)}`;
  });
  if (!player) return { content: [find, ...(await restricted(again))] };
  const at = `${board(name)}/players/${encodeURIComponent(player)}`;
  const [rank, why] = await Promise.all([rankOf(name, player), read(`${at}/why?limit=50`)]);
  const told = make("p", {}, `${name}: ${rank}`);
  const retell = async () => {
    told.textContent = `${name}: ${await rankOf(name, player)}`;
  };
  const rows = why.events.map((event) => [moment(event.at), event.kind, String(event.amount), event.game_id ?? "", event.event_id, event.counts ? make("span", "good", "counts") : `no: ${event.reason}`]);
  return {
    content: [
      find,
      make("h2", {}, make("bdi", {}, player)),
      told,
      actions(name, player, again, retell),
      make("h2", {}, "Why this rank"),
      table(["When", "Kind", "Amount", "Game", "Event", "Counts"], rows, "Nothing was sent."),
    ],
  };
}

/** Where a player stands, in words, without an error in the browser's own console for one who stands nowhere. */
async function rankOf(name, player) {
  const { standings, total_players: total } = await call("POST", `${board(name)}/players/lookup`, { player_ids: [player] }, { shown: false });
  const [place] = standings;
  return place ? `#${place.rank.toLocaleString("en")} of ${total.toLocaleString("en")} with ${place.score}` : "not ranked now";
}

function actions(name, player, again, retell) {
  const difference = make("div", {});
  const voids = button("Void all events…", async () => {
    const reason = askReason(`Void all events of ${player} on ${name}`);
    if (!reason) return;
    const request = { board: name, player_id: player, reason };
    const dry = await call("POST", "/v1/moderation/void", { ...request, dry_run: true });
    const apply = button(`Apply: ${dry.events} events no longer count`, async () => {
      const done = await call("POST", "/v1/moderation/void", request);
      difference.replaceChildren(make("p", "good", `Applied as ${done.void_id}.`), button("Undo", () => undo(done.void_id, again)));
      await retell();
    }, "danger");
    difference.replaceChildren(make("h2", {}, "What would change"), changesTable(dry.changes), apply);
  }, "danger");
  const restrict = (action, question) =>
    button(`${action[0].toUpperCase()}${action.slice(1)}…`, async () => {
      const reason = askReason(question);
      if (!reason) return;
      await call("POST", `/v1/moderation/${action}`, { player_id: player, boards: [name], reason });
      again();
    });
  const line = make(
    "div",
    "line",
    voids,
    restrict("hide", `Hide ${player} on ${name}: nobody sees them ranked`),
    restrict("shadow", `Shadow ${player} on ${name}: only they see themselves ranked`),
    restrict("restore", `Restore ${player} on ${name}`),
  );
  return make("div", {}, line, difference);
}

async function undo(id, again) {
  const reason = askReason(`Undo ${id}`);
  if (!reason) return;
  await call("POST", `/v1/moderation/void/${encodeURIComponent(id)}/undo`, { reason });
  again();
}

function changesTable(changes) {
  const place = (one) => (one ? `${one.score} (#${one.rank ?? "?"})` : "not ranked");
  return table(["Player", "Window", "Before", "After"], changes.map((change) => [change.player_id, `${change.window} ${change.window_id}`, place(change.before), place(change.after)]), "No rank in an open window changes.");
}

async function restricted(again) {
  const [{ voids }, { players: hidden }] = await Promise.all([read("/v1/moderation/voids"), read("/v1/moderation/restricted")]);
  const rows = voids.slice(0, 50).map((one) => [one.void_id, one.board, one.reason, `${one.events} of ${one.players}`, moment(one.at), one.state, one.state === "standing" ? button("Undo", () => undo(one.void_id, again)) : ""]);
  const content = [make("h2", {}, "Voids"), table(["Void", "Board", "Reason", "Events of players", "When", "State", ""], rows, "Nothing is void.")];
  const players = hidden.map((one) => [make("bdi", {}, one.player_id), one.state, one.boards?.join(", ") ?? "all", moment(one.until), one.reason]);
  return [...content, make("h2", {}, "Hidden and shadowed"), table(["Player", "State", "Boards", "Until", "Reason"], players, "Nobody is.")];
}

// -- the queue ----------------------------------------------------------------------------------------------------------

export async function queueSection(cursor, again) {
  const { items, next_cursor: next } = await read(`/v1/moderation/queue${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ""}`);
  if (!items.length) return { content: [make("p", "quiet", "Nothing waits for a decision.")] };
  const content = items.map((item) => queued(item, again));
  if (next) content.push(make("a", { href: `#queue/${encodeURIComponent(next)}` }, "More"));
  return { content };
}

function queued(item, again) {
  const decide = (action, label, kind) =>
    button(label, async () => {
      const reason = askReason(`${label}: ${item.score} of ${item.player_id} on ${item.board}`);
      if (!reason) return;
      await call("POST", `/v1/moderation/queue/${encodeURIComponent(item.id)}/${action}`, { reason });
      again();
    }, kind);
  const link = make("a", { href: `#players/${encodeURIComponent(`${item.board}|${item.player_id}`)}` }, make("bdi", {}, item.player_id));
  const reasons = item.reasons.map((reason) => make("li", {}, reason.detail ?? String(reason)));
  return make("article", "card", make("h2", {}, `${item.score} on ${item.board} by `, link), make("p", "quiet", moment(item.at)), make("ul", {}, ...reasons), evidence(item.evidence), make("div", "line", decide("approve", "Approve", "primary"), decide("reject", "Reject", "danger")));
}

function evidence(found) {
  if (!found) return make("p", "quiet", "No evidence beside the score.");
  const { history, distribution, address } = found;
  const figures = {
    "sent before": history?.submissions,
    "own best": history?.best,
    "own median": history?.median,
    "players on the board": distribution?.players,
    "players ahead": distribution?.ahead,
    "board's median": distribution?.median,
    "accounts at the address": address?.accounts,
  };
  const items = Object.entries(figures).filter(([, value]) => value !== undefined).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value ?? "–"))));
  return make("dl", "figures", ...items);
}

// -- appeals ------------------------------------------------------------------------------------------------------------

export async function appealsSection(_, again) {
  const { items } = await read("/v1/appeals");
  const rows = items.map((appeal) => [
    moment(appeal.at),
    make("bdi", {}, appeal.player_id),
    appeal.decision_id,
    appeal.text,
    appeal.reply ?? button("Reply…", async () => {
      const reply = prompt(`Reply to ${appeal.player_id}:`);
      if (!reply) return;
      await call("POST", `/v1/appeals/${encodeURIComponent(appeal.id)}/reply`, { reply });
      again();
    }),
  ]);
  return { content: [table(["When", "Player", "Decision", "What they say", "Reply"], rows, "Nobody has appealed.")] };
}

