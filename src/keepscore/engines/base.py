"""The port to a ranking engine: a fast index over the ledger, which can always be rebuilt from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple

import msgspec

from keepscore.boards import Board, RankKind
from keepscore.ordering import Place, Ranks, Row
from keepscore.scoring import Kind, State

__all__ = [
    "Batch",
    "Change",
    "Dirty",
    "Gap",
    "InProcessEngine",
    "Loaded",
    "Outcome",
    "Page",
    "Pruned",
    "Ranking",
    "RankingEngine",
    "Rankings",
    "Update",
    "made_update",
]


class Ranking(NamedTuple):
    """One ranked set: a board (by its number in the ledger), a window of it, and a segment (`region:eu`) or the whole (``)."""

    board: int
    window: str
    window_id: str
    segment: str


class Update(NamedTuple):
    """One event as an engine sees it. `rankings` are all in which it counts, the `wholes` unsegmented ones first."""

    player: str
    kind: Kind
    #: On a board with decay, the level of the amount.
    amount: int
    at: int
    #: When it came. A ranking whose time was over by then begins anew with it.
    received: int
    rankings: tuple[Ranking, ...]
    wholes: int
    #: When each of `rankings` may be dropped, at the earliest (milliseconds; 0: never).
    expiries: tuple[int, ...]
    #: Whether somebody waits for the ranks.
    ranked: bool


#: An update of all of its fields, in order: half of the time that the class by itself takes.
made_update: Callable[[Iterable[Any]], Update] = partial(tuple.__new__, Update)


class Batch(NamedTuple):
    """The events `after + 1` to `upto` of one writer on one board."""

    board: int
    writer: int
    after: int
    upto: int
    updates: Sequence[Update]
    #: Which rank numbers changes carry.
    rank: RankKind
    #: Whether it is meant for the board's shadow.
    shadow: bool = False
    #: What the engine keeps for the ledger, in the same step (see `spooled`).
    spool: str = ""


class Change(msgspec.Struct, gc=False):
    """What one event did to one player in one ranking: the rank number that was asked for, before and after.

    `previous` is None for a new player; `unique` is the unique rank after, whatever number was asked for.
    """

    score: int
    updated: bool
    previous: int | None
    rank: int
    unique: int
    total: int


class Outcome(msgspec.Struct):
    """What one event did: a change for each unsegmented ranking, where ranks were asked for, and restatements that are due."""

    changes: list[Change]
    restate: list[Ranking]


class Gap(Exception):
    """The engine is not where the writer believes. `applied` is where it is, or None: it knows nothing of the board."""

    def __init__(self, board: int, applied: int | None) -> None:
        super().__init__(f"the engine has applied {applied} on board {board}")
        self.board = board
        self.applied = applied


class Page(NamedTuple):
    """Consecutive rows of a ranking. `first` holds the ranks of the first row (of the next one where there is no row).

    `total` counts the players who are not kept, too.
    """

    rows: list[Row]
    first: Ranks
    total: int


class Pruned(NamedTuple):
    """A ranking of which the engine keeps the first rows only. Players who are not kept have not changed since they were removed.

    Everybody who is not behind the `floor` is kept, so that the first `exact` rows have the ranks that they seem to have.
    """

    #: Players who are not kept.
    hidden: int
    #: How many there were when rows were removed last, and how many rows were left.
    removed: int
    kept: int
    #: Which histogram tells of the moment when rows were removed last; empty: none does.
    mark: str
    floor: Row
    #: The watermarks of that moment.
    applied: dict[int, int]
    exact: int


class Loaded(NamedTuple):
    """Folded states on their way into an engine."""

    ranking: Ranking
    #: When the ranking may be dropped, at the earliest (milliseconds; 0: never).
    expiry: int
    #: Player, score and since of each.
    rows: Iterable[tuple[str, int, int]]
    #: Whether the rows are not in the ledger's checkpoint yet.
    fresh: bool
    #: Whether some of these players came before in this ranking, with a state that is replaced.
    again: bool = False


class Dirty(NamedTuple):
    """What changed on a board since it was asked last: states by ranking (None: the player is gone) and positions included."""

    states: Mapping[Ranking, Iterable[tuple[str, State | None]]]
    #: When each of these rankings may be dropped.
    expiries: Mapping[Ranking, int]
    #: Rankings that were dropped; one that began anew since may be in `states`, too.
    dropped: Sequence[Ranking]
    applied: Mapping[int, int]


class Rankings(ABC):
    """Rankings that can be read."""

    #: Whether scores are told as they were shown at the end, and decay no more.
    is_final: bool = False
    #: The last rank that can be read, where there may be more players.
    last_rank: float = inf

    @abstractmethod
    async def place(self, ranking: Ranking, player: str) -> Place | None:
        """Where a player stands. O(log N)."""

    @abstractmethod
    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        """Where some players stand. O(log N) each. Rank numbers other than the unique and the wanted one (None: all) may be 0."""

    @abstractmethod
    async def page(self, ranking: Ranking, offset: int, limit: int) -> Page:
        """The rows after the first `offset`. O(log N + limit)."""

    @abstractmethod
    async def page_after(self, ranking: Ranking, row: Row, limit: int) -> Page:
        """The rows behind `row`, whether or not it is still there. O(log N + limit)."""

    @abstractmethod
    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        """How many players have a score from `low` to `high`, both included. O(log N)."""


class RankingEngine(Rankings):
    """Rankings with their watermarks. Every method is safe to repeat."""

    #: Whether the engine can keep events for a ledger that is away.
    spools = False

    @property
    def incarnation(self) -> int:
        """Another number than before where what the engine had may be lost: another server answers, or this one has started anew."""
        return 0

    @abstractmethod
    async def open(self, ledger: str) -> None:
        """Connect, for the ledger of that identity: rankings made from another one are not taken for this one's."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of what `open` took."""

    def fits(self, old: Board, new: Board) -> bool:
        """Whether rankings made for one definition can serve another one that has the same meaning."""
        return True

    def keeps_since(self, board: Board, window: str) -> bool:
        """Whether the engine knows since when players of a window have their score; where not, it says NO_TIME."""
        return True

    async def check(self, board: Board, boards: Sequence[Board]) -> None:
        """Raise InvalidBoard where the engine could not keep the rankings of such a board beside those of all boards."""
        return

    def layouts(self, board: Board) -> dict[str, tuple[str, str]]:
        """How each window's rankings are laid out and why, where there is more than one way."""
        return {}

    @abstractmethod
    async def adopt(self, board_id: int, board: Board) -> bool:
        """Get to know a board; answer whether its rankings are there already, or have to be loaded."""

    @abstractmethod
    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int]) -> None:
        """Fill the board's shadow, which nobody reads, with states and the watermarks that they include. O(N log N)."""

    @abstractmethod
    async def promote(self, board_id: int) -> None:
        """Put the shadow, with its watermarks, in the place of the board's rankings, in one step."""

    @abstractmethod
    async def redefine(self, board_id: int, board: Board, expiries: Mapping[Ranking, int]) -> None:
        """Take over a definition that keeps the meaning of the rankings, and when they may be dropped by it."""

    @abstractmethod
    async def forget(self, board_id: int) -> None:
        """Drop a board with all its rankings."""

    @abstractmethod
    async def applied(self, board_id: int, shadow: bool = False) -> dict[int, int] | None:
        """How far each writer's events are applied, or None where the engine does not know the board."""

    @abstractmethod
    async def apply(self, batches: Sequence[Batch]) -> list[list[Outcome]]:
        """Apply batches in one step each, or raise Gap before anything is changed. One already applied answers no outcomes.

        O(log N) for each event and ranking.
        """

    async def spooled(self, board_id: int, limit: int) -> list[tuple[str, bytes]]:
        """What batches have left for the ledger, the oldest first: the name of each entry, and the entry."""
        return []

    async def unspool(self, board_id: int, names: Sequence[str]) -> None:
        """Drop entries that the ledger has by now."""
        return

    async def hold(self, board_id: int) -> str:
        """Wait until no other process holds the board, and hold it until `release`, for which the answer is the token.

        Only those wait who ask for it: a score that has to be worked out from the one that there is. A holder that is gone is forgotten
        after a while.
        """
        return ""

    async def release(self, board_id: int, token: str) -> None:
        """Let go of a board that is held."""
        return

    @abstractmethod
    async def late(self, board_id: int) -> list[tuple[Ranking, str]]:
        """Some of the rankings and players that `apply` wanted restated, and that were not since."""

    @abstractmethod
    async def restate(
        self,
        ranking: Ranking,
        player: str,
        state: State | None,
        shadow: bool = False,
        upto: Mapping[int, int] | None = None,
        returned: bool = False,
    ) -> bool:
        """Set a player's state, or remove the player. O(log N).

        With `upto`, the watermarks that the state includes: where they are others by now, nothing is done, and the answer is False.
        `returned` says that the player, if not kept, is one of the hidden.
        """

    async def prune(self, ranking: Ranking, keep: int, mark: str) -> int | None:
        """Remove some of the rows behind the first `keep`, the last ones first; answer how many (0: there are no more).

        None: somebody has to be restated first. From then on, events of players who are not kept are not folded: these players are
        to be restated. `mark` names the histogram that tells of the moment when the last of the rows went. O(log N) for each row.
        """
        return 0

    async def pruned(self, ranking: Ranking) -> Pruned | None:
        """What is known of a ranking's removed rows, if there are any. O(log N)."""
        return None

    @abstractmethod
    async def settle(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State]],
        upto: Mapping[int, int],
        advanced: Mapping[int, int],
        shadow: bool = False,
    ) -> bool:
        """Set players' states that were worked out when the watermarks were `upto`, and advance some of these, in one step.

        Where they are others by now, nothing is done, and the answer is False. O(log N) for each state.
        """

    @abstractmethod
    async def states(self, ranking: Ranking, players: Sequence[str]) -> list[State | None]:
        """The states of some players."""

    async def flaws(self, ranking: Ranking, scores: Sequence[int], players: int) -> list[str]:
        """What is wrong with that which the engine keeps beside a ranking, which has these distinct scores (in its order) and players."""
        return []

    @abstractmethod
    async def rankings(self, board_id: int) -> list[Ranking]:
        """All rankings of a board that hold a player."""

    @abstractmethod
    async def expire(self, now: int) -> None:
        """Drop the rankings whose time has come."""


class InProcessEngine(RankingEngine):
    """An engine whose rankings are gone with the process, and come back from checkpoints: it knows what changed since the last one."""

    @abstractmethod
    def place_now(self, ranking: Ranking, player: str) -> Place | None:
        """What `place` tells, without waiting. O(log N)."""

    @abstractmethod
    async def dirty(self, board_id: int) -> Dirty:
        """What changed since the last call, or since `load`, the fresh rows of which count as changed. O(rankings)."""

    @abstractmethod
    async def touch(self, board_id: int) -> None:
        """Count every state of a board as changed. O(N)."""
