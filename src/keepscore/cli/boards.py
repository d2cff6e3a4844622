"""`keepscore boards`: show and define boards."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any

import typer

from keepscore.answers import encode
from keepscore.cli.options import BoardName, Config, Json, Url, cell, new_table, out, print_json, reach
from keepscore.config import boards_from_file

__all__ = ["app"]

app = typer.Typer(help="Show and define boards.", no_args_is_help=True)


@app.command("list")
def boards_list(url: Url = None, config: Config = None, json: Json = False) -> None:
    """List all boards."""
    with reach(url, config) as transport:
        answer = transport.call("GET", "boards")
    if json:
        return print_json(answer)
    table = new_table("board", "operator", "order", "ties", "windows", "segments", "version")
    for board in answer["boards"]:
        lists = [", ".join(board["windows"]), ", ".join(board["segments"])]
        table.add_row(*(cell(board[key]) for key in ("name", "operator", "order", "ties")), *map(cell, lists), cell(board["version"]))
    return out.print(table)


@app.command("show")
def boards_show(board: BoardName, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show a board's definition."""
    with reach(url, config) as transport:
        answer = transport.call("GET", "boards", board)
    if json:
        return print_json(answer)
    table = new_table("field", "value")
    layouts = answer.pop("layouts", {})
    for field, value in answer.items():
        table.add_row(field, cell(value if isinstance(value, str) else encode(value).decode()))
    for window, layout in layouts.items():
        table.add_row(f"layout of {window}", cell(f"{layout['layout']}: {layout['why']}"))
    return out.print(table)


@app.command("apply")
def boards_apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A TOML file with [[board]] tables, or a JSON file.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Define or change the boards of a file."""
    boards = boards_from_file(file)
    with reach(url, config) as transport:
        for board in _linked_first(boards):
            name = str(board.get("name", "")) if isinstance(board, dict) else ""
            answer = transport.call("PUT", "boards", name or "-", body=board)
            if json:
                print_json(answer)
            else:
                out.print(f"board {answer['name']}: version {answer['version']}")


def _linked_first(boards: list[Any]) -> list[Any]:
    """Boards in an order in which each comes after those that it links to."""
    named = {board["name"]: board for board in boards if isinstance(board, dict) and isinstance(board.get("name"), str)}
    graph = {name: [link for link in _links(board) if link in named] for name, board in named.items()}
    try:
        ordered = [named[name] for name in TopologicalSorter(graph).static_order()]
    except (CycleError, TypeError):
        return boards
    return ordered if len(ordered) == len(boards) else boards


def _links(board: dict[str, Any]) -> list[Any]:
    """The boards that a board names."""
    rollup = board.get("rollup")
    named = board.get("also"), rollup.get("of") if isinstance(rollup, dict) else None
    return [link for links in named if isinstance(links, list) for link in links if isinstance(link, str)]
