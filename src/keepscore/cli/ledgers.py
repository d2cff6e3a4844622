"""The ledger itself: `keepscore migrate` and `keepscore events`."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated

import typer

from keepscore.cli.completion import complete_board
from keepscore.cli.options import Config, Json, PlayerArgument, Url, board_names, cell, new_table, out, print_json, reach
from keepscore.config import load_settings
from keepscore.connect import ledger_from_url
from keepscore.domain.nouns import counted
from keepscore.domain.results.standings import RecordedEvent
from keepscore.errors import LedgerInUse

__all__ = ["app"]

app = typer.Typer()


@app.command()
def migrate(
    ledger: Annotated[str | None, typer.Option(metavar="URL", help="URL of the ledger. Default: the one in the configuration.")] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Update the ledger's tables.

    The service does this by itself when it starts.
    """
    settings = load_settings(config, {"ledger.url": ledger})
    # Beside services that share it, too.
    found = ledger_from_url(settings.ledger, shared=True)
    try:
        before, after = asyncio.run(found.migrate())
    except LedgerInUse as exc:
        user = f"the service at {exc.url}" if exc.url else "another process"
        raise LedgerInUse(f"the ledger is in use by {user}, which has already updated it: stop it first") from exc
    if json:
        return print_json({"before": before, "after": after})
    if before == after:
        return out.print(f"The ledger is up to date: schema version {after}.")
    return out.print(f"Updated the ledger from schema version {before} to {after}.")


@app.command()
def events(
    player: PlayerArgument,
    board: Annotated[
        str | None, typer.Option(metavar="BOARD", help="Name of the board. Default: all boards.", autocompletion=complete_board)
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="Number of events to show of each board, up to 1000.")] = 100,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the recorded events of a player, newest first."""
    with reach(url, config) as boards:
        found = [boards.history.events(name, player, limit) for name in board_names(boards, board)]
    if json:
        return print_json(found)
    rows = [(answer.board, event) for answer in found for event in answer.events]
    scoped = any(event.scope is not None for _, event in rows)
    table = new_table("received", "at", "board", "kind", "amount", "segments", *(["counts in"] if scoped else []), "game", "event")
    for name, event in sorted(rows, key=lambda row: _key(row[1]), reverse=True):
        segments = " ".join(f"{key}:{value}" for key, value in (event.segments or {}).items()) or None
        scope = None if event.scope is None else " ".join([*event.scope.windows, event.scope.segment or ""]).rstrip()
        cells = [event.received, event.at, name, event.kind, event.amount, segments, scope, event.game_id, f"{event.writer}-{event.n}"]
        if not scoped:
            del cells[6]
        table.add_row(*map(cell, cells))
    out.print(table)
    left = sum(answer.total - len(answer.events) for answer in found)
    if left:
        out.print(f"… and {counted(left, 'older event')}: raise --limit to see more, up to 1000")
    for answer in found:
        if answer.complete_from:
            out.print(f"board {answer.board}: some events from before {cell(answer.complete_from)} were folded and dropped")
    return None


def _key(event: RecordedEvent) -> tuple[datetime, int, int]:
    return event.received, event.writer, event.n
