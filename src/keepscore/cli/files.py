"""Scores from and to files: `keepscore import` and `keepscore export`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from keepscore.cli.options import (
    BoardName,
    Config,
    Json,
    RankOption,
    Segment,
    Url,
    WindowId,
    WindowOption,
    err,
    out,
    print_json,
    reach,
)
from keepscore.transfer import BadLine, Line, read_lines, write_standings

__all__ = ["app"]

#: Entries that an import sends at a time.
IMPORT_BATCH = 1000
#: Bad lines that are told one by one.
MAX_BAD_LINES = 1000

app = typer.Typer()


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A .csv or .jsonl file.")],
    board: Annotated[str, typer.Option(help="The board that the scores are for.")],
    source: Annotated[
        str | None,
        typer.Option(help="What the scores come from. Equal lines of one source count once. Default: the file's name."),
    ] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Import scores: columns player, score (or amount), and optionally at, segments (region:eu;country:BR) and game_id.

    It can be run again, with a file that has grown or was mended, too: no line counts twice.
    """
    bad: list[BadLine] = []
    accepted = duplicates = 0
    with reach(url, config) as transport, _progress(file, quiet=json) as advance:
        lines = read_lines(file, source or file.name)
        while chunk := list(islice(lines, IMPORT_BATCH)):
            good = [line for line in chunk if isinstance(line, Line)]
            bad += [line for line in chunk if isinstance(line, BadLine)]
            if good:
                body = {"scores": [line.entry for line in good]}
                answer = transport.call("POST", "boards", board, "scores", "batch", query={"backfill": "true"}, body=body)
                accepted += answer["accepted"]
                duplicates += answer.get("duplicates", 0)
                bad += [BadLine(good[r["index"]].number, r["detail"], 0) for r in answer["rejected"]]
            advance(chunk[-1].read)
    bad.sort(key=lambda line: line.number)
    if json:
        rejected = [{"line": line.number, "detail": line.problem} for line in bad]
        print_json({"imported": accepted - duplicates, "already_imported": duplicates, "rejected": rejected})
    else:
        out.print(f"{accepted - duplicates} imported, {duplicates} imported before, {len(bad)} bad lines")
        for line in bad[:MAX_BAD_LINES]:
            err.print(Text(f"{file.name}, line {line.number}: {line.problem}", style="red"))
        if len(bad) > MAX_BAD_LINES:
            err.print(f"… and {len(bad) - MAX_BAD_LINES} more")
    if bad:
        raise typer.Exit(1)


@contextmanager
def _progress(file: Path, quiet: bool) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=quiet) as progress:
        task = progress.add_task(file.name, total=file.stat().st_size)
        yield lambda read: progress.update(task, completed=read)


@app.command()
def export(
    board: BoardName,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write. Default: to the terminal.")] = None,
    format: Annotated[Literal["csv", "jsonl"], typer.Option(help="csv or jsonl.")] = "csv",
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
) -> None:
    """Export all standings of a ranking."""
    query: dict[str, Any] = {"limit": 1000, "window": window, "window_id": window_id, "segment": segment, "rank": rank}
    columns = (TextColumn(board), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with reach(url, config) as transport, Progress(*columns, console=err, disable=output is None) as progress:
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
        first = list(islice(pages, 1))
        with nullcontext(sys.stdout) if output is None else output.open("w", encoding="utf-8", newline="") as stream:
            write_standings(chain(first, pages), stream, format)
