"""Private groups, in both ledgers."""

import asyncio

import pytest

from keepscore.domain.groups import GroupCaps, TryLimit
from keepscore.errors import CapReached, RateLimited, UnknownGroup
from keepscore.storage.ledgers.groups import GroupRecord

CAPS = GroupCaps(groups=3, members=3, of_player=2)
TEAM = GroupRecord("g_1", "Team ü", "ada", "CODE1", 10)


async def test_members_join_and_leave_and_the_next_becomes_the_owner(ledger):
    groups = ledger.groups
    assert await groups.find("g_1") is None
    await groups.add(TEAM, CAPS)
    assert await groups.find("g_1") == TEAM
    for now, player in ((12, "eve"), (11, "bob"), (13, "eve")):
        await groups.join("g_1", player, CAPS, now)
    assert await groups.members("g_1") == ["ada", "bob", "eve"]
    assert await groups.of("eve") == [(TEAM, 3)]
    with pytest.raises(CapReached, match="3 members"):
        await groups.join("g_1", "zoe", CAPS, 20)
    with pytest.raises(UnknownGroup):
        await groups.join("g_2", "zoe", CAPS, 20)
    assert [await groups.leave("g_1", player) for player in ("zoe", "ada", "ada")] == [False, True, False]
    assert (await groups.find("g_1")).owner == "bob"
    assert [await groups.leave("g_1", player) for player in ("eve", "bob")] == [True, True]
    assert await groups.find("g_1") is None
    assert await groups.of("bob") == []


async def test_there_are_no_more_groups_than_the_caps_allow(ledger):
    groups = ledger.groups
    for number in (1, 2):
        await groups.add(GroupRecord(f"g_{number}", "n", "ada", f"C{number}", number), CAPS)
    with pytest.raises(CapReached, match="'ada' is in 2 groups"):
        await groups.add(GroupRecord("g_3", "n", "ada", "C3", 3), CAPS)
    await groups.add(GroupRecord("g_3", "n", "bob", "C3", 3), CAPS)
    with pytest.raises(CapReached, match="there are 3 groups"):
        await groups.add(GroupRecord("g_4", "n", "eve", "C4", 4), CAPS)
    with pytest.raises(CapReached, match="'ada' is in 2 groups"):
        await groups.join("g_3", "ada", CAPS, 5)
    await groups.drop("g_1")
    assert [group.id for group, _ in await groups.of("ada")] == ["g_2"]


async def test_joining_at_once_fills_a_group_and_no_more(ledger):
    await ledger.groups.add(TEAM, CAPS)
    joining = [ledger.groups.join("g_1", f"p{i}", CAPS, i) for i in range(8)]
    results = await asyncio.gather(*joining, return_exceptions=True)
    assert sum(isinstance(result, CapReached) for result in results) == 6
    assert len(await ledger.groups.members("g_1")) == 3


async def test_wrong_codes_are_counted_for_each_player(ledger):
    groups, limit = ledger.groups, TryLimit(3, 1000)
    await groups.add(TEAM, CAPS)
    assert await groups.find_by_code("CODE1", "eve", limit, 100) == TEAM
    assert [await groups.find_by_code("WRONG", "eve", limit, now) for now in (100, 100, 200)] == [None] * 3
    with pytest.raises(RateLimited, match="3 wrong invite codes") as refused:
        await groups.find_by_code("CODE1", "eve", limit, 300)
    assert (refused.value.limit, refused.value.retry_after_s) == ("invite", 1)
    assert await groups.find_by_code("CODE1", "bob", limit, 300) == TEAM
    assert await groups.find_by_code("CODE1", "eve", limit, 1100) == TEAM
    await groups.set_code("g_1", "CODE2")
    assert await groups.find_by_code("CODE1", "bob", limit, 1200) is None
    assert (await groups.find_by_code("CODE2", "bob", limit, 1200)).code == "CODE2"
