"""What every ranking engine does, role by role. Every method is safe to repeat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping, Sequence, Set
from contextlib import suppress
from math import inf

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.ordering import Place, Row
from keepscore.domain.scoring import State
from keepscore.errors import InvalidPage
from keepscore.storage.engines.looks import NO_ROWS, Look, Sight
from keepscore.storage.engines.values import Batch, Loaded, Memory, Outcome, Page, Ranking

__all__ = ["Applying", "Bookkeeping", "Loading", "Rankings", "Restating", "States"]


class Rankings(ABC):
    """Rankings that can be read.

    The unique rank is always there. `wanted` names another one that is needed: where it is not wanted, a dense rank may be 0, as it may
    cost an index of scores. `places` may leave out the standard one, too, where a wanted rank is named.
    """

    #: Whether scores are shown as they were at the end, and no longer decay.
    is_final: bool = False
    #: The last rank that can be read, where there may be more players.
    last_rank: float = inf

    @abstractmethod
    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        """Return where a player stands. O(log N)."""

    @abstractmethod
    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        """Return where some players stand. O(log N) each."""

    @abstractmethod
    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        """Return the rows after the first `offset`. O(log N + limit)."""

    @abstractmethod
    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        """Return the rows behind `row`, whether or not it is still there. O(log N + limit)."""

    @abstractmethod
    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        """Return how many players have a score from `low` to `high`, both included. O(log N)."""

    async def see(self, looks: Sequence[Look]) -> list[Sight]:
        """Return several things of each of some rankings of one board. O(log N + rows) for each, and O(log N) for each player.

        An engine reads all of it in one step, in one round trip. What does not change, or keeps only some, reads one after the other.
        """
        return [await self._seen(look) for look in looks]

    async def _seen(self, look: Look) -> Sight:
        top = await self.page(look.ranking, 0, look.top, look.rank)
        place = None if look.player is None else await self.place(look.ranking, look.player, look.rank)
        near = NO_ROWS
        if place is not None and look.around:
            first = max(0, place.unique - 1 - look.around)
            with suppress(InvalidPage):
                # Who is around somebody whom the engine does not keep is not known.
                near = await self.page(look.ranking, first, place.unique + look.around - first, look.rank)
        among = await self.places(look.ranking, look.among, look.rank) if look.among else []
        return Sight(top.total, top, place, near, among)


class States(ABC):
    """Players' states, and which rankings there are."""

    @abstractmethod
    async def states(self, ranking: Ranking, players: Sequence[str]) -> list[State | None]:
        """Return the states of some players."""

    @abstractmethod
    async def states_in(self, wanted: Mapping[Ranking, Collection[str]]) -> dict[Ranking, dict[str, State | None]]:
        """Return the states of some players in each of some rankings of one board, as they are in one moment."""

    @abstractmethod
    async def peaks(self, rankings: Sequence[Ranking]) -> list[int]:
        """Return how far from zero the scores of each of some rankings of one board are at most. O(log N) for each."""

    @abstractmethod
    async def rankings(self, board_id: int) -> list[Ranking]:
        """Return all rankings of a board that hold a player."""

    async def flaws(self, ranking: Ranking, scores: Sequence[int], players: int) -> list[str]:
        """Return what is wrong beside a ranking, which has these distinct scores (in its order) and so many players."""
        return []

    def keeps_since(self, board: Board, window: str) -> bool:
        """Return whether the engine knows since when players of a window have their score; where not, it says NO_TIME."""
        return True


class Applying(ABC):
    """Events on their way into rankings, with a watermark for each writer."""

    @property
    def is_one_step(self) -> bool:
        """Whether `apply` changes several boards in one step, or one after the other."""
        return True

    @abstractmethod
    async def apply(self, batches: Sequence[Batch]) -> list[list[Outcome]]:
        """Apply batches in one step each, or raise Gap before anything is changed. One already applied has no outcomes.

        O(log N) for each event and ranking.
        """

    @abstractmethod
    async def applied(self, board_id: int, shadow: bool = False) -> dict[int, int] | None:
        """Return how far each writer's events are applied, or None where the engine does not know the board."""

    async def probe(self, board_id: int, rankings: Collection[Ranking] = (), healed: bool = False) -> None:
        """Raise an error where the engine would not apply an event to a board, and note which of some rankings are `taken`.

        Without rankings, look at the present ones. `healed`: the board was just loaded; where that is not so, something that the engine
        does not know in the place of a ranking means that the ranking is lost.
        """
        return

    def taken(self) -> Mapping[Ranking, str]:
        """Return the rankings that have no place, as far as is known: what somebody else has put there, and what to do about it."""
        return {}

    async def give_up(self, ranking: Ranking) -> None:
        """Forget how far a board is whose ranking is lost, so that it is loaded again."""
        return


