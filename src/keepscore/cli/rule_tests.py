"""`keepscore rules test`: try rules on the past of a board, on the ledger itself or over a service."""

from __future__ import annotations

import tomllib
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from keepscore.cli.options import BoardName, Config, Json, Url, cell, err, new_table, out, print_json, reach
from keepscore.domain.nouns import counted
from keepscore.domain.results.back_testing import RuleTest
from keepscore.errors import InvalidField

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Try rules on what was sent to a board.")

#: Examples and changes that are printed; all are in the JSON.
SHOWN = 20


@app.callback()
def rules() -> None:
    """Try rules on what was sent to a board."""


@app.command("test")
def try_rules(
    board: BoardName,
    rule: Annotated[
        list[str],
        typer.Option(metavar="NAME=VALUE", help="A rule, such as 'max_increase=5000/1h' or 'max_submissions={daily = 10}'. Repeatable."),
    ],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show what rules would have caught, and whose ranks would change. Nothing is changed."""
    given = _rules(rule)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with reach(url, config) as boards, Progress(*columns, console=err, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        found = boards.moderation.test_rules(board, given, progress=progress)
    _print(found, json)


def _rules(texts: list[str]) -> dict[str, Any]:
    """Read rules as they are written in a definition; a value that is no TOML is a text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidField(f"--rule {text[:60]!r} is no rule: write its name, = and its value, such as 'max_increase=1000'")
        try:
            read = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            read = value.strip()
        name = name.strip()
        found[name] = read if name not in found else [*(found[name] if isinstance(found[name], list) else [found[name]]), read]
    return found


def _print(found: RuleTest, json: bool) -> None:
    if json:
        return print_json(found)
    table = new_table("event", "player", "score", "at", "counts", "reasons")
    for one in found.examples[:SHOWN]:
        reasons = "; ".join(reason.detail for reason in one.reasons)
        table.add_row(*map(cell, (one.event_id, one.player_id, one.score, one.at, "yes" if one.counts else "no", reasons)))
    if found.examples:
        out.print(table)
    if found.caught > SHOWN:
        err.print(f"{found.caught - SHOWN} more: see --json")
    rules = ", ".join(f"{rule} {number:,}" for rule, number in found.by_rule.items())
    of = f"{found.caught:,} of {counted(found.submissions, 'submission')}, of {counted(found.players, 'player')}"
    out.print(f"caught: {of}{f' ({rules})' if rules else ''}")
    out.print(f"moderators agreed on {found.agreed:,}, approved {found.approved:,} of these, and stopped {found.missed:,} that would pass")
    changes = counted(found.total_changes, "change")
    return out.print(f"{counted(found.counting, 'score')} that count would not: {changes} of scores and ranks")
