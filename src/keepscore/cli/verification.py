"""Checking and rebuilding rankings: `keepscore verify` and `rebuild`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from keepscore.cli.completion import complete_board
from keepscore.cli.options import AnyLeaderboards, Config, Json, Url, board_names, cell, err, new_table, out, print_json, reach
from keepscore.domain.results.standings import Difference, Rebuild, Verification

__all__ = ["app"]

app = typer.Typer()

BoardArgument = Annotated[
    str | None, typer.Argument(metavar="BOARD", help="Name of the board. Default: all boards.", autocompletion=complete_board)
]


@app.command()
def verify(
    board: BoardArgument = None,
    repair: Annotated[bool, typer.Option("--repair", help="Fix the differences from the ledger, and check again.")] = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Check all rankings against the ledger.

    The exit code is 0 if nothing differs and 1 if something does. With --repair, it is the result of the second check: 0 means that
    everything is right now.
    """
    with reach(url, config) as boards:
        found = [boards.admin.verify(name, repair=repair) for name in board_names(boards, board)]
    if json:
        print_json(found)
    else:
        _print_verification(found, repair)
    if not all(answer.ok for answer in found):
        raise typer.Exit(1)


def _print_verification(found: list[Verification], repair: bool) -> None:
    table = new_table("board", "events", "rankings", "players", *(["repaired"] if repair else []), "differences")
    for answer in found:
        counts = [len(answer.repaired)] if repair else []
        table.add_row(*map(cell, (answer.board, answer.events, answer.rankings, answer.players, *counts, len(answer.differences))))
    out.print(table)
    _print_differences("Differences", [(answer.board, one) for answer in found for one in answer.differences])
    _print_differences("Repaired", [(answer.board, one) for answer in found for one in answer.repaired])
    for answer in found:
        if answer.rebuilt:
            out.print(f"Rebuilt the rankings of {answer.board} from the ledger.")


def _print_differences(title: str, differences: list[tuple[str, Difference]]) -> None:
    if not differences:
        return
    out.print(f"{title}:")
    table = new_table("board", "window", "id", "segment", "player", "problem", "ledger", "engine")
    for board, one in differences:
        values = one.window, one.window_id, one.segment, one.player_id, one.problem, one.ledger, one.engine
        table.add_row(cell(board), *(cell(value or None) for value in values))
    out.print(table)


@app.command()
def rebuild(board: BoardArgument = None, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Rebuild rankings from the ledger.

    Readers see the old ones until it finishes, and submissions go on.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with reach(url, config) as boards, Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        done = [_rebuild(boards, name, bar) for name in board_names(boards, board)]
    if json:
        return print_json(done)
    table = new_table("board", "events", "rankings", "players", "seconds")
    for answer in done:
        table.add_row(*map(cell, (answer.board, answer.events, answer.rankings, answer.players, f"{answer.seconds:.1f}")))
    return out.print(table)


def _rebuild(boards: AnyLeaderboards, board: str, bar: Progress) -> Rebuild:
    """Rebuild a board, with a progress bar for each part."""
    tasks: dict[str, TaskID] = {"": bar.add_task(board, total=None)}

    def progress(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(f"{board}: {what}", total=total)
        bar.update(tasks[what], completed=done, total=total)

    try:
        return boards.admin.rebuild(board, progress=progress)
    finally:
        for task in tasks.values():
            bar.remove_task(task)
