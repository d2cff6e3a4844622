"""What both ledgers know of players beside their scores."""

import asyncio

import pytest

from keepscore.domain.scoring import Event
from keepscore.storage.ledgers.claims import Claim
from keepscore.storage.ledgers.players import PlayerRecord, StaleProfiles


async def put(ledger, now, *records):
    await ledger.players.change([record.player for record in records], lambda _: (records, None), now)


async def test_the_last_record_of_each_player_is_kept(ledger):
    assert await ledger.players.find(["a", "b"]) == []
    for player, name in (("a", "Ann"), ("b", "Böb 🏆"), ("a", "Anna"), ("c", "Cy"), ("c", None)):
        await put(ledger, 5, PlayerRecord(player, name))
    await put(ledger, 6, PlayerRecord("d", None, '{"level":3}'), PlayerRecord("b", "Bob", "{}"))
    found = sorted(await ledger.players.find(["a", "b", "c", "d", "e"]))
    assert found == [("a", "Anna", None, 2), ("b", "Bob", "{}", 2), ("c", None, None, 2), ("d", None, '{"level":3}', 1)]


async def test_players_are_found_by_when_they_were_recorded(ledger):
    for now, player in ((5, "a"), (7, "b"), (9, "a")):
        await put(ledger, now, PlayerRecord(player, player.upper()))
    assert await ledger.players.changed(7, 10) == [("a", 9), ("b", 7)]
    assert await ledger.players.changed(0, 1) == [("a", 9)]
    assert await ledger.players.changed(10, 10) == []


async def test_changes_at_the_same_time_see_each_other(ledger):
    async def add(player):
        def change(known):
            before = known[player].name or "" if player in known else ""
            return [PlayerRecord(player, before + "x")], None

        await ledger.players.change([player, "z"], change, 1)

    await asyncio.gather(*[add(player) for player in "ab" * 10])
    assert sorted(await ledger.players.find(["a", "b"])) == [("a", "x" * 10, None, 10), ("b", "x" * 10, None, 10)]


async def test_events_that_were_planned_with_an_earlier_profile_are_not_recorded(ledger):
    claim = Claim("submission", "1", "k", b"f")
    events = [Event(1, 1, 1, player, "score", 1, 5, 5) for player in "ab"]
    events[1] = events[1]._replace(n=2)
    await put(ledger, 5, PlayerRecord("a", "Ann"))
    for profiles in ({"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 2, "b": 3}):
        with pytest.raises(StaleProfiles) as stale:
            await ledger.events.append(events, [claim], {}, (), profiles)
        assert sorted(stale.value.players) == [player for player in "ab" if profiles[player] != {"a": 1, "b": 0}[player]]
        assert (await ledger.events.positions(1), await ledger.claims.find(claim)) == ({}, None)
    await ledger.events.append(events, [claim], {}, (), {"a": 1, "b": 0})
    await put(ledger, 6, PlayerRecord("a", None))
    assert await ledger.events.positions(1) == {1: 2}
    # One of whom nothing is known any more has a version, too.
    await ledger.events.append([events[0]._replace(n=3)], [], {}, (), {"a": 2})
    assert await ledger.events.positions(1) == {1: 3}


async def test_what_was_settled_can_be_unsettled(ledger):
    await put(ledger, 5, PlayerRecord("a", "Ann"), PlayerRecord("b", "Bo"))
    await ledger.players.settle([("a", 5), ("b", 5)])
    assert await ledger.players.unsettled(9, 9) == []
    await ledger.players.unsettle(["a", "c"], 7)
    assert await ledger.players.unsettled(9, 9) == [("a", 7)]
