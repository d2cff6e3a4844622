"""Openings in both ledgers: what is left of events that were dropped."""

import pytest

from keepscore.boards import Board
from keepscore.errors import LedgerUnavailable
from keepscore.ledgers.openings import Opened, OpenedRanking
from keepscore.scoring import Event

#: The first moments of January, February and March 2027.
JANUARY, FEBRUARY, MARCH = 1_798_761_600_000, 1_801_440_000_000, 1_803_859_200_000
WHOLE = OpenedRanking("all_time", "all_time", "", 7, 0)
SLICE = OpenedRanking("all_time", "all_time", "region:eu", 7, 9)
STATES = [Opened("p", *WHOLE[:3], 3, 4, None), Opened("p", *SLICE[:3], 5, 6, 2), Opened("é", *WHOLE[:3], 2**53 - 1, 1, None)]


async def made(ledger, board, at=50, received=FEBRUARY, events=3, positions=None, meaning=1):
    await ledger.announce_opening(board, at, received, 1)
    opening = await ledger.begin_opening(board)
    await ledger.write_opening(board, opening.number, [WHOLE, SLICE], [])
    await ledger.write_opening(board, opening.number, [], STATES)
    opening = opening._replace(first=20, events=events, positions=positions or {1: 3})
    assert await ledger.finish_opening(opening, meaning)
    return opening._replace(complete=True)


async def states(ledger, board, number):
    return [row async for rows in ledger.opened_states(board, number) for row in rows]


@pytest.fixture
async def board(ledger):
    return (await ledger.put_board(Board("b"), True, 0)).id


async def test_one_is_announced_written_and_counts(ledger, board):
    assert (await ledger.opening(board), await ledger.announced(board), await ledger.taken_from()) == (None, None, {})
    assert await ledger.opened_states_of(board, "p") is None
    assert await ledger.begin_opening(board) is None
    announced = await ledger.announce_opening(board, 50, FEBRUARY, 1)
    assert await ledger.announced(board) == announced
    assert (announced.at, announced.received, announced.announced, announced.complete) == (50, FEBRUARY, 1, False)
    assert (await ledger.opening(board), await ledger.taken_from()) == (None, {board: 50})
    lower = await ledger.announce_opening(board, 40, FEBRUARY, 2)
    assert await ledger.announced(board) == lower
    opening = await made(ledger, board)
    assert opening.number > lower.number
    assert (await ledger.opening(board), await ledger.announced(board)) == (opening, None)
    assert sorted(await ledger.opened_rankings(board, opening.number)) == [WHOLE, SLICE]
    assert await states(ledger, board, opening.number) == STATES
    found, own = await ledger.opened_states_of(board, "p")
    assert (found, sorted(own)) == (opening, [(WHOLE, STATES[0]), (SLICE, STATES[1])])
    assert await ledger.opened_states_of(board, "nobody") == (opening, [])
    await ledger.finish_removal(opening)
    assert (await ledger.opening(board)).removed


async def test_the_next_takes_the_place_of_the_one_before(ledger, board):
    first = await made(ledger, board)
    second = await made(ledger, board, at=90, received=MARCH)
    assert await ledger.opening(board) == second
    # What is left of the first goes in steps.
    assert await states(ledger, board, first.number) == STATES
    assert [await ledger.trim_openings(board, 2) for _ in range(3)] == [2, 1, 0]
    assert await states(ledger, board, first.number) == []
    assert await ledger.opened_rankings(board, first.number) == []
    assert await states(ledger, board, second.number) == STATES


async def test_who_comes_second_is_the_one_that_finishes(ledger, board):
    await ledger.announce_opening(board, 50, FEBRUARY, 1)
    first = await ledger.begin_opening(board)
    await ledger.write_opening(board, first.number, [WHOLE], STATES[:1])
    second = await ledger.begin_opening(board)
    assert second.number != first.number
    with pytest.raises(LedgerUnavailable, match="another process"):
        await ledger.write_opening(board, first.number, [], STATES[2:])
    assert not await ledger.finish_opening(first, 1)
    assert await ledger.opening(board) is None
    assert [await ledger.trim_openings(board, 10) for _ in range(2)] == [1, 0]
    assert await ledger.finish_opening(second, 1)


async def test_one_of_another_meaning_does_not_count(ledger, board):
    await ledger.announce_opening(board, 50, FEBRUARY, 1)
    opening = await ledger.begin_opening(board)
    await ledger.put_board(Board("b", operator="sum"), False, 0)
    assert not await ledger.finish_opening(opening, 1)
    assert await ledger.finish_opening(opening, 2)


async def test_boards_whose_life_has_ended(ledger, board):
    await ledger.put_board(Board("other"), True, 0)
    assert await ledger.deleted_boards() == {}
    await ledger.delete_board("b", 1)
    again = await ledger.put_board(Board("b"), True, 2)
    assert await ledger.deleted_boards() == {board: 1}
    await ledger.delete_board("b", 3)
    assert await ledger.deleted_boards() == {board: 1, again.id: 1}


async def test_what_is_covered_is_removed_and_the_rest_stays(ledger, board):
    other = (await ledger.put_board(Board("other"), True, 0)).id
    # Of two writers: when each came, and of what time it is.
    times = {1: [(JANUARY, 20), (JANUARY, 60), (JANUARY, 30), (FEBRUARY, 50), (MARCH, 70)], 2: [(JANUARY, 10), (JANUARY + 1, 49)]}
    for writer, given in times.items():
        for n, (received, when) in enumerate(given, 1):
            for one in (board, other):
                await ledger.append([Event(one, writer, n, f"p{n % 2}", "score", n, when, received)], [], {})
    assert await ledger.earliest_since(board, FEBRUARY) == 50
    assert await ledger.earliest_since(board, MARCH + 1) is None
    assert await ledger.count_events(board, 50, FEBRUARY, None) == (5, 4)
    positions = await ledger.positions(board)
    opening = await made(ledger, board, positions={1: 3, 2: 2})
    for again in (False, True):
        gone = sum([count async for count in ledger.remove_events(opening)])
        left = [(e.writer, e.n) async for events in ledger.events(board, {}) for e in events if not opening.covers(e)]
        assert left == [(1, 2), (1, 4), (1, 5)]
        assert (gone > 0) != again
    assert await ledger.positions(board) == positions
    assert await ledger.count_events(board, 50, FEBRUARY, opening) == (1, 0)
    assert [e.n for e in await ledger.player_events(board, "p1") if not opening.covers(e)] == [5]
    assert (await ledger.first_event(board), await ledger.first_event(other)) == (20, 10)
    assert [await ledger.has_events(board, *span) for span in ((15, 45), (21, 22), (61, 70), (71, 80))] == [True, True, False, False]
    assert len([e async for events in ledger.events(other, {}) for e in events]) == 7
    # Behind the last ones, which are gone, there is nothing, and then something new.
    assert [e async for events in ledger.events(board, {1: 5}) for e in events if not opening.covers(e)] == []
    await ledger.append([Event(board, 2, 3, "p1", "score", 3, 80, MARCH)], [], {})
    assert [e.n async for events in ledger.events(board, {1: 5, 2: 2}) for e in events] == [3]
