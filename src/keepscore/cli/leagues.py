"""`keepscore leagues`: cohorts, past seasons and simulations, on the ledger itself or over a service."""

from __future__ import annotations

import json as jsons
import tomllib
from typing import Annotated, Any

import typer

from keepscore.cli.options import BoardName, Config, Json, PlayerArgument, Url, cell, new_table, out, print_json, reach
from keepscore.domain.nouns import counted
from keepscore.errors import InvalidField

__all__ = ["app"]

app = typer.Typer(help="Leagues: cohorts, past seasons, and what a league would do.", no_args_is_help=True)


@app.command()
def show(board: BoardName, player: PlayerArgument, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show a player's tier and cohort."""
    with reach(url, config) as boards:
        found = boards.leagues.of(board, player)
    if json:
        return print_json(found)
    if found.standings:
        table = new_table("rank", "player", "score", "zone")
        for one in found.standings:
            shown = f"{one.name or one.player_id}{' (you)' if one.is_current_player else ''}"
            table.add_row(*map(cell, (one.rank, shown, one.score, one.zone)))
        out.print(table)
    ends = "" if found.ends is None else f", until {found.ends:%Y-%m-%d %H:%M} UTC"
    out.print(f"{player}: {found.tier}, {found.cohort or 'no cohort yet'}{ends}")
    if found.to_promotion is not None:
        out.print(f"to promotion: {found.to_promotion}")
    if found.to_safety is not None:
        out.print(f"to safety: {found.to_safety}")
    return None


@app.command()
def history(
    board: BoardName,
    player: PlayerArgument,
    limit: Annotated[int, typer.Option(metavar="N", help="How many, up to 200.")] = 20,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List a player's seasons, the newest first."""
    with reach(url, config) as boards:
        found = boards.leagues.history(board, player, limit=limit)
    if json:
        return print_json(found)
    table = new_table("window", "tier", "cohort", "rank", "best rank", "score", "result", "then")
    for one in found.seasons:
        row = one.window_id, one.tier, one.cohort, one.rank, one.peak, one.score, one.result, one.next_tier
        table.add_row(*map(cell, row))
    out.print(table)
    return out.print(f"highest tier: {found.peak_tier}" if found.peak_tier else "no seasons")


@app.command()
def simulate(
    board: BoardName,
    league: Annotated[
        str,
        typer.Option(
            metavar="TABLE", help='The league, as in a definition: \'{tiers = ["bronze", "silver"], promote = [10]}\', or the same as JSON.'
        ),
    ],
    windows: Annotated[int, typer.Option(metavar="N", help="How many of the last windows, up to 520.")] = 12,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Play past windows through a proposed league. Nothing is changed."""
    given = _league(league)
    with reach(url, config) as boards:
        found = boards.leagues.simulate(board, given, windows=windows)
    if json:
        return print_json(found)
    table = new_table("window", "players", "cohorts", "sizes", *found.tiers, "up", "down", "new", "lost")
    for one in found.seasons:
        sizes = f"{one.cohort_sizes[0]}–{one.cohort_sizes[-1]}" if one.cohort_sizes else ""
        moves = one.promoted, one.demoted, one.new, one.lost
        table.add_row(*map(cell, (one.window_id, one.players, one.cohorts, sizes, *one.tiers.values(), *moves)))
    out.print(table)
    tiers = ", ".join(f"{tier} {number:,}" for tier, number in found.tiers.items())
    out.print(f"after {counted(len(found.seasons), 'window')}: {tiers}")
    return out.print(f"churn: {found.moved_share:.1%} change their tier, {found.lost_share:.1%} do not come back in the next window")


def _league(text: str) -> dict[str, Any]:
    """Read a league as it is written in a definition, or as JSON."""
    try:
        found = jsons.loads(text)
    except ValueError:
        try:
            found = tomllib.loads(f"league = {text}")["league"]
        except tomllib.TOMLDecodeError as exc:
            raise InvalidField(f"--league {text[:60]!r} is no table: {exc}; write {{tiers = […], promote = […]}}, or JSON") from None
    if not isinstance(found, dict):
        raise InvalidField(f"--league {text[:60]!r} is no table: write {{tiers = […], promote = […]}}, or JSON")
    return found
