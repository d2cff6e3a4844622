"""Looking at rankings: `keepscore top`, `rank` and `around`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from keepscore.cli.options import (
    BoardName,
    Config,
    Json,
    Player,
    RankOption,
    Segment,
    Url,
    WindowId,
    WindowOption,
    cell,
    movement_text,
    new_table,
    out,
    print_json,
    reach,
)
from keepscore.errors import InvalidPage, ServiceError

__all__ = ["app", "print_ranking"]

app = typer.Typer()

#: Players above and below one, where nobody says how many.
AROUND = 2


def _print_standings(standings: list[dict[str, Any]], marked: str | None = None) -> None:
    moved = any(standing["rank_change"] or standing.get("new") for standing in standings)
    table = new_table("rank", *(["change"] if moved else []), "player", "name", "score", "since")
    for standing in standings:
        style = "bold" if standing["player_id"] == marked else None
        rank, *cells = (standing[key] for key in ("rank", "player_id", "name", "score", "since"))
        change = [movement_text(standing["rank_change"], bool(standing.get("new")))] if moved else []
        table.add_row(*map(cell, (rank, *change, *cells)), style=style)
    out.print(table)


@app.command()
def top(
    board: BoardName,
    limit: Annotated[int, typer.Option(help="How many players.")] = 10,
    offset: Annotated[int, typer.Option(help="How many to pass over.")] = 0,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the top of a board."""
    query = {"limit": limit, "offset": offset, "window": window, "window_id": window_id, "segment": segment, "rank": rank}
    with reach(url, config) as transport:
        answer = transport.call("GET", "boards", board, "top", query=query)
    if json:
        return print_json(answer)
    return print_ranking(answer)


def print_ranking(answer: dict[str, Any], marked: str | None = None) -> None:
    """Print what a ranking is, and some of its standings."""
    slice_ = f" · {answer['segment']}" if answer["segment"] else ""
    archived = " · archived" if answer.get("archived") else ""
    players = f"{answer['total_players']} players{archived}"
    out.print(Text(f"{answer['board']} · {answer['window']} {answer['window_id']}{slice_} · {players}"))
    _print_standings(answer["standings"], marked)
    if answer.get("stale"):
        out.print(Text(f"as of {answer['as_of']}: the rankings cannot be reached, this is the last checkpoint", style="yellow"))


@app.command()
def rank(
    board: BoardName,
    player: Player,
    around: Annotated[int | None, typer.Option(help="How many players above and below. Default: 2, where they are known.")] = None,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show where a player stands, and who is around."""
    query = {"window": window, "window_id": window_id, "segment": segment, "rank": rank}
    path = "boards", board, "players", player
    with reach(url, config) as transport:
        try:
            answer = transport.call("GET", *path, query={**query, "around": AROUND if around is None else around})
        except ServiceError as exc:
            # Around players whom the engine does not keep (keep_top), nobody is known.
            if around is not None or exc.problem != InvalidPage.type:
                raise
            answer = transport.call("GET", *path, query=query)
    if json:
        return print_json(answer)
    place = f"about rank {answer['rank']} (± {answer['error']})" if answer.get("approximate") else f"rank {answer['rank']}"
    out.print(Text(f"{place} of {answer['total_players']}, better than or equal to {float(answer['percentile']):.2f} %"))
    standings = answer["around"]
    if not any(standing["player_id"] == player for standing in standings):
        standings = [*standings, {**answer, "rank_change": 0}]
    return print_ranking({**answer, "standings": standings}, player)


@app.command()
def around(
    board: BoardName,
    center: Annotated[int, typer.Argument(metavar="RANK", help="The rank in the middle.")],
    around: Annotated[int, typer.Option(help="How many players above and below.")] = 5,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the players around a rank."""
    query = {"around": around, "window": window, "window_id": window_id, "segment": segment, "rank": rank}
    with reach(url, config) as transport:
        answer = transport.call("GET", "boards", board, "ranks", str(center), query=query)
    return print_json(answer) if json else print_ranking(answer)
