"""Windows that have ended: read from the archive, or from the engine where it has more, by the same routes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from keepscore import Entry
from keepscore.errors import EngineUnavailable, LedgerUnavailable, WindowClosed
from tests.service.looking_back import DAY, HOUR, NOON, PLACES, opened
from tests.service.running import refused

YESTERDAY, TODAY = "2026-11-15", "2026-11-16"
SCORES = [("ann", 50), ("bob", 40), ("cid", 40), ("dan", 30), ("eve", 20), ("fay", 10)]
Open = Callable[..., Any]


@pytest.fixture(params=PLACES)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens a service with one board."""
    return partial(opened, request.param, tmp_path)


READS = [
    ("top", {"limit": 3}),
    ("top", {"limit": 2, "offset": 2, "rank": "standard"}),
    ("top", {"rank": "dense"}),
    ("top", {"segment": "region:eu"}),
    ("players/cid", {"around": 2}),
    ("players/fay", {}),
    ("ranks/4", {"around": 1}),
    ("count", {}),
    ("count", {"min": 20, "max": 40}),
]


@pytest.mark.parametrize("fields", [{}, {"order": "asc", "ties": "last"}, {"ties": "player", "decimals": 1}], ids=str)
async def test_every_read_says_the_same_from_the_archive(run: Open, fields: dict[str, Any]) -> None:
    async with run(windows=["daily"], segments=["region"], **fields) as here:
        await here.submit(*SCORES, segments={"region": "eu"})
        here.clock.now += DAY
        reads = [(path, {"window_id": YESTERDAY, **query}) for path, query in READS]
        players = {"player_ids": ["eve", "nobody", "bob"]}
        look_up = partial(here.client.post, f"/v1/boards/{here.name}/players/lookup?window_id={YESTERDAY}", json=players)
        before = [await here.get(path, **query) for path, query in reads]
        found = (await look_up()).json()
        assert found.pop("position"), "an archive has none"
        assert not any("archived" in body for body in before)
        taken = here.clock.now
        for segment in ("", "region:eu"):
            await here.archive(here.ranking("daily", YESTERDAY, segment))
            await here.drop(here.ranking("daily", YESTERDAY, segment))
        here.clock.now += HOUR
        for (path, query), body in zip(reads, before, strict=True):
            again = await here.get(path, **query)
            assert (again["archived"], again["as_of"]) == (True, "2026-11-16T12:00:06Z"), path
            for changed in ("archived", "as_of", "next_cursor", "position"):
                again.pop(changed, None)
                body.pop(changed, None)
            assert again == body, path
        assert taken == NOON + DAY + 6000
        again = (await look_up()).json()
        assert (again.pop("archived"), again.pop("as_of")) == (True, "2026-11-16T12:00:06Z")
        assert again == found


async def test_only_the_first_may_be_kept(run: Open) -> None:
    async with run(windows=["daily"]) as here:
        await here.submit(*SCORES)
        here.clock.now += DAY
        await here.archive(here.ranking("daily", YESTERDAY), keep=3)
        await here.drop(here.ranking("daily", YESTERDAY))
        get = partial(here.get, window_id=YESTERDAY)
        top = await get("top")
        assert (len(top["standings"]), top["total_players"], top["next_cursor"]) == (3, 6, None)
        assert (await get("top", offset=4))["standings"] == []
        assert (await get("players/bob"))["percentile"] == 5 / 6 * 100
        refused(await here.ask("players/dan", window_id=YESTERDAY), 404, "dan", "only the first 3 players were archived")
        for bounds, count in [({}, 6), ({"min": 41}, 1), ({"max": 40}, 5), ({"min": 50, "max": 50}, 1), ({"min": 60}, 0)]:
            assert (await get("count", **bounds))["count"] == count, bounds
        for bounds in ({"min": 40}, {"min": 30}, {"max": 39}, {"min": 20, "max": 60}):
            refused(await here.ask("count", window_id=YESTERDAY, **bounds), 404, "only its first 3 of 6 players", YESTERDAY)


