"""Scores from files: `keepscore import`."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from keepscore.answers import encode
from keepscore.board_checks import brief
from keepscore.boards import board_from_dict
from keepscore.cli.options import Config, Json, Url, err, out, print_json, reach
from keepscore.config import load_settings
from keepscore.errors import ConfigError, LedgerInUse
from keepscore.takeover import LedgerAlone, SortedSets, defined, ledger_alone, sorted_set
from keepscore.transfer import BadLine, Line, read_lines, read_members
from keepscore.transports import ServiceTransport, Transport

__all__ = ["app"]

#: Entries that an import sends at a time.
IMPORT_BATCH = 1000
#: Bad lines that are told one by one.
MAX_BAD_LINES = 1000

#: Takes some lines to a board, or only compares them: what to count, and why which lines are refused, by their place.
Bring = Callable[[list[Line]], tuple[Counter[str], dict[int, str]]]

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
            return _import(file, name or file.name, None, _bringing(transport, board, dry_run), dry_run, json)
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
                return _import(file, name, key, partial(_compared, alone), dry_run, json)
        with reach(url, config) as transport:
            return _import(file, name, key, _bringing(transport, board, dry_run), dry_run, json)


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


def _import(file: Path, source: str, key: str | None, bring: Bring, dry_run: bool, json: bool) -> None:
    """Bring the lines of a file, or the members of a set that a file has, to a board."""
    bad: list[BadLine] = []
    counts: Counter[str] = Counter()
    with _progress(key or file.name, file.stat().st_size, quiet=json) as advance:
        lines = read_lines(file, source)
        while chunk := list(islice(lines, IMPORT_BATCH)):
            good = [line for line in chunk if isinstance(line, Line)]
            bad += [line for line in chunk if isinstance(line, BadLine)]
            if good:
                brought, refused = bring(good)
                counts += brought
                bad += [BadLine(good[index].number, detail, 0) for index, detail in refused.items()]
            advance(chunk[-1].read)
    bad.sort(key=lambda line: line.number)
    if key is None:
        told = [(f"{file.name}, line {line.number}", {"line": line.number, "detail": line.problem}) for line in bad]
    else:
        members = read_members(file, {line.number for line in bad})
        named = [(members[line.number], line.problem) for line in bad]
        told = [(f"{key}, member {brief(member)}", {"member": member, "detail": problem}) for member, problem in named]
    _told(counts, told, "lines" if key is None else "members", dry_run, json)


def _told(counts: Counter[str], bad: list[tuple[str, dict[str, Any]]], noun: str, dry_run: bool, json: bool) -> None:
    """Tell what an import did, or would do; of what is bad, where it is and what programs get."""
    told = ("new", "other_score", "same_score") if dry_run else ("imported", "already_imported")
    if json:
        print_json({**{what: counts[what] for what in told}, "rejected": [rejected for _, rejected in bad]})
    else:
        if dry_run:
            words = f"{counts['new']} players are new, {counts['other_score']} have another score now, {counts['same_score']} the same"
            out.print(f"{words}, {len(bad)} bad {noun}. Nothing was changed.")
        else:
            out.print(f"{counts['imported']} imported, {counts['already_imported']} imported before, {len(bad)} bad {noun}")
        for where, rejected in bad[:MAX_BAD_LINES]:
            err.print(Text(f"{where}: {rejected['detail']}", style="red"))
        if len(bad) > MAX_BAD_LINES:
            err.print(f"… and {len(bad) - MAX_BAD_LINES} more")
    if bad:
        raise typer.Exit(1)


class _Asked:
    """A board where an import goes, for a dry run."""

    def __init__(self, transport: Transport, board: str) -> None:
        self._transport = transport
        self._board = board

    def check(self, entries: list[dict[str, Any]]) -> dict[int, str]:
        """Why which entries would be refused, by their place."""
        return _rejected(_sent(self._transport, self._board, entries, dry_run="true"))

    def scores(self, players: list[str]) -> dict[str, Any]:
        """The scores of those players who are on the board."""
        answer = self._transport.call("POST", "boards", self._board, "players", "lookup", body={"player_ids": players})
        return {standing["player_id"]: standing["score"] for standing in answer["standings"]}


def _bringing(transport: Transport, board: str, dry_run: bool) -> Bring:
    return partial(_compared, _Asked(transport, board)) if dry_run else partial(_submitted, transport, board)


def _submitted(transport: Transport, board: str, lines: list[Line]) -> tuple[Counter[str], dict[int, str]]:
    """How many of some lines are imported, and why which are refused."""
    answer = _sent(transport, board, [line.entry for line in lines])
    again = answer.get("duplicates", 0)
    return Counter(imported=answer["accepted"] - again, already_imported=again), _rejected(answer)


def _compared(board: _Asked | LedgerAlone, lines: list[Line]) -> tuple[Counter[str], dict[int, str]]:
    """How many players of some lines are new, have another score, or the same, and why which lines would be refused."""
    refused = board.check([line.entry for line in lines])
    scores = {line.entry["player_id"]: line.entry.get("score") for index, line in enumerate(lines) if index not in refused}
    found = board.scores(list(scores)) if scores else {}
    counts = Counter(
        "new" if player not in found else "same_score" if found[player] == score else "other_score" for player, score in scores.items()
    )
    return counts, refused


def _sent(transport: Transport, board: str, entries: list[dict[str, Any]], **query: str) -> Any:
    return transport.call("POST", "boards", board, "scores", "batch", query={"backfill": "true", **query}, body={"scores": entries})


def _rejected(answer: Any) -> dict[int, str]:
    return {rejection["index"]: rejection["detail"] for rejection in answer["rejected"]}


@contextmanager
def _progress(name: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=quiet) as progress:
        task = progress.add_task(name, total=total)
        yield lambda read: progress.update(task, completed=read)
