import random

import pytest

from keepscore.domain.boards import Board
from keepscore.domain.scoring import NO_TIME
from keepscore.storage.engines.base import Change, Gap, Outcome, Ranking
from tests.contract.driving import DAY, NOON, all_time, apply, batch, event, live_board, start, state, table
from tests.support import oracle


@pytest.mark.parametrize(
    ("operator", "order", "score", "since"),
    [
        ("best", "desc", 9, 1),
        ("best", "asc", 3, 2),
        ("first", "desc", 5, 0),
        ("first", "asc", 5, 0),
        ("sum", "desc", 17, 3),
        ("sum", "asc", 17, 3),
        ("last", "desc", 9, 3),
        ("last", "asc", 9, 3),
    ],
)
async def test_each_operator(engine, operator, order, score, since):
    live = live_board(Board("b", operator=operator, order=order))
    await start(engine, live)
    kinds = ["increment"] * 3 if operator == "sum" else ["score"] * 3
    await apply(engine, live, *[event(n, "p", a, n - 1, kind) for n, a, kind in zip((1, 2, 3), (5, 9, 3), kinds, strict=True)])
    last = event(4, "p", 9 if operator != "sum" else 0, 3)
    await apply(engine, live, last)
    assert await engine.states(all_time(live), ["p"]) == [state(score, since)]


@pytest.mark.parametrize(
    ("ties", "order", "expected"),
    [
        ("first", "desc", ["high", "c", "b", "a", "low"]),
        ("last", "desc", ["high", "b", "a", "c", "low"]),
        ("player", "desc", ["high", "c", "b", "a", "low"]),
        ("first", "asc", ["low", "c", "a", "b", "high"]),
        ("last", "asc", ["low", "a", "b", "c", "high"]),
        ("player", "asc", ["low", "a", "b", "c", "high"]),
    ],
)
async def test_each_ties_rule(engine, ties, order, expected):
    """`c` was first to reach the score; `a` and `b` reached it together, so that the id decides."""
    live = live_board(Board("b", ties=ties, order=order))
    await start(engine, live)
    scores = [("c", 5, 1), ("a", 5, 2), ("b", 5, 2), ("high", 8, 3), ("low", 2, 3)]
    await apply(engine, live, *[event(n, *s) for n, s in enumerate(scores, 1)])
    assert [player for player, _, _ in await table(engine, all_time(live))] == expected


@pytest.mark.parametrize(
    ("rank", "order", "previous", "after"),
    [
        ("unique", "desc", 5, 3),
        ("standard", "desc", 5, 1),
        ("dense", "desc", 3, 1),
        ("unique", "asc", 1, 5),
        ("standard", "asc", 1, 3),
        ("dense", "asc", 1, 2),
    ],
)
async def test_ranks_before_and_after(engine, rank, order, previous, after):
    """Scores 9, 9, 6, 6 and 1; the one with 1 gets to 9."""
    live = live_board(Board("b", operator="last", rank=rank, order=order))
    await start(engine, live)
    await apply(engine, live, *[event(n, p, s) for n, (p, s) in enumerate([("a", 9), ("b", 9), ("c", 6), ("d", 6), ("e", 1)], 1)])
    (outcome,) = await apply(engine, live, event(6, "e", 9, 1))
    unique = 3 if order == "desc" else 5
    assert outcome == Outcome([Change(9, True, previous, after, unique, 5)], [])


