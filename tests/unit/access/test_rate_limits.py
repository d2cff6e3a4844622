"""Rate limits in a process, and without the Redis that they are counted in."""

from __future__ import annotations

import pytest

from keepscore.access.rate_limits import LimitRates, RateLimits
from keepscore.access.rates import Rate
from keepscore.connect import limit_counts_for
from keepscore.errors import RateLimited
from tests.support.ports import free_port

RATES = LimitRates({"key": Rate(100, 3600), "player": None, "board": Rate(5, 3600)}, {"light": 1})


async def allowed(limits: RateLimits, kind: str, name: str, units: int = 1, tries: int = 300) -> int:
    """How often a subject comes through."""
    refused: list[RateLimited] = []
    for _ in range(tries):
        try:
            await limits.charge(kind, name, units)
        except RateLimited as exc:
            refused.append(exc)
    assert all((one.limit, one.policy) == (kind, RATES.rates[kind]) for one in refused)
    assert all(1 <= one.retry_after_s <= 3600 for one in refused)
    return tries - len(refused)


async def test_each_subject_has_what_its_limit_allows() -> None:
    limits = RateLimits(RATES)
    try:
        assert await allowed(limits, "key", "a") == 100
        assert await allowed(limits, "key", "b", units=10) == 10
        # One request may cost more than there is: it takes all.
        assert await allowed(limits, "board", "b", units=10) == 1
        assert await allowed(limits, "player", "a") == 300
        assert await allowed(limits, "unknown", "a") == 300
        assert (limits.limits("key"), limits.limits("player")) == (True, False)
    finally:
        await limits.close()


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
async def test_without_its_redis_a_process_counts_for_itself(scheme: str) -> None:
    limits = RateLimits(RATES, limit_counts_for(f"{scheme}://127.0.0.1:{free_port()}"))
    try:
        assert await allowed(limits, "key", "a") == 100
    finally:
        await limits.close()


def test_an_engine_in_the_process_has_its_counts_there() -> None:
    assert limit_counts_for("embedded://") is None
