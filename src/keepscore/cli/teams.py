"""`keepscore team`: where a team stands, and what each member brings."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import BoardName, Config, Json, Url, WindowId, WindowOption, cell, new_table, out, print_json, reach

__all__ = ["team"]


def team(
    board: BoardName,
    team: Annotated[str, typer.Argument(metavar="TEAM", help="Id of the team.")],
    limit: Annotated[int, typer.Option(metavar="N", help="Number of members to show, up to 1,000.")] = 20,
    window: WindowOption = None,
    window_id: WindowId = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show a team, and what each member brings."""
    with reach(url, config) as boards:
        found = boards.players.team(board, team, window=window, window_id=window_id, limit=limit)
    if json:
        return print_json(found)
    table = new_table("rank", "player", "name", "score", "counts")
    for one in found.members:
        table.add_row(*map(cell, (one.rank, one.player_id, one.name, one.score, "yes" if one.counts else "no")))
    out.print(table)
    return out.print(f"{team}: rank {found.rank} of {found.total_teams} teams with {found.score}, {found.total_members} members")
