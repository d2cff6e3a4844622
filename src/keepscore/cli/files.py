"""Scores from files: `keepscore import`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from keepscore.cli.completion import complete_board
from keepscore.cli.importing import ImportTarget, bring_file, compare
from keepscore.cli.members import Decoding
from keepscore.cli.migration import MigrationRequest, Moved, bad_members, import_sets
from keepscore.cli.options import Config, Json, Url, Yes, cell, err, new_table, out, print_json, reach
from keepscore.cli.shadowing import cut_over as cut_over_sets
from keepscore.cli.shadowing import follow as follow_sets
from keepscore.domain.board_checks import brief
from keepscore.domain.formulas import Formula
from keepscore.domain.nouns import counted
from keepscore.errors import ConfigError

__all__ = ["app"]

#: Bad lines that are printed one by one.
MAX_BAD_LINES = 1000
#: What is counted when an import is only compared, and when it is done.
COMPARED, BROUGHT = ("new", "other_score", "same_score"), ("imported", "already_imported")

app = typer.Typer()


@app.command("import")
def import_(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A .csv or .jsonl file, or the URL of a Redis that has sorted sets.")],
    board: Annotated[str, typer.Option(metavar="BOARD", help="Board to import into.", autocompletion=complete_board)],
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Key of a sorted set in Redis, or a pattern such as 'leaderboard:*'. Repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change, and which key becomes which ranking.")] = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Where the scores come from: the same file from another source counts again. Default for a sorted set: its URL and key.",
        ),
    ] = None,
    window: Annotated[str | None, typer.Option("--window", metavar="WINDOW", help="Window of the ranking. Default: by the key.")] = None,
    window_id: Annotated[str | None, typer.Option(metavar="ID", help="Which one, such as 2026-W46. Default: by the key.")] = None,
    segment: Annotated[str | None, typer.Option(metavar="NAME:VALUE", help="Segment of the ranking. Default: by the key.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="When the scores were reached. Default: now, or the window's end.")] = None,
    score: Annotated[
        str | None, typer.Option(metavar="FORMULA", help="The score in a composite number, such as 'floor(score / 2**32)'.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="FORMULA", help="The time in it, in seconds since 1970, such as '2**32 - score % 2**32'.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep recording what changes in the sorted sets, and show how far, until stopped.")
    ] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Pause between two looks with --follow.")] = 1.0,
    cut_over: Annotated[bool, typer.Option("--cut-over", help="Let the board take the place of the sorted sets that it follows.")] = False,
    yes: Yes = False,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Import scores from a file, or sorted sets from Redis.

    A file has the columns player and score (or amount), and optionally at, segments (region:eu;country:BR) and game_id.

    You can repeat an import: a file is recognized by its content, whatever its name, and each line counts once. If lines were added at
    the end, or the import was interrupted, it continues there. If bad lines were fixed, only those are imported. Any other change makes
    it a different file, and all of its lines count. A member of a sorted set counts once with each score.

    A sorted set becomes one ranking: the one whose key it has by the board's templates, or the one that you name. Its scores are opening
    balances of that ranking and count in no other. A sorted set whose key is the board's own key is moved to keepscore:before:KEY, after
    all are checked.

    With --follow, a board with following = true records what another system, which still takes the scores, changes in its sorted sets.
    These are only read. With --cut-over, the board takes their place, and scores from then on.
    """
    ranking: dict[str, str | bool | None] = {
        "--window": window,
        "--window-id": window_id,
        "--segment": segment,
        "--at": at,
        "--score": score,
        "--since": since,
    }
    ranking |= {"--follow": follow, "--cut-over": cut_over}
    if "://" not in source:
        given = [option for option, value in {"--key": key, **ranking}.items() if value]
        _import_file(source, FileImport(board, name or "", dry_run, json), given, Reach(url, config))
        return
    if not key:
        raise ConfigError("name the sorted set with --key, such as --key leaderboard:global")
    if at is not None and since is not None:
        raise ConfigError("--at is one time for all, and --since gives each its own: leave one of them out")
    decoding = Decoding(None if score is None else Formula(score), None if since is None else Formula(since), at)
    request = MigrationRequest(board, key, decoding, name, window, window_id, segment, url, config)
    if follow + cut_over + dry_run > 1:
        raise ConfigError("--dry-run, --follow and --cut-over are three things to do: give one of them")
    from keepscore.cli.takeover import sorted_sets  # Not for other commands: the client of Redis takes a while to load.

    with sorted_sets(source) as sets:
        if follow:
            follow_sets(sets, request, every, json)
        elif cut_over:
            cut_over_sets(sets, request, yes, json)
        else:
            _report_sets(import_sets(sets, request, dry_run), dry_run, json)


