"""Looking at rankings: `keepscore top`, `rank` and `around`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from rich.text import Text

from keepscore.cli.options import (
    BoardName,
    Config,
    Json,
    PlayerArgument,
    RankOption,
    Segment,
    Url,
    WindowId,
    WindowOption,
    cell,
    movement_text,
    new_table,
    number_of,
    out,
    percent,
    print_json,
    reach,
)
from keepscore.domain.nouns import counted
from keepscore.domain.results.standings import Around, PlayerPlace, Snapshot, Standing, Top
from keepscore.errors import InvalidPage

__all__ = ["app", "print_ranking", "print_snapshot", "print_standings"]

app = typer.Typer()

#: Players above and below one, by default.
AROUND_PLAYERS = 2


def print_standings(standings: list[Standing], marked: str | None = None) -> None:
    """Print some standings; the row of one player is marked."""
    moved = any(standing.rank_change or standing.new for standing in standings)
    table = new_table("rank", *(["change"] if moved else []), "player", "name", "score", "since")
    for standing in standings:
        style = "bold" if standing.player_id == marked else None
        change = [movement_text(standing.rank_change, standing.new is True)] if moved else []
        cells = standing.rank, *change, standing.player_id, standing.name, standing.score, standing.since
        table.add_row(*map(cell, cells), style=style)
    out.print(table)


@app.command()
def top(
    board: BoardName,
    limit: Annotated[int, typer.Option(metavar="N", help="Number of players to show.")] = 10,
    offset: Annotated[int, typer.Option(metavar="N", help="Number of players to skip.")] = 0,
    min: Annotated[str | None, typer.Option(metavar="SCORE", help="List only players with this score or a higher one.")] = None,
    max: Annotated[str | None, typer.Option(metavar="SCORE", help="List only players with this score or a lower one.")] = None,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the top of a board, or the players in a score range.

    With --min or --max, ranks are those among all players.
    """
    low, high = (None if text is None else number_of(text) for text in (min, max))
    with reach(url, config) as boards:
        answer = boards.top(
            board, limit=limit, offset=offset, min=low, max=high, window=window, window_id=window_id, segment=segment, rank=rank
        )
    return print_json(answer) if json else print_ranking(answer, answer.standings)


def print_ranking(answer: Top | Around | PlayerPlace, standings: list[Standing], marked: str | None = None) -> None:
    """Print which ranking it is, and some of its standings."""
    slice_ = f" · {answer.segment}" if answer.segment else ""
    archived = " · archived" if answer.archived else ""
    players = f"{counted(answer.total_players, 'player')}{archived}"
    out.print(Text(f"{answer.board} · {answer.window} {answer.window_id}{slice_} · {players}"))
    print_standings(standings, marked)
    if answer.stale:
        out.print(
            Text(
                f"As of {cell(answer.as_of)}: later scores may be missing.",
                style="yellow",
            )
        )


def print_snapshot(page: Snapshot) -> None:
    """Print which snapshot it is, and some of its standings."""
    slice_ = f" · {page.segment}" if page.segment else ""
    players = counted(page.total_players, "player")
    out.print(f"{page.board} · {page.window} {page.window_id}{slice_} · {players} · as of {cell(page.taken)}")
    print_standings(page.standings)


@app.command()
def rank(
    board: BoardName,
    player: PlayerArgument,
    around: Annotated[int | None, typer.Option(metavar="N", help="Number of players to show above and below. Default: 2.")] = None,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show a player's rank, and the players around."""
    with reach(url, config) as boards:
        seen = partial(boards.rank, board, player, window=window, window_id=window_id, segment=segment, rank=rank)
        try:
            answer = seen(around=AROUND_PLAYERS if around is None else around)
        except InvalidPage:
            # The neighbours of players whom the engine does not keep (keep_top) are not known.
            if around is not None:
                raise
            answer = seen()
    if json:
        return print_json(answer)
    place = f"about rank {answer.rank} (± {answer.error})" if answer.approximate else f"rank {answer.rank}"
    out.print(f"{place} of {answer.total_players} (percentile {percent(answer.percentile)})")
    standings = answer.around
    if not any(standing.player_id == player for standing in standings):
        standings = [*standings, Standing(answer.rank, player, answer.name, answer.score, answer.since, 0)]
    return print_ranking(answer, standings, player)


@app.command()
def around(
    board: BoardName,
    center: Annotated[int, typer.Argument(metavar="RANK", help="Rank in the middle.")],
    around: Annotated[int, typer.Option(metavar="N", help="Number of players to show above and below.")] = 5,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the players around a rank."""
    with reach(url, config) as boards:
        answer = boards.around(board, center, around=around, window=window, window_id=window_id, segment=segment, rank=rank)
    return print_json(answer) if json else print_ranking(answer, answer.standings)
