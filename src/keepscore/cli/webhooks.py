"""`keepscore webhooks`: what waits to be delivered, and trying it again."""

from __future__ import annotations

from typing import Annotated

import typer

from keepscore.cli.options import Config, Json, Url, cell, err, new_table, out, print_json, reach
from keepscore.domain.nouns import counted

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Webhooks: list deliveries, and try them again.")


@app.command("list")
def list_deliveries(
    state: Annotated[str | None, typer.Option(metavar="STATE", help="Only those that are pending, or delivered.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many to show, up to 1,000.")] = 100,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Where the page before ended.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List deliveries, the newest first."""
    with reach(url, config) as boards:
        page = boards.webhooks.deliveries(state=state, limit=limit, cursor=cursor)
    if json:
        return print_json(page)
    table = new_table("id", "type", "state", "tried", "created", "next try", "delivered", "error")
    table.columns[0].no_wrap = True
    for one in page.deliveries:
        row = one.id, one.type, one.state, one.attempts, one.created_at, one.next_attempt_at, one.delivered_at, one.error
        table.add_row(*map(cell, row))
    out.print(table)
    out.print(f"{counted(page.pending, 'delivery', 'deliveries')} waiting, {page.failing} of them failing")
    if not page.is_configured:
        err.print("No webhook is configured: set webhooks.url and webhooks.secret.", style="yellow")
    if page.next_cursor is not None:
        err.print(f"There are more: --cursor {page.next_cursor}")
    return None


@app.command()
def retry(
    delivery: Annotated[str | None, typer.Argument(metavar="[ID]", help="The delivery's id. Default: all that wait.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Try deliveries again now."""
    with reach(url, config) as boards:
        found = boards.webhooks.retry(delivery)
    if json:
        return print_json(found)
    return out.print(f"{counted(found.deliveries, 'delivery', 'deliveries')} will be tried now")
