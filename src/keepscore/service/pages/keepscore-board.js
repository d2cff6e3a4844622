// <keepscore-board>: a live leaderboard in any page, in one file without dependencies.
//
//   <script type="module" src="https://scores.example.com/static/keepscore-board.js"></script>
//   <keepscore-board server="https://scores.example.com" board="global" rows="10"></keepscore-board>
//
// Attributes: board; server (default: where this file comes from); window; segment; rows (1 to 100, default 10); around (a player id: the
// rows around that player); theme (light, dark or overlay; default: as the reader's system has it). Colours, font and width are CSS
// variables: --keepscore-ink, --keepscore-quiet, --keepscore-ground, --keepscore-line, --keepscore-accent, --keepscore-flash,
// --keepscore-font. Text is put in as text, never as markup: players choose it.
//
// A board that is not public needs a token, which the page sets as a property, never as an attribute: element.token = "…". The event
// `token-needed` asks for one, at first and when it has ended.

const ROW = 44; // pixels
const ASK_MS = 2000; // between two questions where nothing is pushed, and before a token is asked for again
const HOME = new URL(import.meta.url).origin;
const STYLE = `
  :host { display: block; --ink: var(--keepscore-ink, #16202e); --quiet: var(--keepscore-quiet, #5a6778); --ground: var(--keepscore-ground, #fff);
    --line: var(--keepscore-line, #dfe4ea); --accent: var(--keepscore-accent, #0f766e); --flash: var(--keepscore-flash, #b9ece2);
    font: 15px/1.4 var(--keepscore-font, system-ui, sans-serif); color: var(--ink); }
  @media (prefers-color-scheme: dark) { :host(:not([theme=light])) { --ink: var(--keepscore-ink, #e6ebf1); --quiet: var(--keepscore-quiet, #97a5b7);
    --ground: var(--keepscore-ground, #151d29); --line: var(--keepscore-line, #273242); --accent: var(--keepscore-accent, #2dd4bf); --flash: var(--keepscore-flash, #1a5750); } }
  :host([theme=dark]) { --ink: var(--keepscore-ink, #e6ebf1); --quiet: var(--keepscore-quiet, #97a5b7); --ground: var(--keepscore-ground, #151d29);
    --line: var(--keepscore-line, #273242); --accent: var(--keepscore-accent, #2dd4bf); --flash: var(--keepscore-flash, #1a5750); }
  :host([theme=overlay]) { --ink: var(--keepscore-ink, #fff); --quiet: var(--keepscore-quiet, #d5dde6); --ground: transparent; --line: rgb(255 255 255 / 18%);
    --accent: var(--keepscore-accent, #5eead4); --flash: rgb(94 234 212 / 35%); text-shadow: 0 1px 3px rgb(0 0 0 / 85%); }
  .frame { background: var(--ground); border-radius: 12px; overflow: hidden; }
  .head { display: flex; justify-content: space-between; gap: 12px; padding: 12px 14px 8px; font-weight: 700; }
  .head small { font-weight: 400; color: var(--quiet); }
  ol { list-style: none; margin: 0; padding: 0; position: relative; }
  li { position: absolute; inset: 0 0 auto; height: ${ROW}px; display: grid; grid-template-columns: 52px minmax(0, 1fr) auto; align-items: center;
    padding-right: 14px; border-top: 1px solid var(--line); transition: transform .5s cubic-bezier(.2,.8,.2,1); font-variant-numeric: tabular-nums; }
  li.mine { color: var(--accent); font-weight: 700; }
  .rank { text-align: center; color: var(--quiet); font-weight: 600; }
  .player { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .score { font-weight: 600; padding-left: 10px; }
  .note { padding: 4px 14px 14px; color: var(--quiet); }
  @media (prefers-reduced-motion: reduce) { li { transition: none; } }
`;

class KeepscoreBoard extends HTMLElement {
  static observedAttributes = ["board", "server", "window", "segment", "rows", "around"];

