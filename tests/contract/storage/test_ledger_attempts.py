"""Refused attempts, in both ledgers."""

import asyncio

from keepscore.storage.ledgers.attempts import Attempt


async def test_attempts_of_one_moment_add_up(ledger):
    await ledger.attempts.add([])
    same = Attempt(1, "ada", 10, 1)
    await ledger.attempts.add([same, same, Attempt(1, "ada", 11, 5), Attempt(1, "eve", 10, 1), Attempt(2, "ada", 10, 1)])
    await asyncio.gather(*[ledger.attempts.add([same]) for _ in range(5)])
    assert await ledger.attempts.of_players(1, ["ada"], 0) == [Attempt(1, "ada", 10, 7), Attempt(1, "ada", 11, 5)]
    assert await ledger.attempts.of_players(1, ["ada"], 11) == [Attempt(1, "ada", 11, 5)]
    assert sorted(await ledger.attempts.of_players(1, ["ada", "eve", "nobody"], 10)) == [
        Attempt(1, "ada", 10, 7),
        Attempt(1, "ada", 11, 5),
        Attempt(1, "eve", 10, 1),
    ]


async def test_old_attempts_are_forgotten(ledger):
    await ledger.attempts.add([Attempt(1, "ada", moment, 1) for moment in range(5)])
    assert [await ledger.attempts.forget(3, 2) for _ in range(3)] == [2, 1, 0]
    assert [attempt.at for attempt in await ledger.attempts.of_players(1, ["ada"], 0)] == [3, 4]
