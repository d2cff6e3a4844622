"""`keepscore boards`: list, show, define and delete boards."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any

import typer

from keepscore.cli.options import (
    AnyLeaderboards,
    BoardName,
    Config,
    Json,
    Url,
    Yes,
    can_ask,
    cell,
    confirm,
    err,
    new_table,
    out,
    print_json,
    reach,
)
from keepscore.config import boards_from_file
from keepscore.domain.boards import Board, board_from_dict
from keepscore.domain.results.standings import BoardInfo, encode
from keepscore.errors import ConfirmationNeeded, InvalidBoard

__all__ = ["app"]

app = typer.Typer(help="List, show, define and delete boards.", no_args_is_help=True)


@app.command("list")
def boards_list(url: Url = None, config: Config = None, json: Json = False) -> None:
    """List all boards."""
    with reach(url, config) as boards:
        found = boards.admin.boards()
    if json:
        return print_json({"boards": [info.to_dict() for info in found]})
    table = new_table("board", "operator", "order", "ties", "windows", "segments", "version")
    for info in found:
        board = info.board
        lists = [", ".join(board.periods), ", ".join(board.slicing.labels)]
        table.add_row(*map(cell, (board.name, board.operator, board.order, board.ties, *lists, info.version)))
    return out.print(table)


@app.command("show")
def boards_show(board: BoardName, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show a board's definition."""
    with reach(url, config) as boards:
        info = boards.admin.board(board)
    if json:
        return print_json(info.to_dict())
    table = new_table("field", "value")
    for field, value in [*info.board.to_dict().items(), ("version", info.version)]:
        table.add_row(field, cell(value if isinstance(value, str) else encode(value).decode()))
    for window, layout in info.layouts.items():
        table.add_row(f"layout of {window}", cell(f"{layout.layout}: {layout.why}"))
    return out.print(table)


@app.command("apply")
def boards_apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="TOML file with [[board]] tables, or JSON file.")],
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Define or replace the boards in a file.

    A change that would lose or rebuild something needs your confirmation.
    """
    definitions = boards_from_file(file)
    with reach(url, config, may_create=True) as boards:
        for definition in _linked_first(definitions):
            board, version = _definition(definition)
            info = _put(boards, board, version, yes)
            if json:
                print_json(info.to_dict())
            else:
                out.print(f"board {info.board.name}: version {info.version}")


def _put(boards: AnyLeaderboards, board: Board, version: int | None, yes: bool) -> BoardInfo:
    """Define a board; where something would be lost or rebuilt, ask first."""
    try:
        return boards.admin.put_board(board, version=version, confirm=yes)
    except ConfirmationNeeded as exc:
        if not can_ask():
            raise
        err.print(f"Changing board {board.name} would lose or rebuild something:")
        for change in exc.changes:
            err.print(f"  - {change}")
        confirm("Go ahead?", yes=False)
        return boards.admin.put_board(board, version=version, confirm=True)


@app.command("delete")
def boards_delete(board: BoardName, yes: Yes = False, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Delete a board and its rankings.

    Its events stay in the ledger, but a new board of that name starts empty.
    """
    with reach(url, config) as boards:
        # A wrong name is an error before it is a question.
        boards.admin.board(board)
        confirm(f"Delete board {board} with all its rankings?", yes)
        deleted = boards.admin.delete_board(board)
    if json:
        return print_json(deleted)
    return out.print(f"board {board}: deleted")


def _definition(data: Any) -> tuple[Board, int | None]:
    """Return a board, and the version that the change is meant for, from what `boards show --json` prints or somebody wrote."""
    if not isinstance(data, dict):
        return board_from_dict(data), None
    version = data.get("version")
    if version is not None and type(version) is not int:
        raise InvalidBoard(f"version = {version!r} cannot be used; write the number that 'boards show' gave, or leave it out")
    return board_from_dict({field: value for field, value in data.items() if field not in ("version", "layouts")}), version


def _linked_first(boards: list[Any]) -> list[Any]:
    """Return boards in an order in which each comes after those it links to."""
    named = {board["name"]: board for board in boards if isinstance(board, dict) and isinstance(board.get("name"), str)}
    graph = {name: [link for link in _links(board) if link in named] for name, board in named.items()}
    try:
        ordered = [named[name] for name in TopologicalSorter(graph).static_order()]
    except (CycleError, TypeError):
        return boards
    return ordered if len(ordered) == len(boards) else boards


def _links(board: dict[str, Any]) -> list[Any]:
    """Return the boards that a board names."""
    rollup = board.get("rollup")
    named = board.get("also"), rollup.get("of") if isinstance(rollup, dict) else None
    return [link for links in named if isinstance(links, list) for link in links if isinstance(link, str)]
