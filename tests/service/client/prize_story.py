"""What a program says to boards about matches, prizes and webhooks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from keepscore import Board

__all__ = ["tell_of_prizes"]

Say = Callable[..., Awaitable[Any]]


async def tell_of_prizes(say: Say) -> None:
    """Call every method, most of them also with what cannot be done."""
    await _matches(say)
    await _prizes(say)
    await say("webhooks.deliveries", limit=1)
    await say("webhooks.deliveries", state="lost")
    await say("webhooks.retry")
    await say("webhooks.retry", "d_0")


async def _matches(say: Say) -> None:
    await say("admin.put_board", Board("duels", rating={"system": "elo", "k": 32, "initial": 1000}))
    for _ in range(2):
        await say("matches.record", "duels", "ann", "ben", 1, match_id="m1")
    await say("matches.record", "duels", "ann", "ben", 0, match_id="m1")
    await say("matches.record", "duels", "ann", "ann", 1)
    await say("matches.record", "duels", "ann", "ben", 0.7)
    await say("matches.record_teams", "duels", [["ann"], ["ben"]], [1, 1], match_id="m3")
    await say("matches.record_teams", "duels", [["ann", "cat"], ["ben"]])
    many = [{"a": "ann", "b": "ben", "result": 1, "match_id": "m4"}, {"a": "ann", "b": "ann", "result": 1, "match_id": "m5"}]
    await say("matches.record_many", "duels", many)
    await say("matches.record_many", "duels", [])
    await say("matches.get", "duels", "m1")
    await say("matches.get", "duels", "m2")
    await say("matches.of_player", "duels", "ann", opponent_id="ben", limit=1)
    await say("matches.head_to_head", "duels", "ann", "ben")
    await say("matches.ratings", "duels", "ann", limit=1)


async def _prizes(say: Say) -> None:
    rewards = [{"ranks": "1", "give": "gold"}, {"ranks": "2", "give": "silver"}]
    prize = {"winners": 2, "review": "48h", "rewards": rewards}
    await say("admin.put_board", Board("cup", consistency="strong", windows=["yearly"], prize=prize))
    await say("submit", "cup", "ann", 30)
    await say("submit", "cup", "ben", 20)
    window = "cup", "yearly", datetime.now(UTC).strftime("%Y")
    await say("prizes.winners", *window)
    await say("prizes.finalize", *window)
    for _ in range(2):
        await say("prizes.close", *window, "it is over", idempotency_key="closed")
    await say("prizes.hold", *window, "ben", "a doubt")
    await say("prizes.hold", *window, "nobody", "a doubt")
    await say("prizes.finalize", *window, "all is well", idempotency_key="final")
    await say("prizes.release", *window, "ben", "no doubt")
    await say("prizes.winners", *window, limit=1)
    for _ in range(2):
        await say("prizes.claim", *window, "ann")
    await say("prizes.certificate", *window, "ann")
    await say("prizes.verify", *window)
    await say("prizes.public_key")
