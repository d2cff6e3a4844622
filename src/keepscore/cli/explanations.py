"""Explanations: the score that a rank needs, and what counts and why."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from keepscore.cli.options import (
    BoardName,
    Config,
    Json,
    PlayerArgument,
    Segment,
    Url,
    WindowId,
    WindowOption,
    cell,
    new_table,
    out,
    print_json,
    reach,
)

__all__ = ["needs", "why"]


def needs(
    board: BoardName,
    player: PlayerArgument,
    rank: Annotated[int | None, typer.Option(metavar="N", help="Rank to reach.")] = None,
    top: Annotated[str | None, typer.Option(metavar="SHARE", help="Part of the players to be among, such as 1%.")] = None,
    window: WindowOption = None,
    segment: Segment = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the score that a player needs for a rank."""
    with reach(url, config) as boards:
        found = boards.explain.needs(board, player, rank=rank, top=top, window=window, segment=segment)
    if json:
        return print_json(found)
    if found.reached:
        out.print(Text(f"{player} has rank {found.rank} already, with {found.score}."))
    elif found.needed_score is None:
        out.print(Text(f"Any score is enough for rank {found.target_rank}."))
    else:
        gap = "" if found.gap is None else f", {found.gap} away from {found.score}"
        out.print(Text(f"Rank {found.target_rank} needs {found.needed_score}{gap}."))
    return None


def why(
    board: BoardName,
    player: PlayerArgument,
    limit: Annotated[int, typer.Option(metavar="N", help="Number of events to show.")] = 20,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show which events of a player count, and why not."""
    with reach(url, config) as boards:
        found = boards.explain.why(board, player, limit=limit, window=window, window_id=window_id, segment=segment)
    if json:
        return print_json(found)
    place = "not ranked" if found.rank is None else f"rank {found.rank} with {found.score}"
    out.print(Text(f"{found.board} · {found.window} {found.window_id} · {player}: {place}"))
    table = new_table("event", "kind", "amount", "at", "counts")
    for event in found.events:
        counts = "yes" if event.counts else f"no: {str(event.reason).replace('_', ' ')}"
        table.add_row(*map(cell, (event.event_id, event.kind, event.amount, event.at, counts)))
    out.print(table)
    return None
