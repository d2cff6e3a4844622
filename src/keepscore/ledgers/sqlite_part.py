"""What the parts of the ledger in SQLite share."""

from __future__ import annotations

import re
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from keepscore.ledgers.base import Ledger

__all__ = ["MAX_INSERT", "SqlitePart", "insert"]

#: Rows of one INSERT. Statements of every size up to this are kept prepared.
MAX_INSERT = 200

T = TypeVar("T")


def insert(connection: sqlite3.Connection, query: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows by a query for one, with as few statements as possible.

    After each statement this thread has to wait for the interpreter's lock, which the event loop holds while it works: the fewer
    statements, the sooner is the commit.
    """
    for start in range(0, len(rows), MAX_INSERT):
        some = rows[start : start + MAX_INSERT]
        connection.execute(_statement(query, len(some)), tuple(chain.from_iterable(some)))


@cache
def _statement(query: str, rows: int) -> str:
    head, values, rest = re.split(r"(\(\?[?, ]*\))", query, maxsplit=1)
    return f"{head}{', '.join([values] * rows)}{rest}"


class SqlitePart(Ledger):
    """How a part runs its queries."""

    _queries: Mapping[str, str]

    @abstractmethod
    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` gives within a transaction."""

    @abstractmethod
    async def _read(self, query: str, *args: object) -> list[Any]:
        """The rows of a named query."""