async def test_cursors_go_through_the_archive_and_into_it(run: Open) -> None:
    async with run(windows=["daily"]) as here:
        await here.submit(*SCORES)
        here.clock.now += DAY
        live = await here.get("top", window_id=YESTERDAY, limit=2)
        rows = await here.archive(here.ranking("daily", YESTERDAY))
        await here.drop(here.ranking("daily", YESTERDAY))
        assert [s["player_id"] for s in (await here.get("top", window_id=YESTERDAY, cursor=live["next_cursor"]))["standings"]] == [
            "cid",
            "dan",
            "eve",
            "fay",
        ]
        seen, query = [], {"window_id": YESTERDAY, "limit": 4}
        while True:
            page = await here.get("top", **query)
            seen += [s["player_id"] for s in page["standings"]]
            if page["next_cursor"] is None:
                break
            query["cursor"] = page["next_cursor"]
        assert seen == [player for player, _ in SCORES]
        # In the next revision the player of the cursor, bob, is another.
        kept = [row._replace(rank=rank) for rank, row in enumerate((row for row in rows if row.player != "bob"), 1)]
        await here.write(here.ranking("daily", YESTERDAY), kept, 5, number=2)
        assert [s["player_id"] for s in (await here.get("top", window_id=YESTERDAY, cursor=live["next_cursor"]))["standings"]] == [
            "cid",
            "dan",
            "eve",
            "fay",
        ]


async def test_a_revision_counts_at_once_and_has_another_tag(run: Open) -> None:
    async with run(windows=["daily"]) as here:
        await here.submit(*SCORES[:2])
        here.clock.now += DAY
        ranking = here.ranking("daily", YESTERDAY)
        known = {"If-None-Match": (await here.ask("ranks/1", window_id=YESTERDAY)).headers["etag"]}
        unchanged = await here.client.get(f"/v1/boards/{here.name}/ranks/1?window_id={YESTERDAY}", headers=known)
        assert unchanged.status_code == 304, "the engine has it still"
        assert (await here.ask("top", window_id=YESTERDAY)).status_code == 200
        rows = await here.archive(ranking)
        await here.drop(ranking)
        first = await here.ask("top", window_id=YESTERDAY)
        tag = {"If-None-Match": first.headers["etag"]}
        address = f"/v1/boards/{here.name}/top?window_id={YESTERDAY}"
        assert (first.json()["archived"], (await here.client.get(address, headers=tag)).status_code) == (True, 304)
        await here.write(ranking, rows[1:], 1, number=2)
        second = await here.client.get(address, headers=tag)
        assert (second.status_code, second.json()["total_players"]) == (200, 1)


async def test_a_window_that_nobody_knows_is_empty(run: Open) -> None:
    async with run(windows=["daily"]) as here:
        top = await here.get("top", window_id="2025-01-01")
        assert (top["total_players"], "archived" in top) == (0, False)
        refused(await here.ask("players/ann", window_id="2025-01-01"), 404, "2025-01-01")


