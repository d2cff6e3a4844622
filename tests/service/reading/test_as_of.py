"""The top as it stood: the fold of what had come by a moment, beside a plain oracle."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepscore import Board, Leaderboards
from keepscore.domain.boards import Window
from keepscore.domain.scoring import Event
from keepscore.projection.live_boards import LiveBoard
from keepscore.reading.as_of import MAX_WAITING_READS
from tests.service.looking_back import DAY, HOUR, NOON, PLACES, Clock, opened
from tests.service.running import refused
from tests.support.oracle import fold, ranked, ranks


def text(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


@pytest.mark.parametrize("place", PLACES)
async def test_the_top_of_every_moment(place: str, tmp_path: Path) -> None:
    async with opened(place, tmp_path, operator="last", windows=["daily", "all_time"], segments=["region"], rank="standard") as here:
        await here.lb.submit(here.name, "ann", 10, segments={"region": "eu"})
        here.clock.now += HOUR
        await here.lb.submit(here.name, "bob", 10)
        await here.lb.submit(here.name, "cid", 5)
        await here.lb.players.name("cid", "Cid")
        here.clock.now += HOUR
        await here.lb.submit(here.name, "ann", 3, at=text(NOON + 10))
        here.clock.now += DAY
        await here.lb.increment(here.name, "cid", 1)

        async def order(at: int, **query: Any) -> list[tuple[int, str, float]]:
            return await here.order("as-of", at=text(at), **query)

        assert await order(NOON - 1) == []
        assert await order(NOON) == [(1, "ann", 10)]
        assert await order(NOON + HOUR) == [(1, "ann", 10), (1, "bob", 10), (3, "cid", 5)]
        assert await order(NOON + 2 * HOUR) == [(1, "bob", 10), (2, "cid", 5), (3, "ann", 3)]
        assert await order(NOON + 2 * HOUR, limit=1, rank="dense") == [(1, "bob", 10)]
        assert await order(NOON + HOUR, segment="region:eu") == [(1, "ann", 10)]
        assert await order(NOON + DAY) == [], "a new day"
        assert await order(here.clock.now) == [(1, "cid", 1)]
        assert await order(here.clock.now, window="all_time") == [(1, "bob", 10), (2, "cid", 6), (3, "ann", 3)]
        answer = await here.ask("as-of", at=text(NOON + HOUR), limit=2)
        body = answer.json()
        assert (answer.headers["cache-control"], body["total_players"], body["next_cursor"]) == (
            "private, max-age=0, must-revalidate",
            3,
            None,
        )
        assert (body["window_id"], body["as_of"]) == ("2026-11-15", "2026-11-15T13:00:00Z")
        refused(await here.ask("as-of", at=text(here.clock.now + 2)), 422, "future")
        refused(await here.ask("as-of"), 422, "at = ''")
        refused(await here.ask("as-of", at="2026-11-15T12:00:00"), 422, "offset")
        refused(await here.ask("as-of", at=text(NOON), limit=0), 422, "limit")
        refused(await here.ask("as-of", at=text(NOON), window="weekly"), 404, "weekly")
        refused(await here.ask("as-of", at=text(NOON), segment="planet:x"), 404, "planet")
        refused(await here.ask("as-of", at=text(NOON), rank="odd"), 422, "odd")


async def test_between_seasons_there_is_no_ranking(tmp_path: Path) -> None:
    season = {"season": Window(start="2026-11-01", end="2026-11-10")}
    async with opened("embedded, sqlite", tmp_path, windows=season) as here:
        refused(await here.ask("as-of", at=text(NOON)), 404, "no season at that moment")
        assert (await here.get("as-of", at="2026-11-09T00:00:00Z"))["total_players"] == 0


async def test_a_ranking_that_had_expired_was_empty_and_started_over(tmp_path: Path) -> None:
    async with opened("embedded, sqlite", tmp_path, operator="sum", windows={"all_time": Window(ttl="1h")}) as here:
        await here.lb.increment(here.name, "ann", 5)
        here.clock.now += 2 * HOUR
        await here.lb.runtime.engine.expire(here.clock.now)
        await here.lb.increment(here.name, "bob", 7)
        for at, shown in ((NOON, [(1, "ann", 5)]), (NOON + HOUR, []), (here.clock.now, [(1, "bob", 7)])):
            assert await here.order("as-of", at=text(at)) == shown


async def test_there_is_one_at_a_time_and_the_others_get_their_turn(tmp_path: Path) -> None:
    async with opened("embedded, sqlite", tmp_path) as here:
        await here.submit(*((f"p{n}", n) for n in range(50)))
        asked = [here.ask("as-of", at=text(here.clock.now)) for _ in range(MAX_WAITING_READS + 3)]
        statuses = sorted([answer.status_code for answer in await asyncio.gather(*asked)])
        assert statuses == [200] * (MAX_WAITING_READS + 1) + [503] * 2
        assert (await here.ask("as-of", at=text(here.clock.now))).status_code == 200


SMALL = st.integers(-3, 3)
BOARDS = st.builds(
    dict,
    operator=st.sampled_from(["best", "sum", "last", "first"]),
    order=st.sampled_from(["desc", "asc"]),
    ties=st.sampled_from(["first", "last", "player"]),
    resolution=st.sampled_from(["1ms", "1s"]),
)
#: Writer, player, amount, kind, time before it came (the clock may be wrong, too), region; each comes up to 3 s after the one before.
STEPS = st.tuples(
    st.integers(1, 2),
    st.sampled_from("abcd"),
    SMALL,
    st.booleans(),
    st.integers(0, 4000),
    st.sampled_from([None, "eu", "us"]),
    st.integers(0, 3000),
)


@settings(max_examples=60, deadline=None)
@given(BOARDS, st.lists(STEPS, max_size=25), st.integers(-1, 40_000), st.sampled_from(["", "region:eu"]))
def test_it_is_the_fold_of_the_prefix(fields: dict[str, Any], steps: list[Any], after: int, segment: str) -> None:
    asyncio.run(_compared(Board("b", windows=["daily", "all_time"], segments=["region"], **fields), steps, NOON + after, segment))


async def _compared(board: Board, steps: list[Any], moment: int, segment: str) -> None:
    events, came, numbers = [], NOON, {1: 0, 2: 0}
    for writer, player, amount, is_score, before, region, pause in steps:
        came += pause
        numbers[writer] += 1
        kind = "score" if is_score or board.operator in ("best", "first") else "increment"
        segments = {"region": region} if region else None
        events.append(Event(1, writer, numbers[writer], player, kind, amount, came - before, came, segments))
    async with Leaderboards.open("sqlite:///:memory:", boards=[board], clock=Clock(NOON + DAY)) as lb:
        live: LiveBoard = lb.runtime.catalog["b"]
        if events:
            await lb.runtime.ledger.events.append([event._replace(board=live.id) for event in events], [], {})
        shown = await lb.history.as_of("b", text(moment), window="all_time", segment=segment or None, rank="dense")
        states = fold(live, [event._replace(board=live.id) for event in events if event.received <= moment])
        found = next((players for ranking, players in states.items() if ranking[1:] == ("all_time", "all_time", segment)), {})
        rows = ranked(board, found)
        expected = [(ranks(board, rows, index).dense, row.player, row.score) for index, row in enumerate(rows)]
        assert [(s.rank, s.player_id, s.score) for s in shown.standings] == expected
        assert shown.total_players == len(rows)
