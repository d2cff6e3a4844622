"""`keepscore correct`, `merge`, `split` and `erase`: scores that are set, accounts that are one player's, and players who go."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.moderation import DryRun, Reason, print_report
from keepscore.cli.options import BoardName, Config, Json, Url, Yes, confirm, number_of, out, print_json, reach
from keepscore.domain.nouns import counted
from keepscore.domain.results.moderation import Merge

__all__ = ["app"]

app = typer.Typer()

Guest = Annotated[str, typer.Argument(metavar="GUEST", help="The id that the player had before.")]


@app.command()
def correct(
    board: BoardName,
    player: Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")],
    score: Annotated[str, typer.Argument(metavar="SCORE", help="The score from now on.")],
    reason: Reason,
    window: Annotated[list[str] | None, typer.Option(metavar="NAME", help="In this window. Repeatable. Default: the first.")] = None,
    dry_run: DryRun = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Set a player's score, whatever the board's operator. 'keepscore undo' takes it back."""
    with reach(url, config) as boards:
        found = boards.moderation.correct(board, player, number_of(score), reason, windows=window, dry_run=dry_run)
    print_report(found, json)


@app.command()
def merge(
    guest: Guest,
    into: Annotated[str, typer.Argument(metavar="PLAYER", help="The account.")],
    reason: Reason,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Merge a guest into an account, with all scores. 'keepscore split' takes it back."""
    with reach(url, config) as boards:
        found = boards.moderation.merge(guest, into, reason, dry_run=True)
        if not dry_run:
            confirm(f"Merge {guest} into {into}? {_counted(found)} will count as {into}'s.", yes)
            found = boards.moderation.merge(guest, into, reason)
    if json:
        return print_json(found)
    return out.print(f"{_counted(found)} {'would count' if dry_run else 'count'} as {into}'s")


@app.command()
def split(guest: Guest, reason: Reason, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Split a guest from the account that they were merged into."""
    with reach(url, config) as boards:
        found = boards.moderation.split(guest, reason)
    if json:
        return print_json(found)
    return out.print(f"{guest} and {found.into} are two players again: {_counted(found)} went back")


@app.command()
def erase(
    player: Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")],
    reason: Reason,
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Erase a player for good. What is known of the person is removed, scores stay under a pseudonym."""
    confirm(f"Erase everything about {player}, for good? Scores stay under a pseudonym.", yes)
    with reach(url, config) as boards:
        found = boards.moderation.erase(player, reason)
    if json:
        return print_json(found)
    if found.erase_id is None:
        return out.print(f"nothing is stored about {player}")
    kept = f"{counted(found.events, 'event')} and {counted(found.archived, 'archived rank')} stay under {found.pseudonym}"
    return out.print(f"{player} is erased ({found.erase_id}): {kept}")


def _counted(found: Merge) -> str:
    events = sum(board.events for board in found.boards)
    return f"{counted(events, 'event')} on {counted(len(found.boards), 'board')}"
