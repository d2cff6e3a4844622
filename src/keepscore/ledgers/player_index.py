"""Which events a player has: an index that is written in bulk.

An SQLite index on the player would touch a page at random for every event, and every page touched goes to disk with the commit: a
batch of 100 events took five times as long with one. So the newest entries stay in memory, and when there are many they are
written in the order of the key, thousands that share pages at a time. What was in memory when a process stopped is read again from
the events at the next start: `events_indexed` tells how far the table goes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from itertools import chain, islice

from keepscore.ledgers.sqlite_part import insert
from keepscore.scoring import Event

__all__ = ["PlayerIndex"]

#: Entries in memory at which they are written.
MAX_TAIL = 100_000
#: Entries that one transaction writes, so that appends get their turn between two.
CHUNK = 1000

#: Entries that are sorted at a time.
RUN = 5000

#: The identity of an event within a board: writer and number.
Position = tuple[int, int]
#: An entry: board, player and position.
Entry = tuple[int, str, int, int]


class PlayerIndex:
    """The entries of one ledger; `queries` are its named queries."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries
        self._tail: dict[tuple[int, str], list[Position]] = {}
        self._size = 0
        # What is being written: it is looked up as the tail is until all of it is in the table.
        self._flush: dict[tuple[int, str], list[Position]] = {}
        self._left: list[Entry] = []
        self._runs: list[list[Entry]] = []
        self._sorted: Iterator[Entry] | None = None

    def load(self, connection: sqlite3.Connection) -> None:
        """Take up what the table does not have yet. O(events since it was written)."""
        for board, player, writer, n in connection.execute(self._queries["events_not_indexed"]):
            self._tail.setdefault((board, player), []).append((writer, n))
            self._size += 1

    def add(self, events: Iterable[Event]) -> None:
        """Take up events that were recorded."""
        tail = self._tail
        for event in events:
            key = event.board, event.player
            known = tail.get(key)
            if known is None:
                tail[key] = [(event.writer, event.n)]
            else:
                known.append((event.writer, event.n))
            self._size += 1

    def find(self, connection: sqlite3.Connection, board: int, player: str) -> list[Position]:
        """The positions of a player's events, in order. O(log N + events of the player)."""
        rows: list[Position] = connection.execute(self._queries["indexed_events"], (board, player)).fetchall()
        key = board, player
        return sorted({*rows, *self._flush.get(key, ()), *self._tail.get(key, ())})

    def find_of_all(self, connection: sqlite3.Connection, board: int, player: str) -> list[Position]:
        """The same where other processes record events, too. O(log N + events that are not in the table yet)."""
        parameters = {"board": board, "player": player}
        rows: list[Position] = connection.execute(self._queries["events_not_indexed_of"], parameters).fetchall()
        return sorted({*rows, *self.find(connection, board, player)})

    @property
    def due(self) -> bool:
        """Whether there are enough entries in memory to write them."""
        return self._size >= MAX_TAIL

    def begin(self) -> None:
        """Set apart what is to be written; entries that come from now on wait for the next time."""
        self._flush, self._tail, self._size = self._tail, {}, 0
        self._left = [(*key, *position) for key, found in self._flush.items() for position in found]
        self._runs, self._sorted = [], None

    def write(self, connection: sqlite3.Connection) -> bool:
        """Write a chunk of it, within a transaction of the caller's; answer whether that was the last."""
        if self._left:
            # Sorting all at once would keep everybody waiting.
            self._runs.append(sorted(self._left[-RUN:]))
            del self._left[-RUN:]
            return False
        self._sorted = self._sorted or merge(*self._runs)
        if chunk := list(islice(self._sorted, CHUNK)):
            insert(connection, self._queries["index_event"], chunk)
            return False
        ends: dict[tuple[int, int], int] = {}
        for board, _, writer, n in chain.from_iterable(self._runs):
            ends[board, writer] = max(n, ends.get((board, writer), 0))
        connection.executemany(self._queries["indexed_upto"], [(*key, n) for key, n in ends.items()])
        return True

    def finish(self, written: bool) -> None:
        """Let go of what was written; what could not be written goes back in line."""
        for key, positions in () if written else self._flush.items():
            self._tail[key] = positions + self._tail.get(key, [])
            self._size += len(positions)
        self._flush, self._runs, self._sorted = {}, [], None
