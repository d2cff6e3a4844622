"""Scores from and to files: CSV and JSON Lines."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

import msgspec

from keepscore.answers import encode
from keepscore.errors import ConfigError

__all__ = ["COLUMNS", "BadLine", "Line", "read_lines", "read_members", "write_standings"]

#: What the columns of a file may be called, and the field that each becomes.
COLUMNS = {
    "player": "player_id",
    "player_id": "player_id",
    "score": "score",
    "amount": "amount",
    "at": "at",
    "since": "at",
    "segments": "segments",
    "game_id": "game_id",
}

#: Columns of an exported file that mean nothing to an import.
IGNORED = {"rank", "name"}

_decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


class Line(NamedTuple):
    """A line of a file that can be submitted: its number, the entry, and how many bytes of the file are read."""

    number: int
    entry: dict[str, Any]
    read: int


class BadLine(NamedTuple):
    """A line of a file that cannot."""

    number: int
    problem: str
    read: int


def read_lines(file: Path, source: str) -> Iterator[Line | BadLine]:
    """The lines of a CSV file (with a header) or a JSON Lines file, one by one.

    Each entry gets an idempotency key made of the source's name, the line's content and how often that content came before in the
    file. So a file can be imported again, whole, grown or with some lines mended, and no line counts twice.
    """
    is_csv = file.suffix.lower() == ".csv"
    if not is_csv and file.suffix.lower() not in (".jsonl", ".ndjson"):
        raise ConfigError(f"{file.name} is neither .csv nor .jsonl: rename it after what it holds")
    seen: Counter[bytes] = Counter()
    with file.open("rb") as raw:
        for number, content in _csv_lines(raw, file.name) if is_csv else _json_lines(raw):
            try:
                if isinstance(content, str):
                    raise ValueError(content)
                entry = _entry(content) if isinstance(content, dict) else _entry(_decoder.decode(content))
            except (msgspec.MsgspecError, ValueError) as exc:
                yield BadLine(number, str(exc), raw.tell())
                continue
            digest = hashlib.blake2b(encode([source, sorted(entry.items())]), digest_size=16).digest()
            seen[digest] += 1
            entry["idempotency_key"] = f"import:{digest.hex()}:{seen[digest]}"
            yield Line(number, entry, raw.tell())


def read_members(file: Path, numbers: Set[int]) -> dict[int, str]:
    """The players of some lines of a JSON Lines file that was made from a sorted set, by the lines' numbers."""
    with file.open("rb") as raw:
        return {number: _decoder.decode(line)["player"] for number, line in enumerate(raw, 1) if number in numbers}


def _json_lines(raw: BinaryIO) -> Iterator[tuple[int, bytes]]:
    # iter, not for-in: a file that is iterated over does not tell its position.
    for number, line in enumerate(iter(raw.readline, b""), 1):
        if line.strip():
            yield number, line


def _csv_lines(raw: BinaryIO, name: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    rows = csv.reader(line.decode("utf-8-sig") for line in iter(raw.readline, b""))
    header: list[str] = []
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as exc:
            yield rows.line_num, str(exc)
            continue
        except UnicodeDecodeError:
            raise ConfigError(f"{name} is not UTF-8") from None
        if not header:
            header = row
            for column in header:
                if column not in COLUMNS and column not in IGNORED:
                    raise ConfigError(f"{name}: unknown column {column!r}; allowed: {', '.join(COLUMNS)}")
        elif len(row) > len(header):
            yield rows.line_num, f"there are {len(row)} cells, and the header has {len(header)}"
        elif row:
            yield rows.line_num, {column: cell for column, cell in zip(header, row, strict=False) if cell != ""}


def _entry(content: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for column, value in content.items():
        if column not in COLUMNS and column not in IGNORED:
            raise ValueError(f"unknown column {column!r}; allowed: {', '.join(COLUMNS)}")
        if value is not None and column not in IGNORED:
            entry[COLUMNS[column]] = value
    if "player_id" not in entry:
        raise ValueError("there is no player")
    if type(entry["player_id"]) is int:
        entry["player_id"] = str(entry["player_id"])
    if ("score" in entry) == ("amount" in entry):
        raise ValueError("there must be either a score or an amount")
    for field in ("score", "amount"):
        if field in entry:
            entry[field] = _number(field, entry[field])
    if isinstance(entry.get("segments"), str):
        entry["segments"] = _segments(entry["segments"])
    return entry


def _number(field: str, value: Any) -> int | Decimal:
    try:
        number = Decimal(value.strip()) if isinstance(value, str) else value
    except InvalidOperation:
        raise ValueError(f"{field} = {value!r} is not a number") from None
    if isinstance(number, bool) or not isinstance(number, int | Decimal) or not Decimal(number).is_finite():
        raise ValueError(f"{field} = {value!r} is not a number")
    # Before it is made an integer: a huge exponent would make a huge one.
    if Decimal(number).adjusted() > 30:
        raise ValueError(f"{field} = {value!r} is outside ±(2^53 − 1)")
    return int(number) if number == int(number) else number


def _segments(text: str) -> dict[str, str]:
    """Segments in a cell: `region:eu;country:BR`."""
    pairs = [part.partition(":") for part in text.split(";") if part]
    if any(not colon for _, colon, _ in pairs):
        raise ValueError(f"segments = {text!r} cannot be used: write them as in region:eu;country:BR")
    return {name.strip(): value.strip() for name, _, value in pairs}


def write_standings(standings: Iterable[dict[str, Any]], out: TextIO, kind: str) -> None:
    """Write standings as `csv` or `jsonl`, one by one."""
    columns = ["rank", "player_id", "name", "score", "since"]
    if kind == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
    for standing in standings:
        if kind == "csv":
            writer.writerow([standing[column] for column in columns])
        else:
            out.write(encode({column: standing[column] for column in columns}).decode() + "\n")
    if isinstance(out, io.TextIOBase):
        out.flush()
