"""Exports to files: `keepscore export` and `keepscore export-events`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from keepscore.cli.completion import complete_board
from keepscore.cli.options import (
    AnyLeaderboards,
    BoardName,
    Config,
    RankOption,
    Segment,
    Url,
    WindowId,
    WindowOption,
    board_names,
    err,
    out,
    reach,
)
from keepscore.cli.parquet import EventFiles, month_of, write_parquet_standings
from keepscore.cli.transfer import write_standings
from keepscore.cli.whole import RankingName, all_standings
from keepscore.domain.nouns import counted
from keepscore.domain.results.standings import BoardEvent
from keepscore.errors import ConfigError

__all__ = ["app"]

#: Events of one request.
PAGE_EVENTS = 10_000
#: Before all events.
ALWAYS = datetime.min.replace(tzinfo=UTC)

app = typer.Typer()


def _progress(quiet: bool = False) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=err, disable=quiet or not err.is_terminal)


@contextmanager
def _writing(output: Path | None) -> Iterator[None]:
    """Say in a sentence why something cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise ConfigError(f"{output} cannot be written: {exc.strerror or exc}") from None


@app.command()
def export(
    board: BoardName,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: standard output.")] = None,
    format: Annotated[Literal["csv", "jsonl", "parquet"], typer.Option(help="csv, jsonl or parquet.")] = "csv",
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
) -> None:
    """Export the standings of a ranking.

    Each player is listed once, also while scores go on coming in. Of a closed window, these are the archived standings.
    """
    if format == "parquet" and output is None:
        raise ConfigError("Parquet is not for a terminal: name a file with --output")
    with reach(url, config) as boards, _progress(quiet=output is None) as progress, _writing(output):
        task = progress.add_task(board)
        standings = all_standings(
            boards,
            RankingName(board, window, window_id, segment, rank),
            lambda done, total: progress.update(task, total=total, completed=done),
            lambda warning: err.print(f"Warning: {warning}", style="yellow"),
        )
        # The first standing before the first line: what cannot be read must not leave the beginning of a file.
        whole = chain(list(islice(standings, 1)), standings)
        if format == "parquet" and output is not None:
            write_parquet_standings(whole, output, boards.admin.board(board).board.decimals)
            return
        with nullcontext(sys.stdout) if output is None else output.open("w", encoding="utf-8", newline="") as stream:
            write_standings(whole, stream, format)


@app.command("export-events")
def export_events(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIRECTORY", help="Directory to write into.")],
    board: Annotated[
        str | None, typer.Argument(metavar="BOARD", help="Name of the board. Default: all boards.", autocompletion=complete_board)
    ] = None,
    url: Url = None,
    config: Config = None,
) -> None:
    """Export all events as Parquet files, one for each month.

    The files are named after the month in which the events came, in UTC: events-2026-11.parquet. Run it as often as you like: the files
    are replaced when all of them are complete. Use one directory for all boards or for one board, as the file names are the same. Files
    of months whose events were dropped (keep_events) stay as they are.
    """
    with reach(url, config) as boards, _progress() as progress, _writing(output):
        names = board_names(boards, board)
        exported = 0
        with EventFiles(output) as files:
            complete_from = max((_complete_from(boards, name) for name in names), default=ALWAYS)
            for name in names:
                for event in _events(boards, name, progress):
                    # A month is exported as a whole, or not at all.
                    if month_of(event.received) >= month_of(complete_from):
                        files.add(name, event)
                        exported += 1
    out.print(f"Exported {counted(exported, 'event')} to {counted(len(files.months), 'file')} in {output}")


def _complete_from(boards: AnyLeaderboards, board: str) -> datetime:
    """Return the moment since which all events of a board are there, the start of a month."""
    return boards.history.all_events(board, limit=1).complete_from or ALWAYS


def _events(boards: AnyLeaderboards, board: str, progress: Progress) -> Iterator[BoardEvent]:
    task = progress.add_task(board)
    page = boards.history.all_events(board, limit=PAGE_EVENTS)
    while True:
        yield from page.events
        progress.update(task, total=page.total, advance=len(page.events))
        if page.next_cursor is None:
            return
        page = boards.history.all_events(board, cursor=page.next_cursor, limit=PAGE_EVENTS)
