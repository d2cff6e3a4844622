"""Openings in both ledgers: what is left of events that were dropped."""

import pytest

from keepscore.domain.boards import Board
from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.openings import Opened, OpenedRanking

#: The first moments of January, February and March 2027.
JANUARY, FEBRUARY, MARCH = 1_798_761_600_000, 1_801_440_000_000, 1_803_859_200_000
WHOLE = OpenedRanking("all_time", "all_time", "", 7, 0)
SLICE = OpenedRanking("all_time", "all_time", "region:eu", 7, 9)
STATES = [Opened("p", *WHOLE[:3], 3, 4, None), Opened("p", *SLICE[:3], 5, 6, 2), Opened("é", *WHOLE[:3], 2**53 - 1, 1, None)]


async def made(ledger, board, at=50, received=FEBRUARY, events=3, positions=None, meaning=1):
    await ledger.openings.announce(board, at, received, 1)
    opening = await ledger.openings.begin(board)
    await ledger.openings.write(board, opening.number, [WHOLE, SLICE], [])
    await ledger.openings.write(board, opening.number, [], STATES)
    opening = opening._replace(first=20, events=events, positions=positions or {1: 3})
    assert await ledger.openings.finish(opening, meaning)
    return opening._replace(complete=True)


async def states(ledger, board, number):
    return [row async for rows in ledger.openings.states(board, number) for row in rows]


@pytest.fixture
async def board(ledger):
    return (await ledger.boards.put(Board("b"), True, 0)).id


async def test_one_is_announced_written_and_counts(ledger, board):
    assert (await ledger.openings.current(board), await ledger.openings.announced(board), await ledger.openings.accepts_from()) == (
        None,
        None,
        {},
    )
    assert await ledger.openings.states_of(board, ["p"]) is None
    assert await ledger.openings.begin(board) is None
    announced = await ledger.openings.announce(board, 50, FEBRUARY, 1)
    assert await ledger.openings.announced(board) == announced
    assert (announced.at, announced.received, announced.announced, announced.complete) == (50, FEBRUARY, 1, False)
    assert (await ledger.openings.current(board), await ledger.openings.accepts_from()) == (None, {board: 50})
    lower = await ledger.openings.announce(board, 40, FEBRUARY, 2)
    assert await ledger.openings.announced(board) == lower
    opening = await made(ledger, board)
    assert opening.number > lower.number
    assert (await ledger.openings.current(board), await ledger.openings.announced(board)) == (opening, None)
    assert sorted(await ledger.openings.rankings(board, opening.number)) == [WHOLE, SLICE]
    assert await states(ledger, board, opening.number) == STATES
    found, own = await ledger.openings.states_of(board, ["p"])
    assert (found, sorted(own)) == (opening, [(WHOLE, STATES[0]), (SLICE, STATES[1])])
    assert await ledger.openings.states_of(board, ["nobody"]) == (opening, [])
    await ledger.retention.finish(opening)
    assert (await ledger.openings.current(board)).removed


async def test_the_next_takes_the_place_of_the_one_before(ledger, board):
    first = await made(ledger, board)
    second = await made(ledger, board, at=90, received=MARCH)
    assert await ledger.openings.current(board) == second
    # What is left of the first goes in steps.
    assert await states(ledger, board, first.number) == STATES
    assert [await ledger.openings.trim(board, 2) for _ in range(3)] == [2, 1, 0]
    assert await states(ledger, board, first.number) == []
    assert await ledger.openings.rankings(board, first.number) == []
    assert await states(ledger, board, second.number) == STATES


async def test_who_comes_second_is_the_one_that_finishes(ledger, board):
    await ledger.openings.announce(board, 50, FEBRUARY, 1)
    first = await ledger.openings.begin(board)
    await ledger.openings.write(board, first.number, [WHOLE], STATES[:1])
    second = await ledger.openings.begin(board)
    assert second.number != first.number
    with pytest.raises(LedgerUnavailable, match="another process"):
        await ledger.openings.write(board, first.number, [], STATES[2:])
    assert not await ledger.openings.finish(first, 1)
    assert await ledger.openings.current(board) is None
    assert [await ledger.openings.trim(board, 10) for _ in range(2)] == [1, 0]
    assert await ledger.openings.finish(second, 1)


async def test_one_of_another_meaning_does_not_count(ledger, board):
    await ledger.openings.announce(board, 50, FEBRUARY, 1)
    opening = await ledger.openings.begin(board)
    await ledger.boards.put(Board("b", operator="sum"), False, 0)
    assert not await ledger.openings.finish(opening, 1)
    assert await ledger.openings.finish(opening, 2)
