"""Amounts on `best` boards: each makes the score the best so far plus the amount, in every ranking by itself."""

import asyncio
import random

import pytest

from keepscore import Board
from keepscore.domain.inputs import Entry
from keepscore.domain.windows import span_at
from keepscore.errors import InvalidBoard, InvalidScore, NotIncrementable
from tests.contract.opened import DAY, HOUR, NOON, Clock, at, recorded, standings
from tests.contract.twins import START, Place

BEST = Board("b", increments=True, windows=["all_time", "weekly", "daily"], segments=["region"])


class Model:
    """What is right: the scores of all rankings by player, one submission after the other."""

    def __init__(self, board):
        self.board, self.scores = board, {}

    def take(self, entry, now):
        moment = now if entry.at is None else round(entry.at.timestamp() * 1000)
        slices = ["", *(f"{name}:{value}" for name, value in (entry.segments or {}).items())]
        for window in self.board.periods:
            span = span_at(self.board, window, moment)
            if now >= span.end + self.board.grace_ms:
                continue
            for segment in slices:
                own = self.scores.setdefault((window, span.id, segment), {})
                known = own.get(entry.player_id)
                if entry.amount is not None:
                    own[entry.player_id] = (known or 0) + entry.amount
                else:
                    own[entry.player_id] = entry.score if known is None else max(known, entry.score)


async def shown(lb):
    rankings = await lb.runtime.engine.rankings(lb.runtime.catalog["b"].id)
    pages = {ranking[1:]: await lb.runtime.engine.page(ranking, 0, 1000) for ranking in rankings}
    return {place: {row.player: row.score for row in page.rows} for place, page in pages.items()}


def random_entry(dice, now):
    entry = Entry(player_id=f"p{dice.randrange(5)}")
    if dice.random() < 0.6:
        entry.segments = {"region": dice.choice(["eu", "us"])}
    if dice.random() < 0.3:
        entry.at = at(now - dice.randrange(3 * DAY))
    if dice.random() < 0.5:
        entry.amount = dice.randrange(50)
    else:
        entry.score = dice.randrange(200)
    return entry


@pytest.mark.parametrize("engine", ["embedded", "redis"])
@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
@pytest.mark.parametrize("ties", ["first", "player"])
async def test_an_amount_is_added_to_the_best_score_of_each_ranking(tmp_path, ledger, engine, ties):
    dice, clock = random.Random(3), Clock(START)
    board = Board("b", increments=True, windows=["all_time", "weekly", "daily"], segments=["region"], ties=ties, late="open_windows")
    model, place = Model(board), Place(ledger, engine, tmp_path, clock, "forever")
    async with place.opened(board) as lb:
        for _ in range(25):
            clock.now += dice.randrange(12 * HOUR)
            entries = [random_entry(dice, clock.now) for _ in range(dice.randint(1, 8))]
            if len(entries) < 3:
                for entry in entries:
                    given = {"at": entry.at, "segments": entry.segments}
                    send = lb.submit if entry.amount is None else lb.increment
                    await send("b", entry.player_id, entry.score if entry.amount is None else entry.amount, **given)
            else:
                answer = await lb.submit_many("b", entries, results=True)
                assert answer.rejected == []
            for entry in entries:
                model.take(entry, clock.now)
            assert await shown(lb) == model.scores
        assert (await lb.admin.verify("b")).ok
        await lb.admin.rebuild("b")
        assert await shown(lb) == model.scores
    async with place.opened(board) as lb:
        assert await shown(lb) == model.scores
        # What is recorded needs no order: the scores are the best of all events, however they are shuffled.
        best = {}
        for event in dice.sample(events := await recorded(lb, "b"), len(events)):
            for ranking in lb.runtime.catalog["b"].rankings_of(event):
                own = best.setdefault(ranking[1:], {})
                own[event.player] = max(event.amount, own.get(event.player, event.amount))
        assert best == model.scores


