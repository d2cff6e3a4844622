"""What all commands share: their options, the way to a board, and how they print answers."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, TextIO, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from keepscore.cli.common_options import api_key
from keepscore.cli.completion import complete_board
from keepscore.config import load_settings
from keepscore.connect import is_missing
from keepscore.domain.results.standings import encode
from keepscore.errors import ConfigError, LedgerInUse
from keepscore.sync import Leaderboards

if TYPE_CHECKING:
    from keepscore.client import SyncClient

__all__ = [
    "NUMBERS",
    "AnyLeaderboards",
    "At",
    "BoardName",
    "Config",
    "GameId",
    "Json",
    "Key",
    "PlayerArgument",
    "RankOption",
    "Segment",
    "SegmentOptions",
    "Url",
    "WindowId",
    "WindowOption",
    "Yes",
    "at_service",
    "board_names",
    "can_ask",
    "cell",
    "confirm",
    "err",
    "movement_text",
    "new_table",
    "number_of",
    "out",
    "percent",
    "print_json",
    "reach",
]

#: Columns of output that is not for a terminal: nothing is cut or wrapped there.
PIPED_COLUMNS = 100_000


def _console(stream: TextIO, stderr: bool) -> Console:
    width = None if stream.isatty() else PIPED_COLUMNS
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True)


# Text is printed as it is: paths and names may hold what looks like markup.
out, err = _console(sys.stdout, stderr=False), _console(sys.stderr, stderr=True)

# Scores may be negative: -5 is an argument, not an option.
NUMBERS = {"ignore_unknown_options": True}

BOARD_HELP = "Name of the board."
URL_HELP = "URL of a running service, such as http://127.0.0.1:8080. Default: use the ledger of the configuration."
WINDOW_HELP = "Window: daily, weekly, monthly, yearly, all_time or season. Default: the board's first."
RANK_HELP = "How to number ranks: unique (1 2 3 4), standard (1 1 3 4) or dense (1 1 2 3)."

Url = Annotated[str | None, typer.Option(metavar="URL", envvar="KEEPSCORE_URL", help=URL_HELP)]
Config = Annotated[str | None, typer.Option(metavar="FILE", help="Configuration file. Default: keepscore.toml, if it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
BoardName = Annotated[str, typer.Argument(metavar="BOARD", help=BOARD_HELP, autocompletion=complete_board)]
PlayerArgument = Annotated[str, typer.Argument(metavar="PLAYER", help="Id of the player.")]
WindowOption = Annotated[str | None, typer.Option("--window", metavar="WINDOW", help=WINDOW_HELP)]
WindowId = Annotated[str | None, typer.Option(metavar="ID", help="Which one, such as 2026-W46. Default: the current one.")]
Segment = Annotated[str | None, typer.Option(metavar="NAME:VALUE", help="Segment of the board, such as region:eu. Default: everyone.")]
RankOption = Annotated[str | None, typer.Option("--rank", metavar="KIND", help=RANK_HELP)]
At = Annotated[str | None, typer.Option(metavar="TIME", help="When it happened, such as 2026-11-15T19:30:00Z. Default: now.")]
SegmentOptions = Annotated[
    list[str] | None, typer.Option("--segment", metavar="NAME:VALUE", help="Segment of the player, such as region:eu. Repeatable.")
]
GameId = Annotated[str | None, typer.Option(metavar="ID", help="Game that the score comes from.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Key = Annotated[str | None, typer.Option("--key", metavar="KEY", help="Idempotency key: the same key counts only once.")]

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
    "new",
    "other score",
    "same score",
    "imported",
    "already imported",
    "bad",
    "here",
    "global rank",
    "members",
    "recorded",
    "behind",
}


#: Boards in this process, or those of a service: every command is written once.
AnyLeaderboards: TypeAlias = "Leaderboards | SyncClient"

#: How often a command tries to reach a service, as somebody waits for it; seconds for one try, and for all.
ATTEMPTS, TIMEOUT_S, DEADLINE_S = 3, 60, 120


@contextmanager
def reach(url: str | None, config: str | None, may_create: bool = False, without: Collection[str] = ()) -> Iterator[AnyLeaderboards]:
    """Reach the boards of the service at a URL; without one, of the configuration's ledger, or of the service that has it open.

    A ledger is created only by a command that `may_create` boards or keys, or for the boards of a configuration. Those of the
    configuration that are to be left out (`without`) stay as the ledger has them.
    """
    with ExitStack() as stack:
        yield stack.enter_context(at_service(url)) if url is not None else _opened(config, stack, may_create, without)


def _opened(config: str | None, stack: ExitStack, may_create: bool, without: Collection[str]) -> AnyLeaderboards:
    settings = load_settings(config)
    if without:
        settings = settings._replace(boards=[board for board in settings.boards if board.name not in without])
    if not settings.boards and not may_create and is_missing(settings.ledger):
        raise ConfigError(
            f"there are no boards here: the configuration defines none, and the ledger {settings.ledger} does not exist. Start a service "
            "with 'keepscore serve', name a running one with --url, or a configuration file with --config"
        )
    try:
        return stack.enter_context(Leaderboards.configured(settings))
    except LedgerInUse as exc:
        if exc.url is None:
            raise
        err.print(f"Using the service at {exc.url}, which has the ledger open.", style="dim")
        return stack.enter_context(at_service(exc.url))


def at_service(url: str) -> SyncClient:
    """Return a client of the service at a URL."""
    try:
        from keepscore.client import SyncClient
    except ImportError as exc:
        raise ConfigError(str(exc)) from None
    return SyncClient(url, key=api_key(), timeout=TIMEOUT_S, deadline=DEADLINE_S, attempts=ATTEMPTS)


def board_names(boards: AnyLeaderboards, board: str | None) -> list[str]:
    """Return the board that a command names, or all."""
    return [board] if board else [info.board.name for info in boards.admin.boards()]


def can_ask() -> bool:
    """Return whether somebody is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, yes: bool) -> None:
    """Ask before doing something that is hard to take back, unless --yes was given. Where nobody can answer, refuse."""
    if yes:
        return
    if not can_ask():
        raise ConfigError(f"this needs your confirmation, and there is no terminal to ask on: repeat the command with --yes ({question})")
    typer.confirm(question, abort=True, err=True)


def print_json(answer: object) -> None:
    """Print an answer for programs."""
    sys.stdout.write(encode(answer).decode() + "\n")


def new_table(*columns: str) -> Table:
    """Return a table without lines; numbers are set to the right. On a narrow terminal, cells are folded, not cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in NUMERIC else "left", overflow="fold")
    return table


def percent(share: float | None) -> str | None:
    """Return a percentile as people read it."""
    return None if share is None else f"{share:.2f}"


def number_of(text: str) -> int | Decimal:
    """Return the number that a text says, exactly."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise typer.BadParameter(f"{text!r} is not a number") from None
    if not number.is_finite():
        raise typer.BadParameter(f"{text!r} is not a finite number")
    return number


def cell(value: object) -> Text:
    """Return a value as it is, never as markup."""
    return Text("–" if value is None else readable_time(value) if isinstance(value, datetime) else str(value))


def readable_time(moment: datetime) -> str:
    """Return a time as people read it, to the second. `--json` has it in full."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def movement_text(change: int | None, is_new: bool) -> str | None:
    """Return how far a player moved, as an arrow; None: not known yet."""
    if change is None:
        return None
    return "new" if is_new else f"↑{change}" if change > 0 else f"↓{-change}" if change < 0 else "="
