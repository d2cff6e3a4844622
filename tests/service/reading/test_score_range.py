"""Players in a score range: listed on both engines and from archives, with their ranks among all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keepscore import Entry
from tests.service.looking_back import DAY, PLACES, Running, opened
from tests.service.running import refused

Open = Callable[..., Any]
#: Scores with ties; on a board with decimals, they are tenths.
SCORES = [(f"p{n}", n // 3) for n in range(60)]
RANGES: list[dict[str, Any]] = [
    {"min": 5},
    {"max": 5},
    {"min": 5, "max": 9},
    {"min": 7, "max": 7},
    {"min": -100, "max": 100},
    {"min": 100},
    {"max": -1},
    {"min": 9, "max": 5},
]


@pytest.fixture(params=PLACES)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens a service with one board."""
    return partial(opened, request.param, tmp_path)


async def check(here: Running, **view: Any) -> None:
    """Compare every range, in pages of every way to turn them, with the whole list."""
    for rank in ("unique", "standard", "dense"):
        whole = await here.order(limit=1000, rank=rank, **view)
        for bounds in RANGES:
            low, high = bounds.get("min", -1000), bounds.get("max", 1000)
            expected = [row for row in whole if low <= row[2] <= high]
            assert await here.order(limit=1000, rank=rank, **bounds, **view) == expected, (rank, bounds)
            assert (await here.get("count", **bounds, **view))["count"] == len(expected)
            assert await here.order(limit=4, offset=3, rank=rank, **bounds, **view) == expected[3:7]
            found, cursor = [], None
            while True:
                page = await here.get("top", limit=7, rank=rank, **bounds, **view, **({"cursor": cursor} if cursor else {}))
                found += [(s["rank"], s["player_id"], s["score"]) for s in page["standings"]]
                assert page["total_players"] == len(whole)
                cursor = page["next_cursor"]
                if cursor is None:
                    break
                assert len(page["standings"]) == 7
            assert found == expected, (rank, bounds)


@pytest.mark.parametrize("fields", [{}, {"order": "asc", "ties": "last"}, {"ties": "player", "operator": "last"}], ids=str)
async def test_ranges_are_listed_live_and_from_the_archive(run: Open, fields: dict[str, Any]) -> None:
    async with run(windows=["daily"], **fields) as here:
        await here.lb.submit_many(here.name, [Entry(player_id=player, score=score) for player, score in SCORES])
        await check(here)
        here.clock.now += DAY
        yesterday = "2026-11-15"
        await here.archive(here.ranking("daily", yesterday))
        await here.drop(here.ranking("daily", yesterday))
        assert (await here.get("top", window_id=yesterday, min=3))["archived"] is True
        await check(here, window_id=yesterday)


async def test_ranges_of_decimals_and_of_what_decays(run: Open) -> None:
    async with run(decimals=1) as here:
        await here.submit(("a", 1.5), ("b", 1.4), ("c", 1.6))
        assert await here.order(min=1.5) == [(1, "c", 1.6), (2, "a", 1.5)]
        assert await here.order(min="1.40", max=1.5) == [(2, "a", 1.5), (3, "b", 1.4)]
        refused(await here.ask("top", min=1.55), 422, "min", "1.55", "decimals")
        refused(await here.ask("top", max="1e30"), 422, "max")
        refused(await here.ask("top", max="much"), 422, "max")
    async with run(operator="sum", decay={"half_life": "1d"}) as here:
        for player, amount in (("a", 800), ("b", 400), ("c", 100)):
            await here.lb.increment(here.name, player, amount)
        here.clock.now += DAY
        assert await here.order(min=60, max=200) == [(2, "b", 200)]
        assert await here.order(max=200) == [(2, "b", 200), (3, "c", 50)]


async def test_of_a_partial_archive_the_kept_ones_are_listed(run: Open) -> None:
    async with run(windows=["daily"]) as here:
        await here.submit(*[(f"p{n}", n) for n in range(10)])
        here.clock.now += DAY
        ranking = here.ranking("daily", "2026-11-15")
        await here.archive(ranking, keep=4)
        await here.drop(ranking)
        assert await here.order(window_id=ranking.window_id, min=7) == [(1, "p9", 9), (2, "p8", 8), (3, "p7", 7)]
        assert await here.order(window_id=ranking.window_id, max=7) == [(3, "p7", 7), (4, "p6", 6)]
        refused(await here.ask("top", window_id=ranking.window_id, max=3), 404, "only its first 4 of 10")


async def test_of_a_ranking_that_keeps_the_first_only_these_are_listed(tmp_path: Path) -> None:
    async with opened("embedded, sqlite", tmp_path, keep_top=10) as here:
        await here.lb.submit_many(here.name, [Entry(player_id=f"p{n}", score=n) for n in range(60)])
        for _ in range(2):
            await here.lb.admin.run_keeper()
        assert await here.order(min=57) == [(1, "p59", 59), (2, "p58", 58), (3, "p57", 57)]
        assert [row[0] for row in await here.order(max=55, limit=5)] == [5, 6, 7, 8, 9]
        refused(await here.ask("top", max=20), 422, "keep_top")


async def test_players_who_come_between_the_two_reads_are_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened("embedded, sqlite", tmp_path) as here:
        await here.submit(*[(f"p{n}", n) for n in range(10)])
        engine, count, left = here.lb.runtime.engine, here.lb.runtime.engine.count, 3

        async def counted(*args: Any) -> int:
            nonlocal left
            number = await count(*args)
            if left:
                left -= 1
                # Somebody goes ahead of the range after it was counted.
                await here.lb.submit(here.name, f"p{left}", 100)
            return number

        monkeypatch.setattr(engine, "count", counted)
        assert [player for _, player, _ in await here.order(max=8, limit=3)] == ["p8", "p7", "p6"]
        assert left == 0
