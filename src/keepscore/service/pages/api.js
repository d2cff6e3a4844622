// Asking the service, and what to tell where it does not give what was asked for.

/** The service answered, but not with what was asked for: a problem of some type. `away`: for reasons of its own, which may pass. */
export class Refusal extends Error {}

export async function call(path, options = {}) {
  const answer = await fetch(path, { cache: "no-cache", signal: AbortSignal.timeout(8000), ...options });
  if (answer.status === 204) return null;
  if (answer.ok) return answer.json();
  const problem = await answer.json().catch(() => ({}));
  const error = new Refusal(sentence(problem.detail ?? `The service answered ${answer.status}`));
  error.away = answer.status >= 500;
  error.type = problem.type;
  throw error;
}

export function post(path, text) {
  return call(path, { method: "POST", body: text, headers: { "content-type": "application/json" } });
}

function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}

export const reason = (error) => (error instanceof Refusal ? error.message : "The service does not answer. Trying again…");
