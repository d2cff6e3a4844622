"""Whatever happened, every read equals what a plain `sorted()` over the folded states shows."""

from contextlib import aclosing

import pytest
from hypothesis import given as with_examples
from hypothesis import settings
from hypothesis import strategies as st

from keepscore.domain.boards import Board
from keepscore.domain.ordering import Row
from keepscore.domain.scoring import NO_TIME
from keepscore.storage.engines.base import Gap, Loaded
from tests.contract.backends import ENGINES
from tests.contract.driving import DAY, NOON, batch, event, given, live_board, restate, start
from tests.support import oracle

PLAYERS = ["a", "b", "ab", "ä", "名", "B"]
BOARDS = st.builds(
    Board,
    st.just("b"),
    operator=st.sampled_from(["best", "sum", "last", "first"]),
    order=st.sampled_from(["desc", "asc"]),
    ties=st.sampled_from(["first", "last", "player"]),
    rank=st.sampled_from(["unique", "standard", "dense"]),
    resolution=st.sampled_from(["1ms", "1s", "7ms"]),
    segments=st.sampled_from([[], ["region"]]),
    windows=st.sampled_from([["all_time"], ["daily", "all_time"], ["weekly", "daily"]]),
    # With a highest score, score and time may share one number.
    max_score=st.sampled_from([None, 1000]),
)


@st.composite
def histories(draw):
    """A board, and events of two writers in the order in which they are recorded, each writer's numbers without gaps."""
    board = draw(BOARDS)
    events, counts = [], {1: 0, 2: 0}
    times = draw(st.sampled_from([st.integers(0, 5), st.integers(0, 3000), st.integers(-2 * DAY, 2 * DAY)]))
    kinds = {"sum": ["increment", "correction"], "last": ["score", "increment"]}.get(board.operator, ["score"])
    # Either clients never give the time, or they do now and then, or always.
    given_by_clients = draw(st.sampled_from([st.just(None), st.none() | st.integers(-3, 3), st.integers(1, 3)]))
    for seq in range(1, draw(st.integers(1, 25)) + 1):
        writer = draw(st.sampled_from([1, 2]))
        counts[writer] += 1
        segments = draw(st.sampled_from([None, {"region": "eu"}, {"region": "us"}])) if board.segments else None
        player, amount = draw(st.sampled_from(PLAYERS)), draw(st.integers(-3, 3))
        at, later = draw(times), draw(given_by_clients)
        received = None if later is None else at + later
        events.append(event(counts[writer], player, amount, at, draw(st.sampled_from(kinds)), segments, writer, 1, received, seq))
    return board, events


def split(draw, events):
    """The events in batches, each of one writer."""
    batches = []
    for one in events:
        if batches and batches[-1][-1].writer == one.writer and draw(st.booleans()):
            batches[-1].append(one)
        else:
            batches.append([one])
    return batches


async def apply(engine, live, events, known, **options):
    """Apply a batch as the writer does: late events are restated from all that is known."""
    (outcomes,) = await engine.apply([batch(live, *events, **options)])
    for done, outcome in zip(events, outcomes, strict=bool(outcomes)):
        for ranking in outcome.restate:
            mine = [e for e in known if e.player == done.player and ranking in live.update(e).rankings]
            await restate(engine, ranking, done.player, oracle.folded(live.board, mine))
    return outcomes


