"""Five leaderboard systems as their designs lay them out in Redis: the examples play them, a bare client looks at the keys."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.service.running import PATIENCE, Service, environment, refused, taken
from tests.support import redis_servers

EXAMPLES = Path(__file__).parents[2] / "examples"
HOUR, DAY = 3_600_000, 86_400_000
#: Milliseconds for which a scenario may last, and so a key's time to live may have run.
LONGEST = 60_000


@dataclass
class System:
    """An example's service on a Redis of its own, and a bare client of that Redis."""

    name: str
    service: Service
    redis: redis.Redis

    def play(self) -> str:
        """Run the example's script; gives what it printed."""
        script = [sys.executable, "-W", "error", str(EXAMPLES / self.name / "play.py"), self.service.url]
        done = subprocess.run(script, env=environment(), capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def backfill(self, board: str, *entries: dict[str, Any], **query: Any) -> dict[str, Any]:
        """Send a batch that counts in closed windows, too."""
        answer = self.service.client.post(
            f"/v1/boards/{board}/scores/batch", params={"backfill": "true", **query}, json={"scores": entries}
        )
        body = taken(answer)
        assert (body["accepted"], body["rejected"]) == (len(entries), [])
        return body

    def keys(self) -> set[str]:
        """All keys but those that Keepscore keeps for itself."""
        return {key.decode() for key in self.redis.scan_iter(count=1000) if not key.startswith(b"keepscore:")}

    def ranking(self, key: str) -> list[tuple[str, int]]:
        """The members and numbers of a sorted set, the highest first."""
        return [(member.decode(), int(number)) for member, number in self.numbers(key)]

    def numbers(self, key: str) -> list[tuple[bytes, float]]:
        found: list[tuple[bytes, float]] = self.redis.zrange(key, 0, -1, desc=True, withscores=True)
        assert all(number.is_integer() for _, number in found)
        return found

    def check_kept(self, ttl: int | None, *keys: str) -> None:
        """Check that keys, and those that belong to them, live for some time after the last score, or for ever."""
        for key in keys:
            assert self.redis.type(key) == b"zset", key
            for name in (key, f"keepscore:times:{key}", f"keepscore:dense:{key}"):
                left = self.redis.pttl(name)
                if name != key and left == -2:
                    continue
                assert left == -1 if ttl is None else ttl - LONGEST < left <= ttl, (name, left)

    def check_ledger(self) -> None:
        """Check that every ranking is what the ledger says."""
        for board in taken(self.service.client.get("/v1/boards"))["boards"]:
            found = taken(self.service.client.post(f"/v1/boards/{board['name']}/verify"))
            assert found["rankings"] > 0
            assert found["differences"] == []


@contextlib.contextmanager
def system(name: str, folder: Path) -> Iterator[System]:
    """Start Redis, and the service with the example's file."""
    # No day ends while a scenario is played.
    left = 86_400 - time.time() % 86_400
    if left < 20:
        time.sleep(left)
    with redis_servers.single() as server, server.client() as client:
        flags = "--config", str(EXAMPLES / name / "boards.toml"), "--engine", server.url, "--ledger", f"sqlite:///{folder}/{name}.db"
        service = Service(folder, "", *flags)
        try:
            yield System(name, service, client)
        finally:
            service.stop()


def ms(at: str) -> int:
    """A time in milliseconds since 1970."""
    return round(datetime.fromisoformat(at).timestamp() * 1000)


def test_points_in_projects(tmp_path: Path) -> None:
    with system("projects", tmp_path) as here:
        late = {"player_id": "104", "amount": 60, "at": "2025-10-21T10:00:00Z", "segments": {"project": "1"}}
        refused(here.service.post("points", "increments", late), 409, "2025-W43")
        here.backfill(
            "points",
            late,
            {"player_id": "101", "amount": 2, "at": "2025-10-23T10:00:00Z", "segments": {"project": "2"}},
            {"player_id": "101", "amount": 3, "at": "2025-10-23T10:00:00Z", "segments": {"project": "2"}},
        )
        printed = here.play()
        assert printed.splitlines()[0] == "7 contributions sent"
        receipt = here.service.increment("points", "105", 7, segments={"project": "1"})
        assert {name: window["score"] for name, window in receipt["windows"].items()} == dict.fromkeys(
            ["all_time", "weekly", "monthly", "yearly"], 7
        )

        expected = {
            "leaderboard:1:weekly:2025-w43": [("104", 60), ("101", 50), ("102", 25)],
            "leaderboard:1:monthly:2025-10": [("104", 60), ("101", 50), ("102", 25)],
            "leaderboard:1:yearly:2025": [("104", 60), ("101", 50), ("102", 25), ("103", 15)],
            "leaderboard:1:all_time": [("104", 60), ("101", 50), ("102", 25), ("103", 15), ("105", 7)],
            "leaderboard:2:weekly:2025-w43": [("103", 50), ("101", 5)],
            "leaderboard:2:monthly:2025-10": [("103", 50), ("102", 30), ("101", 5)],
            "leaderboard:2:yearly:2025": [("103", 50), ("102", 30), ("101", 5)],
            "leaderboard:2:all_time": [("101", 75), ("103", 50), ("102", 30)],
            "leaderboard:global:weekly:2025-w43": [("104", 60), ("101", 55), ("103", 50), ("102", 25)],
            "leaderboard:global:monthly:2025-10": [("104", 60), ("102", 55), ("101", 55), ("103", 50)],
            "leaderboard:global:yearly:2025": [("103", 65), ("104", 60), ("102", 55), ("101", 55)],
            "leaderboard:global:all_time": [("101", 125), ("103", 65), ("104", 60), ("102", 55), ("105", 7)],
        }
        assert {key: here.ranking(key) for key in expected} == expected
        assert all(key in printed for key in expected)
        now = datetime.now(UTC)
        present = {f"weekly:{now:%G-w%V}", f"monthly:{now:%Y-%m}", f"yearly:{now:%Y}"}
        new_year, autumn = {"weekly:2025-w01", "monthly:2024-12", "yearly:2024"}, {"weekly:2025-w40", "monthly:2025-09"}
        others = {"global": present | new_year | autumn | {"weekly:2025-w44"}, "1": present | autumn, "2": new_year | {"weekly:2025-w44"}}
        assert here.keys() == set(expected) | {f"leaderboard:{scope}:{window}" for scope in others for window in others[scope]}
        here.check_kept(None, *here.keys())

        assert here.play().splitlines()[0] == "7 contributions had been sent before"
        assert {key: here.ranking(key) for key in expected} == expected
        here.check_ledger()


def test_windows_ties_and_ranks_of_a_game(tmp_path: Path) -> None:
    daily, weekly, alltime = "game:leaderboard:daily:20240115", "game:leaderboard:weekly:2024W03", "game:leaderboard:alltime"
    with system("game", tmp_path) as here:
        here.backfill(
            "game",
            {"player_id": "charlie", "amount": 100, "at": "2024-01-15T08:10:00Z"},
            {"player_id": "alice", "amount": 60, "at": "2024-01-15T07:00:00Z"},
            {"player_id": "bob", "amount": 100, "at": "2024-01-15T08:00:00Z"},
            {"player_id": "alice", "amount": 40, "at": "2024-01-15T08:05:00Z"},
            {"player_id": "erin", "amount": 700, "at": "2024-01-21T23:59:59.999Z"},
        )
        assert alltime in here.play()
        monday = [
            ("player_1", 1500, "2024-01-15T09:00:00Z"),
            ("player_3", 1500, "2024-01-15T09:30:00Z"),
            ("player_2", 1300, "2024-01-15T10:05:00Z"),
            ("bob", 100, "2024-01-15T08:00:00Z"),
            ("alice", 100, "2024-01-15T08:05:00Z"),
            ("charlie", 100, "2024-01-15T08:10:00Z"),
        ]
        week = [*monday[:3], ("erin", 700, "2024-01-21T23:59:59.999Z"), *monday[3:]]

        # Score and the milliseconds since the window's start, reversed, in one number.
        for key, bits, standings in ((daily, 28, monday), (weekly, 30, week)):
            start, unit = ms("2024-01-15T00:00:00Z"), 2**bits
            assert here.ranking(key) == [(who, score * unit + unit - 1 - (ms(at) - start)) for who, score, at in standings]
        # Too long for one number: here the reversed time comes before the player's id.
        prefixes = [(2**48 - 1 - ms(at)).to_bytes(6, "big") for _, _, at in week]
        members = [(prefix + who.encode(), score) for prefix, (who, score, _) in zip(prefixes, week, strict=True)]
        assert here.numbers(alltime) == members
        times = {who.encode(): prefix for prefix, (who, _, _) in zip(prefixes, week, strict=True)}
        assert here.redis.hgetall(f"keepscore:times:{alltime}") == times
        assert here.keys() == {daily, weekly, alltime, "game:leaderboard:daily:20240121"}

        for kind, ranks in {"unique": [1, 2, 3, 4, 5, 6], "standard": [1, 1, 3, 4, 4, 4], "dense": [1, 1, 2, 3, 3, 3]}.items():
            top = here.service.get("game", "top", window="daily", window_id="2024-01-15", rank=kind)["standings"]
            assert [(one["player_id"], one["score"], one["rank"]) for one in top] == [
                (who, score, rank) for (who, score, _), rank in zip(monday, ranks, strict=True)
            ]
        place = here.service.get("game", "players/charlie", window="all_time")
        assert place["ranks"] == {"unique": 7, "standard": 5, "dense": 4}

        # One submission changes all windows, or none.
        receipt = here.service.increment("game", "dave", 50)
        now = datetime.now(UTC)
        today, this_week = f"game:leaderboard:daily:{now:%Y%m%d}", f"game:leaderboard:weekly:{now:%GW%V}"
        assert [(name, window["score"], window["rank"]) for name, window in receipt["windows"].items()] == [
            ("daily", 50, 1),
            ("weekly", 50, 1),
            ("all_time", 50, 8),
        ]
        assert [(who, number >> 28) for who, number in here.ranking(today)] == [("dave", 50)]
        assert [(who, number >> 30) for who, number in here.ranking(this_week)] == [("dave", 50)]
        (member, score) = here.numbers(alltime)[-1]
        assert (member[6:], score) == (b"dave", 50)
        keys = {daily, weekly, alltime, "game:leaderboard:daily:20240121", today, this_week}
        before = {key: here.numbers(key) for key in keys}
        refused(here.service.post("game", "increments", {"player_id": "dave", "amount": 1_000_000}), 422, "1000000")
        assert {key: here.numbers(key) for key in keys} == before
        assert here.keys() == keys

        here.check_kept(48 * HOUR, daily, "game:leaderboard:daily:20240121", today)
        here.check_kept(14 * DAY, weekly, this_week)
        here.check_kept(None, alltime)
        here.check_ledger()


def number(score: int, at: str, bits: int = 32, start: str = "1970-01-01T00:00:00Z") -> int:
    """A score and the seconds since a window's start, reversed, in one number."""
    return score * 2**bits + 2**bits - 1 - (ms(at) - ms(start)) // 1000


def population() -> list[tuple[str, int, str, str | None]]:
    """Those whom player 12345 meets, in their order: 41 that stay ahead, five that are passed, and 8153 behind."""
    found: list[tuple[str, int, str, str | None]] = [("99999", 15000, "2024-01-15T00:00:00Z", "us-east")]
    found += [(str(n), 1600 - n, "2024-01-15T09:00:00Z", "eu-west" if n % 2 else "us-east") for n in range(1, 41)]
    found += [(str(n), 1400, f"2024-01-15T09:30:0{n - 100}Z", "us-east") for n in range(100, 105)]
    # Equal scores in a minute: the earlier second is ahead.
    found += [(str(20000 + n), 1000 - n // 60, f"2024-01-15T08:00:{n % 60:02}Z", None) for n in range(8153)]
    return found


def test_a_platform_with_regions_and_its_own_routes(tmp_path: Path) -> None:
    base, day = "/api/v1/leaderboard", "leaderboard:daily:2024-01-15"
    with system("platform", tmp_path) as here:
        client = here.service.client
        others = population()
        entries = [
            {"player_id": who, "score": score, "at": at, **({"segments": {"region": region}} if region else {})}
            for who, score, at, region in reversed(others)
        ]
        own = {"player_id": "12345", "at": "2024-01-15T10:00:00Z", "segments": {"region": "us-east"}}
        here.backfill("global", *entries, {**own, "score": 1300})
        taken(client.put("/v1/players/99999", json={"name": "ProGamer"}))

        # The update answers with score and rank, and only a higher score counts.
        update = {"player_id": 12345, "score": 1500, "leaderboard_type": "global", "game_id": "abc123", "region": "us-east"}
        answer = taken(client.post(f"{base}/score", json=update))
        assert answer == {"player_id": 12345, "score": 1500, "rank": 42, "rank_change": 5, "percentile": 99.5}
        lower = taken(client.post(f"{base}/score", json={**update, "score": 500}))
        assert (lower["score"], lower["rank"], lower["rank_change"]) == (1500, 42, 0)
        refused(client.post(f"{base}/score", json={**update, "score": 1_000_001}), 422, "1000001")
        refused(client.post(f"{base}/score/increment", json={"player_id": 12345, "score_delta": 998_501}), 422, "1000001")
        # The same score, known to be from earlier: since then.
        here.backfill("global", {**own, "score": 1500, "at": "2024-01-15T10:30:00Z"})

        assert taken(client.get(f"{base}/rank/12345?type=global")) == {
            "player_id": 12345,
            "rank": 42,
            "score": 1500,
            "total_players": 8200,
            "percentile": 99.5,
        }
        top = taken(client.get(f"{base}/top?n=100&type=global"))
        assert (top["leaderboard_type"], top["total_players"], len(top["players"])) == ("global", 8200, 100)
        assert top["players"][0] == {"rank": 1, "player_id": 99999, "player_name": "ProGamer", "score": 15000, "rank_change": 0}
        around = taken(client.get(f"{base}/around/1000?range=50"))
        assert around["center_rank"] == 1000
        assert [one["rank"] for one in around["players"]] == list(range(950, 1051))

        ranked = [*others[:41], ("12345", 1500, "2024-01-15T10:30:00Z", "us-east"), *others[41:]]
        near = here.service.get("global", "players/12345", around=5)["around"]
        assert [(one["rank"], one["player_id"], one["score"]) for one in near] == [(rank, *ranked[rank - 1][:2]) for rank in range(37, 48)]

        # One number breaks ties by itself.
        assert here.ranking("leaderboard:global") == [(who, number(score, at)) for who, score, at, _ in ranked]
        assert here.ranking(day) == [(who, number(score, at, 18, "2024-01-15T00:00:00Z")) for who, score, at, _ in ranked]
        assert [(who, whole >> 32) for who, whole in here.ranking("leaderboard:global")[:2]] == [("99999", 15000), ("1", 1599)]
        for region in ("us-east", "eu-west"):
            expected = [(who, number(score, at)) for who, score, at, place in ranked if place == region]
            assert here.ranking(f"leaderboard:region:{region}") == expected
            expected = [(who, number(score, at, 18, "2024-01-15T00:00:00Z")) for who, score, at, place in ranked if place == region]
            assert here.ranking(f"{day}:region:{region}") == expected

        # The script's players come in among them: four of them and 99999 are ahead of its own, whose best of 1700 got 100 more.
        assert "number 6 of 8213" in here.play()
        today = f"leaderboard:daily:{datetime.now(UTC):%Y-%m-%d}"
        played = {str(500 + n): 1050 + 100 * n for n in range(12)} | {"777": 1800, "12345": 1500}
        in_order = sorted(played.items(), key=lambda one: -one[1])
        assert [(who, whole >> 18) for who, whole in here.ranking(today)] == in_order
        west = [(who, score) for who, score in in_order if who in ("500", "502", "504", "506", "508", "510")]
        assert [(who, whole >> 18) for who, whole in here.ranking(f"{today}:region:eu-west")] == west
        worldwide = {who: whole >> 32 for who, whole in here.ranking("leaderboard:global")}
        assert worldwide == {who: score for who, score, _, _ in ranked} | played

        lasting = {"leaderboard:global", "leaderboard:region:us-east", "leaderboard:region:eu-west"}
        days = {f"{key}{region}" for key in (day, today) for region in ("", ":region:us-east", ":region:eu-west")}
        friends = "leaderboard:friends:777"
        assert here.ranking(friends) == [("511", 2150), ("508", 1850), ("777", 1800), ("503", 1350)]
        assert 0 < here.redis.ttl(friends) <= 3600
        assert here.redis.hget("player:99999", "username") == b"ProGamer"
        known = here.keys()
        assert {key for key in known if not key.startswith("player:")} == lasting | days | {friends}
        here.check_kept(None, *lasting)
        here.check_kept(7 * DAY, *days)
        here.check_ledger()


def test_points_by_week_and_in_all(tmp_path: Path) -> None:
    total, week = "leaderboard:global", "leaderboard:weekly:2026-W18"
    with system("weekly_xp", tmp_path) as here:
        here.backfill(
            "xp",
            {"player_id": "kim", "amount": 30, "at": "2026-04-28T10:00:00Z"},
            {"player_id": "ada", "amount": 10, "at": "2026-04-30T10:00:00Z"},
            {"player_id": "kim", "amount": 45, "at": "2026-05-02T10:00:00Z"},
        )
        assert here.play().splitlines()[0] == "6 awards sent, 0 of them not for the first time"
        assert here.play().splitlines()[0] == "6 awards sent, 6 of them not for the first time"
        assert here.ranking(total) == [("ada", 205), ("ben", 140), ("eve", 80), ("kim", 75)]
        assert here.ranking(week) == [("ada", 85), ("eve", 80), ("ben", 80), ("kim", 75)]
        assert here.ranking("leaderboard:weekly:2026-W17") == [("ada", 120)]
        assert here.ranking("leaderboard:weekly:2026-W19") == [("ben", 60)]

        # Each award adds to both, and restarts the eight days.
        this_week = f"leaderboard:weekly:{datetime.now(UTC):%G-W%V}"
        for amount, points in ((100, 100), (25, 125), (-5, 120)):
            receipt = here.service.increment("xp", "ben", amount)
            assert (receipt["score"], receipt["windows"]["weekly"]["score"]) == (140 + points, points)
            assert here.redis.zscore(total, "ben") == 140 + points
            assert here.ranking(this_week) == [("ben", points)]
            here.check_kept(8 * DAY, this_week)
            here.redis.pexpire(this_week, HOUR)
        here.service.increment("xp", "kim", 1)
        assert here.ranking(this_week) == [("ben", 120), ("kim", 1)]

        top = here.service.get("xp", "top", limit=100)["standings"]
        assert [(one["rank"], one["player_id"], one["score"]) for one in top] == [
            (1, "ben", 260),
            (2, "ada", 205),
            (3, "eve", 80),
            (4, "kim", 76),
        ]
        assert here.redis.zrevrank(total, "ada") + 1 == here.service.get("xp", "players/ada")["rank"] == 2

        weeks = {week, "leaderboard:weekly:2026-W17", "leaderboard:weekly:2026-W19", this_week}
        assert here.keys() == {total, *weeks}
        here.check_kept(None, total)
        here.check_kept(8 * DAY, *weeks)
        here.check_ledger()


def test_a_puzzle_that_is_played_once_a_day(tmp_path: Path) -> None:
    day, week, xp = "lb:daily_frame:2025-02-22", "lb:daily_frame:week:2025-W08", "lb:alltime:xp"
    with system("daily_frame", tmp_path) as here:
        country = {"segments": {"country": "BR"}}
        here.backfill(
            "daily_frame",
            {"player_id": "lia", "score": 640, "at": "2025-02-22T11:00:00Z", **country},
            {"player_id": "lia", "score": 300, "at": "2025-02-23T23:59:59Z", **country},
            {"player_id": "lia", "score": 200, "at": "2025-02-24T00:00:00Z", **country},
        )
        printed = here.play()
        assert printed.splitlines()[0] == "6 games sent"
        assert all(key in printed for key in (day, f"{day}:country:BR", week, xp))
        # Lists show names, where players have some.
        assert "1. Ana  850   2. Rui  640   3. lia  640   4. Tom  500" in printed
        assert "1 won, 0 drawn, 0 lost" in printed
        assert here.ranking(day) == [("ana", 850), ("rui", 640), ("lia", 640), ("tom", 500)]
        assert here.ranking(f"{day}:country:BR") == [("ana", 850), ("rui", 640), ("lia", 640)]
        assert here.ranking(f"{day}:country:US") == [("tom", 500)]
        # The sum over the days; the game that was not the day's first counts for experience only.
        assert here.ranking(week) == [("ana", 1550), ("tom", 1400), ("lia", 940), ("rui", 640)]
        days = [f"lb:daily_frame:2025-02-{date}" for date in range(17, 24)]
        unions = here.redis.zunion(days, aggregate="SUM", withscores=True)
        assert sorted(unions) == sorted(here.numbers(week))
        assert here.ranking(xp) == [("rui", 1590), ("ana", 1550), ("tom", 1400), ("lia", 1140)]
        # A win of 16 between equals, a draw that gives 1 to the weaker one, and a win of 15 over the weaker one.
        duels = "lb:duels:elo"
        assert here.ranking(duels) == [("rui", 1016), ("ana", 1015), ("tom", 969)]
        assert here.service.get("duels", "players/ana/matches")["total"] == 2
        place = here.service.get("daily_frame", "players/lia", window_id="2025-02-22", around=5)
        assert (place["rank"], place["total_players"], len(place["around"])) == (3, 4, 4)

        # A second game of a day changes nothing on the day's board.
        today = f"lb:daily_frame:{datetime.now(UTC):%Y-%m-%d}"
        first = here.service.submit("daily_frame", "zoe", 400, **country)
        assert (first["score"], first["rank"], first["updated"]) == (400, 1, True)
        again = here.service.submit("daily_frame", "zoe", 999, **country)
        assert (again["score"], again["rank"], again["updated"]) == (400, 1, False)
        assert here.ranking(today) == here.ranking(f"{today}:country:BR") == [("zoe", 400)]
        assert here.redis.zscore(xp, "zoe") == 1399

        # Three games on one day: the first counts, that day and that week; all of them count for experience.
        this_week = f"lb:daily_frame:week:{datetime.now(UTC):%G-W%V}"
        for score in (700, 900, 100):
            here.service.submit("daily_frame", "max", score, **country)
        assert (here.redis.zscore(today, "max"), here.redis.zscore(this_week, "max"), here.redis.zscore(xp, "max")) == (700, 700, 1700)
        dates = {f"lb:daily_frame:2025-02-{date}" for date in (21, 22, 23, 24)} | {today}
        countries = {f"{date}:country:BR" for date in dates} | {f"lb:daily_frame:2025-02-{date}:country:US" for date in (21, 22)}
        weeks = {week, "lb:daily_frame:week:2025-W09", this_week}
        assert here.keys() == {*dates, *countries, *weeks, xp, duels}
        here.check_kept(7 * DAY, *dates, *countries)
        here.check_kept(None, xp, duels, this_week)
        here.check_ledger()

        # Weeks expire thirty days after their end, once they are archived, and are read from the archive then.
        before = datetime.now(UTC) - timedelta(days=7)
        last_week = f"lb:daily_frame:week:{before:%G-W%V}"
        here.backfill("daily_frame", {"player_id": "lia", "score": 50, "at": before.isoformat()})
        taken(here.service.client.post("/v1/keeper/run", json={}))
        assert not {week, "lb:daily_frame:week:2025-W09"} & here.keys()
        found = here.service.get("daily_frame_week", "top", window_id="2025-W08")
        assert (found["archived"], found["standings"][0]["player_id"], found["standings"][0]["score"]) == (True, "ana", 1550)
        left = here.redis.pttl(last_week)
        ended = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=datetime.now(UTC).weekday())
        assert abs(left - ((ended - datetime.now(UTC)).total_seconds() * 1000 + 30 * DAY)) < LONGEST
        here.check_ledger()


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*/play.py")), ids=lambda path: path.parent.name)
def test_every_system_is_listed_and_short(script: Path) -> None:
    assert f"({script.parent.name}/)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert len(script.read_text(encoding="utf-8").splitlines()) < 70
