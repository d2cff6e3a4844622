"""`lb.webhooks`: what waits in the outbox, what was delivered, and trying it again; and the keeper's job that delivers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from keepscore.domain.durations import time_of
from keepscore.domain.nouns import counted
from keepscore.domain.results.webhooks import Deliveries, Delivery, DeliveryState, Retried
from keepscore.domain.webhooks import pause_ms
from keepscore.errors import InvalidField, InvalidPage, UnknownDelivery
from keepscore.fairplay.webhook_sender import Refused, WebhookSender
from keepscore.lifecycle.jobs.base import Job
from keepscore.lifecycle.parts import JobParts
from keepscore.reading.view import check_limit
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.outbox import Message
from keepscore.telemetry.counters import WEBHOOK_ATTEMPTS

__all__ = ["Deliver", "Webhooks"]

#: Messages that are sent at once, and those of one run.
TOGETHER, MOST_OF_A_RUN = 8, 400
#: Characters of an id.
MAX_ID = 64
#: Behind every moment and id.
LAST = (1 << 62, "")


class Webhooks:
    """The outbox of the ledger: messages about rewards, each sent until its receiver acknowledges it."""

    def __init__(self, ledger: Ledger, clock: Callable[[], int], is_configured: bool) -> None:
        self._ledger = ledger
        self._clock = clock
        self._is_configured = is_configured

    async def deliveries(self, *, state: str | None = None, limit: int = 100, cursor: str | None = None) -> Deliveries:
        """Return deliveries, the newest first: all, those that wait (`pending`), or those that are `delivered`."""
        check_limit(limit)
        if state not in (None, "pending", "delivered"):
            raise InvalidField(f"state = {str(state)[:40]!r} cannot be used: allowed are pending and delivered")
        wanted = None if state is None else state == "pending"
        found = await self._ledger.outbox.page(_place(cursor), limit + 1, wanted)
        page, count = found[:limit], await self._ledger.outbox.count()
        more = f"{page[-1].created}.{page[-1].id}" if len(found) > limit else None
        return Deliveries(self._is_configured, *count, [_shown(message) for message in page], more)

    async def retry(self, delivery_id: str | None = None) -> Retried:
        """Try a delivery, or all that wait, again now, and not only when their pause is over."""
        now, is_possible = self._clock(), delivery_id is None or _is_id(delivery_id)
        count = await self._ledger.outbox.retry(delivery_id, now) if is_possible else 0
        if not count and delivery_id is not None:
            raise UnknownDelivery(f"there is no delivery {delivery_id[:40]!r} that waits: 'keepscore webhooks list' shows them")
        if count:
            await self._ledger.audit.note("retry_webhooks", "", {"delivery": delivery_id, "deliveries": count}, now)
        return Retried(count)


class Deliver(Job):
    """Sends what is due in the outbox, a few at a time, and records what became of it."""

    name = "deliver webhooks"

    def __init__(self, parts: JobParts, sender: WebhookSender | None) -> None:
        super().__init__(parts)
        self._sender = sender

    async def run(self, now: int) -> str:
        if self._sender is None:
            return ""
        sent = failed = 0
        while sent + failed < MOST_OF_A_RUN:
            due = await self.parts.ledger.outbox.due(self.parts.clock(), TOGETHER)
            outcomes = await asyncio.gather(*(self._deliver(self._sender, message) for message in due))
            sent, failed = sent + outcomes.count(True), failed + outcomes.count(False)
            if not due or True not in outcomes:
                # Nobody takes anything now: what has not left yet may still be claimed.
                break
        told = [f"delivered {counted(sent, 'message')}"] if sent else []
        return ", ".join(told + ([f"{failed} failed"] if failed else []))

    async def _deliver(self, sender: WebhookSender, message: Message) -> bool | None:
        """Try a message once; return whether it is acknowledged, or None where somebody else tries it."""
        outbox, clock = self.parts.ledger.outbox, self.parts.clock
        attempts = message.attempts + 1
        if not await outbox.begin(message.id, message.attempts, clock() + pause_ms(attempts)):
            return None
        try:
            await sender.send(message, clock())
        except Refused as exc:
            WEBHOOK_ATTEMPTS.add("failed")
            await outbox.fail(message.id, attempts, str(exc))
            return False
        WEBHOOK_ATTEMPTS.add("delivered")
        await outbox.acknowledge(message.id, clock())
        return True


def _shown(message: Message) -> Delivery:
    is_delivered = message.acknowledged_at is not None
    state: DeliveryState = "delivered" if is_delivered else "failing" if message.error is not None else "pending"
    next_at = None if is_delivered else time_of(message.next_at)
    delivered_at = None if message.acknowledged_at is None else time_of(message.acknowledged_at)
    return Delivery(message.id, message.topic, state, time_of(message.created), message.attempts, next_at, delivered_at, message.error)


def _is_id(text: str) -> bool:
    """Return whether a text may be the id of a message: a ledger need not be asked for others."""
    return 0 < len(text) <= MAX_ID and text.isascii() and text.isprintable()


def _place(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return LAST
    created, dot, message_id = cursor.partition(".")
    if not dot or not created.isascii() or not created.isdecimal() or len(created) > 16 or not _is_id(message_id):
        raise InvalidPage(f"cursor = {cursor[:40]!r} is not one that this service gave: take next_cursor as it is")
    return int(created), message_id
