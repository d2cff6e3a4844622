"""The lines of a file on their way to a board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from keepscore.cli.options import AnyLeaderboards
from keepscore.cli.transfer import BadLine, ImportLine, read_lines
from keepscore.domain.imports import PART_ROWS, FileDigest, ImportReceipt, NewPart, Part, as_text, fixed_key, next_end, row_digest
from keepscore.domain.inputs import Entry
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.results.standings import BatchReceipt

__all__ = ["Brought", "ImportTarget", "bring_file", "compare"]

#: Told how many bytes of a file are read.
Advance = Callable[[int], None]
#: A row of a file: its place, the line, and the digest of a good one.
ImportRow = tuple[int, ImportLine | BadLine, int | None]


class Brought(NamedTuple):
    """What became of a file: how many lines were imported or compared, what else to tell, and the bad lines."""

    counts: Counter[str]
    notes: list[str]
    bad: list[BadLine]


class ImportTarget:
    """A board that a service, or this process, has."""

    def __init__(self, boards: AnyLeaderboards, name: str) -> None:
        self._boards = boards
        self._name = name

    def parts(self) -> Iterator[Part]:
        """Yield all parts of files that were imported."""
        after = ""
        while found := self._boards.admin.imported_parts(self._name, after=after):
            yield from found
            after = found[-1].key

    def bring_part(self, lines: list[ImportLine], part: NewPart) -> ImportReceipt:
        """Import a part of a file."""
        return self._boards.admin.import_scores(self._name, [line.entry for line in lines], part=part)

    def bring_keyed(self, lines: list[ImportLine], keys: list[str]) -> ImportReceipt:
        """Import lines that each have their own key."""
        return self._boards.admin.import_scores(self._name, [line.entry for line in lines], keys=keys)

    def bring_opening(self, entries: list[Entry], keys: list[str], into: RankingPlace) -> ImportReceipt:
        """Import opening balances of a ranking, each of which has a key of its own."""
        return self._boards.admin.import_scores(self._name, entries, keys=keys, into=into)

    def bring_opening_part(self, entries: list[Entry], part: NewPart, into: RankingPlace) -> ImportReceipt:
        """Import opening balances of a ranking, all of which count once."""
        return self._boards.admin.import_scores(self._name, entries, part=part, into=into)

    def check(self, entries: list[Entry]) -> dict[int, str]:
        """Return why entries would be refused, by their place."""
        return _rejected(self._boards.check_many(self._name, entries, backfill=True))

    def check_opening(self, entries: list[Entry], into: RankingPlace) -> dict[int, str]:
        """Return why entries would be refused as opening balances of a ranking, by their place."""
        return _rejected(self._boards.admin.check_import(self._name, entries, into=into))

    def scores(self, players: list[str], of: RankingPlace | None = None) -> dict[str, Any]:
        """Return the scores of those players who are in a ranking; by default the board's first."""
        named = {} if of is None else {"window": of.window, "window_id": of.window_id, "segment": of.segment or None}
        return {standing.player_id: standing.score for standing in self._boards.lookup(self._name, players, **named).standings}


def bring_file(file: Path, source: str, board: ImportTarget, advance: Advance) -> Brought:
    """Import what a board does not have of a file."""
    digest, last = _known(file, source, board)
    brought = Brought(Counter(), _notes(file.name, digest, last), [])
    rows = _rows(file, source, digest.rows)
    at, key, upto = 0, as_text(digest.digest), as_text(0)
    if last is not None:
        at, key, upto = last.rows, last.key, last.digest
        _bring_fixed(digest, last, islice(rows, last.rows), board, brought, advance)
    #: Rows since the last recorded part that do not count.
    left_out: list[int] = []
    while at < digest.rows:
        end = next_end(at, digest.rows)
        some = list(islice(rows, end - at))
        at = end
        _keep_bad(brought, some)
        left_out += [place for place, line, _ in some if isinstance(line, BadLine)]
        good = [(place, line, own) for place, line, own in some if isinstance(line, ImportLine) and own is not None]
        if good:
            digests = [as_text(own) for *_, own in good]
            lines = [line for _, line, _ in good]
            answer = board.bring_part(lines, NewPart(key, upto, at, left_out, digests, file.name))
            again = answer.accepted if answer.replayed is True else 0
            brought.counts.update(imported=answer.accepted - again, already_imported=again)
            _refuse(brought, lines, answer)
            if answer.part is None:
                # All were refused, and so nothing is recorded.
                left_out += [place for place, *_ in good]
            else:
                key, upto, left_out = answer.part.key, answer.part.digest, []
        advance(some[-1][1].read)
    return brought


