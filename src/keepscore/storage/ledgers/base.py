"""The port to a ledger: the truth. What is acknowledged is here, once.

A ledger is composed of roles, each a small port in a file of its own beside this one: `ledger.events.append(…)`,
`ledger.boards.current()`. A new role is a port file here, a file and its queries in each adapter, and a line in each ledger class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from keepscore.storage.ledgers.addresses import AddressStore
from keepscore.storage.ledgers.appeals import AppealStore
from keepscore.storage.ledgers.archives import ArchiveStore
from keepscore.storage.ledgers.attempts import AttemptStore
from keepscore.storage.ledgers.audit import AuditLog
from keepscore.storage.ledgers.boards import BoardStore
from keepscore.storage.ledgers.checkpoints import CheckpointStore
from keepscore.storage.ledgers.claims import ClaimStore
from keepscore.storage.ledgers.erasure import ErasureStore
from keepscore.storage.ledgers.events import EventStore
from keepscore.storage.ledgers.friends import FriendStore
from keepscore.storage.ledgers.groups import GroupStore
from keepscore.storage.ledgers.identity import Identity
from keepscore.storage.ledgers.keys import KeyStore
from keepscore.storage.ledgers.leadership import Leadership
from keepscore.storage.ledgers.leagues import LeagueStore
from keepscore.storage.ledgers.marks import MarkStore
from keepscore.storage.ledgers.openings import OpeningStore
from keepscore.storage.ledgers.outbox import OutboxStore
from keepscore.storage.ledgers.players import PlayerStore
from keepscore.storage.ledgers.prizes import PrizeStore
from keepscore.storage.ledgers.queue import QueueStore
from keepscore.storage.ledgers.retention import EventRemoval
from keepscore.storage.ledgers.writers import WriterNumbers

__all__ = ["Ledger"]


class Ledger(ABC):
    """A durable ledger: its roles by name, and its own life."""

    #: Score events.
    events: EventStore
    #: Idempotency keys.
    claims: ClaimStore
    #: Definitions of boards.
    boards: BoardStore
    #: States of rankings, from which a start begins.
    checkpoints: CheckpointStore
    #: Rankings as they were at some moment.
    archives: ArchiveStore
    #: What is left of events that were dropped.
    openings: OpeningStore
    #: Dropping old events.
    retention: EventRemoval
    #: What is known of players beside their scores.
    players: PlayerStore
    #: Who is whose friend.
    friends: FriendStore
    #: Private groups.
    groups: GroupStore
    #: Seasons of leagues: cohorts, and what became of their players.
    leagues: LeagueStore
    #: API keys, and request ids that are spent.
    keys: KeyStore
    #: Refused submissions, where a rule counts them.
    attempts: AttemptStore
    #: Who has sent scores from an address.
    addresses: AddressStore
    #: Scores that moderators decide about.
    queue: QueueStore
    #: Windows that are closed early or decided, holds, and rewards.
    prizes: PrizeStore
    #: Messages that are sent until they are acknowledged.
    outbox: OutboxStore
    #: What players say against decisions.
    appeals: AppealStore
    #: Players who are erased.
    erasure: ErasureStore
    #: Who did what.
    audit: AuditLog
    #: Single values under names.
    marks: MarkStore
    #: The numbers that processes write under.
    writers: WriterNumbers
    #: Which process does the jobs that one does for all.
    leadership: Leadership
    #: Which ledger it is that answers, and whether it may be written.
    identity: Identity

    @abstractmethod
    async def open(self, now: int) -> int:
        """Connect, bring the schema up to date, and register this process; return its writer number, used by no other."""

    @abstractmethod
    async def migrate(self) -> tuple[int, int]:
        """Bring the schema up to date, and let go of the ledger again; return the versions before and after."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of everything."""

    @abstractmethod
    async def announce(self, url: str) -> None:
        """Leave the address of the service that uses the ledger, for whoever finds it in use."""

    @abstractmethod
    async def probe(self, now: int) -> None:
        """Write something durably, or raise LedgerUnavailable."""
