"""Parquet files of standings and events, for data warehouses. Needs pyarrow: `pip install 'keepscore[parquet]'`.

A file is written beside its place, row group by row group, and moved there when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any

from keepscore.domain.results.standings import BoardEvent, Standing, encode
from keepscore.errors import ConfigError

__all__ = ["EventFiles", "month_of", "write_parquet_standings"]

#: Rows of a row group.
GROUP_ROWS = 50_000
#: Rows of events that wait for their row groups, over all months.
MAX_WAITING_ROWS = 200_000


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ConfigError("Parquet needs the package pyarrow: install it with pip install 'keepscore[parquet]'") from None
    return pyarrow, parquet


class _ParquetFile:
    """A file on its way."""

    def __init__(self, path: Path, columns: Mapping[str, Any]) -> None:
        arrow, parquet = _arrow()
        self._arrow = arrow
        self._path = path
        self._partial = path.with_name(f".{path.name}.partial")
        self._schema = arrow.schema(list(columns.items()))
        self._rows: list[dict[str, Any]] = []
        self._writer = parquet.ParquetWriter(self._partial, self._schema)

    @property
    def waiting(self) -> int:
        """How many rows are not written yet."""
        return len(self._rows)

    def add(self, row: dict[str, Any]) -> None:
        """Write a row, with others."""
        self._rows.append(row)
        if len(self._rows) >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
            self._rows.clear()

    def finish(self) -> None:
        """Put the whole file in its place."""
        self.flush()
        self._writer.close()
        self._partial.replace(self._path)

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._writer.close()
        self._partial.unlink(missing_ok=True)


@contextmanager
def _whole(path: Path, columns: Mapping[str, Any]) -> Iterator[_ParquetFile]:
    file = _ParquetFile(path, columns)
    try:
        yield file
    except BaseException:
        file.abandon()
        raise
    file.finish()


def write_parquet_standings(standings: Iterable[Standing], path: Path, decimals: int) -> None:
    """Write standings one by one; a score with decimals is a decimal, to the last digit."""
    arrow, _ = _arrow()
    score = arrow.decimal128(38, decimals) if decimals else arrow.int64()
    text, time = arrow.string(), arrow.timestamp("ms", tz="UTC")
    columns = {"rank": arrow.int64(), "player_id": text, "name": text, "score": score, "since": time}
    with _whole(path, columns) as file:
        for standing in standings:
            row = {column: getattr(standing, column) for column in columns}
            row["score"] = Decimal(standing.score) if decimals else standing.score
            file.add(row)


class EventFiles:
    """Events by the month in which they came: `events-2026-11.parquet`. A month is replaced as a whole, when all are written.

    Amounts are decimals with 9 digits after the point, which is exact for every board; segments, metadata and scope are JSON.
    """

    def __init__(self, folder: Path) -> None:
        arrow, _ = _arrow()
        text, time, number = arrow.string(), arrow.timestamp("ms", tz="UTC"), arrow.int64()
        self._columns = {"board": text, "player_id": text, "kind": text, "amount": arrow.decimal128(38, 9), "at": time, "received": time}
        self._columns |= {"segments": text, "game_id": text, "metadata": text, "writer": number, "n": number, "scope": text}
        self._folder = folder
        self._months: dict[str, _ParquetFile] = {}

    def __enter__(self) -> EventFiles:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for file in self._months.values():
            if error is None:
                file.finish()
            else:
                file.abandon()

    def add(self, board: str, event: BoardEvent) -> None:
        """Write an event."""
        month = month_of(event.received)
        file = self._months.get(month)
        if file is None:
            file = self._months[month] = _ParquetFile(self._folder / f"events-{month}.parquet", self._columns)
        row = {**{column: getattr(event, column, None) for column in self._columns}, "board": board, "amount": Decimal(event.amount)}
        for column in ("segments", "metadata", "scope"):
            row[column] = None if row[column] is None else encode(row[column]).decode()
        file.add(row)
        if file.waiting % 1000 == 0 and sum(each.waiting for each in self._months.values()) > MAX_WAITING_ROWS:
            for each in self._months.values():
                each.flush()

    @property
    def months(self) -> list[str]:
        """The months that there are, in order."""
        return sorted(self._months)


def month_of(moment: datetime) -> str:
    """Return the month in UTC in which a moment lies."""
    return moment.astimezone(UTC).isoformat()[:7]