async def test_outages(run: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with run(windows=["daily"], consistency="strong") as here:
        await here.submit(*SCORES)
        here.clock.now += DAY
        await here.archive(here.ranking("daily", YESTERDAY))

        async def away(*_: Any) -> Any:
            raise EngineUnavailable("the engine is away")

        monkeypatch.setattr(here.lb.runtime.engine, "page", away)
        assert (await here.get("top", window_id=YESTERDAY))["archived"] is True, "what is final is never stale"
        refused(await here.ask("top", window_id="2026-11-14"), 503, "the engine is away")
        monkeypatch.undo()
        await here.drop(here.ranking("daily", YESTERDAY))

        async def lost(*_: Any) -> Any:
            raise LedgerUnavailable("the ledger is away")

        monkeypatch.setattr(here.lb.runtime.ledger.archives, "find", lost)
        refused(await here.ask("top", window_id=YESTERDAY), 503, "ledger")
        assert (await here.get("top"))["total_players"] == 0, "the present asks no archive"


async def test_closed_standings_stay_as_they_are(run: Open) -> None:
    async with run(windows=["daily"]) as here:
        await here.submit(*SCORES)
        here.clock.now += DAY
        await here.lb.admin.run_keeper()
        before = await here.get("top", window_id=YESTERDAY)
        assert (before["archived"], before["total_players"]) == (True, 6)
        late = Entry(player_id="late", score=99, at="2026-11-15T13:00:00Z")
        assert (await here.lb.submit_many(here.name, [late], backfill=True)).accepted == 1
        await here.lb.admin.put_board(replace(here.live.board, order="asc"), confirm=True)
        assert await here.get("top", window_id=YESTERDAY) == before
        assert (await here.get("count", window_id=YESTERDAY))["count"] == 6
        refused(await here.ask("players/late", window_id=YESTERDAY), 404, "late")
        await here.lb.admin.put_board(replace(here.live.board, order="desc"), confirm=True)
        await here.lb.admin.revise(here.name, "daily", YESTERDAY, "a score that was forgotten")
        assert await here.order(window_id=YESTERDAY, limit=2) == [(1, "late", 99), (2, "ann", 50)]


async def test_players_beyond_an_archive_are_looked_for_in_the_engine(run: Open) -> None:
    async with run(windows={"daily": {"archive": 3}}) as here:
        await here.submit(*SCORES)
        here.clock.now += DAY
        await here.lb.admin.run_keeper()
        get = partial(here.get, window_id=YESTERDAY)
        assert "archived" in await get("top", limit=3)
        assert len((await get("top", limit=4))["standings"]) == 4
        assert ((await get("players/bob"))["archived"], (await get("players/fay"))["rank"]) == (True, 6)
        await here.drop(here.ranking("daily", YESTERDAY))
        assert len((await get("top", limit=4))["standings"]) == 3


async def test_decaying_scores_are_those_of_the_close(run: Open) -> None:
    async with run(windows=["daily"], decay={"half_life": "1d"}) as here:
        await here.lb.submit(here.name, "ann", 1000)
        here.clock.now += DAY
        await here.archive(here.ranking("daily", YESTERDAY))
        await here.drop(here.ranking("daily", YESTERDAY))
        here.clock.now += 5 * DAY
        assert await here.order(window_id=YESTERDAY) == [(1, "ann", 500)]
        (found,) = (await here.get("history/ann"))["history"]
        assert (found["state"], found["rank"], found["score"]) == ("closed", 1, 500)
        assert (await here.get("count", window_id=YESTERDAY, min=500, max=500))["count"] == 1


async def test_windows_are_listed_with_their_states(run: Open) -> None:
    async with run(windows=["daily", "all_time"]) as here:
        assert (await here.get("windows"))["windows"] == []
        await here.submit(*SCORES)
        here.clock.now += DAY
        await here.submit(("ann", 1))
        listed = {
            "board": here.name,
            "windows": [
                {"window": "daily", "window_id": TODAY, "start": f"{TODAY}T00:00:00Z", "end": "2026-11-17T00:00:00Z"}
                | {"state": "open", "players": 1},
                {"window": "daily", "window_id": YESTERDAY, "start": f"{YESTERDAY}T00:00:00Z", "end": f"{TODAY}T00:00:00Z"}
                | {"state": "closing", "players": 6},
                {"window": "all_time", "window_id": "all_time", "start": None, "end": None, "state": "open", "players": 6},
            ],
        }
        assert await here.get("windows") == listed
        await here.archive(here.ranking("daily", YESTERDAY), keep=2)
        listed["windows"][1]["state"] = "closed"
        assert await here.get("windows") == listed
        await here.drop(here.ranking("daily", YESTERDAY))
        assert await here.get("windows") == listed, "the archive knows it, too"
        assert [w["window_id"] for w in (await here.get("windows", window="daily", limit=1, offset=1))["windows"]] == [YESTERDAY]
        refused(await here.ask("windows", window="weekly"), 404, "weekly", "daily, all_time")
        for query in ({"limit": 0}, {"limit": 1001}, {"offset": -1}):
            refused(await here.ask("windows", **query), 422, str(next(iter(query.values()))))


async def test_a_history_has_archived_and_live_windows_and_the_best(run: Open) -> None:
    async with run(windows=["daily", "all_time"]) as here:
        await here.submit(*SCORES)
        here.clock.now += DAY
        await here.submit(("bob", 70), ("ann", 60), ("dan", 90))
        here.clock.now += DAY
        await here.submit(("ann", 1), ("bob", 2))
        for day, keep in ((YESTERDAY, 3), (TODAY, None)):
            await here.archive(here.ranking("daily", day), keep)
        await here.drop(here.ranking("daily", YESTERDAY))
        history = await here.get("history/bob")
        assert {name: history[name] for name in ("board", "player_id", "window")} == {
            "board": here.name,
            "player_id": "bob",
            "window": "daily",
        }
        brief = [(h["window_id"], h["state"], h["rank"], h["score"], h["total_players"]) for h in history["history"]]
        assert brief == [("2026-11-17", "open", 1, 2, 2), (TODAY, "closed", 2, 70, 3), (YESTERDAY, "closed", 2, 40, 6)]
        assert history["history"][1] | {"start": f"{TODAY}T00:00:00Z", "percentile": 2 / 3 * 100} == history["history"][1]
        assert history["best"] == {"window_id": "2026-11-17", "rank": 1, "score": 2}
        # Beyond the archived standings, the ledger knows the score.
        history = await here.get("history/dan")
        assert [(h["window_id"], h["rank"], h["score"], h["percentile"]) for h in history["history"]] == [
            (TODAY, 1, 90, 100),
            (YESTERDAY, None, 30, None),
        ]
        assert history["best"]["window_id"] == TODAY
        assert [h["window_id"] for h in (await here.get("history/ann", limit=1))["history"]] == ["2026-11-17"]
        assert (await here.get("history/ann", window="all_time"))["history"][0]["start"] is None
        assert await here.get("history/nobody") == {
            "board": here.name,
            "player_id": "nobody",
            "window": "daily",
            "history": [],
            "best": None,
        }
        refused(await here.ask("history/ann", window="weekly"), 404, "weekly")
        refused(await here.ask("history/" + "x" * 200), 422, "128")


async def test_of_equal_ranks_the_better_score_is_the_best(run: Open) -> None:
    async with run(windows=["daily"], order="asc") as here:
        for score in (30, 20, 25, 20):
            await here.submit(("ann", score))
            here.clock.now += DAY
        assert (await here.get("history/ann"))["best"] == {"window_id": "2026-11-18", "rank": 1, "score": 20}


async def test_a_revision_without_the_player_hides_the_earlier_one(run: Open) -> None:
    async with run(windows=["daily"]) as here:
        await here.submit(*SCORES[:2])
        here.clock.now += DAY
        rows = await here.archive(here.ranking("daily", YESTERDAY))
        await here.drop(here.ranking("daily", YESTERDAY))
        await here.write(here.ranking("daily", YESTERDAY), rows[:1], 1, number=2)
        assert (await here.get("history/bob"))["history"] == []


async def test_a_score_for_a_closed_window_is_a_conflict(run: Open) -> None:
    async with run(windows=["daily"]) as here:
        with pytest.raises(WindowClosed, match="daily window 2026-11-10"):
            await here.lb.submit(here.name, "ann", 1, at="2026-11-10T00:00:00Z")
        body = {"player_id": "ann", "score": 1, "at": "2026-11-10T00:00:00Z"}
        refused(await here.client.post(f"/v1/boards/{here.name}/scores", json=body), 409, "daily window 2026-11-10")


async def test_a_boards_events_come_page_by_page(run: Open) -> None:
    async with run(operator="sum", decimals=2) as here:
        for number in range(25):
            await here.lb.increment(here.name, f"p{number % 3}", number / 4, game_id=f"g{number}")
        seen, cursor = [], None
        for _ in range(3):
            page = await here.get("events", limit=10, **({"cursor": cursor} if cursor else {}))
            assert page["total"] == 25
            seen += [(event["player_id"], event["amount"], event["game_id"]) for event in page["events"]]
            cursor = page["next_cursor"]
        assert (seen, cursor) == ([(f"p{n % 3}", n / 4, f"g{n}") for n in range(25)], None)
        refused(await here.ask("events", cursor="x"), 422, "x")
        refused(await here.ask("events", limit=10_001), 422, "10001")
