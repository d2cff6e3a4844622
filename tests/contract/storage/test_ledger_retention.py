"""Dropping old events in both ledgers: what an opening covers goes, and the rest stays."""

from keepscore.domain.boards import Board
from keepscore.domain.scoring import Event
from tests.contract.storage.test_ledger_openings import FEBRUARY, JANUARY, MARCH, made


async def test_what_is_covered_is_removed_and_the_rest_stays(ledger):
    board = (await ledger.boards.put(Board("b"), True, 0)).id
    other = (await ledger.boards.put(Board("other"), True, 0)).id
    # Of two writers: when each came, and of what time it is.
    times = {1: [(JANUARY, 20), (JANUARY, 60), (JANUARY, 30), (FEBRUARY, 50), (MARCH, 70)], 2: [(JANUARY, 10), (JANUARY + 1, 49)]}
    for writer, given in times.items():
        for n, (received, when) in enumerate(given, 1):
            for one in (board, other):
                await ledger.events.append([Event(one, writer, n, f"p{n % 2}", "score", n, when, received)], [], {})
    assert await ledger.retention.earliest_since(board, FEBRUARY) == 50
    assert await ledger.retention.earliest_since(board, MARCH + 1) is None
    assert await ledger.retention.count(board, 50, FEBRUARY, None) == (5, 4)
    positions = await ledger.events.positions(board)
    opening = await made(ledger, board, positions={1: 3, 2: 2})
    for again in (False, True):
        gone = sum([count async for count in ledger.retention.remove(opening)])
        left = [(e.writer, e.n) async for events in ledger.events.read(board, {}) for e in events if not opening.covers(e)]
        assert left == [(1, 2), (1, 4), (1, 5)]
        assert (gone > 0) != again
    assert await ledger.events.positions(board) == positions
    assert await ledger.retention.count(board, 50, FEBRUARY, opening) == (1, 0)
    assert [e.n for e in await ledger.events.of_player(board, "p1") if not opening.covers(e)] == [5]
    assert (await ledger.events.first_time(board), await ledger.events.first_time(other)) == (20, 10)
    assert [await ledger.events.any_between(board, *span) for span in ((15, 45), (21, 22), (61, 70), (71, 80))] == [
        True,
        True,
        False,
        False,
    ]
    assert len([e async for events in ledger.events.read(other, {}) for e in events]) == 7
    # Behind the last ones, which are gone, there is nothing, and then something new.
    assert [e async for events in ledger.events.read(board, {1: 5}) for e in events if not opening.covers(e)] == []
    await ledger.events.append([Event(board, 2, 3, "p1", "score", 3, 80, MARCH)], [], {})
    assert [e.n async for events in ledger.events.read(board, {1: 5, 2: 2}) for e in events] == [3]


async def test_it_is_noted_that_all_is_gone(ledger):
    board = (await ledger.boards.put(Board("b"), True, 0)).id
    opening = await made(ledger, board)
    assert not (await ledger.openings.current(board)).removed
    await ledger.retention.finish(opening)
    assert (await ledger.openings.current(board)).removed
