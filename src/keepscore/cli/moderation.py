"""`keepscore remove`, `void`, `undo` and `voids`: what moderators decide, on the ledger itself or over a service."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import BoardName, Config, Json, Url, Yes, cell, confirm, err, new_table, out, print_json, reach
from keepscore.domain.nouns import counted
from keepscore.domain.results.moderation import ScoreAndRank, VoidList, VoidReport

__all__ = ["DryRun", "Reason", "app", "print_report"]

app = typer.Typer()

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why. It is kept with the decision.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
#: Changes that are printed; all are in the JSON.
SHOWN_CHANGES = 20


@app.command()
def remove(
    board: BoardName,
    player: Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")],
    reason: Reason,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Remove a player from a board. 'keepscore undo' brings the player back."""
    with reach(url, config) as boards:
        found = boards.moderation.remove(board, player, reason, dry_run=True)
        if not dry_run:
            confirm(f"Remove {player} from board {board}? {_counted(found)} will no longer count.", yes)
            found = boards.moderation.remove(board, player, reason)
    print_report(found, json)


@app.command()
def void(
    board: BoardName,
    reason: Reason,
    player: Annotated[str | None, typer.Option(metavar="ID", help="Events of this player.")] = None,
    game: Annotated[str | None, typer.Option(metavar="ID", help="Events of this game.")] = None,
    event: Annotated[
        list[str] | None, typer.Option(metavar="WRITER-N", help="This event, as 'keepscore events' shows it. Repeatable.")
    ] = None,
    build: Annotated[str | None, typer.Option(metavar="TEXT", help="Events of plays with this build of the game.")] = None,
    address: Annotated[str | None, typer.Option(metavar="IP", help="Events that came from this address.")] = None,
    match: Annotated[str | None, typer.Option(metavar="ID", help="This match, on a board with a rating.")] = None,
    mode: Annotated[
        str | None, typer.Option(metavar="MODE", help="Of a match: refund takes its changes back, replay rates later matches again, too.")
    ] = None,
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Events from this moment on.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Events before this moment.")] = None,
    revise: Annotated[bool, typer.Option("--revise", help="Correct closed windows, too.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Let events no longer count. Nothing is deleted: 'keepscore undo' lets them count again."""
    with reach(url, config) as boards:

        def act(only_show: bool) -> VoidReport:
            return boards.moderation.void(
                board,
                reason,
                player_id=player,
                game_id=game,
                event_ids=event,
                build=build,
                address=address,
                match_id=match,
                mode=mode,
                since=since,
                until=until,
                revise=revise,
                dry_run=only_show,
            )

        found = act(True)
        if not dry_run and found.events:
            confirm(f"Void {_counted(found)} on board {board}?", yes)
            found = act(False)
    print_report(found, json)


@app.command()
def undo(
    void_id: Annotated[str, typer.Argument(metavar="VOID", help="The void's id, as 'keepscore voids' shows it.")],
    reason: Reason,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Undo a void, or the removal of a player."""
    with reach(url, config) as boards:
        undone = boards.moderation.undo(void_id, reason)
    if json:
        return print_json(undone)
    verb = "counts" if undone.events == 1 else "count"
    return out.print(f"void {void_id} on board {undone.board} is undone: {counted(undone.events, 'event')} {verb} again")


@app.command()
def voids(
    board: Annotated[str | None, typer.Option(metavar="NAME", help="Only those on this board.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List voids, the newest first."""
    with reach(url, config) as boards:
        found = boards.moderation.voids(board=board)
    if json:
        return print_json(VoidList(found))
    table = new_table("void", "board", "events", "players", "state", "at", "reason")
    # It is copied from here.
    table.columns[0].no_wrap = True
    for one in found:
        table.add_row(*map(cell, (one.void_id, one.board, one.events, one.players, one.state, one.at, one.reason)))
    return out.print(table)


def print_report(report: VoidReport, json: bool) -> None:
    """Print what a decision changes."""
    if json:
        return print_json(report)
    table = new_table("player", "window", "before", "after")
    for change in report.changes[:SHOWN_CHANGES]:
        window = change.window if change.window == "all_time" else f"{change.window} {change.window_id}"
        table.add_row(*map(cell, (change.player_id, window, _place(change.before), _place(change.after))))
    if report.changes:
        out.print(table)
    if len(report.changes) > SHOWN_CHANGES:
        err.print(f"{len(report.changes) - SHOWN_CHANGES} more changes: see --json")
    for window in report.revised:
        out.print(f"corrected the final standings of {window}")
    if not report.events and not report.changes:
        return out.print("no event matches: nothing to void")
    if report.dry_run:
        return out.print(f"{_counted(report)} would no longer count")
    out.print(f"{_counted(report)} no longer count. To undo it:")
    return out.print(f"  keepscore undo {report.void_id} --reason …")


def _place(found: ScoreAndRank | None) -> str:
    if found is None:
        return "not ranked"
    return f"{found.score}" if found.rank is None else f"#{found.rank} with {found.score}"


def _counted(report: VoidReport) -> str:
    return f"{counted(report.events, 'event')} of {counted(report.players, 'player')}"
