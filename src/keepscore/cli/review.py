"""`keepscore queue`: scores that moderators decide about, on the ledger itself or over a service."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.moderation import Reason
from keepscore.cli.options import Config, Json, Url, cell, err, new_table, out, print_json, reach
from keepscore.domain.results.review import QueueItem

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Decide about scores that are in quarantine, or flagged.")

QueueId = Annotated[str, typer.Argument(metavar="ID", help="The score's id, as 'keepscore queue list' shows it.")]


@app.command("list")
def list_queue(
    board: Annotated[str | None, typer.Option(metavar="NAME", help="Only those on this board.")] = None,
    player: Annotated[str | None, typer.Option(metavar="ID", help="Only those of this player.")] = None,
    state: Annotated[str, typer.Option(metavar="STATE", help="open, approved or rejected.")] = "open",
    limit: Annotated[int, typer.Option(metavar="N", help="The most scores to list.")] = 50,
    cursor: Annotated[str | None, typer.Option(metavar="TEXT", help="Where to go on, as the last list said.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List scores to decide about, the oldest first, with the reasons and what helps to decide."""
    with reach(url, config) as boards:
        page = boards.moderation.queue(board=board, player_id=player, state=state, cursor=cursor, limit=limit)
    if json:
        return print_json(page)
    table = new_table("id", "board", "player", "score", "at", "counts", "own best", "ahead", "reasons")
    # It is copied from here.
    table.columns[0].no_wrap = True
    for item in page.items:
        counts = item.state == "approved" or (item.state == "open" and not item.quarantined)
        row = item.id, item.board, item.player_id, item.score, item.at, "yes" if counts else "no", *_evidence(item)
        table.add_row(*map(cell, (*row, "; ".join(reason.detail for reason in item.reasons))))
    out.print(table)
    if page.next_cursor is not None:
        err.print(f"there are more: --cursor {page.next_cursor}")
    return None


@app.command()
def approve(queue_id: QueueId, reason: Reason, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Approve a score: it counts, with its original time."""
    with reach(url, config) as boards:
        item = boards.moderation.approve(queue_id, reason)
    _print(item, json)


@app.command()
def reject(queue_id: QueueId, reason: Reason, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Reject a score: it does not count."""
    with reach(url, config) as boards:
        item = boards.moderation.reject(queue_id, reason)
    _print(item, json)


def _evidence(item: QueueItem) -> tuple[object, object]:
    found = item.evidence
    return (None, None) if found is None else (found.history.best, f"{found.distribution.ahead} of {found.distribution.players}")


def _print(item: QueueItem, json: bool) -> None:
    if json:
        return print_json(item)
    what = "counts" if item.state == "approved" else "does not count"
    return out.print(f"{item.id} is {item.state}: {item.score} of {item.player_id} on board {item.board} {what}")
