"""What both ledgers know of players beside their scores."""

import asyncio

from keepscore.storage.ledgers.players import PlayerRecord


async def put(ledger, now, *records):
    await ledger.players.change([record.player for record in records], lambda _: (records, None), now)


async def test_the_last_record_of_each_player_is_kept(ledger):
    assert await ledger.players.find(["a", "b"]) == []
    for player, name in (("a", "Ann"), ("b", "Böb 🏆"), ("a", "Anna"), ("c", "Cy"), ("c", None)):
        await put(ledger, 5, PlayerRecord(player, name))
    await put(ledger, 6, PlayerRecord("d", None, '{"level":3}'), PlayerRecord("b", "Bob", "{}"))
    found = sorted(await ledger.players.find(["a", "b", "c", "d", "e"]))
    assert found == [("a", "Anna", None), ("b", "Bob", "{}"), ("d", None, '{"level":3}')]


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
    assert sorted(await ledger.players.find(["a", "b"])) == [("a", "x" * 10, None), ("b", "x" * 10, None)]