def _known(file: Path, source: str, board: ImportTarget) -> tuple[FileDigest, Part | None]:
    """Return the digest of a file, and the part up to which the board has it."""
    digest = FileDigest(board.parts())
    for _, _, own in _rows(file, source):
        digest.add(own)
    return digest, digest.last_known()


def _rows(file: Path, source: str, limit: int | None = None) -> Iterator[ImportRow]:
    for place, line in enumerate(islice(read_lines(file), limit), 1):
        yield place, line, _digest(place, source, line.entry) if isinstance(line, ImportLine) else None


def _digest(place: int, source: str, entry: Entry) -> int:
    return row_digest(place, source, entry.given())


def _notes(name: str, digest: FileDigest, last: Part | None) -> list[str]:
    if last is None:
        other = "differs from the file of that name that was imported before: all of its lines count"
        return [f"{name} {other}"] if digest.is_name_known(name) else []
    called = "" if last.name == name else f", as {last.name}"
    if last.rows == digest.rows:
        return [f"{name} was imported before{called}"]
    return [f"{name} was imported before{called}, up to row {last.rows} of {digest.rows}: continuing there"]


def _bring_fixed(
    digest: FileDigest, last: Part, rows: Iterator[ImportRow], board: ImportTarget, brought: Brought, advance: Advance
) -> None:
    """Import the rows of known parts that were bad once, and are not any more."""
    gaps = {row: part.key for part in digest.chain(last) for row in part.bad}
    brought.counts["already_imported"] += last.rows - len(gaps)
    while some := list(islice(rows, PART_ROWS)):
        _keep_bad(brought, some)
        fixed = [(place, line) for place, line, _ in some if place in gaps and isinstance(line, ImportLine)]
        if fixed:
            keys = [fixed_key(gaps[place], place) for place, _ in fixed]
            _count_keyed(brought, [line for _, line in fixed], keys, board)
        advance(some[-1][1].read)


def _count_keyed(brought: Brought, lines: list[ImportLine], keys: list[str], board: ImportTarget) -> None:
    answer = board.bring_keyed(lines, keys)
    again = answer.duplicates or 0
    brought.counts.update(imported=answer.accepted - again, already_imported=again)
    _refuse(brought, lines, answer)


def _keep_bad(brought: Brought, rows: list[ImportRow]) -> None:
    brought.bad.extend(line for _, line, _ in rows if isinstance(line, BadLine))


def _refuse(brought: Brought, lines: list[ImportLine], answer: BatchReceipt) -> None:
    brought.bad.extend(BadLine(lines[index].number, lines[index].read, detail) for index, detail in _rejected(answer).items())


def compare(file: Path, source: str, board: ImportTarget, advance: Advance) -> Brought:
    """Tell what an import would do: how many players are new, have another score, or the same, and which lines would be refused.

    Of a file that was imported before, only what is new is looked at.
    """
    brought = Brought(Counter(), [], [])
    done: set[int] = set()
    digest, last = _known(file, source, board)
    brought.notes.extend(_notes(file.name, digest, last))
    if last is not None:
        gaps = {row for part in digest.chain(last) for row in part.bad}
        done = {row for row in range(1, last.rows + 1) if row not in gaps}
    rows = _rows(file, source)
    while some := list(islice(rows, PART_ROWS)):
        _keep_bad(brought, some)
        lines = [line for place, line, _ in some if isinstance(line, ImportLine) and place not in done]
        if lines:
            refused = board.check([line.entry for line in lines])
            brought.bad.extend(BadLine(lines[index].number, lines[index].read, detail) for index, detail in refused.items())
            scores = {line.entry.player_id: line.entry.score for index, line in enumerate(lines) if index not in refused}
            found = board.scores(list(scores)) if scores else {}
            brought.counts.update(
                "new" if player not in found else "same_score" if found[player] == score else "other_score"
                for player, score in scores.items()
            )
        advance(some[-1][1].read)
    return brought


def _rejected(answer: BatchReceipt) -> dict[int, str]:
    return {rejection.index: rejection.detail for rejection in answer.rejected}
