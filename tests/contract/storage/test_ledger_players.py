"""What both ledgers know of players beside their scores."""

from keepscore.storage.ledgers.players import PlayerRecord


async def test_the_last_name_of_each_player_is_kept(ledger):
    assert await ledger.players.recorded() == []
    for player, name in (("a", "Ann"), ("b", "Böb 🏆"), ("a", "Anna"), ("c", "Cy"), ("c", None)):
        await ledger.players.put(PlayerRecord(player, name), 5)
    found = {record.player: record.name for record in await ledger.players.recorded()}
    assert {player: name for player, name in found.items() if name is not None} == {"a": "Anna", "b": "Böb 🏆"}


async def test_players_are_found_by_when_they_were_recorded(ledger):
    for now, player in ((5, "a"), (7, "b"), (9, "a")):
        await ledger.players.put(PlayerRecord(player, player.upper()), now)
    assert sorted(await ledger.players.recorded(7)) == [("a", "A"), ("b", "B")]
    assert await ledger.players.recorded(8) == [("a", "A")]
    assert await ledger.players.recorded(10) == []
