"""`keepscore hide`, `shadow`, `restore` and `restricted`: who is ranked, on the ledger itself or over a service."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.moderation import Reason
from keepscore.cli.options import Config, Json, Url, cell, new_table, out, print_json, reach
from keepscore.domain.results.moderation import PlayerDecision, RestrictedPlayers

__all__ = ["app"]

app = typer.Typer()

Player = Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")]
OnBoards = Annotated[list[str] | None, typer.Option("--board", metavar="NAME", help="Only on this board. Repeatable. Default: all boards.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Restore the player at this moment. Default: never.")]


@app.command()
def hide(
    player: Player, reason: Reason, board: OnBoards = None, until: Until = None, url: Url = None, config: Config = None, json: Json = False
) -> None:
    """Hide a player: ranked for nobody, still recorded. 'keepscore restore' takes it back."""
    with reach(url, config) as boards:
        done = boards.moderation.hide(player, reason, boards=board, until=until)
    _print(done, json, "is hidden")


@app.command()
def shadow(
    player: Player, reason: Reason, board: OnBoards = None, until: Until = None, url: Url = None, config: Config = None, json: Json = False
) -> None:
    """Shadow a player: ranked for themselves only. 'keepscore restore' takes it back."""
    with reach(url, config) as boards:
        done = boards.moderation.shadow(player, reason, boards=board, until=until)
    _print(done, json, "is shadowed")


@app.command()
def restore(player: Player, reason: Reason, board: OnBoards = None, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Let a player who is hidden or shadowed be ranked again."""
    with reach(url, config) as boards:
        done = boards.moderation.restore(player, reason, boards=board)
    _print(done, json, "is ranked again")


@app.command()
def restricted(
    board: Annotated[str | None, typer.Option(metavar="NAME", help="Only those on this board.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List the players who are hidden or shadowed now."""
    with reach(url, config) as boards:
        found = boards.moderation.restricted(board=board)
    if json:
        return print_json(RestrictedPlayers(found))
    table = new_table("player", "state", "boards", "since", "until", "reason")
    for one in found:
        where = _where(one.boards) + (f" but {', '.join(one.restored)}" if one.restored else "")
        table.add_row(*map(cell, (one.player_id, one.state, where, one.since, one.until, one.reason)))
    return out.print(table)


def _where(boards: list[str] | None) -> str:
    return "all boards" if boards is None else ", ".join(boards)


def _print(done: PlayerDecision, json: bool, what: str) -> None:
    if json:
        return print_json(done)
    until = "" if done.until is None else f" until {done.until.isoformat()}"
    return out.print(f"{done.player_id} {what} on {_where(done.boards)}{until}")
