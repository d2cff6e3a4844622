"""Snapshots: listed and read by route, by the library, by the client's vocabulary, and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keepscore.errors import UnknownSnapshot
from tests.service.looking_back import DAY, HOUR, PLACES, opened
from tests.service.running import Service, refused, run

Open = Callable[..., Any]
SCORES = [("ann", 50), ("bob", 40), ("cid", 40), ("dan", 30), ("eve", 20)]


@pytest.fixture(params=PLACES)
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens a service with one board."""
    return partial(opened, request.param, tmp_path)


async def test_snapshots_are_listed_and_read(start: Open) -> None:
    windows = {"all_time": {"snapshot": "daily", "archive": "all"}, "weekly": {"snapshot": "hourly", "archive": 3}}
    async with start(windows=windows, segments=["region"], movement="1h") as here:
        assert (await here.get("snapshots"))["snapshots"] == []
        await here.submit(*SCORES, segments={"region": "eu"})
        await here.lb.players.name("ann", "Ann")
        here.clock.now += HOUR
        await here.lb.admin.run_keeper()
        await here.submit(("eve", 90), segments={"region": "eu"})
        here.clock.now += DAY
        await here.lb.admin.run_keeper()
        # Monday: another week has begun.
        listed = (await here.get("snapshots"))["snapshots"]
        assert {one["window"] for one in listed} == {"all_time", "weekly"}
        assert [one["taken"] for one in listed] == sorted((one["taken"] for one in listed), reverse=True)
        assert {one["segment"] for one in listed} == {None}
        weekly = (await here.get("snapshots", window="weekly", window_id="2026-W46"))["snapshots"]
        # The keeper of the service may have taken one of noon, too.
        assert {(one["window"], one["window_id"]) for one in weekly} == {("weekly", "2026-W46")}
        segment = (await here.get("snapshots", segment="region:eu", window="weekly"))["snapshots"]
        assert {one["segment"] for one in segment} == {"region:eu"}
        assert (await here.get("snapshots", limit=1, offset=1))["snapshots"] == listed[1:2]

        first = weekly[0]
        assert (first["taken"], first["total_players"]) == ("2026-11-15T13:00:00Z", 5)
        page = await here.get(f"snapshots/{first['id']}", limit=2)
        assert {name: page[name] for name in first} == first
        assert page["board"] == here.name
        assert [(s["rank"], s["player_id"], s["name"], s["score"], s["rank_change"]) for s in page["standings"]] == [
            (1, "ann", "Ann", 50, 0),
            (2, "bob", None, 40, 0),
        ]
        rest = await here.get(f"snapshots/{first['id']}", limit=2, cursor=page["next_cursor"])
        # Three of five were kept.
        assert ([s["player_id"] for s in rest["standings"]], rest["next_cursor"]) == (["cid"], None)
        assert await here.order(f"snapshots/{first['id']}", rank="standard", offset=1) == [(2, "bob", 40), (2, "cid", 40)]
        assert await here.order(f"snapshots/{first['id']}", offset=3) == []
        newest = (await here.get("snapshots", window="all_time"))["snapshots"][0]
        assert (await here.order(f"snapshots/{newest['id']}"))[0] == (1, "eve", 90)
        refused(await here.ask(f"snapshots/{newest['id']}", cursor=page["next_cursor"]), 422, "cursor")
        refused(await here.ask(f"snapshots/{first['id']}", cursor=page["next_cursor"], offset=1), 422, "offset")
        assert refused(await here.ask("snapshots/999999"), 404, "999999")["type"] == "urn:keepscore:unknown-snapshot"
        for wrong in (-1, 0, 10**15 + 1):
            refused(await here.ask(f"snapshots/{wrong}"), 422, "id", str(wrong))
        refused(await here.ask("snapshots/last"), 422, "id", "last")
        refused(await here.ask("snapshots", window="daily"), 404, "daily")
        refused(await here.ask("snapshots", limit=0), 422, "limit")
        refused(await here.ask(f"snapshots/{first['id']}", rank="olympic"), 422, "olympic")
        with pytest.raises(UnknownSnapshot):
            await here.lb.history.snapshot(here.name, 999_999)
        # Neither archives of closed windows nor baselines are snapshots.
        others = {one.id for one in await here.lb.runtime.ledger.archives.find(here.live.id) if one.kind != "snapshot"}
        assert others
        for other in others:
            refused(await here.ask(f"snapshots/{other}"), 404)


@pytest.mark.parametrize("over_http", [True, False])
def test_snapshots_on_the_command_line(tmp_path: Path, over_http: bool) -> None:
    # Half an hour from now and ago, so that nothing is due by itself while this runs.
    minute = (datetime.now(UTC).minute + 30) % 60
    service = Service(tmp_path, f'[[board]]\nname = "b"\n[board.windows.all_time]\nsnapshot = "{minute} * * * *"\n')
    reach: list[str] = []
    try:
        service.submit("b", "ann", 5)
        service.submit("b", "bob", 7)
        assert run("keeper", "run-once", "--url", service.url, cwd=tmp_path).returncode == 0
        if over_http:
            reach = ["--url", service.url]
        else:
            service.stop()
        (snapshot,) = json.loads(run("snapshots", "b", "--json", *reach, cwd=tmp_path).stdout)["snapshots"]
        listed = run("snapshots", "b", *reach, cwd=tmp_path).stdout
        taken = snapshot["taken"][:19].replace("T", " ") + " UTC"
        assert all(word in listed for word in ("all_time", taken, "players"))
        number = str(snapshot["id"])
        shown = run("snapshots", "b", number, *reach, cwd=tmp_path).stdout
        assert shown.startswith(f"b · all_time all_time · 2 players · as of {taken}\n")
        assert shown.index("bob") < shown.index("ann")
        standings = json.loads(run("snapshots", "b", number, "--limit", "1", "--json", *reach, cwd=tmp_path).stdout)["standings"]
        assert [one["player_id"] for one in standings] == ["bob"]
        missing = run("snapshots", "b", "77", *reach, cwd=tmp_path)
        assert (missing.returncode, "no snapshot 77" in missing.stderr) == (2, True)
        ranged = run("top", "b", "--min", "6", "--max", "7.0", *reach, cwd=tmp_path).stdout
        assert ("bob" in ranged, "ann" in ranged) == (True, False)
        assert run("top", "b", "--min", "much", *reach, cwd=tmp_path).returncode == 2
    finally:
        service.stop()
