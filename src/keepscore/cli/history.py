"""Looking back: `keepscore windows`, `snapshots`, `history` and `as-of`."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import (
    BoardName,
    Config,
    Json,
    PlayerArgument,
    RankOption,
    Segment,
    Url,
    WindowOption,
    cell,
    new_table,
    out,
    percent,
    print_json,
    reach,
)
from keepscore.cli.rankings import print_ranking, print_snapshot

__all__ = ["app"]

app = typer.Typer()


@app.command()
def windows(
    board: BoardName,
    window: Annotated[str | None, typer.Option(metavar="WINDOW", help="Only these: daily, weekly, monthly, yearly or season.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="Number of windows to show.")] = 100,
    offset: Annotated[int, typer.Option(metavar="N", help="Number of windows to skip.")] = 0,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List a board's windows, newest first.

    Windows without players are left out.
    """
    with reach(url, config) as boards:
        answer = boards.history.windows(board, window=window, limit=limit, offset=offset)
    if json:
        return print_json(answer)
    columns = ("window", "window_id", "start", "end", "state", "players")
    table = new_table(*columns)
    for found in answer.windows:
        table.add_row(*(cell(getattr(found, column)) for column in columns))
    return out.print(table)


@app.command()
def snapshots(
    board: BoardName,
    snapshot: Annotated[int | None, typer.Argument(metavar="ID", help="Number of a snapshot. Default: list them.")] = None,
    window: Annotated[str | None, typer.Option(metavar="WINDOW", help="List only those of a window, such as weekly.")] = None,
    window_id: Annotated[str | None, typer.Option(metavar="ID", help="List only those of one, such as 2026-W46.")] = None,
    segment: Segment = None,
    limit: Annotated[int, typer.Option(metavar="N", help="Number of snapshots, or players, to show.")] = 100,
    offset: Annotated[int, typer.Option(metavar="N", help="Number of snapshots, or players, to skip.")] = 0,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List a board's snapshots, or show the standings of one.

    Snapshots are archived while a window is open, at the times that the board's definition names.
    """
    with reach(url, config) as boards:
        if snapshot is not None:
            page = boards.history.snapshot(board, snapshot, limit=limit, offset=offset, rank=rank)
            return print_json(page) if json else print_snapshot(page)
        answer = boards.history.snapshots(board, window=window, window_id=window_id, segment=segment, limit=limit, offset=offset)
    if json:
        return print_json(answer)
    table = new_table("id", "taken", "window", "window_id", "segment", "players")
    for one in answer.snapshots:
        table.add_row(*map(cell, (one.id, one.taken, one.window, one.window_id, one.segment, one.total_players)))
    return out.print(table)


@app.command()
def history(
    board: BoardName,
    player: PlayerArgument,
    window: WindowOption = None,
    limit: Annotated[int, typer.Option(metavar="N", help="Number of windows to show.")] = 100,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show a player's place in past windows, and the best one."""
    with reach(url, config) as boards:
        answer = boards.history.of(board, player, window=window, limit=limit)
    if json:
        return print_json(answer)
    table = new_table("window_id", "state", "rank", "score", "players", "percentile")
    for place in answer.history:
        cells = place.window_id, place.state, place.rank, place.score, place.total_players, percent(place.percentile)
        table.add_row(*map(cell, cells))
    out.print(table)
    best = answer.best
    if best is not None:
        out.print(f"Best: rank {best.rank} in {best.window_id}, with {best.score}")
    return None


@app.command("as-of")
def as_of(
    board: BoardName,
    at: Annotated[str, typer.Option(metavar="TIME", help="Past moment, such as 2026-11-15T19:30:00Z.")],
    limit: Annotated[int, typer.Option(metavar="N", help="Number of players to show.")] = 10,
    window: WindowOption = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the top of a board as it was at a past moment.

    This reads all events of the board.
    """
    with reach(url, config) as boards:
        answer = boards.history.as_of(board, at, limit=limit, window=window, segment=segment, rank=rank)
    return print_json(answer) if json else print_ranking(answer, answer.standings)
