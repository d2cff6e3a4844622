"""Appending without the ledger's thread, where the disk is quick.

To wake a thread, and to be woken by it, takes longer than a commit on a good disk, and the interpreter's lock changes hands four times
meanwhile. So events are inserted by the event loop itself, through a connection that never waits for a lock. Whatever may take long
is left to the thread: a disk that was slow a moment ago, a database in which somebody else writes, and moving the write-ahead log into
the database.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from keepscore.storage.ledgers.sqlite.inserts import insert

__all__ = ["QuickInserts"]

#: Seconds that a commit may take which everybody else waits for.
QUICK_S = 0.004
#: Groups that the thread takes after one that took longer.
AFTER_SLOW_GROUPS = 200
#: Groups after which the thread takes one, and moves the write-ahead log if that is long enough.
IN_A_ROW_GROUPS = 500


class QuickInserts:
    """Inserts groups of rows, as long as that is quick."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._done = 0
        #: Groups that are left to the thread.
        self._skipped = 0

    def insert(self, query: str, rows: Sequence[tuple[Any, ...]]) -> bool:
        """Insert rows with one statement, which is a transaction; or leave it to the thread, and answer False."""
        if self._skipped:
            self._skipped -= 1
            return False
        begun = time.perf_counter()
        try:
            insert(self._connection, query, rows)
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                return False
            raise
        self._done += 1
        if time.perf_counter() - begun > QUICK_S:
            self._skipped = AFTER_SLOW_GROUPS
        elif self._done % IN_A_ROW_GROUPS == 0:
            self._skipped = 1
        return True