class Reach(NamedTuple):
    """The service, or the configuration."""

    url: str | None
    config: str | None


class FileImport(NamedTuple):
    """The board and the name that lines are imported under, whether only compared, and how that is printed."""

    board: str
    name: str
    dry_run: bool
    json: bool


def _import_file(source: str, request: FileImport, given: list[str], where: Reach) -> None:
    """Bring the lines of a file to a board."""
    board, name, dry_run, json = request
    file = Path(source)
    if not file.is_file():
        raise ConfigError(f"{source} is not a file: name a .csv or .jsonl file, or a Redis URL such as redis://127.0.0.1:6379/0 with --key")
    if given:
        raise ConfigError(f"{given[0]} is for a sorted set in Redis, but this is a file: leave {given[0]} out")
    with reach(*where) as boards, _progress(file.name, file.stat().st_size, quiet=json) as advance:
        target = ImportTarget(boards, board)
        brought = (compare if dry_run else bring_file)(file, name, target, advance)
    for note in brought.notes if not json else ():
        err.print(note)
    brought.bad.sort(key=lambda line: line.number)
    told = [(f"{file.name}, line {line.number}", {"line": line.number, "detail": line.problem}) for line in brought.bad]
    _report(brought.counts, told, "line", dry_run, json)


def _report_sets(moved: list[Moved], dry_run: bool, json: bool) -> None:
    """Print what became of sorted sets, or would: each with its ranking, then the sums."""
    counts = sum((one.members.counts for one in moved), Counter[str]())
    bad = [
        (f"{key}, member {brief(member)}", {"key": key, "member": member, "detail": problem})
        for key, (member, problem) in bad_members(moved)
    ]
    told = COMPARED if dry_run else BROUGHT
    rows = [
        {"key": one.key, **msgspec.to_builtins(one.place), **{what: one.members.counts[what] for what in told}, "bad": len(one.members.bad)}
        for one in moved
    ]
    if not json:
        table = new_table("key", "ranking", *(what.replace("_", " ") for what in told), "bad")
        for one, row in zip(moved, rows, strict=True):
            table.add_row(*map(cell, (one.key, one.place, *(row[what] for what in told), row["bad"])))
        out.print(table)
    _report(counts, bad, "member", dry_run, json, {"rankings": rows})


def _report(
    counts: Counter[str], bad: list[tuple[str, dict[str, Any]]], noun: str, dry_run: bool, json: bool, more: dict[str, Any] | None = None
) -> None:
    """Print what an import did, or would do. `bad` has the place of each bad line, and what programs get."""
    told = COMPARED if dry_run else BROUGHT
    if json:
        print_json({**{what: counts[what] for what in told}, "rejected": [rejected for _, rejected in bad], **(more or {})})
    else:
        if dry_run:
            words = f"{counts['new']} new, {counts['other_score']} with another score, {counts['same_score']} with the same score"
            out.print(f"Players: {words}. {counted(len(bad), f'bad {noun}')}. Nothing was changed.")
        else:
            out.print(f"{counts['imported']} imported, {counts['already_imported']} imported before, {counted(len(bad), f'bad {noun}')}")
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
