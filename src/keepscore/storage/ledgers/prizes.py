"""The role of a ledger that holds prizes: windows that were closed early or whose winners are decided, holds, and rewards.

The winners of a window are decided in one transaction (`decide`): with it come the rewards, and for each a message in the outbox. A reward
is settled once: by the receiver of its message, or by a claim.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence, Set
from typing import Any, NamedTuple

from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.claims import Effect

__all__ = [
    "REWARD_TOPIC",
    "Granted",
    "Hold",
    "PrizeDecision",
    "PrizePlace",
    "PrizeStore",
    "PrizeWindow",
    "Released",
    "prize_since",
    "with_holds",
]

#: The topic of messages about rewards.
REWARD_TOPIC = "reward.granted"


class PrizePlace(NamedTuple):
    """Which window of which board."""

    board: int
    window: str
    window_id: str


class PrizeWindow(NamedTuple):
    """What is recorded of a window with a prize. Times are in milliseconds."""

    #: When it was closed early, and why.
    closed_at: int | None
    close_reason: str | None
    #: When its winners were decided, by which archive, and the signed statement of that.
    final_at: int | None
    archive: int | None
    statement: str | None
    #: How many rewards it has, and how many of them are paid or claimed.
    rewards: int
    settled: int


class Hold(NamedTuple):
    """A winner whose reward waits."""

    player: str
    reason: str
    at: int


class Granted(NamedTuple):
    """A reward that was decided."""

    id: str
    rank: int
    player: str
    give: str
    #: `held`, `pending`, `paid` or `claimed`.
    state: str
    settled_at: int | None


class Released(NamedTuple):
    """A winner whose reward waits no longer, and what the outbox sends for it."""

    player: str
    message: str


class PrizeDecision(NamedTuple):
    """The winners of a window, decided."""

    place: PrizePlace
    #: The archive that decides, which has to be the last revision still.
    archive: int
    at: int
    statement: str
    #: All pending: the holds that there are when they are recorded decide which are not.
    rewards: Sequence[Granted]
    #: What the outbox sends for each of them.
    messages: Sequence[str]


def prize_since(versions: Iterable[Sequence[Any]]) -> int | None:
    """Return since when a board has had a prize, from the moments of its versions, the newest first, and whether each has one."""
    since = None
    for created, has_prize in versions:
        if not has_prize:
            break
        since = int(created)
    return since


def with_holds(decision: PrizeDecision, held: Set[str]) -> tuple[list[Granted], list[tuple[str, str]]]:
    """Return the rewards of a decision, those of some players held back, and the ids and messages of the others."""
    rewards = [reward._replace(state="held") if reward.player in held else reward for reward in decision.rewards]
    pairs = zip(rewards, decision.messages, strict=True)
    return rewards, [(reward.id, message) for reward, message in pairs if reward.state == "pending"]


class PrizeStore(ABC):
    """Prizes, durable. A given `note` goes into the audit, and a given `effect` is kept, in the same transaction."""

    @abstractmethod
    async def closed_early(self) -> dict[int, dict[tuple[str, str], int]]:
        """Return when windows were closed before their end, by the board's number, the window's name and its id."""

    @abstractmethod
    async def window(self, place: PrizePlace) -> PrizeWindow | None:
        """Return what is recorded of a window."""

    @abstractmethod
    async def undecided(self, board_id: int) -> list[tuple[str, str, int]]:
        """Return the archived windows of a board whose winners are not decided: name, id, and when each was closed."""

    @abstractmethod
    async def since(self, board_id: int) -> int | None:
        """Return since when a board has had a prize, without a break; None: it has none."""

    @abstractmethod
    async def close(self, place: PrizePlace, note: AuditNote, effect: Effect | None) -> bool:
        """Record that a window is closed at the moment of the note; return whether it was not before."""

    @abstractmethod
    async def decide(self, decision: PrizeDecision, note: AuditNote, effect: Effect | None) -> bool:
        """Record the winners of a window, their rewards and the messages about these, all or nothing.

        Return False, and record nothing, where they were decided before or the archive is not the last any more.
        """

    @abstractmethod
    async def holds(self, place: PrizePlace) -> dict[str, Hold]:
        """Return the winners of a window whose rewards wait, by player."""

    @abstractmethod
    async def hold(self, place: PrizePlace, hold: Hold, note: AuditNote, effect: Effect | None) -> bool:
        """Let a winner's reward wait; return False where it is settled, or on its way."""

    @abstractmethod
    async def release(self, place: PrizePlace, released: Released, note: AuditNote, effect: Effect | None) -> bool:
        """Let a reward wait no longer, and put its message into the outbox if it is decided; return whether it waited."""

    @abstractmethod
    async def rewards(self, place: PrizePlace, ranks: tuple[int, int]) -> list[Granted]:
        """Return the rewards of a window from one rank to another, both included."""

    @abstractmethod
    async def reward_of(self, place: PrizePlace, player: str) -> Granted | None:
        """Return the reward of a winner."""

    @abstractmethod
    async def claim(self, reward_id: str, note: AuditNote, effect: Effect | None) -> bool:
        """Settle a pending reward by a claim, and take its message back; return False where it is not pending, or on its way."""