async def test_the_answer_tells_of_every_window(lbs, clock):
    async with lbs(BEST) as lb:
        await lb.submit("b", "ada", 700)
        await lb.submit("b", "bob", 750)
        clock.now += DAY
        await lb.submit("b", "ada", 100)
        answer = await lb.increment("b", "ada", 60)
        told = {window: (state.score, state.rank, state.rank_change) for window, state in answer.windows.items()}
        # A Monday: the week is new.
        assert told == {"all_time": (760, 1, 1), "weekly": (160, 1, 0), "daily": (160, 1, 0)}
        assert (answer.score, answer.updated) == (760, True)
        assert (await lb.increment("b", "ada", 0)).updated is False
        # A score that is not better changes nothing, as ever.
        assert (await lb.submit("b", "ada", 740)).score == 760
        kinds = [(event.kind, event.amount, event.scope and event.scope.windows) for event in (await recorded(lb, "b"))[3:5]]
        assert kinds == [("raise", 760, ("all_time",)), ("raise", 160, ("weekly", "daily"))]


async def test_a_first_amount_begins_with_nothing(lbs):
    async with lbs(BEST) as lb:
        assert (await lb.increment("b", "ada", 5, segments={"region": "eu"})).score == 5
        (event,) = await recorded(lb, "b")
        assert (event.kind, event.amount, event.scope) == ("raise", 5, None)


async def test_bounds_and_amounts_that_make_it_worse(lbs):
    async with lbs(Board("b", increments=True, max_score=100), Board("plain"), Board("first", operator="first")) as lb:
        await lb.submit("b", "ada", 90)
        with pytest.raises(InvalidScore, match="outside the bounds"):
            await lb.increment("b", "ada", 11)
        with pytest.raises(InvalidScore, match="would make the score worse"):
            await lb.increment("b", "ada", -1)
        assert await standings(lb, "b") == [(1, "ada", 90)]
        with pytest.raises(NotIncrementable, match="or give the board increments = true"):
            await lb.increment("plain", "ada", 1)
        with pytest.raises(NotIncrementable, match=r"send 'score'$"):
            await lb.increment("first", "ada", 1)


@pytest.mark.parametrize("fields", [{"operator": "sum"}, {"operator": "first"}, {"order": "asc"}, {"decay": {"half_life": "7d"}}])
def test_only_best_boards_of_high_scores_have_increments(fields):
    with pytest.raises(InvalidBoard, match="increments = True cannot be used"):
        Board("b", increments=True, **fields)


async def test_players_who_are_not_kept_go_on_from_their_best(lbs):
    async with lbs(Board("b", increments=True, keep_top=2)) as lb:
        for number in range(9):
            await lb.submit("b", f"p{number}", 10 * number)
        await lb.runtime.rebuilds.prune()
        await lb.increment("b", "p3", 100)
        assert (await standings(lb, "b", limit=1)) == [(1, "p3", 130)]
        assert (await lb.admin.verify("b")).ok


async def test_an_amount_on_a_linked_board_goes_on_from_the_best_there(lbs):
    async with lbs(Board("b", increments=True), Board("xp", operator="sum", also=["b"])) as lb:
        await lb.submit("b", "ada", 50)
        await lb.increment("xp", "ada", 7)
        assert await standings(lb, "b") == [(1, "ada", 57)]
        with pytest.raises(InvalidBoard, match="give it increments = true"):
            await lb.admin.put_board(Board("b"))


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
async def test_amounts_that_come_at_once_from_two_processes_all_count(tmp_path, ledger):
    clock = Clock(NOON)
    place = Place(ledger, "redis", tmp_path, clock, "forever")
    async with place.opened(BEST) as one, place.opened(BEST) as other:
        await asyncio.gather(*[lb.increment("b", "ada", 1) for _ in range(40) for lb in (one, other)])
        assert await standings(one, "b") == [(1, "ada", 80)]
        assert (await other.admin.verify("b")).ok
