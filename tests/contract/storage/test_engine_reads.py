import pytest

from keepscore.domain.boards import Board
from keepscore.domain.ordering import Place, Ranks, Row
from tests.contract.driving import NOON, all_time, apply, event, live_board, restate, start, state
from tests.support import oracle

#: player → (score, since after noon); in order: a 9, b 7 (earlier), c 7, d 7 (latest), e 2
PLAYERS = {"c": (7, 2), "e": (2, 0), "a": (9, 5), "d": (7, 3), "b": (7, 1)}
IN_ORDER = [Row(p, PLAYERS[p][0], NOON + PLAYERS[p][1]) for p in "abcde"]


@pytest.fixture(params=["desc", "asc"])
async def ranking(request, engine):
    """Five players, best first: with `asc`, all scores are negated."""
    live = live_board(Board("b", order=request.param))
    sign = 1 if request.param == "desc" else -1
    await start(engine, live, {all_time(live): {p: state(sign * s, at) for p, (s, at) in PLAYERS.items()}})
    return all_time(live), [row._replace(score=sign * row.score) for row in IN_ORDER], sign


async def test_states(engine, ranking):
    name, rows, _ = ranking
    assert await engine.states(name, ["b", "nobody", "a", "b"]) == [rows[1][1:], None, rows[0][1:], rows[1][1:]]
    assert await engine.states(name, []) == []


async def test_states_in_several_rankings(engine, ranking):
    name, rows, _ = ranking
    empty = name._replace(segment="region:eu")
    wanted = {name: ["a", "nobody"], empty: ["a"]}
    assert await engine.states_in(wanted) == {name: {"a": rows[0][1:], "nobody": None}, empty: {"a": None}}
    assert await engine.states_in({}) == {}


@pytest.mark.parametrize("ties", ["first", "player"])
@pytest.mark.parametrize("bounds", [{}, {"max_score": 1000, "windows": ["daily"]}], ids=["", "composite"])
async def test_peaks(engine, bounds, ties):
    live = live_board(Board("b", ties=ties, **bounds))
    assert await engine.peaks([]) == []
    await start(engine, live, {})
    (ranking,) = live.route(NOON, None).rankings
    assert await engine.peaks([ranking]) == [0]
    await apply(engine, live, event(1, "a", 7), event(2, "b", -900), event(3, "c", 3))
    assert await engine.peaks([ranking, ranking._replace(segment="region:eu")]) == [900, 0]


async def test_places(engine, ranking):
    name, rows, _ = ranking
    numbers = [Ranks(1, 1, 1), Ranks(2, 2, 2), Ranks(3, 2, 2), Ranks(4, 2, 2), Ranks(5, 5, 3)]
    places = [Place(row.score, row.since, *ranks, 5) for row, ranks in zip(rows, numbers, strict=True)]
    players = ["d", "nobody", "a", "e", "c", "b"]
    dense = [None if place is None else (place.unique, place.dense) for place in await engine.places(name, players, "dense")]
    assert dense == [(4, 2), None, (1, 1), (5, 3), (3, 2), (2, 2)]
    # Now that there is an index, everybody gets them.
    assert oracle.unplaced(await engine.places(name, players)) == [places[3], None, places[0], places[4], places[2], places[1]]
    assert oracle.unplaced([await engine.place(name, player) for player in players]) == oracle.unplaced(await engine.places(name, players))


async def test_dense_ranks_are_there_once_somebody_wants_them(engine, ranking):
    """They cost an index where rankings are elsewhere; in the process, they are free."""
    name, _, _ = ranking
    free = not engine.is_shared

    async def dense():
        places = await engine.place(name, "c"), (await engine.places(name, ["c"]))[0]
        pages = await engine.page(name, 2, 1), await engine.page_after(name, (await engine.page(name, 1, 1)).rows[0], 1)
        return [*(place.dense for place in places), *(page.first.dense for page in pages)]

    for wanted in ("unique", "standard", None):
        assert (await engine.place(name, "c", wanted)).standard == 2
        await engine.places(name, ["c"], wanted)
        await engine.page(name, 2, 1, wanted)
        assert await dense() == ([2] * 4 if free else [0] * 4), wanted
    assert (await engine.place(name, "c", "dense")).dense == 2
    assert await dense() == [2] * 4


@pytest.mark.parametrize("how", ["page", "page_after", "places"])
async def test_who_wants_dense_ranks_gets_them_at_once(engine, ranking, how):
    name, rows, _ = ranking
    if how == "page":
        assert (await engine.page(name, 2, 1, "dense")).first.dense == 2
    elif how == "page_after":
        assert (await engine.page_after(name, rows[1], 1, "dense")).first.dense == 2
    else:
        assert [place.dense for place in await engine.places(name, ["a", "e"], "dense")] == [1, 3]


