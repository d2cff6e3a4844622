"""Lists of friends, in both ledgers."""

import asyncio
import random

import pytest

from keepscore.domain.friends import ONE_WAY, FriendChange, FriendRules
from keepscore.errors import CapReached

MUTUAL = FriendRules(is_mutual=True)


async def test_a_list_is_replaced_added_to_and_taken_from(ledger):
    friends = ledger.friends
    assert await friends.of("a", False) == []
    assert await friends.change(FriendChange("a", ["c", "b", "ü🏆"], replaces=True), ONE_WAY, 1) == ["b", "c", "ü🏆"]
    assert await friends.change(FriendChange("a", ["b", "d"]), ONE_WAY, 2) == ["b", "c", "d", "ü🏆"]
    assert await friends.change(FriendChange("a", removed=["c", "nobody"]), ONE_WAY, 3) == ["b", "d", "ü🏆"]
    assert await friends.of("a", False) == ["b", "d", "ü🏆"]
    assert await friends.of("b", False) == []
    assert await friends.change(FriendChange("a", [], replaces=True), ONE_WAY, 4) == []


async def test_mutual_friends_are_found_and_lost_on_both_sides(ledger):
    friends = ledger.friends
    await friends.change(FriendChange("a", ["b", "c"]), MUTUAL, 1)
    await friends.change(FriendChange("b", ["a", "d"]), MUTUAL, 1)
    assert [await friends.of(player, True) for player in "abcd"] == [["b", "c"], ["a", "d"], ["a"], ["b"]]
    await friends.change(FriendChange("c", [], replaces=True), MUTUAL, 2)
    await friends.change(FriendChange("a", removed=["b"]), MUTUAL, 2)
    assert [await friends.of(player, True) for player in "abcd"] == [[], ["d"], [], ["b"]]


async def test_a_list_over_the_cap_changes_nothing(ledger):
    friends, rules = ledger.friends, FriendRules(is_mutual=True, most=2)
    await friends.change(FriendChange("a", ["b", "c"]), rules, 1)
    with pytest.raises(CapReached, match="'a' would have more than 2"):
        await friends.change(FriendChange("a", ["d"]), rules, 2)
    with pytest.raises(CapReached, match="'a' would have more than 2"):
        await friends.change(FriendChange("d", ["a"]), rules, 2)
    assert await friends.of("a", True) == ["b", "c"]
    assert await friends.of("d", True) == []
    # What is not longer than before is taken, whatever the cap is by now.
    assert await friends.change(FriendChange("a", removed=["b"]), rules._replace(most=0), 3) == ["c"]


async def test_changes_of_one_list_at_once_all_count(ledger):
    await asyncio.gather(*[ledger.friends.change(FriendChange("a", [f"f{i}"]), ONE_WAY, i) for i in range(20)])
    assert await ledger.friends.of("a", False) == sorted(f"f{i}" for i in range(20))


@pytest.mark.parametrize("rules", [ONE_WAY, MUTUAL], ids=["one-way", "mutual"])
async def test_lists_are_those_of_sets_of_pairs(ledger, rules):
    dice, pairs = random.Random(18), set()
    for now in range(60):
        player = dice.choice("abcdef")
        some = [one for one in dice.sample("abcdef", dice.randrange(4)) if one != player]
        change = FriendChange(player, some, replaces=True) if dice.random() < 0.3 else FriendChange(player, some[:2], some[2:])
        gone = {friend for friend in "abcdef" if change.replaces or friend in change.removed}
        pairs -= {(player, friend) for friend in gone}
        if rules.is_mutual:
            pairs -= {(friend, player) for friend in gone}
        pairs |= {(player, friend) for friend in change.added}
        found = await ledger.friends.change(change, rules, now)
        expected = {friend for one, friend in pairs if one == player}
        if rules.is_mutual:
            expected |= {one for one, friend in pairs if friend == player}
        assert found == await ledger.friends.of(player, rules.is_mutual) == sorted(expected)
