"""What the ledger needs: room for the events to come, and no idempotency keys that nobody will send again."""

from __future__ import annotations

from keepscore.domain.nouns import counted
from keepscore.lifecycle.jobs.base import SECOND_MS, Job

__all__ = ["ExpiredKeys", "Partitions"]

#: Milliseconds for which refused attempts are remembered: a year, the longest window of the calendar.
KEEP_ATTEMPTS_MS = 366 * 86_400_000
#: Milliseconds for which it is known who has sent scores from an address: 90 days after the last one.
KEEP_ADDRESSES_MS = 90 * 86_400_000
#: Keys that are forgotten at a time.
CHUNK_KEYS = 1000


class Partitions(Job):
    """Makes partitions for the events of the coming months, where the ledger has some."""

    name = "prepare"
    every = 3600 * SECOND_MS

    async def run(self, now: int) -> str:
        made = await self.parts.ledger.events.prepare(now)
        return f"created partitions for {', '.join(made)}" if made else ""


class ExpiredKeys(Job):
    """Forgets idempotency keys older than the configuration wants, a week by default, and ids, attempts and addresses that are old."""

    name = "forget keys"
    every = 3600 * SECOND_MS

    async def run(self, now: int) -> str:
        forgotten = 0
        while count := await self.parts.ledger.claims.forget(now - self.parts.keep_keys_ms, CHUNK_KEYS):
            forgotten += count
        while await self.parts.ledger.keys.forget_spent(now, CHUNK_KEYS) == CHUNK_KEYS:
            pass
        while await self.parts.ledger.attempts.forget(now - KEEP_ATTEMPTS_MS, CHUNK_KEYS) == CHUNK_KEYS:
            pass
        while await self.parts.ledger.addresses.forget(now - KEEP_ADDRESSES_MS, CHUNK_KEYS) == CHUNK_KEYS:
            pass
        return f"forgot {counted(forgotten, 'idempotency key')}" if forgotten else ""
