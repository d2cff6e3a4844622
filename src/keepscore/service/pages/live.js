// Following a ranking: the service pushes its changes; where it cannot, the page asks again and again.

import { call, Refusal } from "./api.js";

const ASK_MS = 1000; // between two questions where nothing is pushed
const PATIENCE_MS = 20_000; // without a word, not even a heartbeat, the connection is taken for dead
const MOST_PAUSE_MS = 5000;

/**
 * Follows the top of a ranking. `query` has `board`, `top`, and maybe `window` and `segment`. `handlers.state` gets all rows whenever
 * they change, `handlers.window` that a window was closed or reset, `handlers.trouble` why nothing comes. With `askMs`, nothing is
 * pushed: the page asks that often. `ties` is the board's rule for players with equal ranks.
 */
export function follow(query, handlers, { askMs = 0, ties = "first" } = {}) {
  let source = null;
  let timer = 0;
  let failures = 0;
  let closed = false;
  let state = null; // the last one, as it was told
  let tag = ""; // of the last answer where the page asks

  function told(next) {
    failures = 0;
    state = next;
    handlers.state({ ...next, standings: [...next.standings] });
  }

  function listen() {
    source = new EventSource(`/v1/live?${query}`);
    wait();
    source.addEventListener("state", (event) => read(event, (message) => told(message)));
    source.addEventListener("change", (event) => read(event, (change) => told(merged(state, change, Number(query.get("top")), ties))));
    source.addEventListener("window", (event) => read(event, (message) => handlers.window?.(message)));
    source.addEventListener("ping", wait);
    source.onerror = () => {
      // The browser comes back by itself after a broken connection, and with it the place in the stream. After a refusal, it does not.
      if (source.readyState === EventSource.CLOSED) ask();
      else if (!closed) handlers.trouble?.(new Error("away"));
    };
  }

  function read(event, use) {
    wait();
    use(JSON.parse(event.data));
  }

  function wait() {
    clearTimeout(timer);
    timer = setTimeout(again, PATIENCE_MS);
  }

  function again() {
    source?.close();
    if (!closed) listen();
  }

  async function ask() {
    source?.close();
    source = null;
    clearTimeout(timer);
    if (closed) return;
    try {
      if (!document.hidden) {
        const answer = await call(topOf(query));
        const now = answer.position ?? answer.as_of;
        if (now !== tag && !closed) told(answer);
        tag = now;
      }
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!closed) handlers.trouble?.(error);
      if (error instanceof Refusal && !error.away && askMs) return;
    }
    const pause = (askMs || ASK_MS) * (failures + 1);
    if (!closed) timer = setTimeout(ask, askMs ? pause : Math.min(pause, MOST_PAUSE_MS));
  }

  if (askMs || typeof EventSource === "undefined") ask();
  else listen();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      source?.close();
    },
  };
}

function topOf(query) {
  const rest = new URLSearchParams(query);
  const board = rest.get("board");
  rest.delete("board");
  rest.set("limit", rest.get("top"));
  rest.delete("top");
  return `/v1/boards/${encodeURIComponent(board)}/top?${rest}`;
}

/** The rows after a change: those that changed replace their former selves, in the order of the ranking. */
export function merged(state, change, top, ties) {
  const gone = new Set(change.removed);
  const rows = new Map((state?.standings ?? []).filter(({ player_id: id }) => !gone.has(id)).map((row) => [row.player_id, row]));
  for (const row of change.standings) rows.set(row.player_id, row);
  const sign = ties === "last" ? -1 : 1;
  const tied = (a, b) => (ties === "player" ? 0 : sign * (Date.parse(a.since) - Date.parse(b.since)));
  const standings = [...rows.values()].sort((a, b) => a.rank - b.rank || tied(a, b)).slice(0, top);
  return { ...state, ...change, standings };
}
