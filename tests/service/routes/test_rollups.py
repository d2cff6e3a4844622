"""Roll-ups over HTTP."""

from __future__ import annotations

import itertools

from tests.service.running import Service, refused, taken

_numbers = itertools.count(1)


def test_a_week_is_made_from_its_days(service: Service) -> None:
    number = next(_numbers)
    day = service.define(f"rolled-day-{number}", operator="sum", windows=["daily", "weekly"])
    rollup = {"of": [day], "window": "daily", "into": "weekly", "weights": {day: 2}}
    week = service.define(f"rolled-week-{number}", windows=["weekly"], rollup=rollup)
    shown = taken(service.client.get(f"/v1/boards/{week}"))
    assert shown["rollup"] == {**rollup, "aggregate": "sum", "best": None}
    assert taken(service.client.put(f"/v1/boards/{week}", json=shown))["version"] == 1
    service.increment(day, "alice", 5)
    assert service.get(week, "players/alice")["score"] == 10
    service.increment(day, "alice", 1)
    service.increment(day, "bob", 7)
    assert service.order(week) == ["bob", "alice"]
    assert [standing["score"] for standing in service.get(week, "top")["standings"]] == [14, 12]
    refused(service.post(week, "scores", {"player_id": "alice", "score": 1}), 409, "made from", day)
    batch = taken(service.post(week, "scores/batch", {"scores": [{"player_id": "alice", "score": 1}]}))
    assert [rejected["type"] for rejected in batch["rejected"]] == ["urn:keepscore:rolled-up"]
    refused(service.client.post(f"/v1/boards/{week}/reset"), 409, "made from")
    refused(service.client.delete(f"/v1/boards/{day}"), 409, week)
    refused(service.client.put("/v1/boards/no-week", json={"windows": ["weekly"], "rollup": {**rollup, "of": ["no-day"]}}), 422, "no-day")
    for name in (day, week):
        assert taken(service.client.post(f"/v1/boards/{name}/verify"))["differences"] == []
