"""Leagues over HTTP and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.service.running import Service, refused, run, taken

LEAGUE = {"tiers": ["bronze", "silver"], "cohort": {"target": 3, "min": 2}, "promote": [1], "demote": [1], "window": "yearly"}
BOARD = {"operator": "sum", "windows": ["all_time", "yearly", "daily"], "league": LEAGUE}


@pytest.fixture(scope="module")
def ladder(service: Service) -> Service:
    service.define("leagued", **BOARD)
    batch = [{"player_id": f"p{i}", "amount": 10 + i} for i in range(4)]
    taken(service.client.post("/v1/boards/leagued/scores/batch", json={"scores": batch}))
    return service


def test_a_player_sees_the_cohort(ladder: Service) -> None:
    found = taken(ladder.client.get("/v1/boards/leagued/leagues/p1"))
    assert [found[name] for name in ("tier", "cohort", "zone", "to_promotion", "to_safety")] == ["bronze", "bronze-1", "safe", 2, 0]
    assert [(one["player_id"], one["zone"]) for one in found["standings"]] == [("p2", "promotion"), ("p1", "safe"), ("p0", "safe")]
    assert found["ends"].endswith("-01-01T00:00:00Z")
    for path in ("top?segment=cohort:bronze-1", "top?segment=cohort:bronze-1&window=yearly"):
        top = taken(ladder.client.get(f"/v1/boards/leagued/{path}"))
        assert [one["player_id"] for one in top["standings"]] == ["p2", "p1", "p0"]
    taken(ladder.client.post("/v1/boards/leagued/increments", json={"player_id": "p0", "amount": 90}))
    top = taken(ladder.client.get("/v1/boards/leagued/top?segment=cohort:bronze-1"))
    assert [one["player_id"] for one in top["standings"]] == ["p0", "p2", "p1"]
    assert taken(ladder.client.get("/v1/boards/leagued/players/p3?segment=cohort:bronze-2&window=yearly"))["rank"] == 1
    view = taken(ladder.client.get("/v1/boards/leagued/view?player_id=p1&windows=yearly&segment=cohort:bronze-1"))
    assert [one["player_id"] for one in view["windows"]["yearly"]["top"]] == ["p0", "p2", "p1"]
    assert taken(ladder.client.get("/v1/boards/leagued/leagues/p1/history?limit=3"))["seasons"][0]["cohort"] == "bronze-1"


def test_what_is_refused(ladder: Service) -> None:
    ladder.define("unleagued")
    refused(ladder.client.get("/v1/boards/unleagued/leagues/p1"), 404, "no league")
    refused(ladder.client.get("/v1/boards/nowhere/leagues/p1"), 404)
    refused(ladder.client.get("/v1/boards/leagued/leagues/p1/history?limit=0"), 422, "limit")
    refused(ladder.client.get("/v1/boards/leagued/top?segment=cohort:nobody"), 404, "cohort")
    refused(ladder.client.get("/v1/live?board=leagued&window=yearly&segment=cohort:bronze-1"), 422, "cannot be followed")
    refused(ladder.client.put("/v1/boards/forever", json={**BOARD, "windows": ["all_time"]}), 422, "no window that closes")
    refused(ladder.client.put("/v1/boards/forever", json={**BOARD, "league": {**LEAGUE, "promote": ["x"]}}), 422, "promote")
    refused(ladder.client.put("/v1/boards/forever", json={**BOARD, "league": 5}), 422, "league")
    for body in ({"league": {}}, {"league": LEAGUE, "windows": 0}, {"league": LEAGUE, "more": 1}, {}):
        refused(ladder.client.post("/v1/boards/leagued/leagues/simulate", json=body), 422)


def test_on_the_command_line(ladder: Service, tmp_path: Path) -> None:
    def keepscore(*words: str, code: int = 0) -> str:
        done = run("leagues", *words, "--url", ladder.url, cwd=tmp_path)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        return done.stdout

    assert "bronze-2" in keepscore("show", "leagued", "p3")
    assert json.loads(keepscore("show", "leagued", "p3", "--json"))["tier"] == "bronze"
    assert "bronze-2" in keepscore("history", "leagued", "p3")
    past = [{"player_id": f"p{i}", "amount": i + 1, "at": f"2026-01-0{day}T12:00:00Z"} for day in (5, 6) for i in range(7)]
    taken(ladder.client.post("/v1/boards/leagued/scores/batch?backfill=true", json={"scores": past}))
    table = '{tiers = ["low", "high"], promote = ["50%"], cohort = {target = 4}, window = "daily"}'
    shown = keepscore("simulate", "leagued", "--league", table, "--windows", "520")
    assert "2026-01-05" in shown
    assert "churn: " in shown
    found = json.loads(
        keepscore("simulate", "leagued", "--league", json.dumps({**LEAGUE, "window": "daily"}), "--windows", "520", "--json")
    )
    assert [(one["players"], one["cohort_sizes"]) for one in found["seasons"]] == [(7, [3, 4]), (7, [2, 2, 3])]
    keepscore("simulate", "leagued", "--league", "{tiers", code=2)
    keepscore("simulate", "leagued", "--league", "5", code=2)
    keepscore("show", "unleagued", "p3", code=2)
