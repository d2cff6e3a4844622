"""Looking after the ledger: `keepscore migrate` and `keepscore events`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer
from rich.text import Text

from keepscore.cli.options import Config, Json, Player, Url, cell, new_table, out, print_json, reach
from keepscore.config import load_settings
from keepscore.connect import ledger_from_url
from keepscore.errors import LedgerInUse

__all__ = ["app"]

app = typer.Typer()


@app.command()
def migrate(
    ledger: Annotated[str | None, typer.Option(metavar="URL", help="The ledger. Default: that of the configuration.")] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Bring the tables of the ledger up to date. The service does that by itself when it starts."""
    settings = load_settings(config, {"ledger.url": ledger})
    # Beside services that share it, too.
    found = ledger_from_url(settings.ledger, shared=True)
    try:
        before, after = asyncio.run(found.migrate())
    except LedgerInUse as exc:
        user = f"the service at {exc.url}" if exc.url else "another process"
        raise LedgerInUse(f"the ledger is in use by {user}, which has brought it up to date: stop it first") from exc
    if json:
        return print_json({"before": before, "after": after})
    if before == after:
        return out.print(f"The ledger is up to date: schema version {after}.")
    return out.print(f"The ledger was brought from schema version {before} to {after}.")


@app.command()
def events(
    player: Player,
    board: Annotated[str | None, typer.Option(help="The board. Default: all.")] = None,
    limit: Annotated[int, typer.Option(help="How many of each board.")] = 100,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show what is recorded of a player, the newest first."""
    with reach(url, config) as transport:
        names = [board] if board else [found["name"] for found in transport.call("GET", "boards")["boards"]]
        found = [transport.call("GET", "boards", name, "players", player, "events", query={"limit": limit}) for name in names]
    if json:
        return print_json(found)
    rows = [(answer["board"], event) for answer in found for event in answer["events"]]
    table = new_table("received", "at", "board", "kind", "amount", "segments", "game", "writer/n")
    for name, event in sorted(rows, key=lambda row: _key(row[1]), reverse=True):
        segments = " ".join(f"{key}:{value}" for key, value in (event["segments"] or {}).items()) or None
        identity = f"{event['writer']}/{event['n']}"
        cells = (event["received"], event["at"], name, event["kind"], event["amount"], segments, event["game_id"], identity)
        table.add_row(*map(cell, cells))
    out.print(table)
    left = sum(answer["total"] - len(answer["events"]) for answer in found)
    if left:
        out.print(Text(f"… and {left} before that: raise --limit, up to 1000"))
    for answer in found:
        if "complete_from" in answer:
            out.print(Text(f"board {answer['board']}: of events that came before {answer['complete_from']}, some were folded and dropped"))
    return None


def _key(event: dict[str, Any]) -> tuple[str, int, int]:
    # Whole seconds are told without a fraction, and would sort behind those with one.
    received = event["received"].removesuffix("Z")
    return received if "." in received else f"{received}.0", event["writer"], event["n"]
