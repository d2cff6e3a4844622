"""The keys of a ledger, and the ids of signed requests."""

import asyncio

import pytest

from keepscore.storage.ledgers.keys import KeyRecord


def key(number, **fields):
    record = KeyRecord(f"key{number}", f"name {number}", "submit", ("season-*", "xp"), bytes([number]) * 32, number)
    return record._replace(**fields)


async def test_keys_come_back_as_they_were_the_oldest_first(ledger, place):
    assert (await ledger.keys.all(), await ledger.keys.version()) == ([], b"")
    found = [key(1), key(2, name="ключ 'x'", expires=50), key(3, scope="admin", boards=("*",), replaces="key1")]
    for one in reversed(found):
        await ledger.keys.add(one)
    assert await ledger.keys.all() == found


async def test_keys_are_there_after_a_restart(place):
    for _ in range(2):
        ledger = place()
        await ledger.open(0)
        if not await ledger.keys.all():
            await ledger.keys.add(key(1))
        assert await ledger.keys.all() == [key(1)]
        await ledger.close()


async def test_every_change_changes_the_version_and_uses_do_not(ledger):
    seen = [await ledger.keys.version()]
    for change in (ledger.keys.add(key(1)), ledger.keys.add(key(2, replaces="key1"), 9), ledger.keys.revoke("key1", 5)):
        await change
        seen.append(await ledger.keys.version())
    await ledger.keys.note_uses({"key1": 3})
    assert len(set(seen)) == len(seen)
    assert await ledger.keys.version() == seen[-1]


async def test_a_revoked_key_stays_revoked(ledger):
    await ledger.keys.add(key(1))
    assert [await ledger.keys.revoke("key1", now) for now in (5, 6)] == [True, True]
    assert await ledger.keys.revoke("other", 5) is False
    assert await ledger.keys.all() == [key(1, revoked=5)]


@pytest.mark.parametrize(("expires", "then"), [(None, 20), (30, 20), (10, 10)])
async def test_a_replaced_key_expires_at_the_given_moment_or_before(ledger, expires, then):
    await ledger.keys.add(key(1, expires=expires))
    await ledger.keys.add(key(2, replaces="key1"), 20)
    assert [one.expires for one in await ledger.keys.all()] == [then, None]


async def test_the_last_use_is_the_latest(ledger):
    await ledger.keys.add(key(1))
    for uses in ({"key1": 5, "nobody": 5}, {"key1": 4}, {}):
        await ledger.keys.note_uses(uses)
    assert [one.last_used for one in await ledger.keys.all()] == [5]


async def test_a_request_id_is_spent_once_by_each_key(ledger):
    spent = await asyncio.gather(*[ledger.keys.spend("key1", "request", 10) for _ in range(5)])
    assert sorted(spent) == [False] * 4 + [True]
    assert await ledger.keys.spend("key2", "request", 10)


async def test_request_ids_are_forgotten_when_their_moment_has_passed(ledger):
    for number in range(5):
        await ledger.keys.spend("key1", f"request{number}", number)
    assert [await ledger.keys.forget_spent(3, 2) for _ in range(3)] == [2, 1, 0]
    assert [await ledger.keys.spend("key1", f"request{number}", 9) for number in range(5)] == [True, True, True, False, False]
