"""Standings and events to files: `keepscore export` and `keepscore export-events`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from keepscore.cli.options import BoardName, Config, RankOption, Segment, Url, WindowId, WindowOption, err, out, reach
from keepscore.errors import ConfigError
from keepscore.parquet import EventFiles, write_parquet_standings
from keepscore.transfer import write_standings
from keepscore.transports import Transport

__all__ = ["app"]

#: Events that are asked for at a time.
EVENTS = 10_000

app = typer.Typer()


def _progress(quiet: bool = False) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=err, disable=quiet)


@contextmanager
def _writing(output: Path | None) -> Iterator[None]:
    """Tells in a sentence why something cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise ConfigError(f"{output} cannot be written: {exc.strerror or exc}") from None


@app.command()
def export(
    board: BoardName,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write. Default: to the terminal.")] = None,
    format: Annotated[Literal["csv", "jsonl", "parquet"], typer.Option(help="csv, jsonl or parquet.")] = "csv",
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
) -> None:
    """Export all standings of a ranking, or those that are archived of a window that is closed."""
    if format == "parquet" and output is None:
        raise ConfigError("a Parquet file is not for the terminal: name a file with --output")
    query: dict[str, Any] = {"limit": 1000, "window": window, "window_id": window_id, "segment": segment, "rank": rank}
    with reach(url, config) as transport, _progress(quiet=output is None) as progress, _writing(output):
        task = progress.add_task(board)

        def standings() -> Iterator[dict[str, Any]]:
            while True:
                page = transport.call("GET", "boards", board, "top", query=query)
                progress.update(task, total=page["total_players"], advance=len(page["standings"]))
                yield from page["standings"]
                query.update(cursor=page["next_cursor"], window_id=page["window_id"])
                if page["next_cursor"] is None:
                    return

        pages = standings()
        # The first page before the first line: what cannot be read must not leave the beginning of a file.
        whole = chain(list(islice(pages, 1)), pages)
        if format == "parquet" and output is not None:
            write_parquet_standings(whole, output, transport.call("GET", "boards", board)["decimals"])
            return
        with nullcontext(sys.stdout) if output is None else output.open("w", encoding="utf-8", newline="") as stream:
            write_standings(whole, stream, format)


@app.command("export-events")
def export_events(
    output: Annotated[Path, typer.Option("--output", "-o", help="The directory to write into.")],
    board: Annotated[str | None, typer.Argument(metavar="[BOARD]", help="The board. Default: all.")] = None,
    url: Url = None,
    config: Config = None,
) -> None:
    """Export all that is recorded as Parquet files by month, events-2026-11.parquet, such as a data warehouse reads.

    Months are those in which events came, in UTC. Run it again as often as you like: each month's file is replaced as a whole, when all
    of them are complete. A directory is for all boards or for one, as the files have the same names. Months of which events were dropped
    (keep_events) are left as they are.
    """
    with reach(url, config) as transport, _progress() as progress, _writing(output):
        names = [board] if board else [found["name"] for found in transport.call("GET", "boards")["boards"]]
        exported = 0
        with EventFiles(output) as files:
            complete_from = max((_complete_from(transport, name) for name in names), default="")
            for name in names:
                for event in _events(transport, name, progress):
                    # A month is told as a whole, or not at all.
                    if event["received"][:7] >= complete_from[:7]:
                        files.add(name, event)
                        exported += 1
    out.print(f"{exported} events in {len(files.months)} files: {output}")


def _complete_from(transport: Transport, board: str) -> str:
    """Since when all events of a board are there, a month's first moment; empty: always."""
    found: str = transport.call("GET", "boards", board, "events", query={"limit": 1}).get("complete_from", "")
    return found


def _events(transport: Transport, board: str, progress: Progress) -> Iterator[dict[str, Any]]:
    task = progress.add_task(board)
    query: dict[str, Any] = {"limit": EVENTS}
    while True:
        page = transport.call("GET", "boards", board, "events", query=query)
        yield from page["events"]
        progress.update(task, total=page["total"], advance=len(page["events"]))
        query["cursor"] = page["next_cursor"]
        if page["next_cursor"] is None:
            return
