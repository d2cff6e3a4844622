"""Events that are folded and dropped: all that is shown stays as on a twin that keeps them for ever."""

import pytest

from tests.contract.twins import BOARDS, Twins, covered_month


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request):
    return request.param


@pytest.fixture(params=["embedded", "redis"])
def engine(request):
    return request.param


async def left(lb, name):
    """The earliest arrival of an event that is physically there, but for the last of each writer."""
    live = lb._catalog[name]
    events = [event async for chunk in lb.ledger.events(live.id, {}) for event in chunk]
    opening = await lb.ledger.opening(live.id)
    last = {event.writer: event.n for event in events}
    return [event for event in events if opening.covers(event) and event.n < last[event.writer]]


@pytest.mark.parametrize("kind", BOARDS)
async def test_all_is_as_if_nothing_had_been_dropped(tmp_path, ledger, engine, kind):
    board = BOARDS[kind]
    if engine == "redis" and kind.startswith("expiry"):
        pytest.skip("a Redis lets keys expire by its own clock")
    async with Twins(ledger, engine, tmp_path, board) as twins:
        told = await twins.live_through(75)
        assert any("dropped" in one for one in told), told
        await twins.compare()
        assert not await left(twins.one, board.name)
        for lb in twins.both:
            await lb.rebuild(board.name)
        await twins.compare()
        await twins.restart()
        await twins.compare()
        if board.rollup is None:
            for lb in twins.both:
                await lb.reset(board.name)
        told = await twins.live_through(45)
        assert any("dropped" in one for one in told), told
        await twins.compare()
        opening = await twins.one.ledger.opening(twins.one._catalog[board.name].id)
        assert opening.received == covered_month(twins.clock.now)
        for lb in twins.both:
            await lb.rebuild(board.name)
        await twins.compare()
