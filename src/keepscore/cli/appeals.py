"""`keepscore appeals`: what players say against decisions, on the ledger itself or over a service."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from keepscore.cli.options import Config, Json, PlayerArgument, Url, cell, err, new_table, out, print_json, reach
from keepscore.domain.results.review import Appeal, AppealState

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="List appeals of players against decisions, and reply.")

AppealId = Annotated[str, typer.Argument(metavar="ID", help="The appeal's id, as 'keepscore appeals list' shows it.")]


@app.command("list")
def list_appeals(
    board: Annotated[str | None, typer.Option(metavar="NAME", help="Only those about this board.")] = None,
    player: Annotated[str | None, typer.Option(metavar="ID", help="Only those of this player.")] = None,
    state: Annotated[str, typer.Option(metavar="STATE", help="open, upheld or granted.")] = "open",
    limit: Annotated[int, typer.Option(metavar="N", help="The most appeals to list.")] = 50,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where to go on, as the last list said.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List appeals, the oldest first."""
    with reach(url, config) as boards:
        page = boards.moderation.appeals(board=board, player_id=player, state=cast("AppealState", state), cursor=cursor, limit=limit)
    if json:
        return print_json(page)
    table = new_table("id", "decision", "board", "player", "at", "text", "reply")
    # They are copied from here.
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for one in page.items:
        table.add_row(*map(cell, (one.id, one.decision_id, one.board, one.player_id, one.at, one.text, one.reply)))
    out.print(table)
    if page.next_cursor is not None:
        err.print(f"there are more: --cursor {page.next_cursor}")
    return None


@app.command()
def create(
    decision: Annotated[str, typer.Argument(metavar="DECISION", help="The void, or the score in the queue.")],
    player: PlayerArgument,
    text: Annotated[str, typer.Option(metavar="TEXT", help="What the player says.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Appeal for a player against a decision, once for each."""
    with reach(url, config) as boards:
        made = boards.moderation.appeal(decision, player, text)
    _print(made, json)


@app.command()
def reply(
    appeal_id: AppealId,
    text: Annotated[str, typer.Option(metavar="TEXT", help="What the player is told.")],
    grant: Annotated[bool, typer.Option("--grant", help="Take the decision back: the score counts.")] = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Reply to an appeal, once. Without --grant, the decision stands."""
    with reach(url, config) as boards:
        made = boards.moderation.reply(appeal_id, text, grant=grant)
    _print(made, json)


def _print(appeal: Appeal, json: bool) -> None:
    if json:
        return print_json(appeal)
    return out.print(f"appeal {appeal.id} of {appeal.player_id} against {appeal.decision_id} on board {appeal.board} is {appeal.state}")