  #source = null;
  #token = "";
  #timer = 0;
  #rows = new Map();
  #state = { standings: [] };
  #decimals = 0;
  #list = document.createElement("ol");
  #title = document.createElement("span");
  #total = document.createElement("small");
  #note = document.createElement("p");

  constructor() {
    super();
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    const head = Object.assign(document.createElement("div"), { className: "head" });
    head.append(this.#title, this.#total);
    const frame = Object.assign(document.createElement("div"), { className: "frame" });
    this.#list.setAttribute("aria-live", "off");
    this.#note.className = "note";
    frame.append(head, this.#list, this.#note);
    root.append(frame);
  }

  connectedCallback() {
    if (Object.hasOwn(this, "token")) {
      // It was set before this file was loaded.
      const { token } = this;
      delete this.token;
      this.#token = token;
    }
    this.#begin();
  }

  get token() {
    return this.#token;
  }

  set token(token) {
    this.#token = token;
    if (this.isConnected) this.#begin();
  }

  get #headers() {
    return this.#token ? { authorization: `Bearer ${this.#token}` } : {};
  }

  #needToken() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.dispatchEvent(new Event("token-needed")), this.#token ? ASK_MS : 0);
  }

  disconnectedCallback() {
    this.#stop();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#begin();
  }

  get #server() {
    return this.getAttribute("server")?.replace(/\/$/, "") ?? HOME;
  }

  get #count() {
    return Math.min(100, Math.max(1, Number(this.getAttribute("rows")) || 10));
  }

  #stop() {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#timer);
  }

  async #begin() {
    this.#stop();
    const board = this.getAttribute("board");
    this.#title.textContent = board ?? "";
    this.#list.setAttribute("aria-label", `Standings of ${board}`);
    this.#rows.clear();
    this.#list.replaceChildren();
    if (!board) {
      this.#note.textContent = "Name a board: <keepscore-board board=\"global\">.";
      return;
    }
    const definition = await this.#ask(`/v1/boards/${encodeURIComponent(board)}`);
    if (!definition || !this.isConnected) return;
    this.#decimals = definition.decimals;
    this.#listen(board);
  }

  #query(extra) {
    const query = new URLSearchParams(extra);
    for (const name of ["window", "segment"]) {
      if (this.getAttribute(name)) query.set(name, this.getAttribute(name));
    }
    return query;
  }

  #listen(board) {
    const player = this.getAttribute("around");
    const what = player ? { board, player_id: player, around: Math.floor((this.#count - 1) / 2) } : { board, top: this.#count };
    if (this.#token) {
      this.#follow(what);
      return;
    }
    const source = new EventSource(`${this.#server}/v1/live?${this.#query(what)}`);
    this.#source = source;
    source.addEventListener("state", ({ data }) => this.#show(JSON.parse(data)));
    source.addEventListener("change", ({ data }) => this.#show(this.#merged(JSON.parse(data))));
    source.onerror = () => {
      // After a broken connection the browser comes back by itself, after a refusal it does not.
      if (source.readyState === EventSource.CLOSED && this.#source === source) this.#poll(board, player);
    };
  }

  /** What EventSource does, with a token: it cannot send one. */
  async #follow(what) {
    const ending = new AbortController();
    const source = { close: () => ending.abort() };
    this.#source = source;
    let position = "";
    while (this.#source === source) {
      try {
        const query = this.#query(position ? { ...what, resume_from: position } : what);
        const answer = await fetch(`${this.#server}/v1/live?${query}`, { headers: this.#headers, signal: ending.signal, cache: "no-store" });
        if (answer.status >= 400 && answer.status < 500) {
          this.#refuse(answer.status, await answer.json());
          return;
        }
        let text = "";
        for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
          const { value, done } = await reader.read();
          if (done) break;
          const events = (text + value).split("\n\n");
          text = events.pop();
          for (const event of events) {
            const fields = Object.fromEntries(event.split("\n").map((line) => line.split(/: (.*)/s, 2)));
            position = fields.id ?? position;
            if (fields.event === "state") this.#show(JSON.parse(fields.data));
            if (fields.event === "change") this.#show(this.#merged(JSON.parse(fields.data)));
            if (fields.event === "error") {
              this.#refuse(401, JSON.parse(fields.data));
              return;
            }
          }
        }
      } catch (error) {
        if (error.name === "AbortError") return;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_MS * (0.5 + Math.random())));
    }
  }

  #refuse(status, { detail }) {
    this.#note.hidden = false;
    this.#note.textContent = detail ?? `The service answered ${status}.`;
    if (status === 401) this.#needToken();
  }

  #merged(change) {
    const gone = new Set(change.removed);
    const rows = new Map(this.#state.standings.filter(({ player_id: id }) => !gone.has(id)).map((row) => [row.player_id, row]));
    for (const row of change.standings) rows.set(row.player_id, row);
    const standings = [...rows.values()].sort((a, b) => a.rank - b.rank || Date.parse(a.since) - Date.parse(b.since));
    return { ...change, standings: standings.slice(0, this.#count) };
  }

  async #poll(board, player) {
    const path = `/v1/boards/${encodeURIComponent(board)}`;
    const around = Math.floor((this.#count - 1) / 2);
    const found = player
      ? await this.#ask(`${path}/players/${encodeURIComponent(player)}?${this.#query({ around })}`)
      : await this.#ask(`${path}/top?${this.#query({ limit: this.#count })}`);
    if (found) this.#show({ ...found, standings: found.standings ?? found.around });
    if (this.isConnected) this.#timer = setTimeout(() => this.#poll(board, player), ASK_MS);
  }

  async #ask(path) {
    try {
      const answer = await fetch(this.#server + path, { headers: this.#headers });
      const content = await answer.json();
      if (answer.ok) return content;
      this.#refuse(answer.status, content);
    } catch {
      this.#note.textContent = "The service does not answer.";
    }
    return null;
  }

  #show(state) {
    this.#state = state;
    const { standings, total_players: total } = state;
    this.#note.textContent = standings.length ? "" : "Nobody has played here yet.";
    this.#note.hidden = standings.length > 0;
    this.#total.textContent = `${total.toLocaleString()} ${total === 1 ? "player" : "players"}`;
    const kept = new Map();
    standings.forEach((standing, place) => {
      const row = this.#rows.get(standing.player_id) ?? this.#newRow(standing.player_id);
      this.#fill(row, standing);
      row.element.style.transform = `translateY(${place * ROW}px)`;
      kept.set(standing.player_id, row);
    });
    this.#rows.forEach((row, id) => kept.has(id) || row.element.remove());
    this.#rows = kept;
    this.#list.style.height = `${standings.length * ROW}px`;
    [...kept.values()].forEach(({ element }, index) => this.#list.children[index] === element || this.#list.insertBefore(element, this.#list.children[index] ?? null));
  }

  #newRow(id) {
    const part = (name, tag = "span") => Object.assign(document.createElement(tag), { className: name });
    const row = { element: document.createElement("li"), rank: part("rank"), player: part("player", "bdi"), score: part("score") };
    row.element.append(row.rank, row.player, row.score);
    row.element.classList.toggle("mine", id === this.getAttribute("around"));
    return row;
  }

  #fill(row, { rank, name, player_id: id, score }) {
    const digits = { minimumFractionDigits: this.#decimals, maximumFractionDigits: this.#decimals };
    const text = Number(score).toLocaleString(undefined, digits);
    if (row.score.textContent && row.score.textContent !== text) {
      const colour = getComputedStyle(this).getPropertyValue("--flash");
      row.element.animate([{ backgroundColor: colour, offset: 0 }], { duration: 1200, easing: "ease-out" });
    }
    row.rank.textContent = rank.toLocaleString();
    row.player.textContent = name ?? id;
    row.score.textContent = text;
  }
}

customElements.define("keepscore-board", KeepscoreBoard);
