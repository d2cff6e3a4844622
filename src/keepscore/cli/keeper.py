"""`keepscore keeper`: the keeper's jobs, run now or by a process of their own; and `keepscore revise`."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer
from rich.text import Text

from keepscore.cli.options import BoardName, Config, Json, Url, cell, err, new_table, out, print_json, reach
from keepscore.config import Settings, load_settings
from keepscore.domain.nouns import counted
from keepscore.domain.results.standings import JobStatus
from keepscore.leaderboards import Leaderboards
from keepscore.service.logs import set_up_log

__all__ = ["app", "revise"]

app = typer.Typer(
    help="Run the keeper's jobs, or show them.\n\nThe keeper closes windows, archives them and cleans up. Without a command, it runs in "
    "the foreground, beside services that share its ledger and engine.",
    invoke_without_command=True,
)


@app.callback()
def keeper(context: typer.Context, config: Config = None) -> None:
    """Run the keeper's jobs in the foreground, beside services that share its ledger and engine."""
    if context.invoked_subcommand is None:
        settings = load_settings(config)
        set_up_log(settings.log_level, settings.log_format)
        asyncio.run(_keep(settings))


async def _keep(settings: Settings) -> None:
    stopping = asyncio.Event()
    async with Leaderboards.configured(settings):
        for signum in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(signum, stopping.set)
        err.print("The keeper is running. Stop it with Ctrl-C.")
        await stopping.wait()


@app.command()
def status(url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show when each job ran and runs next, and its result."""
    with reach(url, config) as boards:
        answer = boards.admin.keeper_status()
    if json:
        return print_json(answer)
    return _print(answer.jobs)


@app.command("run-once")
def run_once(
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="Run as of this past moment, such as 2026-11-16T00:00:00Z. Default: now.")
    ] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Run all jobs once.

    They close windows, take snapshots and write checkpoints. The exit code is 1 if one of them fails.
    """
    with reach(url, config) as boards:
        answer = boards.admin.run_keeper(now)
    if json:
        print_json(answer)
    else:
        _print(answer.jobs)
    if any(job.error for job in answer.jobs):
        raise typer.Exit(1)


def _print(jobs: list[JobStatus]) -> None:
    table = new_table("job", "every", "last run", "next run", "failures", "result")
    for job in jobs:
        cells = (job.name, f"{job.every:g} s", job.last_run, job.next_run, job.failures or None)
        result = Text(job.error, style="red") if job.error else cell(job.result)
        table.add_row(*map(cell, cells), result)
    out.print(table)


def revise(
    board: BoardName,
    window: Annotated[str, typer.Option(metavar="WINDOW", help="Window: daily, weekly, monthly, yearly or season.")],
    window_id: Annotated[str, typer.Option(metavar="ID", help="Which one, such as 2026-W46.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why. It is kept in the audit.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Correct the final standings of a closed window.

    They are archived again from the ledger, as the next revision. The old revisions stay.
    """
    with reach(url, config) as boards:
        answer = boards.admin.revise(board, window, window_id, reason)
    if json:
        return print_json(answer)
    return out.print(
        f"{board} · {window} {window_id}: revision {answer.number}, {counted(answer.total_players, 'player')}, {answer.digest[:12]}…"
    )
