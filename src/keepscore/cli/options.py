"""What all commands share: their options, the way to a board, and how answers are shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from keepscore.answers import encode
from keepscore.config import load_settings
from keepscore.errors import LedgerInUse
from keepscore.transports import LocalTransport, ServiceTransport, Transport

__all__ = [
    "NUMBERS",
    "At",
    "BoardName",
    "Config",
    "GameId",
    "Json",
    "Key",
    "Player",
    "RankOption",
    "Segment",
    "Segments",
    "Url",
    "WindowId",
    "WindowOption",
    "cell",
    "err",
    "movement_text",
    "new_table",
    "out",
    "print_json",
    "reach",
]

out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)

# Scores may be negative: -5 is an argument, not an option.
NUMBERS = {"ignore_unknown_options": True}

Url = Annotated[str | None, typer.Option(envvar="KEEPSCORE_URL", help="A running service, such as http://127.0.0.1:8080.")]
Config = Annotated[str | None, typer.Option(help="The configuration file. Default: keepscore.toml, if there is one.")]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, for programs.")]
BoardName = Annotated[str, typer.Argument(metavar="BOARD", help="The board's name.")]
Player = Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")]
WindowOption = Annotated[str | None, typer.Option("--window", help="daily, weekly, monthly, yearly, all_time or season.")]
WindowId = Annotated[str | None, typer.Option(help="Which one, such as 2026-W46. Default: the present one.")]
Segment = Annotated[str | None, typer.Option(help="A slice of the board, such as region:eu.")]
RankOption = Annotated[str | None, typer.Option("--rank", help="How to number ranks: unique, standard or dense.")]
At = Annotated[str | None, typer.Option(help="When it happened, such as 2026-11-15T19:30:00Z. Default: now.")]
Segments = Annotated[list[str] | None, typer.Option("--segment", help="A segment of the player, such as region:eu. Repeatable.")]
GameId = Annotated[str | None, typer.Option(help="The game that it comes from.")]
Key = Annotated[str | None, typer.Option("--key", help="An idempotency key: sent again, it counts once.")]

NUMERIC = {
    "rank",
    "score",
    "change",
    "percentile",
    "players",
    "events",
    "rankings",
    "differences",
    "version",
    "amount",
    "repaired",
    "seconds",
}


@contextmanager
def reach(url: str | None, config: str | None) -> Iterator[Transport]:
    """The service at a URL; without one, the ledger of the configuration, or the service that has it open."""
    if url is not None:
        yield ServiceTransport(url)
        return
    try:
        transport: Transport = LocalTransport(load_settings(config))
    except LedgerInUse as exc:
        if exc.url is None:
            raise
        err.print(f"The ledger is in use by the service at {exc.url}: asking that.", style="dim")
        transport = ServiceTransport(exc.url)
    with transport:
        yield transport


def print_json(answer: object) -> None:
    """Print an answer for programs."""
    sys.stdout.write(encode(answer).decode() + "\n")


def new_table(*columns: str) -> Table:
    """A table without lines; numbers are set to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in NUMERIC else "left")
    return table


def cell(value: object) -> Text:
    """A value as it is, never as markup."""
    return Text("–" if value is None else str(value))


def movement_text(change: int, is_new: bool) -> str:
    """How far a player moved, as an arrow."""
    return "new" if is_new else f"↑{change}" if change > 0 else f"↓{-change}" if change < 0 else "="
