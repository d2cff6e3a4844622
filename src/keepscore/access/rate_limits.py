"""Rate limits: how much a key, a player, an address and a board may ask for.

The counting is the package `limits`', by a sliding window, in Redis where processes share one. A process pays for some units ahead and
hands them out itself: one more for a subject that rarely comes, twice as many each time that they are used up, and at most a sixteenth of
the limit. So a busy subject costs a look into a dict, and a limit is never exceeded; what was paid for and not used in a second is lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from math import ceil
from typing import Any, NamedTuple

from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, Storage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from keepscore.access.rates import Rate
from keepscore.caches import ByteCache
from keepscore.errors import RateLimited

__all__ = ["LimitCounts", "LimitRates", "RateLimits"]

#: Of a limit, what a process pays for ahead at most.
SHARE_AHEAD = 16
#: Seconds for which units that were paid for are good, for which a refusal is remembered, and that a count may take.
LEASE_S, REFUSED_S, CALL_S = 1.0, 0.25, 0.25
#: Seconds for which a storage that failed is not asked.
AWAY_S = 5.0
#: Shares that were paid for ahead, and about what each takes, in bytes.
LEASES_BYTES, LEASE_BYTES = 32 << 20, 700
#: Seconds between two looks at what the process's own counts can forget.
SWEEP_S = 10.0

log = logging.getLogger(__name__)


class LimitRates(NamedTuple):
    """What is allowed, by subject (None: anything), and how many units a request of each cost is."""

    rates: Mapping[str, Rate | None]
    units: Mapping[str, int]


class LimitCounts(NamedTuple):
    """Where requests are counted, and what lets go of it."""

    storage: Storage
    close: Callable[[], Awaitable[None]]


class _Lease:
    """Units of a subject that are paid for."""

    __slots__ = ("left", "lock", "refused", "size", "until")

    def __init__(self) -> None:
        #: Of those who find it used up at once, one pays, and the others look again.
        self.lock = asyncio.Lock()
        self.left = 0
        self.size = 0
        self.until = 0.0
        #: Until when nothing is asked for, and the refusal.
        self.refused: tuple[float, RateLimited] | None = None


class RateLimits:
    """The limits of one process. `counts` is where requests are counted; None: in the process."""

    def __init__(self, limits: LimitRates, counts: LimitCounts | None = None) -> None:
        self._counts = counts
        self.units = limits.units
        self._rates = {kind: rate for kind, rate in limits.rates.items() if rate is not None}
        self._shared = None if counts is None else SlidingWindowCounterRateLimiter(counts.storage)
        self._own: SlidingWindowCounterRateLimiter | None = None
        self._leases: ByteCache[tuple[str, str], _Lease] = ByteCache(LEASES_BYTES)
        self._away_until = 0.0
        self._sweeping: asyncio.Task[None] | None = None

    def limits(self, kind: str) -> bool:
        """Return whether there is a limit for a kind of subject."""
        return kind in self._rates

    async def close(self) -> None:
        """Let go of what counts."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._counts is not None:
            with suppress(Exception):
                await self._counts.close()

    async def charge(self, kind: str, name: str, units: int) -> None:
        """Count a request of a subject, or raise RateLimited."""
        now = time.monotonic()
        lease = self._leases.get((kind, name))
        if lease is not None and lease.left >= units and lease.until > now:
            # Nearly all requests of whoever makes many.
            lease.left -= units
            return
        rate = self._rates.get(kind)
        if rate is None:
            return
        if lease is None:
            lease = self._leases.put((kind, name), _Lease(), LEASE_BYTES)
        async with lease.lock:
            await self._renew(lease, rate, (kind, name), min(units, rate.amount))

    async def _renew(self, lease: _Lease, rate: Rate, subject: tuple[str, str], units: int) -> None:
        now = time.monotonic()
        if lease.refused is not None and lease.refused[0] > now:
            raise lease.refused[1]
        is_used_up = lease.until > now
        if is_used_up and lease.left >= units:
            lease.left -= units
            return
        size = max(units, min(lease.size * 2, rate.amount // SHARE_AHEAD)) if is_used_up else units
        item = RateLimitItemPerSecond(rate.amount, rate.seconds)
        while not await self._hit(item, subject, size):
            if size == units:
                raise await self._refusal(lease, rate, item, subject)
            size = units
        lease.left = size - units + (lease.left if is_used_up else 0)
        lease.size, lease.until, lease.refused = size, time.monotonic() + LEASE_S, None

    async def _hit(self, item: Any, subject: tuple[str, str], units: int) -> bool:
        if self._shared is not None and time.monotonic() >= self._away_until:
            try:
                async with asyncio.timeout(CALL_S):
                    return await self._shared.hit(item, *subject, cost=units)
            except Exception as exc:
                # Whatever the driver raises: limits protect the service, and must not take it down.
                self._away_until = time.monotonic() + AWAY_S
                log.warning("requests are counted in this process only for now: %s", type(exc).__name__)
        return await self._memory().hit(item, *subject, cost=units)

    def _memory(self) -> SlidingWindowCounterRateLimiter:
        if self._own is None:
            storage = MemoryStorage()
            # Its own way is to look at all counts with every request. A task that does not end keeps it from that.
            if storage.timer is not None:
                storage.timer.cancel()
            storage.timer = self._sweeping = asyncio.get_running_loop().create_task(_sweep(storage), name="keepscore-limits")
            self._own = SlidingWindowCounterRateLimiter(storage)
        return self._own

    async def _refusal(self, lease: _Lease, rate: Rate, item: Any, subject: tuple[str, str]) -> RateLimited:
        limiter = self._shared if self._shared is not None and time.monotonic() >= self._away_until else self._memory()
        wait_s = 1.0
        try:
            async with asyncio.timeout(CALL_S):
                wait_s = (await limiter.get_window_stats(item, *subject)).reset_time - time.time()
        except Exception:
            log.debug("when a limit allows more is not known", exc_info=True)
        wait = max(1, min(ceil(wait_s), rate.seconds))
        kind = subject[0]
        message = f"too many requests: the limit of this {kind} is {rate.amount} units in {rate.seconds} s. Try again in {wait} s"
        error = RateLimited(message, kind, rate, wait)
        lease.refused = time.monotonic() + REFUSED_S, error
        return error


async def _sweep(storage: MemoryStorage) -> None:
    """Forget counts whose time is over."""
    while True:
        await asyncio.sleep(SWEEP_S)
        now = time.time()
        for key in [key for key, moment in storage.expirations.items() if moment <= now]:
            storage.storage.pop(key, None)
            storage.expirations.pop(key, None)
            storage.locks.pop(key, None)
