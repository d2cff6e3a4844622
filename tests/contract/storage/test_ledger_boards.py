"""Definitions of boards in both ledgers: versions, meanings, and lives that end."""

import pytest

from keepscore.domain.boards import Board, Window
from keepscore.errors import VersionConflict
from keepscore.storage.ledgers.boards import BoardRecord

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


async def test_boards_come_back_whole_and_by_name(ledger):
    other = await ledger.boards.put(Board("other", decimals=2), True, 0)
    full = await ledger.boards.put(FULL, True, 1)
    assert await ledger.boards.current() == [full, other]
    assert full == BoardRecord(full.id, 1, FULL, 1)
    assert full.id != other.id


@pytest.mark.parametrize("names", [["daily", "all_time"], ["all_time", "daily"], ["yearly", "weekly", "monthly"]])
async def test_windows_keep_their_order(ledger, names):
    """The first is the one that answers speak of."""
    for board in (Board("list", windows=names), Board("table", windows={name: Window(ttl="9d") for name in names})):
        await ledger.boards.put(board, True, 0)
    assert [list(record.board.periods) for record in await ledger.boards.current()] == [names, names]


async def test_every_change_is_a_version_and_meaning_is_the_last_that_changed_it(ledger):
    first = await ledger.boards.put(Board("b"), True, 0)
    second = await ledger.boards.put(Board("b", max_score=5), True, 1)
    third = await ledger.boards.put(Board("b", operator="sum"), False, 2)
    fourth = await ledger.boards.put(Board("b", operator="sum", rank="dense"), True, 3)
    assert [(r.id, r.version, r.semantics_version) for r in (first, second, third, fourth)] == [
        (first.id, 1, 1),
        (first.id, 2, 1),
        (first.id, 3, 3),
        (first.id, 4, 3),
    ]
    assert await ledger.boards.current() == [fourth]


async def test_a_change_for_another_version_is_not_recorded(ledger):
    with pytest.raises(VersionConflict, match="at version 0, not 1"):
        await ledger.boards.put(Board("b"), True, 0, 1)
    first = await ledger.boards.put(Board("b"), True, 0, 0)
    second = await ledger.boards.put(Board("b", max_score=5), True, 0, first.version, "reset")
    with pytest.raises(VersionConflict, match="at version 2, not 1"):
        await ledger.boards.put(Board("b", max_score=6), True, 0, first.version)
    assert await ledger.boards.current() == [second]


async def test_a_deleted_board_is_gone_and_may_come_again(ledger):
    first = await ledger.boards.put(Board("b"), True, 0)
    await ledger.boards.put(Board("b", operator="sum"), False, 1)
    other = await ledger.boards.put(Board("other"), True, 1)
    await ledger.boards.delete("b", 2)
    assert await ledger.boards.current() == [other]
    again = await ledger.boards.put(Board("b", operator="last"), True, 3)
    assert (again.version, again.semantics_version) == (1, 1)
    assert again.id not in (first.id, other.id)
    await ledger.boards.delete("b", 4)
    third = await ledger.boards.put(Board("b"), True, 5)
    assert third.id not in (first.id, other.id, again.id)


async def test_deleting_what_is_not_there_does_no_harm(ledger):
    other = await ledger.boards.put(Board("other"), True, 0)
    await ledger.boards.delete("b", 2)
    assert await ledger.boards.current() == [other]


async def test_boards_whose_life_has_ended(ledger):
    board = (await ledger.boards.put(Board("b"), True, 0)).id
    await ledger.boards.put(Board("other"), True, 0)
    assert await ledger.boards.deleted() == {}
    await ledger.boards.delete("b", 1)
    again = await ledger.boards.put(Board("b"), True, 2)
    assert await ledger.boards.deleted() == {board: 1}
    await ledger.boards.delete("b", 3)
    assert await ledger.boards.deleted() == {board: 1, again.id: 1}
