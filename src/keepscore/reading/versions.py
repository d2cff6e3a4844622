"""What changes whenever an answer from a ranking may: versions, by which a process remembers answers, and tags, by which clients do.

A tag is the position of the answer. Names of players and definitions are no changes of a ranking: what is behind the position counts them.
Where rankings are shared, each process learns of them by itself, and its tags are not those of another.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Set

from keepscore.caches import ENTRY_BYTES, bytes_of
from keepscore.domain.leagues.definition import COHORT
from keepscore.storage.engines.base import Ranking, RankingEngine
from keepscore.storage.feeds.base import Feed

__all__ = ["Versions"]

#: Bytes for the versions of rankings. Where there are more, everything that readers remember becomes old.
VERSIONS_BYTES = 64 << 20
#: What labels of cohorts begin with.
COHORT_PREFIX = f"{COHORT}:"


class Versions:
    """The versions of rankings in one process."""

    def __init__(self, engine: RankingEngine, feed: Feed, clock: Callable[[], int]) -> None:
        self._clock = clock
        #: Whether other processes change rankings, too.
        self._shared = engine.is_shared
        self._positions = engine.positions
        #: How often each ranking has changed, as far as is known, and what that takes.
        self._counts: dict[Ranking, int] = {}
        self._counts_bytes = 0
        #: Boards that are looked at whose scores decay or whose baselines change, by id.
        self._ticking: set[int] = set()
        #: Where rankings are shared, another process must not take its tags for this one's.
        self._instance = secrets.token_hex(4) if self._shared else ""
        self._changes = self._first_changes = 0
        feed.listen(self._changed)

    def begin(self) -> None:
        """Count changes of names and definitions from now on."""
        self._first_changes = self._changes

    def _changed(self, rankings: Set[Ranking]) -> None:
        counts = self._counts
        for ranking in rankings:
            if ranking not in counts:
                self._counts_bytes += ENTRY_BYTES + bytes_of(ranking)
            counts[ranking] = counts.get(ranking, 0) + 1
        if self._counts_bytes > VERSIONS_BYTES:
            self.forget()

    def forget(self) -> None:
        """Make all that is remembered old."""
        self._changes += 1
        self._counts.clear()
        self._counts_bytes = 0
        self._ticking.clear()

    def tick(self, board_id: int) -> None:
        """Let answers of a board become old every second."""
        self._ticking.add(board_id)

    def version(self, ranking: Ranking) -> Hashable:
        """Return what changes whenever an answer from this ranking may.

        That is every second if scores decay, if the board has movement, or if other processes may change it unnoticed.
        """
        if ranking.segment.startswith(COHORT_PREFIX):
            # A cohort is a part of the whole, and has members of its own.
            return self._counts.get(ranking, 0), self.version(ranking._replace(segment=""))
        if self._shared:
            return self._changes, self._counts.get(ranking, 0), self._clock() // 1000
        tick = self._clock() // 1000 if ranking.board in self._ticking else 0
        return self._changes, self._counts.get(ranking, 0), self._positions.latest(ranking), tick

    def tag(self, ranking: Ranking, position: str) -> bytes:
        """Return the HTTP entity tag of an answer that was read at a position, before which nothing of it was."""
        changes = self._changes - self._first_changes
        ticking = ranking.board in self._ticking
        if not (self._shared or changes or ticking):
            return b'"%b"' % position.encode()
        tick = f".{self._clock() // 1000}" if ticking else ""
        return f'"{position}-{self._instance}{changes}{tick}"'.encode()
