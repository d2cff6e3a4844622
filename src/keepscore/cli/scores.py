"""Submitting scores: `keepscore submit` and `keepscore increment`."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import typer

from keepscore.cli.options import (
    NUMBERS,
    At,
    BoardName,
    Config,
    GameId,
    Json,
    Key,
    Player,
    Segments,
    Url,
    cell,
    movement_text,
    new_table,
    out,
    print_json,
    reach,
)

__all__ = ["app"]

app = typer.Typer()


@app.command(context_settings=NUMBERS)
def submit(
    board: BoardName,
    player: Player,
    score: Annotated[str, typer.Argument(metavar="SCORE", help="The score.")],
    at: At = None,
    segment: Segments = None,
    game_id: GameId = None,
    key: Key = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Submit a score."""
    _submit("scores", "score", board, player, score, at, segment, game_id, key, url, config, json)


@app.command(context_settings=NUMBERS)
def increment(
    board: BoardName,
    player: Player,
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help="What to add.")],
    at: At = None,
    segment: Segments = None,
    game_id: GameId = None,
    key: Key = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Add to a score, on a board with the operator sum or last."""
    _submit("increments", "amount", board, player, amount, at, segment, game_id, key, url, config, json)


def _submit(
    route: str,
    field: str,
    board: str,
    player: str,
    value: str,
    at: str | None,
    segment: list[str] | None,
    game_id: str | None,
    key: str | None,
    url: str | None,
    config: str | None,
    json: bool,
) -> None:
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise typer.BadParameter(f"{value!r} is not a number") from None
    if not number.is_finite():
        raise typer.BadParameter(f"{value!r} is not a finite number")
    body: dict[str, Any] = {"player_id": player, field: number}
    segments = {name: rest for name, _, rest in (text.partition(":") for text in segment or [])}
    extra = {"at": at, "segments": segments or None, "game_id": game_id, "idempotency_key": key}
    body |= {name: value for name, value in extra.items() if value is not None}
    with reach(url, config) as transport:
        answer = transport.call("POST", "boards", board, route, body=body)
    if json:
        return print_json(answer)
    table = new_table("window", "id", "score", "rank", "change", "percentile", "players")
    for window, state in answer["windows"].items():
        moved = movement_text(state["rank_change"], state["previous_rank"] is None)
        share = f"{float(state['percentile']):.2f}"
        cells = (window, state["id"], state["score"], state["rank"], moved, share, state["total_players"])
        table.add_row(*map(cell, cells))
    return out.print(table)
