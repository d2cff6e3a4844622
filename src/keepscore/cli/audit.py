"""`keepscore audit`: who did what, and the proof that nobody has changed that, on the ledger itself or over a service."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import Config, Json, Url, cell, err, new_table, out, print_json, reach
from keepscore.domain.nouns import counted

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="The audit: list who did what, and verify it.")


@app.command("list")
def list_entries(
    board: Annotated[str | None, typer.Option(metavar="NAME", help="Only what was done to this board.")] = None,
    actor: Annotated[str | None, typer.Option(metavar="TEXT", help="Only what this actor did: a key's id, or the text shown.")] = None,
    action: Annotated[str | None, typer.Option(metavar="NAME", help="Only this action, such as void or create_key.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many to show, up to 1,000.")] = 100,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Where the page before ended.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List who did what, when, from where and why, the newest first."""
    with reach(url, config) as boards:
        page = boards.audit.entries(board=board, actor=actor, action=action, limit=limit, cursor=cursor)
    if json:
        return print_json(page)
    table = new_table("id", "at", "actor", "from", "action", "board", "reason")
    for one in page.entries:
        table.add_row(*map(cell, (one.id, one.at, one.actor, one.address, one.action, one.board, one.reason)))
    out.print(table)
    if page.next_cursor is not None:
        err.print(f"There are more: --cursor {page.next_cursor}")
    return None


@app.command()
def verify(url: Url = None, config: Config = None, json: Json = False) -> None:
    """Prove that no entry was changed, removed, added or reordered.

    The exit code is 0 if the chain is whole, and 1 if it is broken: the first broken link is named then. Keep the hash that is printed
    somewhere else: whoever can write to the database can make a new chain, but not one that has this hash in it.
    """
    with reach(url, config) as boards:
        found = boards.audit.verify()
    entries = counted(found.entries, "entry", "entries")
    if json:
        print_json(found)
    elif found.broken is None:
        out.print(f"The audit is whole: {entries}, the last with the hash {found.head}", soft_wrap=True)
    else:
        err.print(f"The audit is broken after {entries}: {found.broken.problem}.", style="red", soft_wrap=True)
    if not found.ok:
        raise typer.Exit(1)
