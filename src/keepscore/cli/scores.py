"""Submitting scores: `keepscore submit` and `keepscore increment`."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import (
    NUMBERS,
    At,
    BoardName,
    Config,
    GameId,
    Json,
    Key,
    PlayerArgument,
    SegmentOptions,
    Url,
    cell,
    movement_text,
    new_table,
    number_of,
    out,
    percent,
    print_json,
    reach,
)
from keepscore.domain.results.standings import Receipt

__all__ = ["app"]

app = typer.Typer()


@app.command(context_settings=NUMBERS)
def submit(
    board: BoardName,
    player: PlayerArgument,
    score: Annotated[str, typer.Argument(metavar="SCORE", help="Score to submit.")],
    at: At = None,
    segment: SegmentOptions = None,
    game_id: GameId = None,
    window: Annotated[
        list[str] | None,
        typer.Option(help="Only for a correction (a score on a sum board): a window in which it counts. Default: the board's first."),
    ] = None,
    key: Key = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Submit a score.

    On a board with the operator sum it is a correction: it sets the score in the board's first window.
    """
    number, segments = number_of(score), _segments(segment)
    with reach(url, config) as boards:
        windows = window or None
        receipt = boards.submit(board, player, number, at=at, segments=segments, game_id=game_id, windows=windows, idempotency_key=key)
    print_json(receipt) if json else _print(receipt)


@app.command(context_settings=NUMBERS)
def increment(
    board: BoardName,
    player: PlayerArgument,
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help="Amount to add; negative amounts subtract.")],
    at: At = None,
    segment: SegmentOptions = None,
    game_id: GameId = None,
    key: Key = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Add to a player's score.

    The board has the operator sum or last, or is a best board with increments.
    """
    number, segments = number_of(amount), _segments(segment)
    with reach(url, config) as boards:
        receipt = boards.increment(board, player, number, at=at, segments=segments, game_id=game_id, idempotency_key=key)
    print_json(receipt) if json else _print(receipt)


def _segments(texts: list[str] | None) -> dict[str, str] | None:
    return {name: rest for name, _, rest in (text.partition(":") for text in texts)} if texts else None


def _print(receipt: Receipt) -> None:
    if receipt.pending:
        return out.print("Recorded. The rank is not known yet: the ranking engine is down.")
    table = new_table("window", "id", "score", "rank", "change", "percentile", "players")
    for window, state in receipt.windows.items():
        moved = movement_text(state.rank_change, state.previous_rank is None)
        cells = window, state.id, state.score, state.rank, moved, percent(state.percentile), state.total_players
        table.add_row(*map(cell, cells))
    out.print(table)
    if receipt.spooled:
        out.print("The ledger is down: the ranking engine keeps the score until it is back.")
    return None
