"""Events that are folded and dropped: all that is shown stays as on a twin that keeps them for ever."""

import pytest

from keepscore import Board
from tests.contract.opened import DAY, at, standings
from tests.contract.twins import BOARDS, START, Twins, covered_month

#: Every kind of board on each engine and each ledger; those whose keys a Redis would let expire by its own clock only in the process.
EXPIRING = [kind for kind in BOARDS if kind.startswith("expiry")]
PLACES = [("sqlite", "embedded", kind) for kind in BOARDS]
PLACES += [("postgres", "embedded" if kind in EXPIRING else "redis", kind) for kind in BOARDS]


async def left(lb, name):
    """The earliest arrival of an event that is physically there, but for the last of each writer."""
    live = lb.runtime.catalog[name]
    events = [event async for chunk in lb.runtime.ledger.events.read(live.id, {}) for event in chunk]
    opening = await lb.runtime.ledger.openings.current(live.id)
    last = {event.writer: event.n for event in events}
    return [event for event in events if opening.covers(event) and event.n < last[event.writer]]


@pytest.mark.parametrize(("ledger", "engine", "kind"), PLACES)
async def test_all_is_as_if_nothing_had_been_dropped(tmp_path, ledger, engine, kind):
    board = BOARDS[kind]
    async with Twins(ledger, engine, tmp_path, board) as twins:
        told = await twins.live_through(75)
        assert any("dropped" in one for one in told), told
        await twins.compare()
        assert not await left(twins.one, board.name)
        await twins.restart()
        for lb in twins.both:
            await lb.admin.rebuild(board.name)
        await twins.compare()
        if board.inactivity is None and not kind.startswith("expiry"):
            # By a reset, losses end; and an all-time ranking gets an end, so that all of it counts again, what had expired included.
            for lb in twins.both:
                await lb.admin.reset(board.name)
        told = await twins.live_through(45)
        assert any("dropped" in one for one in told), told
        opening = await twins.one.runtime.ledger.openings.current(twins.one.runtime.catalog[board.name].id)
        assert opening.received == covered_month(twins.clock.now)
        await twins.restart()
        await twins.compare()


@pytest.mark.parametrize("first", [0, 3])
async def test_what_stays_keeps_rankings_alive(tmp_path, first):
    """Of three scores, the second stays, as one of its time came later; without it, the ranking would have ended before the third."""
    month = covered_month(START + 75 * DAY)
    async with Twins("sqlite", "embedded", tmp_path, Board("b", operator="sum", windows={"all_time": {"ttl": "9d"}})) as twins:
        # When each came, and of what time it is, in days before the month's end.
        for came, of in ((20 + first, 20 + first), (12, 12), (5, 19), (-1, 13), (-2, -2), (-10, -10)):
            twins.clock.now = month - came * DAY
            for lb in twins.both:
                await lb.increment("b", "p", came + 100, at=at(month - of * DAY))
        twins.clock.now = START + 75 * DAY
        assert await twins.keep() == [f"dropped 2 events from before {at(month):%Y-%m}"]
        await twins.compare()
        for lb in twins.both:
            await lb.admin.rebuild("b")
        await twins.compare()


async def test_times_are_told_apart_as_the_board_does(tmp_path):
    """Two scores of one second, the earlier of which came later: neither is dropped without the other."""
    month = covered_month(START + 75 * DAY)
    async with Twins("sqlite", "embedded", tmp_path, Board("b", operator="last", resolution="1s")) as twins:
        for came, of, player, score in (
            (-9000, -20_000, "p", 1),
            (-3000, -9500, "p", 2),
            (-2000, -10_000, "p", 3),
            (1000, -9800, "q", 4),
        ):
            twins.clock.now = month + came
            for lb in twins.both:
                await lb.submit("b", player, score, at=at(month + of))
        twins.clock.now = START + 75 * DAY
        assert await twins.keep() == [f"dropped 1 event from before {at(month):%Y-%m}"]
        for lb in twins.both:
            await lb.admin.rebuild("b")
        assert await standings(twins.one, "b") == [(1, "q", 4), (2, "p", 2)]
        await twins.compare()


async def test_the_history_of_a_player_who_is_neither_archived_nor_in_the_engine(tmp_path):
    season = {"start": "2027-01-01", "end": "2027-03-10", "ttl": "3d", "archive": 1}
    async with Twins("sqlite", "embedded", tmp_path, Board("b", operator="sum", windows={"season": season})) as twins:
        for day, player in ((0, "a"), (1, "a"), (2, "b"), (40, "c")):
            twins.clock.now = START + day * DAY
            for lb in twins.both:
                await lb.increment("b", player, 10)
        twins.clock.now = START + 75 * DAY
        assert await twins.keep() == ["dropped 3 events from before 2027-02"]
        for lb in twins.both:
            await lb.runtime.engine.expire(twins.clock.now)
        (place,) = (await twins.one.history.of("b", "b")).history
        assert (place.rank, place.score, place.total_players) == (None, 10, 3)
        assert await twins.other.history.of("b", "b") == await twins.one.history.of("b", "b")
        await twins.compare()
