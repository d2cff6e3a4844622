"""What an import is known by: the content of its file, never its name.

A file is brought in parts of up to 1,000 rows, and each part is recorded with its events, for as long as the ledger exists. The digest of a
row is made from its content and its place in the file; that of a file, up to some row, is the sum over the rows that count. So a file is
found again, with rows added at its end (it goes on there) or with bad rows fixed (only these are new). Any other change makes it
another file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from keepscore.domain.results.standings import BatchReceipt, Rejection, encode

__all__ = [
    "DIGEST_BYTES",
    "KEY_PATTERN",
    "PART_ROWS",
    "FileDigest",
    "ImportReceipt",
    "NewPart",
    "Part",
    "as_text",
    "fixed_key",
    "next_end",
    "row_digest",
]

#: Parts end at rows whose number is a multiple of this, and at the end of a file.
PART_ROWS = 1000
#: Bytes of a digest.
DIGEST_BYTES = 16
#: How the key of a row or part is written.
KEY_PATTERN = rf"[0-9a-f]{{{2 * DIGEST_BYTES}}}"
#: Digests are added up modulo this.
MODULUS = 1 << (8 * DIGEST_BYTES)


class Part(msgspec.Struct):
    """A recorded part of a file."""

    key: str
    #: The key of the part before it; for the first of a file, the digest of the whole file.
    after: str
    #: How many rows of the file there are up to its end.
    rows: int
    #: The rows since the part before that do not count: they are bad, or were refused.
    bad: list[int]
    #: The digest of the file up to its end.
    digest: str
    #: What the file was called.
    name: str


class NewPart(msgspec.Struct, forbid_unknown_fields=True):
    """A part that is brought: what identifies it, and the digests of the rows that come with it."""

    after: str
    #: The digest of the file up to the end of the part before.
    before: str
    rows: int
    bad: list[int]
    digests: list[str]
    name: str

    @property
    def key(self) -> str:
        """What the part is claimed by: all that came before it, and its rows."""
        text = encode([self.after, self.rows, self.digests])
        return hashlib.blake2b(text, digest_size=DIGEST_BYTES).hexdigest()

    def recorded(self, rejected: Sequence[Rejection]) -> Part:
        """Return the part as it is recorded, without the rows that were refused."""
        bad = set(self.bad)
        first = self.rows - len(self.digests) - len(bad) + 1
        sent = [row for row in range(first, self.rows + 1) if row not in bad]
        refused = {rejection.index for rejection in rejected}
        digest = sum((_number(text) for index, text in enumerate(self.digests) if index not in refused), _number(self.before))
        return Part(self.key, self.after, self.rows, sorted(bad | {sent[index] for index in refused}), as_text(digest), self.name)


class ImportReceipt(BatchReceipt):
    """The answer to a part of an import, as BatchReceipt; `part` is what is recorded of it, if a row counts."""

    part: Part | None = None


def row_digest(row: int, source: str, entry: Mapping[str, Any]) -> int:
    """Return the digest of a row."""
    return int.from_bytes(hashlib.blake2b(encode([row, source, sorted(entry.items())]), digest_size=DIGEST_BYTES).digest())


def fixed_key(part: str, row: int) -> str:
    """Return the key that claims a bad row of a part that was fixed since."""
    return hashlib.blake2b(encode([part, row]), digest_size=DIGEST_BYTES).hexdigest()


def next_end(row: int, rows: int) -> int:
    """Return the last row of the part that begins after a row."""
    return min(rows, row - row % PART_ROWS + PART_ROWS)


def as_text(digest: int) -> str:
    """Format a digest as it is sent and recorded."""
    return f"{digest % MODULUS:0{2 * DIGEST_BYTES}x}"


def _number(text: str) -> int:
    return int(text, 16)


class FileDigest:
    """The digest of a file, row by row, and which of the parts that are recorded are parts of it."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = {part.key: part for part in parts}
        self._ends = {part.rows for part in self._parts.values()}
        self._gaps = {row for part in self._parts.values() for row in part.bad}
        #: The digest up to rows with which some part ends, and those of rows that did not count once.
        self._upto: dict[int, int] = {}
        self._of_gaps: dict[int, int] = {}
        self.rows = 0
        self.digest = 0

    def add(self, digest: int | None) -> None:
        """Take up the next row; None: it is bad."""
        self.rows += 1
        self.digest += digest or 0
        if self.rows in self._gaps:
            self._of_gaps[self.rows] = digest or 0
        if self.rows in self._ends:
            self._upto[self.rows] = self.digest

    def chain(self, part: Part) -> list[Part]:
        """Return the parts of a file up to one of them, the last one first."""
        found = [part]
        while (before := self._parts.get(found[-1].after)) is not None:
            found.append(before)
        return found

    def last_known(self) -> Part | None:
        """Return the part up to which the file was imported, if it was: the whole file, or all that an import has brought so far."""
        followed = {part.after for part in self._parts.values()}
        ends = [part for part in self._parts.values() if part.rows == self.rows or part.key not in followed]
        return max((part for part in ends if self._is_of_file(part)), key=lambda part: part.rows, default=None)

    def _is_of_file(self, part: Part) -> bool:
        if part.rows not in self._upto:
            return False
        left_out = sum(self._of_gaps[row] for one in self.chain(part) for row in one.bad)
        return as_text(self._upto[part.rows] - left_out) == part.digest

    def is_name_known(self, name: str) -> bool:
        """Return whether a file of that name was imported."""
        return any(part.name == name for part in self._parts.values())
