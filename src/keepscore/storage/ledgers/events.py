"""The role of a ledger that holds score events."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from keepscore.domain.scoring import Event, Scope, made_event
from keepscore.storage.ledgers.claims import Claim
from keepscore.storage.ledgers.queue import Queued

__all__ = ["NO_PROFILES", "EventReader", "EventStore"]

#: The versions of no profiles.
NO_PROFILES: Mapping[str, int] = MappingProxyType({})
#: Unreadable events that are remembered.
MAX_UNREADABLE = 1000
#: The scope of an event that counts in no ranking.
NOWHERE = Scope(())

log = logging.getLogger(__name__)
_metadata = msgspec.json.decode
_segments = msgspec.json.Decoder(dict[str, str]).decode
_scope = msgspec.json.Decoder(Scope).decode


class EventReader:
    """Makes events of rows. One of which a part is not what it should be counts nowhere, and is named: it stops nobody else."""

    def __init__(self) -> None:
        #: Why events cannot be read, by board, writer and number.
        self.unreadable: dict[tuple[int, int, int], str] = {}

    def event(self, row: Any) -> Event:
        """Return the event of a row whose segments, metadata and scope are JSON."""
        event = made_event(row)
        if event.segments is None and event.metadata is None and event.scope is None:
            return event
        try:
            segments, metadata = row[8] and _segments(row[8]), None if row[10] is None else _metadata(row[10])
            return event._replace(segments=segments, metadata=metadata, scope=None if row[12] is None else _scope(row[12]))
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as exc:
            return self._left_out(event, str(exc))

    def _left_out(self, event: Event, why: str) -> Event:
        identity = event.board, event.writer, event.n
        if identity not in self.unreadable and len(self.unreadable) < MAX_UNREADABLE:
            self.unreadable[identity] = why
            log.error("event %d of writer %d on board %d cannot be read, and is left out: %s", event.n, event.writer, event.board, why)
        # A verdict without its parts would be none.
        return event._replace(kind="score", segments=None, metadata=None, scope=NOWHERE)


class EventStore(ABC):
    """Score events, durable. Each has a writer, a number among the writer's events on its board, and a number of the ledger (`seq`)."""

    @property
    @abstractmethod
    def unreadable(self) -> Mapping[tuple[int, int, int], str]:
        """Why events that were met so far cannot be read, by board, writer and number. They are returned, and count nowhere."""

    @abstractmethod
    async def append(
        self,
        events: Sequence[Event],
        claims: Sequence[Claim],
        answers: Mapping[Claim, bytes],
        queued: Sequence[Queued] = (),
        profiles: Mapping[str, int] = NO_PROFILES,
    ) -> int:
        """Record events and claims, answers to these or earlier claims, and items of the queue, in one durable transaction.

        Return the number (`Event.seq`) of the events: higher than the number of any append that had returned before this one began, in any
        process. Raise DuplicateKeys where a claim was made before, StaleProfiles where one of the `profiles` that the events were planned
        with has another version, and LedgerReplaced where the ledger is not confirmed; then nothing is recorded.
        """

    @abstractmethod
    async def restore(self, events: Sequence[Event]) -> int:
        """Record events that were kept elsewhere, in one durable transaction; leave those alone that are recorded already.

        Earlier ones of their writers may be gone, where the ledger is older than it was. Return a number that is not below theirs.
        """

    async def read(self, board_id: int, after: Mapping[int, int]) -> AsyncIterator[list[Event]]:
        """Yield the events of a board behind the given position of each writer, ordered by writer and number, in chunks.

        Events that an opening covers may be among them or not.
        """
        for writer, last in sorted((await self.positions(board_id)).items()):
            if after.get(writer, 0) < last:
                async for events in self.of_writer(board_id, writer, after.get(writer, 0), last):
                    yield events

    @abstractmethod
    def of_writer(self, board_id: int, writer: int, after: int, last: int) -> AsyncIterator[list[Event]]:
        """Yield the events of one writer on a board behind a position, in chunks, until its event `last` has come."""

    @abstractmethod
    async def of_players(self, board_id: int, players: Sequence[str]) -> dict[str, list[Event]]:
        """Return the events of each player, ordered by writer and number; those that an opening covers may be among them or not."""

    async def of_player(self, board_id: int, player: str) -> list[Event]:
        """Return the events of one player, ordered by writer and number."""
        return (await self.of_players(board_id, [player]))[player]

    @abstractmethod
    async def positions(self, board_id: int) -> dict[int, int]:
        """Return the last event number of every writer on a board."""

    @abstractmethod
    async def seqs(self, board_id: int, positions: Mapping[int, int]) -> dict[int, int]:
        """Return the ledger's number of each writer's last event on a board up to a position, 0 where the event has none.

        A writer without such events is left out.
        """

    @abstractmethod
    async def any_between(self, board_id: int, start: int, end: int) -> bool:
        """Return whether a board has an event whose time lies from `start` up to, not including, `end`. O(events of the board).

        Where events of about that time were dropped, it may have had one, and the answer is True.
        """

    @abstractmethod
    async def first_time(self, board_id: int) -> int | None:
        """Return the time of a board's earliest event, dropped ones included. O(events of the board)."""

    async def prepare(self, now: int) -> list[str]:
        """Make room for the events of the coming months; return the names of what was made."""
        return []
