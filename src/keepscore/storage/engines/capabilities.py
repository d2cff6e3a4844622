"""What only some ranking engines can do: a class for each, and what stands in its place where an engine cannot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from keepscore.domain.ordering import Place
from keepscore.domain.positions import Position
from keepscore.storage.engines.values import Dirty, Pruned, Ranking

__all__ = [
    "CheckpointSupport",
    "Complete",
    "InstantSupport",
    "LockSupport",
    "MirrorSupport",
    "PositionSupport",
    "PruneSupport",
    "SpoolSupport",
    "Unlocked",
    "Unplaced",
]


class SpoolSupport(ABC):
    """Keeps events for a ledger that is away: those that batches leave, in the step in which they are applied."""

    @abstractmethod
    async def entries(self, board_id: int, limit: int, after: str = "") -> list[tuple[str, bytes]]:
        """Return name and content of what batches have left behind the entry `after`, the oldest first."""

    @abstractmethod
    async def drop(self, board_id: int, names: Sequence[str], needs_restate: Iterable[tuple[Ranking, str]] = (), seq: int = 0) -> None:
        """Drop entries that the ledger has by now, with numbers up to `seq`, and have some players restated for them."""

    @abstractmethod
    async def size(self, board_id: int) -> int:
        """Return how many entries are left for the ledger."""


class PruneSupport(ABC):
    """Keeps only the first rows of a ranking."""

    @abstractmethod
    async def prune(self, ranking: Ranking, keep: int, mark: str) -> int | None:
        """Remove some of the rows behind the first `keep`, the last ones first; return how many (0: there are no more).

        None: somebody has to be restated first. From then on, events of players who are not kept are not folded: these players are
        to be restated. `mark` names the histogram that tells of the moment when the last of the rows went. O(log N) for each row.
        """

    @abstractmethod
    async def pruned(self, ranking: Ranking) -> Pruned | None:
        """Return what is known of a ranking's removed rows, if there are any. O(log N)."""


class Complete(PruneSupport):
    """Keeps all rows of every ranking."""

    async def prune(self, ranking: Ranking, keep: int, mark: str) -> int | None:
        """Remove nothing."""
        return 0

    async def pruned(self, ranking: Ranking) -> Pruned | None:
        """Return None: nothing was removed."""
        return None


class LockSupport(ABC):
    """Lets one process at a time hold a board, among those that ask: for a score that depends on the one that there is."""

    @abstractmethod
    async def hold(self, board_id: int) -> str:
        """Wait until no other process holds the board, and hold it until `release`, for which the token is returned.

        A holder that is gone is forgotten after a while.
        """

    @abstractmethod
    async def release(self, board_id: int, token: str) -> None:
        """Let go of a board that is held."""


class Unlocked(LockSupport):
    """Lets everybody go on: there is no other process."""

    async def hold(self, board_id: int) -> str:
        """Return a token that nobody needs."""
        return ""

    async def release(self, board_id: int, token: str) -> None:
        """Let go of nothing."""


class PositionSupport(ABC):
    """Counts the changes of each ranking, in the step that changes it."""

    #: Whether rankings may be read from where they are behind.
    reads_behind: bool = False

    @abstractmethod
    def latest(self, ranking: Ranking) -> Position | None:
        """Return the latest position that this process knows, at least as new as all that it has changed itself; None: it knows none."""

    @abstractmethod
    async def read(self, rankings: Sequence[Ranking]) -> list[Position | None]:
        """Return where some rankings are now; None for each whose board is not known. O(rankings)."""


class Unplaced(PositionSupport):
    """Counts nothing."""

    def latest(self, ranking: Ranking) -> Position | None:
        """Return None: nobody counts."""
        return None

    async def read(self, rankings: Sequence[Ranking]) -> list[Position | None]:
        """Return None for each."""
        return [None] * len(rankings)


class CheckpointSupport(ABC):
    """Knows what changed since the last checkpoint, from which rankings come back that are gone with the process."""

    @abstractmethod
    async def dirty(self, board_id: int) -> Dirty:
        """Return what changed since the last call, or since `load`, whose fresh rows count as changed. O(rankings)."""

    @abstractmethod
    async def touch(self, board_id: int) -> None:
        """Count every state of a board as changed. O(N)."""


class MirrorSupport(ABC):
    """Writes keys that other services read."""

    @abstractmethod
    async def put_hashes(self, hashes: Mapping[str, Mapping[str, str | None]]) -> None:
        """Set fields of hashes, by their keys; those that are None are removed, others stay. All are tried. O(fields)."""

    @abstractmethod
    async def put_ranking(self, key: str, rows: Sequence[tuple[str, str]], ttl_ms: int) -> None:
        """Replace a sorted set by members with scores, and keep it for some time. O(rows)."""


class InstantSupport(ABC):
    """Reads without waiting for anything."""

    @abstractmethod
    def place_now(self, ranking: Ranking, player: str) -> Place | None:
        """Return what `place` does. O(log N)."""
