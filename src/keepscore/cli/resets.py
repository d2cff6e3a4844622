"""`keepscore reset`: end a board's rankings as a version and start new ones, or undo that."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import BoardName, Config, Json, Url, Yes, cell, confirm, out, print_json, reach

__all__ = ["app"]

app = typer.Typer()


@app.command()
def reset(
    board: BoardName,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last reset. Possible within the board's grace.")] = False,
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """End a board's rankings and start empty ones.

    The old rankings stay readable, as a numbered version.
    """
    with reach(url, config) as boards:
        if not undo:
            # A wrong name is an error before it is a question.
            boards.admin.board(board)
            confirm(f"Reset board {board}? All its rankings end, and empty ones start.", yes)
        answer = boards.admin.undo_reset(board) if undo else boards.admin.reset(board)
    if json:
        return print_json(answer)
    if undo:
        return out.print(f"board {board}: undid the reset of {cell(answer.at)}")
    out.print(f"board {board}: version {answer.version} ended at {cell(answer.at)}. To read it:")
    for window, window_id in answer.window_ids.items():
        out.print(f"  keepscore top {board} --window {window} --window-id {window_id}")
    return None
