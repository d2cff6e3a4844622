import pytest

from keepscore.boards import Board, Window
from keepscore.errors import VersionConflict
from keepscore.ledgers.base import BoardRecord, Profile
from keepscore.scoring import Event

FULL = Board(
    "full",
    operator="last",
    order="asc",
    decimals=2,
    ties="player",
    rank="dense",
    resolution="1s",
    windows={"daily": Window(ttl="7d", key="k:{board}", archive="all"), "season": Window(cron="0 0 1 */3 *")},
    timezone="Europe/Berlin",
    week_start="sunday",
    segments=["region"],
    min_score=0.5,
    max_score=99,
    grace="2h",
    consistency="strong",
    also=["other"],
)


# -- boards -------------------------------------------------------------------------------------------------------------


async def test_boards_come_back_whole_and_by_name(ledger):
    other = await ledger.put_board(Board("other", decimals=2), True, 0)
    full = await ledger.put_board(FULL, True, 1)
    assert await ledger.boards() == [full, other]
    assert full == BoardRecord(full.id, 1, FULL, 1)
    assert full.id != other.id


@pytest.mark.parametrize("names", [["daily", "all_time"], ["all_time", "daily"], ["yearly", "weekly", "monthly"]])
async def test_windows_keep_their_order(ledger, names):
    """The first is the one that answers speak of."""
    for board in (Board("list", windows=names), Board("table", windows={name: Window(ttl="9d") for name in names})):
        await ledger.put_board(board, True, 0)
    assert [list(record.board.periods) for record in await ledger.boards()] == [names, names]


async def test_every_change_is_a_version_and_meaning_is_the_last_that_changed_it(ledger):
    first = await ledger.put_board(Board("b"), True, 0)
    second = await ledger.put_board(Board("b", max_score=5), True, 1)
    third = await ledger.put_board(Board("b", operator="sum"), False, 2)
    fourth = await ledger.put_board(Board("b", operator="sum", rank="dense"), True, 3)
    assert [(r.id, r.version, r.meaning) for r in (first, second, third, fourth)] == [
        (first.id, 1, 1),
        (first.id, 2, 1),
        (first.id, 3, 3),
        (first.id, 4, 3),
    ]
    assert await ledger.boards() == [fourth]


async def test_a_change_for_another_version_is_not_recorded(ledger):
    with pytest.raises(VersionConflict, match="at version 0, not 1"):
        await ledger.put_board(Board("b"), True, 0, 1)
    first = await ledger.put_board(Board("b"), True, 0, 0)
    second = await ledger.put_board(Board("b", max_score=5), True, 0, first.version, "reset")
    with pytest.raises(VersionConflict, match="at version 2, not 1"):
        await ledger.put_board(Board("b", max_score=6), True, 0, first.version)
    assert await ledger.boards() == [second]


async def test_a_deleted_board_is_gone_and_may_come_again(ledger):
    first = await ledger.put_board(Board("b"), True, 0)
    await ledger.put_board(Board("b", operator="sum"), False, 1)
    other = await ledger.put_board(Board("other"), True, 1)
    await ledger.delete_board("b", 2)
    assert await ledger.boards() == [other]
    again = await ledger.put_board(Board("b", operator="last"), True, 3)
    assert (again.version, again.meaning) == (1, 1)
    assert again.id not in (first.id, other.id)
    await ledger.delete_board("b", 4)
    third = await ledger.put_board(Board("b"), True, 5)
    assert third.id not in (first.id, other.id, again.id)


async def test_deleting_what_is_not_there_does_no_harm(ledger):
    other = await ledger.put_board(Board("other"), True, 0)
    await ledger.delete_board("b", 2)
    assert await ledger.boards() == [other]


# -- profiles, secret, life ---------------------------------------------------------------------------------------------


async def test_profiles(ledger):
    assert await ledger.profiles() == []
    for profile in (Profile("a", "Ann"), Profile("b", "Böb 🏆"), Profile("a", "Anna"), Profile("c", "Cy"), Profile("c", None)):
        await ledger.put_profile(profile, 5)
    found = {p.player: p.name for p in await ledger.profiles()}
    assert {player: name for player, name in found.items() if name is not None} == {"a": "Anna", "b": "Böb 🏆"}


async def test_the_secret_is_made_once_for_each_ledger(place, tmp_path):
    found = []
    for _ in range(2):
        ledger = place()
        await ledger.open(0)
        found += [await ledger.secret(), await ledger.secret()]
        await ledger.close()
    assert len(set(found)) == 1
    assert len(found[0]) >= 16


async def test_writer_numbers_are_never_used_again(place):
    numbers = []
    for _ in range(4):
        ledger = place()
        numbers.append(await ledger.open(0))
        await ledger.close()
    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0


async def test_everything_is_there_after_a_reopening(place):
    ledger = place()
    writer = await ledger.open(0)
    full = await ledger.put_board(FULL, True, 0)
    gone = await ledger.put_board(Board("gone"), True, 0)
    await ledger.delete_board("gone", 1)
    events = [Event(full.id, writer, n, "p", "score", n, n, n, {"region": "eu"}, "g", {"x": n}) for n in (1, 2, 3)]
    await ledger.append(events, [], {})
    await ledger.put_profile(Profile("p", "Pat"), 0)
    await ledger.probe(7)
    await ledger.close()

    again = place()
    second = await again.open(0)
    assert second != writer
    assert await again.boards() == [full]
    assert [e async for chunk in again.events(full.id, {}) for e in chunk] == events
    assert await again.positions(full.id) == {writer: 3}
    assert await again.profiles() == [Profile("p", "Pat")]
    assert (await again.put_board(Board("new"), True, 1)).id not in (full.id, gone.id)
    await again.close()


async def test_probe_leaves_no_trace_in_what_is_read(ledger):
    await ledger.probe(1)
    await ledger.probe(2)
    assert (await ledger.boards(), await ledger.profiles(), await ledger.positions(1)) == ([], [], {})


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://[::1]:1"])
async def test_announce_may_be_repeated(ledger, url):
    await ledger.announce("http://elsewhere:1")
    await ledger.announce(url)
