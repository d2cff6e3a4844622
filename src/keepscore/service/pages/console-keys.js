// Keys: create, list, rotate, revoke.

import { button, call, form, moment, read, table } from "./console-api.js";
import { make } from "./dom.js";

export async function keysSection(_, again) {
  const { keys } = await read("/v1/keys");
  const shown = make("div", {});
  const show = (key) => shown.replaceChildren(make("p", "secret", "Shown once: ", make("code", {}, key)));
  const rows = keys.map((key) => [
    make("strong", {}, key.name),
    key.id,
    key.scope,
    (key.boards ?? ["*"]).join(", "),
    key.state ?? "",
    moment(key.expires),
    moment(key.last_used),
    [
      button("Rotate", async () => show((await call("POST", `/v1/keys/${key.id}/rotate`, {})).key)),
      button("Revoke", async () => {
        if (!confirm(`Revoke the key ${key.name}? Whoever uses it is refused from then on.`)) return;
        await call("DELETE", `/v1/keys/${key.id}`);
        again();
      }, "danger"),
    ],
  ]);
  const create = form(
    { name: ["Name", "", { required: true }], scope: ["Scope: read, submit, moderate or admin", "submit", { required: true }], boards: ["Boards, such as season-*", ""], expires: ["Expires after, such as 90d", ""] },
    "Create",
    async ({ name, scope, boards, expires }) => {
      const wanted = { name, scope };
      if (boards) wanted.boards = boards.split(",").map((one) => one.trim());
      if (expires) wanted.expires = expires;
      show((await call("POST", "/v1/keys", wanted)).key);
    },
  );
  return { content: [table(["Name", "Id", "Scope", "Boards", "State", "Expires", "Last used", ""], rows, "There are no keys yet. The first one closes the service to everybody else."), make("h2", {}, "Create a key"), create, shown] };
}
