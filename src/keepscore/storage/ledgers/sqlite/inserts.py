"""Inserting many rows with few statements."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

__all__ = ["MAX_INSERT", "insert"]

#: Rows of one INSERT. Statements of every size up to this are kept prepared.
MAX_INSERT = 200


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