async def test_a_board_with_dense_ranks_has_them_from_the_start(engine):
    live = live_board(Board("b", rank="dense"))
    await start(engine, live, {all_time(live): {"a": state(1), "b": state(1), "c": state(2)}})
    await apply(engine, live, event(1, "d", 3))
    assert [(await engine.place(all_time(live), player)).dense for player in "dcab"] == [1, 2, 3, 3]


async def test_pages(engine, ranking):
    name, rows, _ = ranking
    assert (await engine.page(name, 0, 2, "dense"))[:3] == (rows[:2], Ranks(1, 1, 1), 5)
    assert (await engine.page(name, 2, 2, "dense"))[:3] == (rows[2:4], Ranks(3, 2, 2), 5)
    assert (await engine.page(name, 4, 2, "dense"))[:3] == (rows[4:], Ranks(5, 5, 3), 5)
    assert (await engine.page(name, 0, 100, "dense"))[:3] == (rows, Ranks(1, 1, 1), 5)
    assert (await engine.page(name, 5, 2, "dense"))[:3] == ([], Ranks(6, 6, 4), 5)
    assert (await engine.page(name, 1000, 2)).rows == []
    assert (await engine.page(name, 0, 0)).total == 5


async def test_pages_behind_a_row(engine, ranking):
    name, rows, sign = ranking
    assert (await engine.page_after(name, rows[0], 2, "dense"))[:3] == (rows[1:3], Ranks(2, 2, 2), 5)
    assert (await engine.page_after(name, rows[3], 10, "dense"))[:3] == (rows[4:], Ranks(5, 5, 3), 5)
    assert (await engine.page_after(name, rows[4], 10)).rows == []
    assert (await engine.page_after(name, Row("gone", 100 * sign, NOON), 10)).rows == rows
    assert (await engine.page_after(name, Row("gone", 5 * sign, NOON), 10)).rows == rows[4:]
    assert (await engine.page_after(name, Row("gone", 7 * sign, NOON + 2), 10)).rows[-2:] == rows[3:]


async def test_a_row_that_moved_up_is_not_seen_again_and_no_other_is_skipped(engine):
    live = live_board(Board("b"))
    await start(engine, live)
    await apply(engine, live, *[event(n, p, s) for n, (p, s) in enumerate([("a", 9), ("b", 7), ("c", 5), ("d", 3)], 1)])
    (_, b), *_ = await engine.page(all_time(live), 0, 2)
    await apply(engine, live, event(5, "b", 20, 1))
    assert [row.player for row in (await engine.page_after(all_time(live), b, 10)).rows] == ["c", "d"]


@pytest.mark.parametrize("order", ["desc", "asc"])
@pytest.mark.parametrize("later", [-5, 5])
async def test_a_player_who_keeps_place_and_score_is_not_seen_again(engine, order, later):
    """With ties = "player" the time has no part in the order, so a state of another time is at the same place."""
    live = live_board(Board("b", operator="last", ties="player", order=order))
    await start(engine, live, {all_time(live): {p: state(1) for p in "abc"}})
    (first, second), *_ = await engine.page(all_time(live), 0, 2)
    await restate(engine, all_time(live), second.player, state(1, later))
    (third,) = {"a", "b", "c"} - {first.player, second.player}
    assert [row.player for row in (await engine.page_after(all_time(live), second, 10)).rows] == [third]


async def test_count(engine, ranking):
    name, _, sign = ranking
    ranges = {(None, None): 5, (7, None): 4, (None, 7): 4, (7, 7): 3, (8, 9): 1, (3, 6): 0, (2, 2): 1, (10, None): 0, (9, 2): 0}
    for (low, high), expected in ranges.items():
        bounds = (low, high) if sign == 1 else (high and -high, low and -low)
        assert await engine.count(name, *bounds) == expected, (low, high)


@pytest.mark.parametrize("board_known", [True, False])
async def test_an_empty_ranking(engine, board_known):
    live = live_board(Board("b"))
    if board_known:
        await start(engine, live)
    name = all_time(live)
    assert (await engine.page(name, 0, 10))[:3] == ([], Ranks(1, 1, 1), 0)
    assert (await engine.page_after(name, Row("a", 1, 1), 10))[:3] == ([], Ranks(1, 1, 1), 0)
    assert await engine.count(name, None, None) == 0
    assert await engine.states(name, ["a"]) == [None]
    assert await engine.places(name, ["a", "b"]) == [None, None]
    assert await engine.rankings(1) == []


@pytest.mark.parametrize("player", ["Ünï", "名前", "🏆", "a b/c\"'\\", "x" * 128, "\u202e", "0", "a:b", "{}"])
@pytest.mark.parametrize("ties", ["first", "last", "player"])
async def test_player_ids_of_any_script(engine, player, ties):
    live = live_board(Board("b", ties=ties))
    await start(engine, live)
    await apply(engine, live, event(1, player, -5, 3), event(2, "other", -6))
    assert [row[:2] for row in (await engine.page(all_time(live), 0, 1)).rows] == [(player, -5)]
    assert (await engine.places(all_time(live), [player]))[0].unique == 1
