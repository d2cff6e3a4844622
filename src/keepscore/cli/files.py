"""Scores from files: `keepscore import`."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from keepscore.answers import encode
from keepscore.boards import board_from_dict
from keepscore.cli.options import Config, Json, Url, err, out, print_json, reach
from keepscore.config import load_settings
from keepscore.errors import ConfigError, LedgerInUse
from keepscore.takeover import SortedSets, defined, sorted_set
from keepscore.transfer import BadLine, Line, read_lines
from keepscore.transports import ServiceTransport, Transport

__all__ = ["app"]

#: Entries that an import sends at a time.
IMPORT_BATCH = 1000
#: Bad lines that are told one by one.
MAX_BAD_LINES = 1000

app = typer.Typer()


@app.command("import")
def import_(
    source: Annotated[str, typer.Argument(metavar="FILE | REDIS-URL", help="A .csv or .jsonl file, or the Redis that has a sorted set.")],
    board: Annotated[str, typer.Option(help="The board that the scores are for.")],
    key: Annotated[str | None, typer.Option(help="The sorted set in Redis: its members become players.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    name: Annotated[
        str | None,
        typer.Option("--source", help="What the scores come from. Equal lines of one source count once. Default: the file's name."),
    ] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Import scores from a file, or take over a sorted set from Redis.

    A file has the columns player, score (or amount), and optionally at, segments (region:eu;country:BR) and game_id. It can be
    imported again, grown or mended, too: no line counts twice. A sorted set that has the name of the board's own key is moved to
    keepscore:before:KEY when it is read.
    """
    if "://" not in source:
        file = Path(source)
        if not file.is_file():
            raise ConfigError(f"{source} is not a file: name a .csv or .jsonl file, or a Redis such as redis://127.0.0.1:6379/0 with --key")
        if key is not None:
            raise ConfigError("--key is for a sorted set in Redis, and this is a file: leave it out")
        with reach(url, config) as transport:
            return _import(transport, file, name or file.name, board, dry_run, json)
    if key is None:
        raise ConfigError("name the sorted set with --key, such as --key leaderboard:global")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "set.jsonl"
        with sorted_set(source) as taken:
            size = taken.size(key)
            own = _is_own(taken, key, board, url, config)
            if own and dry_run:
                # Until it is moved aside there is no such board, and so nobody on it.
                return _told(Counter(new=size), [], key, dry_run, json)
            with _progress(key, size, quiet=json) as advance:
                taken.save(key, file, advance)
            if own:
                taken.move_aside(key)
        with reach(url, config) as transport:
            return _import(transport, file, name or f"{source} {key}", board, dry_run, json)


def _is_own(taken: SortedSets, key: str, board: str, url: str | None, config: str | None) -> bool:
    """Whether a set is to be moved aside, as it has the name of the board's own key; refused where a service would be in the way."""
    if url is None:
        settings = load_settings(config)
        try:
            definition = defined(settings, board)
            return definition is not None and taken.is_own(key, definition, settings.engine)
        except LedgerInUse as exc:
            if exc.url is None:
                raise
            url = exc.url
    answer = ServiceTransport(url).call("GET", "boards", board)
    # Only a service whose engine is Redis tells of layouts.
    layouts, _ = answer.pop("layouts", None), answer.pop("version")
    if layouts and taken.is_in_the_way(key, board_from_dict(msgspec.json.decode(encode(answer)))):
        raise ConfigError(
            f"{key!r} is the own key of board {board!r} on the service at {url}, which cannot move it: import it without --url, with the "
            "service's configuration (--config FILE, or KEEPSCORE_LEDGER_URL and KEEPSCORE_ENGINE_URL); the service may run meanwhile"
        )
    return False


def _import(transport: Transport, file: Path, source: str, board: str, dry_run: bool, json: bool) -> None:
    bad: list[BadLine] = []
    counts: Counter[str] = Counter()
    with _progress(file.name, file.stat().st_size, quiet=json) as advance:
        lines = read_lines(file, source)
        while chunk := list(islice(lines, IMPORT_BATCH)):
            good = [line for line in chunk if isinstance(line, Line)]
            bad += [line for line in chunk if isinstance(line, BadLine)]
            if good and dry_run:
                counts += _compared(transport, board, good)
            elif good:
                body = {"scores": [line.entry for line in good]}
                answer = transport.call("POST", "boards", board, "scores", "batch", query={"backfill": "true"}, body=body)
                counts["imported"] += answer["accepted"] - answer.get("duplicates", 0)
                counts["already_imported"] += answer.get("duplicates", 0)
                bad += [BadLine(good[r["index"]].number, r["detail"], 0) for r in answer["rejected"]]
            advance(chunk[-1].read)
    bad.sort(key=lambda line: line.number)
    _told(counts, bad, file.name, dry_run, json)


def _told(counts: Counter[str], bad: list[BadLine], name: str, dry_run: bool, json: bool) -> None:
    """Tell what an import did, or would do."""
    told = ("new", "other_score", "same_score") if dry_run else ("imported", "already_imported")
    if json:
        rejected = [{"line": line.number, "detail": line.problem} for line in bad]
        print_json({**{what: counts[what] for what in told}, "rejected": rejected})
    else:
        if dry_run:
            words = f"{counts['new']} players are new, {counts['other_score']} have another score now, {counts['same_score']} the same"
            out.print(f"{words}, {len(bad)} bad lines. Nothing was changed.")
        else:
            out.print(f"{counts['imported']} imported, {counts['already_imported']} imported before, {len(bad)} bad lines")
        for line in bad[:MAX_BAD_LINES]:
            err.print(Text(f"{name}, line {line.number}: {line.problem}", style="red"))
        if len(bad) > MAX_BAD_LINES:
            err.print(f"… and {len(bad) - MAX_BAD_LINES} more")
    if bad:
        raise typer.Exit(1)


def _compared(transport: Transport, board: str, lines: list[Line]) -> Counter[str]:
    """How many players of some lines are new, have another score, or the same."""
    scores = {line.entry["player_id"]: line.entry.get("score") for line in lines}
    answer = transport.call("POST", "boards", board, "players", "lookup", body={"player_ids": list(scores)})
    found = {standing["player_id"]: standing["score"] for standing in answer["standings"]}
    return Counter(
        "new" if player not in found else "same_score" if found[player] == score else "other_score" for player, score in scores.items()
    )


@contextmanager
def _progress(name: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=quiet) as progress:
        task = progress.add_task(name, total=total)
        yield lambda read: progress.update(task, completed=read)
