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

import msgspec

from keepscore.domain.scoring import Event
from keepscore.storage.ledgers.sqlite.inserts import insert

__all__ = ["PlayerIndex"]

#: Entries in memory at which they are written, and their bytes, about. Until they are written, as many may come again.
MAX_TAIL, MAX_TAIL_BYTES = 100_000, 16 << 20
#: Bytes, about, of a position, and of a player's first one beside the id.
POSITION_BYTES, PLAYER_BYTES = 130, 320
#: Entries that one transaction writes, so that appends get their turn between two.
CHUNK_ENTRIES = 1000

#: Entries that are sorted at a time.
RUN_ENTRIES = 5000

#: The identity of an event within a board: writer and number.
Position = tuple[int, int]
#: An entry: board, player and position.
IndexEntry = tuple[int, str, int, int]


class PlayerIndex:
    """The entries of one ledger; `queries` are its named queries."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries
        self._tail: dict[tuple[int, str], list[Position]] = {}
        self._size = 0
        self._bytes = 0
        # What is being written: it is looked up as the tail is until all of it is in the table.
        self._flush: dict[tuple[int, str], list[Position]] = {}
        self._left: Iterator[IndexEntry] = iter(())
        self._runs: list[list[IndexEntry]] = []
        self._sorted: Iterator[IndexEntry] | None = None
        self._retired = False

    def retire(self) -> None:
        """Write nothing any more: another index has taken the place of this one."""
        self._retired = True

    def load(self, connection: sqlite3.Connection) -> None:
        """Take up what the table does not have yet. O(events since it was written)."""
        for board, player, writer, n in connection.execute(self._queries["events_not_indexed"]):
            key = board, player
            if key in self._tail:
                self._tail[key].append((writer, n))
                self._size, self._bytes = self._size + 1, self._bytes + POSITION_BYTES
            else:
                self._put(key, [(writer, n)])

    def add(self, events: Iterable[Event]) -> None:
        """Take up events that were recorded."""
        tail = self._tail
        more = 0
        for event in events:
            key = event.board, event.player
            known = tail.get(key)
            if known is None:
                tail[key] = [(event.writer, event.n)]
                more += PLAYER_BYTES + len(event.player)
            else:
                known.append((event.writer, event.n))
            self._size += 1
            more += POSITION_BYTES
        self._bytes += more

    def _put(self, key: tuple[int, str], positions: list[Position]) -> None:
        """Take up positions that come before those of the tail."""
        known = self._tail.get(key)
        self._tail[key] = positions if known is None else positions + known
        self._size += len(positions)
        self._bytes += len(positions) * POSITION_BYTES + (PLAYER_BYTES + len(key[1]) if known is None else 0)

    def find(self, connection: sqlite3.Connection, board: int, players: Iterable[str]) -> dict[str, list[Position]]:
        """Return the positions of players' events, of each in order. O(log N + events) for each player."""
        found = {}
        for player in players:
            rows: list[Position] = connection.execute(self._queries["indexed_events"], (board, player)).fetchall()
            key = board, player
            found[player] = sorted({*rows, *self._flush.get(key, ()), *self._tail.get(key, ())})
        return found

    def find_of_all(self, connection: sqlite3.Connection, board: int, players: Iterable[str]) -> dict[str, list[Position]]:
        """Do the same where other processes record events, too. O(log N) for each player, and O(events that are not in the table yet)."""
        found = {player: set(positions) for player, positions in self.find(connection, board, players).items()}
        parameters = {"board": board, "players": msgspec.json.encode(list(found)).decode()}
        for player, *position in connection.execute(self._queries["events_not_indexed_of"], parameters):
            found[player].add(tuple(position))
        return {player: sorted(positions) for player, positions in found.items()}

    @property
    def due(self) -> bool:
        """Whether there are enough entries in memory to write them."""
        return self._size >= MAX_TAIL or self._bytes >= MAX_TAIL_BYTES

    def begin(self) -> None:
        """Set apart what is to be written; entries that come from now on wait for the next time."""
        self._flush, self._tail, self._size, self._bytes = self._tail, {}, 0, 0
        self._left = ((*key, *position) for key, found in self._flush.items() for position in found)
        self._runs, self._sorted = [], None

    def write(self, connection: sqlite3.Connection) -> bool:
        """Write a chunk of it, within a transaction of the caller's; answer whether that was the last."""
        if self._retired:
            return True
        if run := sorted(islice(self._left, RUN_ENTRIES)):
            # Sorting all at once would keep everybody waiting.
            self._runs.append(run)
            return False
        self._sorted = self._sorted or merge(*self._runs)
        if chunk := list(islice(self._sorted, CHUNK_ENTRIES)):
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
            self._put(key, positions)
        self._flush, self._runs, self._sorted = {}, [], None
