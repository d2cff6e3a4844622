"""Scores from and to files: CSV and JSON Lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

import msgspec

from keepscore.domain.inputs import Entry
from keepscore.domain.results.standings import Standing, encode
from keepscore.errors import ConfigError

__all__ = ["COLUMNS", "BadLine", "ImportLine", "read_lines", "write_standings"]

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

#: A text that a spreadsheet would run as a formula, or that was made safe from that before.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")

_decoder = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


class _Fields(msgspec.Struct):
    """What a line says."""

    player_id: str
    score: int | Decimal | None = None
    amount: int | Decimal | None = None
    at: str | None = None
    segments: dict[str, str] | None = None
    game_id: str | None = None


class ImportLine(NamedTuple):
    """A line of a file that can be submitted: its number, how many bytes of the file are read, and the entry."""

    number: int
    read: int
    entry: Entry


class BadLine(NamedTuple):
    """A line of a file that cannot, and why."""

    number: int
    read: int
    problem: str


def read_lines(file: Path) -> Iterator[ImportLine | BadLine]:
    """Yield the lines of a CSV file (with a header) or a JSON Lines file, one by one."""
    is_csv = file.suffix.lower() == ".csv"
    if not is_csv and file.suffix.lower() not in (".jsonl", ".ndjson"):
        raise ConfigError(f"{file.name} ends in neither .csv nor .jsonl: rename it to match its content")
    with file.open("rb") as raw:
        for number, content in _csv_lines(raw, file.name) if is_csv else _json_lines(raw):
            try:
                if isinstance(content, str):
                    raise ValueError(content)
                entry = _entry(content) if isinstance(content, dict) else _entry(_decoder.decode(content))
                fields = msgspec.convert(entry, _Fields)
            except (msgspec.MsgspecError, ValueError) as exc:
                yield BadLine(number, raw.tell(), str(exc).replace(" - at `$.", " in `"))
            else:
                yield ImportLine(number, raw.tell(), Entry(**msgspec.structs.asdict(fields)))


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
            _check_header(name, header)
        elif len(row) > len(header):
            yield rows.line_num, f"the line has {len(row)} cells, but the header has {len(header)}"
        elif row:
            cells = {column: cell for column, cell in zip(header, row, strict=False) if cell != ""}
            yield rows.line_num, {column: _unsafe(cell) if COLUMNS.get(column) == "player_id" else cell for column, cell in cells.items()}


def _check_header(name: str, header: list[str]) -> None:
    """Refuse unknown and duplicate columns."""
    fields: dict[str, str] = {}
    for column in header:
        if column not in COLUMNS and column not in IGNORED:
            raise ConfigError(f"{name}: unknown column {column!r}; allowed: {', '.join(COLUMNS)}")
        field = COLUMNS.get(column, column)
        if field in fields:
            both = (
                f"two columns {column!r}" if fields[field] == column else f"columns {fields[field]!r} and {column!r}, which mean the same"
            )
            raise ConfigError(f"{name} has {both}: remove one of them")
        fields[field] = column


def _entry(content: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for column, value in content.items():
        if column not in COLUMNS and column not in IGNORED:
            raise ValueError(f"unknown column {column!r}; allowed: {', '.join(COLUMNS)}")
        if value is not None and column not in IGNORED:
            if COLUMNS[column] in entry:
                other = next(name for name in content if COLUMNS.get(name) == COLUMNS[column])
                raise ValueError(f"{other!r} and {column!r} mean the same: remove one of them")
            entry[COLUMNS[column]] = value
    if "player_id" not in entry:
        raise ValueError("there is no player")
    if type(entry["player_id"]) is int:
        entry["player_id"] = str(entry["player_id"])
    if ("score" in entry) == ("amount" in entry):
        raise ValueError("give either a score or an amount")
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
    """Read the segments in a cell: `region:eu;country:BR`."""
    pairs = [part.partition(":") for part in text.split(";") if part]
    if any(not colon for _, colon, _ in pairs):
        raise ValueError(f"segments = {text!r} cannot be used: write them as in region:eu;country:BR")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _safe(text: str) -> str:
    """Return a text that a spreadsheet does not run as a formula: with a quote in front, which an import takes away again.

    >>> [_safe(text) for text in ("ann", "=1+1", "'=1+1")]
    ['ann', "'=1+1", "''=1+1"]
    """
    return f"'{text}" if _FORMULA.match(text) else text


def _unsafe(text: str) -> str:
    """Return the text that was made safe.

    >>> [_unsafe(text) for text in ("ann", "'=1+1", "''=1+1", "'ann")]
    ['ann', '=1+1', "'=1+1", "'ann"]
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def write_standings(standings: Iterable[Standing], out: TextIO, kind: str) -> None:
    """Write standings as `csv` or `jsonl`, one by one."""
    columns = ["rank", "player_id", "name", "score", "since"]
    if kind == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
    for standing in standings:
        row = {column: getattr(standing, column) for column in columns}
        if kind == "csv":
            # Times as JSON has them.
            texts = {"player_id": _safe(standing.player_id), "name": standing.name and _safe(standing.name)}
            writer.writerow({**row, **texts, "since": msgspec.to_builtins(standing.since)}.values())
        else:
            out.write(encode(row).decode() + "\n")
    if isinstance(out, io.TextIOBase):
        out.flush()
