"""`keepscore keeper`: what the keeper did and does next, done now, or done by a process of its own; and `keepscore revise`."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import Annotated, Any

import typer
from rich.text import Text

from keepscore.cli.options import BoardName, Config, Json, Url, cell, err, new_table, out, print_json, reach
from keepscore.config import Settings, load_settings
from keepscore.leaderboards import Leaderboards

__all__ = ["app", "revise"]

app = typer.Typer(
    help="Look after windows, archives and the ledger. Without a command: in the foreground, without serving.", invoke_without_command=True
)


@app.callback()
def keeper(context: typer.Context, config: Config = None) -> None:
    """Do the keeper's jobs in the foreground, beside services that share ledger and engine."""
    if context.invoked_subcommand is None:
        settings = load_settings(config)
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        asyncio.run(_keep(settings))


async def _keep(settings: Settings) -> None:
    stopping = asyncio.Event()
    async with Leaderboards.open(
        settings.ledger, settings.engine, settings.boards, keep_keys=settings.keep_keys, keep_events=settings.keep_events
    ):
        for signum in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(signum, stopping.set)
        err.print("The keeper is at work.")
        await stopping.wait()


@app.command()
def status(url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show all jobs: when they ran, when they run next, and what became of them."""
    with reach(url, config) as transport:
        answer = transport.call("GET", "keeper")
    if json:
        return print_json(answer)
    return _print(answer["jobs"])


@app.command("run-once")
def run_once(
    now: Annotated[str | None, typer.Option(help="As of when, such as 2026-11-16T00:00:00Z. Default: now.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Do all jobs once: close windows, take snapshots, write checkpoints. Exits with 1 where one failed."""
    with reach(url, config) as transport:
        answer = transport.call("POST", "keeper", "run", body={"now": now})
    if json:
        print_json(answer)
    else:
        _print(answer["jobs"])
    if any(job["error"] for job in answer["jobs"]):
        raise typer.Exit(1)


def _print(jobs: list[dict[str, Any]]) -> None:
    table = new_table("job", "every", "last run", "next run", "failures", "result")
    for job in jobs:
        cells = (job["name"], f"{float(job['every']):g} s", job["last_run"], job["next_run"], job["failures"] or None)
        result = Text(job["error"], style="red") if job["error"] else cell(job["result"])
        table.add_row(*map(cell, cells), result)
    out.print(table)


def revise(
    board: BoardName,
    window: Annotated[str, typer.Option(help="daily, weekly, monthly, yearly or season.")],
    window_id: Annotated[str, typer.Option(help="Which one, such as 2026-W46.")],
    reason: Annotated[str, typer.Option(help="Why: it is kept in the audit.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Correct the final standings of a closed window: archive them anew from the ledger, beside the old ones."""
    with reach(url, config) as transport:
        answer = transport.call("POST", "boards", board, "windows", window, window_id, "revise", body={"reason": reason})
    if json:
        return print_json(answer)
    return out.print(
        Text(f"{board} · {window} {window_id}: revision {answer['number']}, {answer['total_players']} players, {answer['digest'][:12]}…")
    )
