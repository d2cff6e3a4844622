"""Looking after rankings: `keepscore verify` and `rebuild`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from keepscore.cli.options import Config, Json, Url, cell, err, new_table, out, print_json, reach
from keepscore.transports import Transport

__all__ = ["app"]

app = typer.Typer()

Board = Annotated[str | None, typer.Argument(metavar="[BOARD]", help="The board. Default: all.")]


@app.command()
def verify(
    board: Board = None,
    repair: Annotated[bool, typer.Option("--repair", help="Put right what differs, from the ledger, and look again.")] = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Compare what boards show with what the ledger says, completely.

    The exit code is 0 where nothing differs and 1 where something does. With --repair it is that of the second look: 0 says that all
    is right now, whatever was wrong before.
    """
    with reach(url, config) as transport:
        query = {"repair": "true"} if repair else None
        found = [transport.call("POST", "boards", name, "verify", query=query) for name in _names(transport, board)]
    if json:
        print_json(found)
    else:
        _print_verification(found, repair)
    if any(answer["differences"] for answer in found):
        raise typer.Exit(1)


def _names(transport: Transport, board: str | None) -> list[str]:
    return [board] if board else [found["name"] for found in transport.call("GET", "boards")["boards"]]


def _print_verification(found: list[dict[str, Any]], repair: bool) -> None:
    table = new_table("board", "events", "rankings", "players", *(["repaired"] if repair else []), "differences")
    for answer in found:
        counts = [answer[key] for key in ("board", "events", "rankings", "players")]
        counts += [len(answer[key]) for key in (("repaired", "differences") if repair else ("differences",))]
        table.add_row(*map(cell, counts))
    out.print(table)
    _print_differences("differs", [(answer["board"], one) for answer in found for one in answer["differences"]])
    _print_differences("was repaired", [(answer["board"], one) for answer in found for one in answer["repaired"]])
    for answer in found:
        if answer["rebuilt"]:
            out.print(Text(f"The rankings of {answer['board']} were made anew from the ledger."))


def _print_differences(what: str, differences: list[tuple[str, dict[str, Any]]]) -> None:
    if not differences:
        return
    out.print(Text(f"What {what}:"))
    table = new_table("board", "window", "id", "segment", "player", "problem", "ledger", "engine")
    for board, one in differences:
        values = [one[key] or None for key in ("window", "window_id", "segment", "player_id", "problem", "ledger", "engine")]
        table.add_row(cell(board), *map(cell, values))
    out.print(table)


@app.command()
def rebuild(board: Board = None, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Make rankings anew from the ledger. Until they are whole, readers see the old ones; submissions go on meanwhile."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with reach(url, config) as transport, Progress(*columns, console=err, transient=True) as bar:
        done = [_rebuild(transport, name, bar) for name in _names(transport, board)]
    if json:
        return print_json(done)
    table = new_table("board", "events", "rankings", "players", "seconds")
    for answer in done:
        table.add_row(*(cell(answer[key]) for key in ("board", "events", "rankings", "players")), cell(f"{float(answer['seconds']):.1f}"))
    return out.print(table)


def _rebuild(transport: Transport, board: str, bar: Progress) -> dict[str, Any]:
    """Rebuild a board, with a bar for each part of it."""
    tasks: dict[str, TaskID] = {"": bar.add_task(board, total=None)}

    def progress(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(f"{board}: {what}", total=total)
        bar.update(tasks[what], completed=done, total=total)

    try:
        answer: dict[str, Any] = transport.rebuild(board, progress)
    finally:
        for task in tasks.values():
            bar.remove_task(task)
    return answer
