"""How far players moved, against baselines and against the window before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keepscore import Board
from keepscore.errors import InvalidBoard, LedgerUnavailable
from keepscore.lifecycle.jobs.baselines import Baselines
from keepscore.reading.movement import take_baselines
from keepscore.storage.ledgers.slots import Slot
from tests.service.looking_back import DAY, HOUR, MINUTE, PLACES, Running, opened

YESTERDAY, TODAY = "2026-11-15", "2026-11-16"
Open = Callable[..., Any]


@pytest.fixture(params=PLACES)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens a service with one board, whose baselines are taken by the tests alone."""

    async def rest(job: Baselines, now: int) -> str:
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Baselines, "run", rest)
        yield partial(opened, request.param, tmp_path)


async def take(here: Running) -> int:
    """Take what is due; gives how many baselines there are."""
    await take_baselines(here.lb.runtime.ledger, here.lb.runtime.engine, here.live, here.clock.now)
    return len(await here.lb.runtime.ledger.archives.find(here.live.id, kind="baseline"))


async def test_lists_say_how_far_players_moved(run: Open) -> None:
    async with run(movement="1h", segments=["region"], rank="standard") as here:
        await here.submit(("ann", 50), ("bob", 40), ("cid", 40), ("dan", 10), segments={"region": "eu"})
        assert await here.moved() == {"ann": 0, "bob": 0, "cid": 0, "dan": 0}, "there is nothing to compare with"
        assert await take(here) == 2
        here.clock.now += HOUR
        await here.submit(("dan", 60), ("eve", 45), segments={"region": "eu"})
        assert await here.moved() == {"dan": 3, "ann": -1, "eve": "new", "bob": -2, "cid": -2}
        assert await here.moved(rank="unique") == {"dan": 3, "ann": -1, "eve": "new", "bob": -2, "cid": -2}
        assert await here.moved(rank="dense") == {"dan": 2, "ann": -1, "eve": "new", "bob": -2, "cid": -2}
        assert await here.moved(segment="region:eu") == await here.moved()
        assert await here.moved("ranks/3", around=1) == {"ann": -1, "eve": "new", "bob": -2}
        near = (await here.get("players/eve", around=1))["around"]
        assert [(s["player_id"], s["rank_change"], "new" in s) for s in near] == [("ann", -1, False), ("eve", 0, True), ("bob", -2, False)]
        found = await here.client.post(f"/v1/boards/{here.name}/players/lookup", json={"player_ids": ["dan", "eve"]})
        assert [(s["rank_change"], s.get("new")) for s in found.json()["standings"]] == [(3, None), (0, True)]


async def test_the_baseline_is_the_newest_that_is_old_enough(run: Open) -> None:
    async with run(movement="1h") as here:
        await here.submit(("ann", 50), ("bob", 40), ("cid", 30))
        await take(here)
        here.clock.now += 20 * MINUTE
        await here.submit(("cid", 45))
        await take(here)
        here.clock.now += 20 * MINUTE
        await here.submit(("cid", 60))
        assert await here.moved() == {"cid": 1, "ann": -1, "bob": 0}, "none is an hour old: the newest"
        here.clock.now += 21 * MINUTE
        assert await here.moved() == {"cid": 2, "ann": -1, "bob": -1}, "the first is"
        here.clock.now += 20 * MINUTE
        assert await here.moved() == {"cid": 1, "ann": -1, "bob": 0}, "the second is, by now"


async def test_baselines_come_and_go(run: Open) -> None:
    async with run(movement="1h", windows=["daily", "all_time"]) as here:
        await here.submit(*((f"p{n}", n) for n in range(5)))
        assert await take(here) == 2
        assert await take(here) == 2, "once in a quarter"
        counts = []
        for _ in range(12):
            here.clock.now += 15 * MINUTE
            counts.append(await take(here))
        assert counts == [4, 6, 8, 10, 12, 12, 12, 12, 12, 12, 12, 12]
        here.clock.now += DAY
        assert await take(here) == 3, "of a day that is over there are none; the two that are old enough may be somebody's choice"
        await here.lb.admin.put_board(Board(here.name, windows=["daily", "all_time"]), confirm=True)
        assert await take(here) == 0, "without movement there are none"


async def test_one_that_was_cut_short_is_started_over_or_dropped(run: Open) -> None:
    async with run(movement="1h", ties="player") as here:
        await here.submit(*((f"p{n:04}", n % 7) for n in range(30)))
        ledger, slot = here.lb.runtime.ledger, Slot("all_time", "all_time", "")
        number = here.clock.now // (15 * MINUTE) * 15 * 60
        rows = await here.archive(here.ranking("all_time", "all_time"), kind="baseline", number=number - 1)
        (whole,) = await ledger.archives.find(here.live.id)
        await ledger.archives.drop(whole.id)
        cut = await ledger.archives.begin(here.live.id, slot, "baseline", number, here.clock.now)
        await ledger.archives.write(cut, rows[:3])
        assert await take(here) == 1
        (taken,) = await ledger.archives.find(here.live.id)
        assert [row[:5] for row in await ledger.archives.rows(taken.id, 0, 100)] == [row[:5] for row in rows]
        assert (taken.players, taken.kept, taken.number) == (30, 30, number)
        here.clock.now += 15 * MINUTE
        cut = await ledger.archives.begin(here.live.id, slot, "baseline", number + 15 * 60, here.clock.now)
        await ledger.archives.write(cut, rows[:3])
        here.clock.now += 15 * MINUTE
        assert await take(here) == 2
        assert await ledger.archives.rows(cut, 0, 100) == [], "nothing is left of it"


