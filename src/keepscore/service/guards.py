"""Opening and closing what guards a service: its gate and its limits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from keepscore.access.gate import Gate
from keepscore.access.keyring import Keyring
from keepscore.access.rate_limits import LimitRates, RateLimits
from keepscore.access.rates import rate_of
from keepscore.config import Settings
from keepscore.connect import is_missing, ledger_from_url, limit_counts_for
from keepscore.leaderboards import Leaderboards, now_ms
from keepscore.service.http.table import COSTS

__all__ = ["Guards", "has_keys", "no_guards", "opened_guards"]


class Guards(NamedTuple):
    """Who may do what, and how much."""

    gate: Gate
    limits: RateLimits


def no_guards(leaderboards: Leaderboards) -> Guards:
    """Return guards that let everybody do everything."""
    keyring = Keyring(leaderboards.runtime.ledger, leaderboards.runtime.settings.environment, leaderboards.runtime.clock)
    return Guards(Gate("off", keyring), RateLimits(LimitRates({}, dict.fromkeys(COSTS, 1))))


async def has_keys(settings: Settings) -> bool:
    """Return whether the ledger of the settings has API keys."""
    ledger = ledger_from_url(settings.ledger, shared=settings.engine != "embedded://")
    if is_missing(settings.ledger):
        return False
    await ledger.open(now_ms())
    try:
        return bool(await ledger.keys.all())
    finally:
        await ledger.close()


@asynccontextmanager
async def opened_guards(settings: Settings, leaderboards: Leaderboards) -> AsyncIterator[Guards]:
    """Open the guards that the settings ask for."""
    keyring = Keyring(leaderboards.runtime.ledger, settings.environment, leaderboards.runtime.clock)
    rates = LimitRates({subject: rate_of(rate) for subject, rate in settings.rates.items()}, settings.units)
    limits = RateLimits(rates, limit_counts_for(settings.engine))
    try:
        await keyring.start()
        yield Guards(Gate(settings.auth, keyring), limits)
    finally:
        await limits.close()
        await keyring.stop()