async def check_reads(engine, live, events):
    states = oracle.fold(live, events)
    assert set(await engine.rankings(live.id)) == set(states)
    for ranking, players in states.items():
        if not engine.keeps_since(live.board, ranking.window):
            players = {player: state._replace(since=NO_TIME) for player, state in players.items()}
        rows = oracle.ranked(live.board, players)
        for offset in range(len(rows) + 2):
            for limit in (1, 3, 100):
                page = await engine.page(ranking, offset, limit, "dense")
                assert page[:3] == (rows[offset : offset + limit], oracle.ranks(live.board, rows, offset), len(rows))
        expected = oracle.places(live.board, rows)
        assert oracle.unplaced(await engine.places(ranking, PLAYERS)) == [expected.get(player) for player in PLAYERS]
        assert await engine.states(ranking, PLAYERS) == [players.get(player) for player in PLAYERS]
        # Rows as they may have been: times are whole steps of the resolution.
        step = live.board.resolution_ms
        start = oracle.cut(live.board, NOON)
        moved = [row._replace(since=row.since + 3 * step) for row in rows if row.since != NO_TIME]
        for row in [*rows, Row("b", 0, start), Row("zz", 1, start + step), *moved]:
            behind = oracle.behind(live.board, rows, row)
            page = await engine.page_after(ranking, row, 100)
            assert page.rows == behind, row
            assert page.first == oracle.ranks(live.board, rows, len(rows) - len(behind))
        scores = [row.score for row in rows]
        for low in (None, -2, 0, max(scores)):
            for high in (None, -1, 1, min(scores)):
                inside = [s for s in scores if (low is None or s >= low) and (high is None or s <= high)]
                assert await engine.count(ranking, low, high) == len(inside)


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=150)
@with_examples(history=histories(), data=st.data())
async def test_every_read_equals_the_sorted_fold(name, history, data):
    board, events = history
    live = live_board(board)
    async with ENGINES[name]() as engine:
        await start(engine, live)
        done = []
        for part in split(data.draw, events):
            done += part
            await apply(engine, live, part, done, ranked=data.draw(st.booleans()))
            if data.draw(st.booleans()):
                # The same once more, as after a lost reply.
                assert await apply(engine, live, part, done) == []
            getattr(engine, "check_invariants", lambda: None)()
        await check_reads(engine, live, events)


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=150)
@with_examples(history=histories(), data=st.data())
async def test_changes_tell_the_ranks_before_and_after(name, history, data):
    board, events = history
    live = live_board(board)
    async with ENGINES[name]() as engine:
        await start(engine, live)
        before = {}
        for i, one in enumerate(events):
            (outcome,) = await apply(engine, live, [one], events[: i + 1])
            wholes = live.update(one).rankings[: live.update(one).wholes]
            after = oracle.fold(live, events[: i + 1])
            for ranking, change in zip(wholes, outcome.changes, strict=True):
                if ranking in outcome.restate:
                    continue
                old = oracle.places(board, oracle.ranked(board, before.get(ranking, {}))).get(one.player)
                new = oracle.places(board, oracle.ranked(board, after[ranking]))[one.player]
                assert change.previous == (old and getattr(old, board.rank))
                assert (change.rank, change.unique) == (getattr(new, board.rank), new.unique)
                assert (change.score, change.total) == (new.score, new.total)
                same = old is not None and old.score == new.score
                assert change.updated != (same and (old.since == new.since or not engine.keeps_since(board, ranking.window)))
            before = after


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=100)
@with_examples(history=histories(), data=st.data())
async def test_any_order_of_arrival_gives_the_same(name, history, data):
    board, events = history
    live = live_board(board)
    writers = {writer: iter([one for one in events if one.writer == writer]) for writer in (1, 2)}
    arriving = [next(writers[writer]) for writer in data.draw(st.permutations([one.writer for one in events]))]
    async with ENGINES[name]() as engine:
        await start(engine, live)
        done = []
        for part in split(data.draw, arriving):
            done += part
            await apply(engine, live, part, done, ranked=data.draw(st.booleans()))
        await check_reads(engine, live, events)


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=100)
@with_examples(history=histories(), data=st.data())
async def test_a_shadow_made_of_a_part_and_the_rest_equals_all(name, history, data):
    """States folded from some events, loaded in pieces; the others are applied to the shadow; then it is promoted."""
    board, events = history
    live = live_board(board)
    cut = data.draw(st.integers(0, len(events)))
    known = oracle.fold(live, events[:cut])
    parts = []
    for ranking, players in known.items():
        rows = [Row(player, *state) for player, state in players.items()]
        middle = data.draw(st.integers(0, len(rows)))
        parts += [Loaded(ranking, 0, rows[:middle], False), Loaded(ranking, 0, iter(rows[middle:]), True)]
    applied = {}
    for one in events[:cut]:
        applied[one.writer] = one.n
    async with ENGINES[name]() as engine:
        async with aclosing(given(*data.draw(st.permutations(parts)))) as states:
            await engine.load(1, board, states, applied, cut)
        await engine.promote(1)
        for part in split(data.draw, events[cut:]):
            await apply(engine, live, part, events[: events.index(part[-1]) + 1], ranked=data.draw(st.booleans()))
        await check_reads(engine, live, events)
        if cut < len(events):
            with pytest.raises(Gap):
                await engine.apply([batch(live, events[-1]._replace(n=1000))])