async def test_whoever_moves_while_a_baseline_is_taken_is_in_it_once(run: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepscore.reading.movement.CHUNK_ROWS", 3)
    async with run(movement="1h") as here:
        await here.submit(*((f"p{n}", 10 * n) for n in range(10)))
        engine = here.lb.runtime.engine
        page_after, moves = engine.page_after, iter([("p0", 95.0), ("p1", 96.0)])

        async def moving(*args: Any) -> Any:
            for player, score in moves:
                await here.lb.submit(here.name, player, int(score))
                break
            return await page_after(*args)

        monkeypatch.setattr(engine, "page_after", moving)
        assert await take(here) == 1
        (taken,) = await here.lb.runtime.ledger.archives.find(here.live.id)
        rows = await here.lb.runtime.ledger.archives.rows(taken.id, 0, 100)
        assert sorted(row.player for row in rows) == sorted(f"p{n}" for n in range(10))
        assert [row.rank for row in rows] == list(range(1, 11))


async def test_the_window_before(run: Open) -> None:
    async with run(movement="previous_window", windows=["daily", "all_time"]) as here:
        await here.submit(("ann", 50), ("bob", 40), ("cid", 30))
        assert await here.moved() == {"ann": 0, "bob": 0, "cid": 0}, "there was none before"
        here.clock.now += DAY
        await here.submit(("cid", 9), ("ann", 8), ("dan", 7))
        expected = {"cid": 2, "ann": -1, "dan": "new"}
        assert await here.moved() == expected
        assert await here.moved(window="all_time") == {"ann": 0, "bob": 0, "cid": 0, "dan": 0}
        await here.archive(here.ranking("daily", YESTERDAY))
        await here.drop(here.ranking("daily", YESTERDAY))
        here.clock.now += 10_000
        assert await here.moved() == expected, "from the archive"
        assert await take(here) == 0


async def test_where_only_the_first_were_archived_nobody_is_called_new(run: Open) -> None:
    async with run(movement="previous_window", windows=["daily"]) as here:
        await here.submit(("ann", 50), ("bob", 40), ("cid", 30))
        here.clock.now += DAY
        await here.archive(here.ranking("daily", YESTERDAY), keep=1)
        await here.drop(here.ranking("daily", YESTERDAY))
        await here.submit(("cid", 9), ("ann", 8))
        assert await here.moved() == {"cid": 0, "ann": -1}


async def test_boards_without_it_ask_nothing_and_a_ledger_that_is_away_moves_nobody(run: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        raise LedgerUnavailable("away")

    async with run() as here:
        await here.submit(("ann", 50), ("bob", 40))
        monkeypatch.setattr(here.lb.runtime.ledger.archives, "find", away)
        assert await here.moved() == {"ann": 0, "bob": 0}
        monkeypatch.undo()
        await here.lb.admin.put_board(Board(here.name, movement="1h"), confirm=True)
        await take(here)
        monkeypatch.setattr(here.lb.runtime.ledger.archives, "find", away)
        here.clock.now += HOUR
        await here.submit(("bob", 60))
        assert await here.moved() == {"bob": 0, "ann": 0}
        monkeypatch.undo()
        here.clock.now += HOUR
        assert await here.moved() == {"bob": 1, "ann": -1}


def test_a_change_of_it_keeps_the_rankings() -> None:
    assert Board("b").same_meaning(Board("b", movement="1d"))
    assert (Board("b", movement="1d").movement_ms, Board("b", windows=["daily"], movement="previous_window").movement_ms) == (DAY, None)


@pytest.mark.parametrize(
    ("movement", "words"),
    [("soon", "'previous_window'"), ("1s", "'1m' or more"), ("0h", "'1m' or more"), (5, "`str | null`"), ("previous_window", "all_time")],
)
def test_what_cannot_be_used(movement: Any, words: str) -> None:
    with pytest.raises(InvalidBoard, match="movement") as caught:
        Board("b", movement=movement)
    assert words in str(caught.value)


async def test_where_players_stood_in_another_order_is_forgotten(run: Open) -> None:
    """A board that is turned, or reset, has another ranking: nobody has moved against the one of before."""
    async with run(operator="last", movement="1h") as here:
        await here.submit(("ann", 50), ("bob", 40), ("cid", 30))
        await take(here)
        here.clock.now += HOUR
        await here.lb.admin.change_board(here.name, {"order": "asc"}, confirm=True)
        assert await here.moved() == {"cid": 0, "bob": 0, "ann": 0}
        assert await take(here) == 1
        here.clock.now += HOUR
        await here.lb.admin.reset(here.name)
        here.clock.now += MINUTE
        await here.submit(("ann", 1), ("cid", 2))
        assert await here.moved() == {"ann": "new", "cid": "new"}


async def test_after_a_reset_everybody_is_new_whatever_the_version_before_showed(run: Open) -> None:
    async with run(operator="last", movement="previous_window", windows=["daily"]) as here:
        await here.submit(("ann", 50), ("bob", 40))
        here.clock.now += MINUTE
        await here.lb.admin.reset(here.name)
        here.clock.now += MINUTE
        await here.submit(("ann", 1), ("bob", 2))
        assert await here.moved() == {"bob": "new", "ann": "new"}
