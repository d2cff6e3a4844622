"""Looking back: `keepscore windows`, `history` and `as-of`."""

from __future__ import annotations

from typing import Annotated

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
    WindowOption,
    cell,
    new_table,
    out,
    print_json,
    reach,
)
from keepscore.cli.rankings import print_ranking

__all__ = ["app"]

app = typer.Typer()


@app.command()
def windows(
    board: BoardName,
    window: WindowOption = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 100,
    offset: Annotated[int, typer.Option(help="How many to pass over.")] = 0,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the windows of a board that have players, the latest first."""
    with reach(url, config) as transport:
        answer = transport.call("GET", "boards", board, "windows", query={"window": window, "limit": limit, "offset": offset})
    if json:
        return print_json(answer)
    columns = ("window", "window_id", "start", "end", "state", "players")
    table = new_table(*columns)
    for found in answer["windows"]:
        table.add_row(*(cell(found[column]) for column in columns))
    return out.print(table)


@app.command()
def history(
    board: BoardName,
    player: Player,
    window: WindowOption = None,
    limit: Annotated[int, typer.Option(help="How many windows.")] = 100,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show where a player stood, window by window, and the best place ever."""
    with reach(url, config) as transport:
        answer = transport.call("GET", "boards", board, "history", player, query={"window": window, "limit": limit})
    if json:
        return print_json(answer)
    table = new_table("window_id", "state", "rank", "score", "players", "percentile")
    for place in answer["history"]:
        share = None if place["percentile"] is None else f"{float(place['percentile']):.2f}"
        cells = (*(place[name] for name in ("window_id", "state", "rank", "score", "total_players")), share)
        table.add_row(*map(cell, cells))
    out.print(table)
    best = answer["best"]
    if best is not None:
        out.print(Text(f"best: rank {best['rank']} in {best['window_id']}, with {best['score']}"))
    return None


@app.command("as-of")
def as_of(
    board: BoardName,
    at: Annotated[str, typer.Option(help="The moment, such as 2026-11-15T19:30:00Z.")],
    limit: Annotated[int, typer.Option(help="How many players.")] = 10,
    window: WindowOption = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the top of a board as it stood at a moment. Reads all that is recorded on the board."""
    query = {"at": at, "limit": limit, "window": window, "segment": segment, "rank": rank}
    with reach(url, config) as transport:
        answer = transport.call("GET", "boards", board, "as-of", query=query)
    return print_json(answer) if json else print_ranking(answer)
