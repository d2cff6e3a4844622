"""Scores from files: `keepscore import`."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from keepscore.cli.bringing import ImportTarget, Target, bring_file, bring_members, compare
from keepscore.cli.completion import complete_board
from keepscore.cli.options import Config, Json, Url, at_service, count, err, out, print_json, reach
from keepscore.cli.takeover import SortedSets, defined, ledger_alone, sorted_set
from keepscore.cli.transfer import read_members
from keepscore.config import load_settings
from keepscore.domain.board_checks import brief
from keepscore.errors import ConfigError, LedgerInUse

__all__ = ["app"]

#: Bad lines that are printed one by one.
MAX_BAD_LINES = 1000

app = typer.Typer()


@app.command("import")
def import_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A .csv or .jsonl file, or the URL of a Redis that has a sorted set.")],
    board: Annotated[str, typer.Option(metavar="BOARD", help="Board to import into.", autocompletion=complete_board)],
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Key of the sorted set in Redis. Its members become players.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Where the scores come from: the same file from another source counts again. Default for a sorted set: its URL and key.",
        ),
    ] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Import scores from a file or a sorted set in Redis.

    A file has the columns player and score (or amount), and optionally at, segments (region:eu;country:BR) and game_id.

    You can repeat an import: a file is recognized by its content, whatever its name, and each line counts once. If lines were added at
    the end, or the import was interrupted, it continues there. If bad lines were fixed, only those are imported. Any other change makes
    it a different file, and all of its lines count. A member of a sorted set counts once with each score.

    A sorted set whose key is the board's own key is moved to keepscore:before:KEY after it is read.
    """
    if "://" not in source:
        file = Path(source)
        if not file.is_file():
            raise ConfigError(
                f"{source} is not a file: name a .csv or .jsonl file, or a Redis URL such as redis://127.0.0.1:6379/0 with --key"
            )
        if key is not None:
            raise ConfigError("--key is for a sorted set in Redis, but this is a file: leave --key out")
        with reach(url, config) as boards:
            return _import(file, name or "", None, ImportTarget(boards, board), dry_run, json)
    if key is None:
        raise ConfigError("name the sorted set with --key, such as --key leaderboard:global")
    with tempfile.TemporaryDirectory() as folder:
        file, name = Path(folder) / "set.jsonl", name or f"{source} {key}"
        with sorted_set(source) as taken:
            size = taken.size(key)
            own = _is_own(taken, key, board, url, config)
            with _progress(key, size, quiet=json) as advance:
                taken.save(key, file, advance)
            if own and not dry_run:
                taken.move_aside(key)
        if own and dry_run:
            # Until it is moved aside, the board cannot be opened.
            with ledger_alone(load_settings(config), board) as alone:
                return _import(file, name, key, alone, dry_run, json)
        with reach(url, config) as boards:
            return _import(file, name, key, ImportTarget(boards, board), dry_run, json)


def _is_own(taken: SortedSets, key: str, board: str, url: str | None, config: str | None) -> bool:
    """Return whether a set has to be moved aside, as its key is the board's own; refuse it if a service would be in the way."""
    if url is None:
        settings = load_settings(config)
        try:
            definition = defined(settings, board)
            return definition is not None and taken.is_own(key, definition, settings.engine)
        except LedgerInUse as exc:
            if exc.url is None:
                raise
            url = exc.url
    with at_service(url) as boards:
        info = boards.admin.board(board)
    # Only a service whose engine is Redis tells of layouts.
    if info.layouts and taken.is_in_the_way(key, info.board):
        raise ConfigError(
            f"{key!r} is the key of board {board!r} itself on the service at {url}, which cannot move it: import it without --url, with "
            "the service's configuration (--config FILE, or KEEPSCORE_LEDGER_URL and KEEPSCORE_ENGINE_URL). The service may keep running"
        )
    return False


def _import(file: Path, source: str, key: str | None, target: Target, dry_run: bool, json: bool) -> None:
    """Bring the lines of a file, or the members of a set that a file has, to a board."""
    with _progress(key or file.name, file.stat().st_size, quiet=json) as advance:
        bring = bring_members if key is not None else bring_file
        brought = bring(file, source, target, advance) if not dry_run else compare(file, source, target, advance, whole=key is not None)
    for note in brought.notes if not json else ():
        err.print(note)
    brought.bad.sort(key=lambda line: line.number)
    if key is None:
        told = [(f"{file.name}, line {line.number}", {"line": line.number, "detail": line.problem}) for line in brought.bad]
    else:
        members = read_members(file, {line.number for line in brought.bad})
        named = [(members[line.number], line.problem) for line in brought.bad]
        told = [(f"{key}, member {brief(member)}", {"member": member, "detail": problem}) for member, problem in named]
    _report(brought.counts, told, "line" if key is None else "member", dry_run, json)


def _report(counts: Counter[str], bad: list[tuple[str, dict[str, Any]]], noun: str, dry_run: bool, json: bool) -> None:
    """Print what an import did, or would do. `bad` has the place of each bad line, and what programs get."""
    told = ("new", "other_score", "same_score") if dry_run else ("imported", "already_imported")
    if json:
        print_json({**{what: counts[what] for what in told}, "rejected": [rejected for _, rejected in bad]})
    else:
        if dry_run:
            words = f"{counts['new']} new, {counts['other_score']} with another score, {counts['same_score']} with the same score"
            out.print(f"Players: {words}. {count(len(bad), f'bad {noun}')}. Nothing was changed.")
        else:
            out.print(f"{counts['imported']} imported, {counts['already_imported']} imported before, {count(len(bad), f'bad {noun}')}")
        for where, rejected in bad[:MAX_BAD_LINES]:
            err.print(Text(f"{where}: {rejected['detail']}", style="red"))
        if len(bad) > MAX_BAD_LINES:
            err.print(f"… and {len(bad) - MAX_BAD_LINES} more")
    if bad:
        raise typer.Exit(1)


@contextmanager
def _progress(name: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=quiet or not err.is_terminal) as progress:
        task = progress.add_task(name, total=total)
        yield lambda read: progress.update(task, completed=read)
