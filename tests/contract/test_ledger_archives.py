import pytest

from keepscore.boards import Board
from keepscore.errors import LedgerUnavailable
from keepscore.ledgers.base import Archived, Claim, Slot
from keepscore.scoring import Event

WEEK, SLICE = Slot("weekly", "2026-W46", ""), Slot("weekly", "2026-W46", "region:eu")
ROWS = [Archived(n, (n + 1) // 2, n, f"p{n}", 100 - n, 1000 + n) for n in range(1, 8)]


async def archive(ledger, slot=WEEK, kind="closed", number=1, taken=5, rows=ROWS, board=1):
    begun = await ledger.begin_archive(board, slot, kind, number, taken)
    await ledger.write_archive(begun, rows[:3])
    await ledger.write_archive(begun, rows[3:])
    await ledger.finish_archive(begun, 99, len(rows), "abc")
    return begun


async def test_an_archive_comes_back_as_it_went_in(ledger):
    kept = await archive(ledger)
    (found,) = await ledger.archives(1)
    assert found == (kept, 1, WEEK, "closed", 1, 5, 99, 7, "abc")
    assert await ledger.archive_rows(kept, 0, 100) == ROWS
    assert await ledger.archive_rows(kept, 2, 3) == ROWS[2:5]
    assert sorted(await ledger.archive_places(kept, ["p6", "nobody", "p2"])) == [ROWS[1], ROWS[5]]
    assert await ledger.archive_count(kept, 94, 97) == 4
    assert await ledger.archives(2) == []


async def test_one_that_is_not_finished_is_nobodys_and_begins_anew(ledger):
    first = await ledger.begin_archive(1, WEEK, "closed", 1, 5)
    await ledger.write_archive(first, ROWS[:2])
    assert await ledger.archives(1) == []
    assert await ledger.player_archives(1, "p1") == []
    second = await archive(ledger, taken=6)
    assert [one.id for one in await ledger.archives(1)] == [second]
    assert await ledger.archive_rows(first, 0, 100) == []
    await ledger.drop_archive(second)
    assert await ledger.archives(1) == []


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
    assert len(await ledger.archives(1, **wanted)) == expected


async def test_the_archives_that_a_player_is_in(ledger):
    first = await archive(ledger, taken=5)
    second = await archive(ledger, Slot("weekly", "2026-W47", ""), taken=9, rows=[Archived(1, 1, 1, "p7", 3, 4)])
    found = await ledger.player_archives(1, "p7")
    assert [(one.id, row) for one, row in found] == [(first, ROWS[6]), (second, Archived(1, 1, 1, "p7", 3, 4))]
    assert await ledger.player_archives(1, "nobody") == []


async def test_the_times_of_events(ledger):
    await ledger.put_board(Board("b"), True, 0)
    assert await ledger.first_event(1) is None
    await ledger.append([Event(1, 1, n, "p", "score", 1, at, 9000) for n, at in ((1, 500), (2, 100), (3, 900))], [], {})
    assert await ledger.first_event(1) == 100
    assert await ledger.has_events(1, 400, 501)
    assert not await ledger.has_events(1, 101, 500)


async def test_two_that_make_the_same_archive(ledger):
    """Whoever began first finds out that the other has begun it anew; no row is left of the first."""
    first = await ledger.begin_archive(1, WEEK, "closed", 1, 5)
    await ledger.write_archive(first, ROWS[:3])
    second = await ledger.begin_archive(1, WEEK, "closed", 1, 5)
    await ledger.write_archive(first, ROWS[3:])
    with pytest.raises(LedgerUnavailable, match="another process"):
        await ledger.finish_archive(first, 7, 7, "abc")
    await ledger.write_archive(second, ROWS)
    await ledger.finish_archive(second, 7, 7, "abc")
    assert await ledger.archive_rows(first, 0, 100) == []
    # What is complete does not change.
    await ledger.write_archive(second, [Archived(8, 8, 8, "p8", 1, 1)])
    with pytest.raises(LedgerUnavailable):
        await ledger.finish_archive(second, 8, 8, "def")
    with pytest.raises(LedgerUnavailable):
        await ledger.begin_archive(1, WEEK, "closed", 1, 5)
    assert await ledger.archive_rows(second, 0, 100) == ROWS
    assert [(one.players, one.digest) for one in await ledger.archives(1)] == [(7, "abc")]


async def test_keys_are_forgotten_by_age(ledger):
    await ledger.put_board(Board("b"), True, 0)
    for n in range(1, 6):
        await ledger.append([Event(1, 1, n, "p", "score", 1, 0, 1000 * n)], [Claim(1, f"key{n}", b"f")], {})
    assert [await ledger.forget_keys(4000, 2) for _ in range(3)] == [2, 1, 0]
    known = [await ledger.claimed(Claim(1, f"key{n}", b"f")) is not None for n in range(1, 6)]
    assert known == [False, False, False, True, True]


async def test_room_is_made_once(ledger):
    now = 1_900_000_000_000
    made = await ledger.prepare(now)
    assert made in ([], ["events_2030_03", "events_2030_04", "events_2030_05"])
    assert await ledger.prepare(now) == []
