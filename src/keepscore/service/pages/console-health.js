// Health of engine and ledger, live figures, the keeper's jobs, and the audit with its proof.

import { button, call, moment, read, table } from "./console-api.js";
import { make, setText } from "./dom.js";

const EVERY_MS = 2000;

export async function healthSection() {
  const state = make("p", {});
  const figures = make("dl", "figures");
    let before = null;
  let timer = 0;

  async function look() {
    const ready = await fetch("/readyz").then((answer) => answer.json());
    const reasons = ready.reasons ?? (ready.detail ? [ready.detail] : []);
    state.className = ready.status === "ready" ? "good" : "bad";
    setText(state, ready.status === "ready" ? "Ready: engine and ledger take scores." : `${ready.status ?? "not ready"}: ${reasons.join("; ")}`);
    const now = metricsIn(await fetch("/metrics").then((answer) => answer.text()));
    if (before) showFigures(figures, before, now);
    before = now;
    timer = setTimeout(() => look().catch(() => {}), EVERY_MS);
  }

  await look();
  return { content: [state, make("h2", {}, "Now"), figures], stop: () => clearTimeout(timer) };
}

/** The samples of a page of metrics: name and labels → number. */
function metricsIn(text) {
  const found = new Map([["at", performance.now() / 1000]]);
  for (const line of text.split("\n")) {
    const match = /^([a-z_:]+(?:\{[^}]*\})?) ([-+.\deEinfNa]+)$/.exec(line);
    if (match) found.set(match[1], Number(match[2]));
  }
  return found;
}

/** Whether a sample is of requests that read rankings, or of those that submit. */
const isRead = (name) => /route="[^"]*\/(top|players|ranks|count|distribution|view|lookup)/.test(name);
const isWrite = (name) => /route="[^"]*\/(scores|increments|matches)/.test(name);

const sum = (metrics, prefix, fits = () => true) => [...metrics].filter(([name]) => name.startsWith(prefix) && fits(name)).reduce((total, [, value]) => total + value, 0);

function showFigures(list, before, now) {
  const seconds = now.get("at") - before.get("at");
  const passed = (prefix, fits) => Math.max(0, sum(now, prefix, fits) - sum(before, prefix, fits));
  const lags = passed("keepscore_loop_lag_seconds_count");
  const figures = {
    "updates/s": (passed("keepscore_submissions_total") / seconds).toFixed(1),
    "reads/s": (passed("keepscore_request_seconds_count", isRead) / seconds).toFixed(1),
    "submit P99": p99(before, now, isWrite),
    "read P99": p99(before, now, isRead),
    "loop lag": lags ? `${((1000 * passed("keepscore_loop_lag_seconds_sum")) / lags).toFixed(1)} ms` : "–",
    "events behind": sum(now, "keepscore_pending_events").toLocaleString("en"),
  };
  list.replaceChildren(...Object.entries(figures).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

/** The bound below which 99 of 100 of what came between two looks lie. */
function p99(before, now, fits) {
  const buckets = new Map();
  for (const [name, value] of now) {
    const text = name.startsWith("keepscore_request_seconds_bucket") && fits(name) && /le="([^"]+)"/.exec(name)?.[1];
    if (!text) continue;
    const bound = Number(text.replace("+Inf", "Infinity"));
    buckets.set(bound, (buckets.get(bound) ?? 0) + value - (before.get(name) ?? 0));
  }
  const all = buckets.get(Infinity) ?? 0;
  if (!all) return "–";
  const [bound] = [...buckets].sort(([a], [b]) => a - b).find(([, count]) => count >= 0.99 * all);
  return bound === Infinity ? "slow" : `≤ ${(bound * 1000).toLocaleString("en")} ms`;
}

export async function keeperSection(_, again) {
  const { jobs } = await read("/v1/keeper");
  const rows = jobs.map((job) => [make("strong", {}, job.name), moment(job.last_run), moment(job.next_run), job.error ? make("span", "bad", job.error) : job.result ?? ""]);
  const run = button("Run all jobs now", async () => {
    await call("POST", "/v1/keeper/run", {});
    again();
  }, "primary");
  return { content: [table(["Job", "Last run", "Next run", "Outcome"], rows), make("div", "line", run)] };
}

export async function auditSection(cursor) {
  const { entries, next_cursor: next } = await read(`/v1/audit?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
  const rows = entries.map((entry) => [moment(entry.at), entry.actor, entry.address ?? "", make("strong", {}, entry.action), entry.board ?? "", entry.reason ?? "", make("code", {}, JSON.stringify(entry.detail))]);
  const proof = make("p", {});
  const verify = button("Prove that nothing was changed", async () => {
    const check = await call("POST", "/v1/audit/verify");
    proof.className = check.ok ? "good" : "bad";
    const broken = check.broken ? ` First broken link: entry ${check.broken.id}: ${check.broken.problem}` : "";
    setText(proof, check.ok ? `All ${check.entries.toLocaleString("en")} entries are whole. Head: ${check.head}` : `The chain is broken.${broken}`);
  }, "primary");
  const more = next ? [make("a", { href: `#audit/${encodeURIComponent(next)}` }, "Older entries")] : [];
  return { content: [make("div", "line", verify), proof, table(["When", "Who", "From", "What", "Board", "Why", "Detail"], rows, "Nothing was noted yet."), ...more] };
}

