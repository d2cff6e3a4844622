"""The queue of scores that moderators decide about.

A score in quarantine is recorded together with a void of it, under the id of its item in the queue (`writing/plan.py`). To approve it is
to record a restore under the same id: it counts with its own time, as after the undo of a void. A score that is only flagged counts, and
to reject it is to record the void. What was cut short between a decision and its verdicts is found by the state of the item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from keepscore.domain.actors import current_actor
from keepscore.domain.durations import time_of
from keepscore.domain.inputs import no_progress
from keepscore.domain.results.review import QueueItem, QueuePage, QueueState
from keepscore.domain.scoring import Event
from keepscore.domain.values import check_player
from keepscore.domain.verdicts import event_id, named_event
from keepscore.errors import AlreadyDecided, EventsDropped, InvalidField, InvalidPage, UnknownBoard, UnknownQueueItem
from keepscore.fairplay.addresses import Addresses
from keepscore.fairplay.evidence import evidence_of
from keepscore.fairplay.recording import record_verdicts
from keepscore.lifecycle.archiving import bring_together
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.rebuild import Rebuilds
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.projection.stores import Stores
from keepscore.reading.view import check_within
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.queue import Decision, ItemState, Queued, QueueFilter

__all__ = ["MAX_ITEMS", "Review", "ReviewRequest", "Verb", "place_of"]

#: What a moderator does.
Verb = Literal["approve", "reject"]
#: Items of one page: the evidence of each costs some reads.
MAX_ITEMS = 100
#: Items that the keeper finishes at a time.
CHUNK_ITEMS = 100

#: The states of the ledger that callers see as one.
SHOWN: dict[ItemState, QueueState] = {
    "open": "open",
    "approving": "approved",
    "approved": "approved",
    "rejecting": "rejected",
    "rejected": "rejected",
}
#: What an item becomes while the verdicts of a decision are recorded, and after that.
UNDER_WAY: dict[Verb, ItemState] = {"approve": "approving", "reject": "rejecting"}
DONE: dict[ItemState, ItemState] = {"approving": "approved", "rejecting": "rejected"}


class ReviewRequest:
    """Which items a moderator asks for."""

    def __init__(self, board: str | None, player_id: str | None, state: str, cursor: str | None, limit: int) -> None:
        if state not in ("open", "approved", "rejected"):
            raise InvalidField(f"state = {state[:40]!r} is not a state: allowed are open, approved and rejected")
        self.board, self.player_id = board, None if player_id is None else check_player(player_id)
        self.states: Sequence[ItemState] = [known for known, shown in SHOWN.items() if shown == state]
        self.after = (-1, "") if cursor is None else place_of(cursor)
        check_within("limit", limit, 1, MAX_ITEMS)
        self.limit = limit


class Review:
    """Shows the queue, and carries out what moderators decide."""

    def __init__(self, parts: JobParts, rebuilds: Rebuilds, addresses: Addresses) -> None:
        self.parts = parts
        self._catalog, self._ledger, self._clock = parts.catalog, parts.ledger, parts.clock
        self._stores = Stores(parts.catalog, parts.ledger, parts.engine, parts.clock)
        self._rebuilds = rebuilds
        self._addresses = addresses

    async def page(self, wanted: ReviewRequest, may_use: Callable[[str], bool] = lambda _: True) -> QueuePage:
        """Return items of boards that a moderator may use, the oldest first."""
        known = [self._catalog[wanted.board]] if wanted.board is not None else list(self._catalog)
        boards = {live.id: live for live in known if may_use(live.name)}
        asked = QueueFilter(list(boards), wanted.states, wanted.player_id)
        found = await self._ledger.queue.page(asked, wanted.after, wanted.limit + 1)
        items = found[: wanted.limit]
        shown = [await self._shown(boards[item.board], item, with_evidence=item.state == "open") for item in items]
        return QueuePage(shown, f"{items[-1].received}.{items[-1].id}" if len(found) > wanted.limit else None)

    async def board_of(self, item_id: str) -> str:
        """Return the board of an item."""
        return self._board(await self._item(item_id)).name

    async def decide(self, item_id: str, verb: Verb, reason: str, key: str | None) -> QueueItem:
        """Approve or reject an item; return once its score counts, or does not."""
        item = await self._item(item_id)
        live = self._board(item)
        if item.state != "open" and not (key is not None and item.key == key and SHOWN[item.state] == SHOWN[UNDER_WAY[verb]]):
            raise AlreadyDecided(f"this score was {SHOWN[item.state]} already: {item.reason}")
        if item.state == "open":
            if (verb == "approve") == item.is_held:
                await self._check_kept(item)
            decision = Decision(UNDER_WAY[verb], self._clock(), reason, key)
            note = AuditNote(self._clock(), verb, live.name, {"queue": item_id, "player": item.player}, reason, current_actor())
            if not await self._ledger.queue.decide(item_id, "open", decision, note):
                raise AlreadyDecided("this score was decided by somebody else just now")
        item = await self._item(item_id)
        await self._finish(item)
        return await self._shown(live, await self._item(item_id), with_evidence=False)

    async def item_of(self, item_id: str) -> Queued | None:
        """Return an item, if there is one."""
        return await self._ledger.queue.get(item_id)

    async def overturn(self, item_id: str, reason: str) -> None:
        """Let a score count that was rejected, or is not decided yet; one that counts stays as it is."""
        item = await self._item(item_id)
        if item.state in ("open", "rejected"):
            note = AuditNote(
                self._clock(), "approve", self._board(item).name, {"queue": item_id, "player": item.player}, reason, current_actor()
            )
            await self._check_kept(item)
            await self._ledger.queue.decide(item_id, item.state, Decision("approving", self._clock(), reason, None), note)
        await self._finish(await self._item(item_id))

    async def finish_all(self) -> list[str]:
        """Record the verdicts of decisions that were cut short; return the ids of the items."""
        known = {live.id for live in self._catalog}
        items = [item for item in await self._ledger.queue.unsettled(CHUNK_ITEMS) if item.board in known]
        for item in items:
            await self._finish(item)
        return [item.id for item in items]

    async def _finish(self, item: Queued) -> None:
        """Record the verdicts of a decision, if it needs some, and note that."""
        if item.state not in DONE:
            return
        is_approved = item.state == "approving"
        for live, past in await self._pasts(item) if is_approved or not item.is_held else ():
            events = _void_under(past, item) if is_approved else _own(past, item, live)
            if events:
                await bring_together(self.parts, live)
                await record_verdicts(self.parts, live, "restore" if is_approved else "void", item.id, events)
                if live.board.is_partial:
                    # How many players are not kept is counted, not looked up.
                    await self._rebuilds.rebuild(live.name, no_progress)
        await self._ledger.queue.settle(item.id, item.state, DONE[item.state])

    async def _pasts(self, item: Queued) -> list[tuple[LiveBoard, list[Event]]]:
        """Return what the player of an item has on each of its boards. Those that were deleted since are passed over."""
        boards = [live for live in self._catalog if any(board == live.id for board, _, _ in item.events)]
        return [(live, (await pasts_of(self._ledger, live, [item.player]))[item.player].events) for live in boards]

    async def _check_kept(self, item: Queued) -> None:
        if not any(_own(past, item, live) for live, past in await self._pasts(item) if live.id == item.board):
            raise EventsDropped(f"{item.id} cannot be decided any more: its events are folded and dropped (keep_events)")

    async def _shown(self, live: LiveBoard, item: Queued, with_evidence: bool) -> QueueItem:
        told = item.id, live.name, item.player, live.board.shown(item.amount), time_of(item.at), list(item.reasons)
        names = [f"{writer}-{n}" for board, writer, n in item.events if board == live.id]
        shown = QueueItem(*told, SHOWN[item.state], item.is_held, names)
        if with_evidence:
            past = (await pasts_of(self._ledger, live, [item.player]))[item.player]
            shown.evidence = await evidence_of(self._stores, self._addresses, live, item, past)
        if item.decided is not None:
            shown.decided_at, shown.reason = time_of(item.decided), item.reason
        return shown

    async def _item(self, item_id: str) -> Queued:
        item = await self._ledger.queue.get(item_id)
        if item is None:
            raise UnknownQueueItem(f"there is no {item_id[:40]!r} in the queue: 'keepscore queue list' shows what there is")
        return item

    def _board(self, item: Queued) -> LiveBoard:
        live = next((live for live in self._catalog if live.id == item.board), None)
        if live is None:
            raise UnknownBoard(f"the board of {item.id} is deleted")
        return live


def _own(past: Sequence[Event], item: Queued, live: LiveBoard) -> list[Event]:
    """Return the events of an item on a board."""
    names = {(writer, n) for board, writer, n in item.events if board == live.id}
    return [event for event in past if event_id(event) in names]


def _void_under(past: Sequence[Event], item: Queued) -> list[Event]:
    """Return the events that are void by the decision of an item."""
    names = {named_event(event) for event in past if event.kind == "void" and event.game_id == item.id}
    return [event for event in past if event_id(event) in names]


def place_of(cursor: str) -> tuple[int, str]:
    """Return the moment and the id that a page goes on behind."""
    moment, _, item_id = cursor.partition(".")
    if not moment.isascii() or not moment.isdecimal() or len(cursor) > 60 or not item_id.isascii() or not item_id.isprintable():
        raise InvalidPage(f"cursor = {cursor[:40]!r} is not one that this service gave: take next_cursor as it is")
    return int(moment), item_id
