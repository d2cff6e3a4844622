"""`keepscore reset`: end a board's rankings as a version and begin new ones, or undo that."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import BoardName, Config, Json, Url, out, print_json, reach

__all__ = ["app"]

app = typer.Typer()


@app.command()
def reset(
    board: BoardName,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last reset, within the board's grace.")] = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Let a board begin anew. What it was until now stays readable, as a version."""
    with reach(url, config) as transport:
        answer = transport.call("POST", "boards", board, "reset", *(["undo"] if undo else []))
    if json:
        return print_json(answer)
    if undo:
        return out.print(f"board {board}: the reset of {answer['at']} is undone")
    ids = ", ".join(f"{window} as {window_id}" for window, window_id in answer["window_ids"].items())
    return out.print(f"board {board}: version {answer['version']} ended at {answer['at']}; read {ids} (--window-id)")
