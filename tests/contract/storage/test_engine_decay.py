"""Boards with decay: whatever the time is, every engine shows the order of the naive recomputation."""

from decimal import Decimal
from itertools import combinations

import pytest
from hypothesis import given as with_examples
from hypothesis import settings
from hypothesis import strategies as st

from keepscore.domain.boards import Board
from keepscore.domain.decay import NOTHING
from keepscore.domain.scoring import NO_TIME, fold_all, same_state
from tests.contract.backends import ENGINES
from tests.contract.driving import DAY, NOON, all_time, apply, batch, event, live_board, restate, start
from tests.support import oracle
from tests.support.naive_decay import naive, slack

PLAYERS = ["a", "b", "ä", "名"]
BOARDS = st.builds(
    Board,
    st.just("b"),
    operator=st.sampled_from(["best", "sum", "last"]),
    ties=st.sampled_from(["first", "last", "player"]),
    rank=st.sampled_from(["unique", "standard", "dense"]),
    decay=st.sampled_from(["1h", "7d", "36500d"]).map(lambda text: {"half_life": text}),
)


@st.composite
def histories(draw):
    """A board with decay, and batches of events of one writer."""
    board = draw(BOARDS)
    kinds = {"best": ["score"], "sum": ["increment"], "last": ["score", "increment"]}[board.operator]
    times = draw(st.sampled_from([st.integers(0, 5), st.integers(-2 * DAY, 2 * DAY)]))
    amounts = st.integers(0, 3) | st.integers(0, 10**9) | st.integers(0, 2**53 - 1)
    rows = draw(st.lists(st.tuples(st.sampled_from(PLAYERS), amounts, times, st.sampled_from(kinds)), min_size=1, max_size=25))
    events = [event(n, *row, received=3 * DAY, seq=n) for n, row in enumerate(rows, 1)]
    cut = draw(st.integers(0, len(events)))
    return board, [part for part in (events[:cut], events[cut:]) if part]


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=100)
@with_examples(history=histories(), later=st.integers(2 * DAY, 400 * DAY))
async def test_the_order_is_that_of_the_naive_recomputation(name, history, later):
    board, parts = history
    live = live_board(board)
    events = [one for part in parts for one in part]
    mine = {player: [e for e in events if e.player == player] for player in PLAYERS}
    async with ENGINES[name]() as engine:
        await start(engine, live)
        done = []
        for part in parts:
            done += part
            (outcomes,) = await engine.apply([batch(live, *part)])
            for one, outcome in zip(part, outcomes, strict=True):
                for ranking in outcome.restate:
                    await restate(engine, ranking, one.player, fold_all(board, [e for e in done if e.player == one.player]))
        getattr(engine, "check_invariants", lambda: None)()
        rows = (await engine.page(all_time(live), 0, 100, "dense")).rows
        assert {row.player for row in rows} == {player for player in PLAYERS if mine[player]}
        # Among levels, order and ranks are exact.
        assert rows == oracle.in_order(board, rows)
        assert oracle.unplaced(await engine.places(all_time(live), PLAYERS)) == [
            oracle.places(board, rows).get(player) for player in PLAYERS
        ]
        timed = engine.keeps_since(board, "all_time")
        for row in rows:
            wanted = fold_all(board, mine[row.player])
            assert row.since == (wanted.since if timed else NO_TIME)
            assert same_state(board, wanted, wanted._replace(score=row.score))
            assert abs(row.score - wanted.score) <= len(mine[row.player])
        for now in (NOON, NOON + later):
            for ahead, behind in combinations(rows, 2):
                more, less = (naive(board, mine[row.player], now) for row in (ahead, behind))
                assert less <= more * slack(board, len(mine[ahead.player]) + len(mine[behind.player]))
            for row in rows:
                shown, expected = board.half_life.score(row.score, now), naive(board, mine[row.player], now)
                if expected < 2**52:
                    assert abs(shown - expected) <= expected * (slack(board, len(mine[row.player])) - 1 + Decimal(2) ** -51) + Decimal(
                        "0.5"
                    )


async def test_amounts_that_are_worth_the_same_share_a_rank(engine):
    live = live_board(Board("b", operator="sum", rank="dense", decay={"half_life": "1d"}))
    await start(engine, live)
    await apply(engine, live, event(1, "early", 100, kind="increment"), event(2, "late", 50, DAY, kind="increment"))
    await apply(engine, live, event(3, "nobody", 0, kind="increment"), event(4, "other", 0, DAY, kind="increment"))
    page = await engine.page(all_time(live), 0, 10)
    assert [row.player for row in page.rows] == ["early", "late", "nobody", "other"]
    assert [row.score == NOTHING for row in page.rows] == [False, False, True, True]
    assert [place.dense for place in await engine.places(all_time(live), ["early", "late", "nobody", "other"])] == [1, 1, 2, 2]
    assert [place.standard for place in await engine.places(all_time(live), ["early", "late", "nobody", "other"])] == [1, 1, 3, 3]


async def test_nothing_and_nothing_is_nothing_and_something_more_is_that(engine):
    live = live_board(Board("b", operator="sum", decay={"half_life": "1d"}))
    await start(engine, live)
    amounts = [0, 0, 7, 0]
    for n, amount in enumerate(amounts, 1):
        (outcome,) = await apply(engine, live, event(n, "a", amount, kind="increment"))
        level = live.half_life.level(max(amounts[:n]), NOON)
        assert (outcome.changes[0].score, outcome.changes[0].total) == (level, 1)


async def test_a_page_goes_on_behind_a_row_and_players_are_counted_by_level(engine):
    live = live_board(Board("b", operator="best", decay={"half_life": "1h"}))
    await start(engine, live)
    await apply(engine, live, *(event(n, f"p{n}", 2**n, n) for n in range(1, 8)))
    ranking, half_life = all_time(live), live.half_life
    rows = (await engine.page(ranking, 0, 100)).rows
    assert [row.player for row in rows] == [f"p{n}" for n in range(7, 0, -1)]
    assert (await engine.page_after(ranking, rows[2], 2)).rows == rows[3:5]
    for now in (NOON, NOON + 3_600_000, NOON + 30 * DAY):
        shown = [half_life.score(row.score, now) for row in rows]
        for low, high in [(None, None), (4, None), (4, 16), (None, 8), (0, 0), (None, -1), (1, None)]:
            inside = [s for s in shown if (low is None or s >= low) and (high is None or s <= high)]
            assert await engine.count(ranking, *half_life.levels(low, high, now)) == len(inside)