class Loading(ABC):
    """Boards that come to the engine and go, and shadows: boards loaded beside those that are read."""

    @abstractmethod
    async def adopt(self, board_id: int, board: Board) -> bool:
        """Get to know a board; return whether its rankings are there already, or have to be loaded."""

    def define(self, board_id: int, board: Board) -> None:
        """Get to know a board without a look at its rankings, while the engine is away."""
        return

    @abstractmethod
    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int], seq: int = 0) -> None:
        """Fill the board's shadow, which nobody reads, with states and the watermarks that they include. O(N log N).

        `seq` is the ledger's highest number of an event that they include.
        """

    def left_out(self, board_id: int) -> Mapping[tuple[Ranking, str], str]:
        """Return the players of rankings whose states were refused when the board was last loaded, though others were taken, and why."""
        return {}

    @abstractmethod
    async def promote(self, board_id: int, was_here: bool = False) -> None:
        """Put the shadow, with its watermarks, in the place of the board's rankings, in one step.

        What somebody else has put there stays, and the ranking is `taken`. `was_here`: the engine is known to have had the board, so
        that what the ledger has as well may be what is left of it.
        """

    @abstractmethod
    async def redefine(self, board_id: int, board: Board, expiries: Mapping[Ranking, int]) -> None:
        """Take over a definition that keeps the meaning of the rankings, and when they may be dropped by it."""

    def fits(self, old: Board, new: Board) -> bool:
        """Return whether rankings made for one definition can serve another one that has the same meaning."""
        return True

    async def disown(self, board_id: int) -> None:
        """Let nobody take a board's rankings for right that have events which the ledger has lost: it has to be loaded again.

        Where rankings are the process's own, nobody else could.
        """
        return

    @abstractmethod
    async def forget(self, board_id: int) -> None:
        """Drop a board with all its rankings."""

    @abstractmethod
    async def expire(self, now: int) -> None:
        """Drop the rankings whose time has come."""

    async def rotate(self) -> None:
        """Rename the rankings of windows that have ended, where they had live keys. Where rankings have no keys, there is nothing to do."""
        return


class Restating(ABC):
    """Players whose state is set, not folded from the last one."""

    @abstractmethod
    async def needs_restate(self, board_id: int) -> list[tuple[Ranking, str]]:
        """Return some of the rankings and players that `apply` wanted restated, and that were not since."""

    @abstractmethod
    async def restate_all(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State | None]],
        shadow: bool = False,
        upto: Mapping[int, int] | None = None,
        returned: Set[tuple[Ranking, str]] = frozenset(),
    ) -> bool:
        """Set players' states, or (None) remove players, in one step. O(log N) for each.

        With `upto`, the watermarks that the states include: where they are others by now, do nothing and return False. `returned` are
        those who, if not kept, are among the hidden.
        """

    @abstractmethod
    async def settle(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State | None]],
        upto: Mapping[int, int],
        advanced: Mapping[int, int],
        shadow: bool = False,
    ) -> bool:
        """Set players' states that were worked out when the watermarks were `upto`, and advance some of these, in one step.

        Where they are others by now, do nothing and return False. O(log N) for each state.
        """


class Bookkeeping(ABC):
    """The engine itself: its life, where it is, and what it can keep."""

    #: Whether other processes may read and change the same rankings.
    is_shared: bool = False

    @property
    def home(self) -> str:
        """Where rankings are kept that outlive the process; empty: nowhere."""
        return ""

    @property
    def incarnation(self) -> int:
        """A number that changes whenever the engine may have lost data: another server answers, or this one has restarted."""
        return 0

    @abstractmethod
    async def open(self, ledger: str) -> None:
        """Connect, for the ledger of that identity: rankings made from another one are not taken for this one's."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of what `open` took."""

    async def check(self, board: Board, boards: Sequence[Board]) -> None:
        """Raise InvalidBoard where the engine could not keep the rankings of such a board beside those of all boards."""
        return

    async def check_keys(self, board: Board) -> None:
        """Raise KeyTaken where something that is no ranking lies in the place of one."""
        return

    def layouts(self, board: Board) -> dict[str, tuple[str, str]]:
        """Return how each window's rankings are laid out and why, where there is more than one way."""
        return {}

    async def memory(self) -> Memory | None:
        """Return the memory of the server that is fullest, where the engine has servers."""
        return None

    async def highest_writer(self) -> int:
        """Return the highest writer number that was noted for this ledger, which may have forgotten it since; 0: none was."""
        return 0

    async def note_writer(self, number: int) -> None:
        """Note that a writer number is in use."""
        return
