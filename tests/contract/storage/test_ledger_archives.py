"""Archives in both ledgers: rankings as they were at some moment."""

import pytest

from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.archives import Archived
from keepscore.storage.ledgers.slots import Slot

WEEK, SLICE = Slot("weekly", "2026-W46", ""), Slot("weekly", "2026-W46", "region:eu")
ROWS = [Archived(n, (n + 1) // 2, n, f"p{n}", 100 - n, 1000 + n) for n in range(1, 8)]


async def archive(ledger, slot=WEEK, kind="closed", number=1, taken=5, rows=ROWS, board=1):
    begun = await ledger.archives.begin(board, slot, kind, number, taken)
    await ledger.archives.write(begun, rows[:3])
    await ledger.archives.write(begun, rows[3:])
    await ledger.archives.finish(begun, 99, len(rows), "abc")
    return begun


async def test_an_archive_comes_back_as_it_went_in(ledger):
    kept = await archive(ledger)
    (found,) = await ledger.archives.find(1)
    assert found == (kept, 1, WEEK, "closed", 1, 5, 99, 7, "abc")
    assert await ledger.archives.rows(kept, 0, 100) == ROWS
    assert await ledger.archives.rows(kept, 2, 3) == ROWS[2:5]
    assert sorted(await ledger.archives.places(kept, ["p6", "nobody", "p2"])) == [ROWS[1], ROWS[5]]
    assert await ledger.archives.count(kept, 94, 97) == 4
    assert await ledger.archives.find(2) == []


async def test_one_that_is_not_finished_is_nobodys_and_starts_over(ledger):
    first = await ledger.archives.begin(1, WEEK, "closed", 1, 5)
    await ledger.archives.write(first, ROWS[:2])
    assert await ledger.archives.find(1) == []
    assert await ledger.archives.of_player(1, "p1") == []
    second = await archive(ledger, taken=6)
    assert [one.id for one in await ledger.archives.find(1)] == [second]
    assert await ledger.archives.rows(first, 0, 100) == []
    await ledger.archives.drop(second)
    assert await ledger.archives.find(1) == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, 5),
        ({"window": "weekly"}, 4),
        ({"window": "weekly", "window_id": "2026-W46", "kind": "closed"}, 3),
        ({"kind": "snapshot"}, 1),
        ({"window": "daily"}, 1),
        ({"window_id": "2026-W40"}, 0),
    ],
)
async def test_archives_are_found_by_window_and_kind(ledger, wanted, expected):
    for slot, kind, number in (
        (WEEK, "closed", 1),
        (WEEK, "closed", 2),
        (SLICE, "closed", 1),
        (WEEK, "snapshot", 9),
        (Slot("daily", "2026-11-15", ""), "closed", 1),
    ):
        await archive(ledger, slot, kind, number)
    assert len(await ledger.archives.find(1, **wanted)) == expected


async def test_the_archives_that_a_player_is_in(ledger):
    first = await archive(ledger, taken=5)
    second = await archive(ledger, Slot("weekly", "2026-W47", ""), taken=9, rows=[Archived(1, 1, 1, "p7", 3, 4)])
    found = await ledger.archives.of_player(1, "p7")
    assert [(one.id, row) for one, row in found] == [(first, ROWS[6]), (second, Archived(1, 1, 1, "p7", 3, 4))]
    assert await ledger.archives.of_player(1, "nobody") == []


async def test_two_that_make_the_same_archive(ledger):
    """Whoever began first finds out that the other has started it over; no row is left of the first."""
    first = await ledger.archives.begin(1, WEEK, "closed", 1, 5)
    await ledger.archives.write(first, ROWS[:3])
    second = await ledger.archives.begin(1, WEEK, "closed", 1, 5)
    await ledger.archives.write(first, ROWS[3:])
    with pytest.raises(LedgerUnavailable, match="another process"):
        await ledger.archives.finish(first, 7, 7, "abc")
    await ledger.archives.write(second, ROWS)
    await ledger.archives.finish(second, 7, 7, "abc")
    assert await ledger.archives.rows(first, 0, 100) == []
    # What is complete does not change.
    await ledger.archives.write(second, [Archived(8, 8, 8, "p8", 1, 1)])
    with pytest.raises(LedgerUnavailable):
        await ledger.archives.finish(second, 8, 8, "def")
    with pytest.raises(LedgerUnavailable):
        await ledger.archives.begin(1, WEEK, "closed", 1, 5)
    assert await ledger.archives.rows(second, 0, 100) == ROWS
    assert [(one.players, one.digest) for one in await ledger.archives.find(1)] == [(7, "abc")]