async def test_a_new_player_has_no_rank_before(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    outcomes = await apply(engine, live, event(1, "a", 5), event(2, "b", 7), event(3, "a", 4))
    assert outcomes == [
        Outcome([Change(5, True, None, 1, 1, 1)], []),
        Outcome([Change(7, True, None, 1, 1, 2)], []),
        Outcome([Change(5, False, 2, 2, 2, 2)], []),
    ]


async def test_windows_and_segments_in_one_update(engine):
    live = live_board(Board("b", operator="sum", windows=["daily", "weekly", "all_time"], segments=["region", "team"]))
    await start(engine, live)
    monday = event(2, "p", 4, -6 * DAY, "increment", {"region": "eu"})
    outcomes = await apply(engine, live, event(1, "p", 1, 0, "increment", {"region": "eu", "team": "x"}), monday)
    assert [[(c.score, c.total) for c in outcome.changes] for outcome in outcomes] == [[(1, 1)] * 3, [(4, 1), (5, 1), (5, 1)]]
    expected = {
        ("daily", "2026-11-15"): {"": 1, "region:eu": 1, "team:x": 1},
        ("daily", "2026-11-09"): {"": 4, "region:eu": 4},
        ("weekly", "2026-W46"): {"": 5, "region:eu": 5, "team:x": 1},
        ("all_time", "all_time"): {"": 5, "region:eu": 5, "team:x": 1},
    }
    wanted = {Ranking(1, *window, segment): score for window, slices in expected.items() for segment, score in slices.items()}
    assert set(await engine.rankings(1)) == set(wanted)
    for ranking, score in wanted.items():
        (found,) = await engine.states(ranking, ["p"])
        assert found.score == score, ranking


async def test_ranks_are_told_only_where_somebody_waits(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    assert await apply(engine, live, event(1, "a", 5), ranked=False) == [Outcome([], [])]
    assert await table(engine, all_time(live)) == [("a", 5, 0)]


@pytest.mark.parametrize("max_score", [None, 100])
@pytest.mark.parametrize("ties", ["first", "last", "player"])
@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("operator", ["best", "first", "sum", "last"])
async def test_where_nobody_waits_for_ranks_scores_are_the_same(engine, operator, order, ties, max_score):
    board = Board("b", operator=operator, order=order, ties=ties, max_score=max_score, segments=["region"], windows=["all_time", "daily"])
    live = live_board(board)
    await start(engine, live)
    chance, events = random.Random(1), []
    for n in range(1, 121):
        at = n // 2 + 1000 * (n % 2)
        region = {"region": chance.choice(["eu", "us"])} if chance.random() < 0.5 else None
        kind = "increment" if operator == "sum" else "score"
        events.append(event(n, chance.choice("abcdef"), chance.randrange(-4, 5), at + DAY * (n > 100), kind, region, seq=n))
    for first in range(0, 120, 30):
        outcomes = await apply(engine, live, *events[first : first + 30], ranked=False)
        assert outcomes == [Outcome([], [])] * 30
    for ranking, states in oracle.fold(live, events).items():
        if not engine.keeps_since(board, ranking.window):
            states = {player: one._replace(since=NO_TIME) for player, one in states.items()}
        assert (await engine.page(ranking, 0, 1000)).rows == oracle.ranked(board, states), ranking


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize("options", [{}, {"ties": "player"}, {"max_score": 100}, {"operator": "sum"}])
async def test_what_comes_after_the_end_of_a_rankings_time_starts_it_over(engine, options, ranked, together):
    live = live_board(Board("b", windows={"all_time": {"ttl": "2d"}}, **options))
    await start(engine, live)
    kind = "increment" if live.board.operator == "sum" else "score"
    first = [event(1, "a", 9, 0, kind), event(2, "b", 8, 1, kind)]
    later = [event(3, "a", 5, DAY, kind), event(4, "a", 2, 4 * DAY, kind), event(5, "c", 1, 4 * DAY, kind)]
    for part in [first + later] if together else [first, later]:
        await apply(engine, live, *part, ranked=ranked)
    assert [row[:2] for row in await table(engine, all_time(live))] == [("a", 2), ("c", 1)]


async def test_times_are_compared_in_steps_of_the_resolution(engine):
    live = live_board(Board("b", resolution="1s"))
    await start(engine, live)
    await apply(engine, live, event(1, "a", 5, 999), event(2, "b", 5, 1), event(3, "c", 5, 1000))
    assert await table(engine, all_time(live)) == [("b", 5, 0), ("a", 5, 0), ("c", 5, 1000)]


async def test_an_event_older_than_a_last_state_asks_for_a_restatement(engine):
    live = live_board(Board("b", operator="last", windows=["daily", "all_time"], segments=["region"]))
    await start(engine, live)
    await apply(engine, live, event(1, "p", 5, 10, segments={"region": "eu"}))
    daily = Ranking(1, "daily", "2026-11-15", "")
    (outcome,) = await apply(engine, live, event(2, "p", 7, 9, received=12))
    assert outcome.restate == [daily, all_time(live)]
    assert await engine.states(all_time(live), ["p"]) == [state(5, 10)]
    others = await apply(engine, live, event(3, "p", 7, 11), event(4, "q", 7, 8))
    assert [other.restate for other in others] == [[], []]


# -- the watermark ------------------------------------------------------------------------------------------------------


async def test_a_batch_moves_the_watermark_of_its_writer_alone(engine):
    live = live_board(Board("b"))
    await start(engine, live, applied={7: 3})
    await apply(engine, live, event(1, "a", 5, writer=8), event(2, "a", 6, writer=8))
    await apply(engine, live, event(4, "b", 5, writer=7))
    assert await engine.applied(1) == {7: 4, 8: 2}


async def test_nothing_is_applied_twice(engine):
    live = live_board(Board("b", operator="sum"))
    await start(engine, live)
    events = [event(n, "p", 10, n, "increment") for n in (1, 2, 3)]
    await apply(engine, live, *events[:2])
    assert await apply(engine, live, *events[:2]) == []
    await apply(engine, live, events[2])
    assert await apply(engine, live, *events[:2]) == []
    assert await apply(engine, live, *events) == []
    assert await table(engine, all_time(live)) == [("p", 30, 3)]
    assert await engine.applied(1) == {1: 3}


@pytest.mark.parametrize(("first", "last"), [(5, 6), (2, 6), (1, 4)])
async def test_a_gap_or_an_overlap_changes_nothing(engine, first, last):
    """The engine has 1 to 3; it gets what begins later, or what it has in part."""
    live = live_board(Board("b", operator="sum"))
    await start(engine, live)
    events = [event(n, "p", 10, n, "increment") for n in range(1, 7)]
    await apply(engine, live, *events[:3])
    with pytest.raises(Gap) as gap:
        await apply(engine, live, *events[first - 1 : last])
    assert (gap.value.board, gap.value.applied) == (1, 3)
    assert await table(engine, all_time(live)) == [("p", 30, 3)]
    assert await engine.applied(1) == {1: 3}


async def test_an_unknown_writer_with_a_later_event_is_a_gap(engine):
    live = live_board(Board("b"))
    await start(engine, live, applied={1: 5})
    with pytest.raises(Gap) as gap:
        await apply(engine, live, event(2, "p", 1, writer=2))
    assert gap.value.applied == 0


async def test_an_unknown_board_is_a_gap_without_a_position(engine):
    live = live_board(Board("b"), 9)
    with pytest.raises(Gap) as gap:
        await apply(engine, live, event(1, "p", 1, board=9))
    assert (gap.value.board, gap.value.applied) == (9, None)
    assert await engine.applied(9) is None


@pytest.mark.parametrize("broken", ["gap", "unknown"])
async def test_a_gap_in_the_second_batch_changes_nothing_in_the_first(engine, broken):
    one, two = live_board(Board("one"), 1), live_board(Board("two"), 2)
    await start(engine, one)
    if broken == "gap":
        await start(engine, two)
    with pytest.raises(Gap) as gap:
        await engine.apply([batch(one, event(1, "p", 1)), batch(two, event(2, "p", 1, board=2))])
    assert (gap.value.board, gap.value.applied) == (2, 0 if broken == "gap" else None)
    assert await engine.applied(1) == {}
    assert await table(engine, all_time(one)) == []


async def test_batches_of_several_boards_in_one_call(engine):
    one, two = live_board(Board("one"), 1), live_board(Board("two", operator="sum"), 2)
    await start(engine, one)
    await start(engine, two, {all_time(two): {"p": state(10)}})
    second = [event(1, "p", 3, 1, "increment", board=2), event(2, "q", 4, 1, "increment", board=2)]
    answers = await engine.apply([batch(one, event(1, "p", 3)), batch(two, *second, ranked=False)])
    assert [len(outcomes) for outcomes in answers] == [1, 2]
    assert await table(engine, all_time(one)) == [("p", 3, 0)]
    assert await table(engine, all_time(two)) == [("p", 13, 1), ("q", 4, 1)]


async def test_the_largest_scores(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    top = 2**53 - 1
    await apply(engine, live, *[event(n, str(n), s) for n, s in enumerate([-top, top, 0, top - 1, 1 - top], 1)])
    assert [score for _, score, _ in await table(engine, all_time(live))] == [top, top - 1, 0, 1 - top, -top]
    assert await engine.count(all_time(live), -top, top) == 5
    assert (await engine.page(all_time(live), 0, 1)).rows[0].since == NOON
