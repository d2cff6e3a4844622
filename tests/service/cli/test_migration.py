"""Sorted sets of other systems become rankings: each its own, all of them at once, and nothing is moved before all is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.service.redis_places import on
from tests.service.running import Service, run
from tests.support.redis_servers import RedisServer, single

TODAY = datetime.now(UTC)
WEEK, WEEK_BEFORE = (f"{day:%G-W%V}" for day in (TODAY, TODAY - timedelta(days=7)))
#: The keys of experience points: the total, this week's, and last week's.
GLOBAL, WEEKLY, PAST = "leaderboard:global", f"leaderboard:weekly:{WEEK}", f"leaderboard:weekly:{WEEK_BEFORE}"

XP = """
[[board]]
name = "xp"
operator = "sum"
ties = "player"

[board.windows.all_time]
key = "leaderboard:global"

[board.windows.weekly]
key = "leaderboard:weekly:{start:%G-W%V}"
ttl = "8d"
"""
PROJECTS = """
[[board]]
name = "points"
operator = "sum"
ties = "player"
segments = ["project"]

[board.windows.all_time]
key = "leaderboard:global:all_time"
segment_key = "leaderboard:{value}:all_time"

[board.windows.weekly]
key = "leaderboard:global:weekly:{start:%G-w%V}"
segment_key = "leaderboard:{value}:weekly:{start:%G-w%V}"

[board.windows.monthly]
key = "leaderboard:global:monthly:{start:%Y-%m}"
segment_key = "leaderboard:{value}:monthly:{start:%Y-%m}"

[board.windows.yearly]
key = "leaderboard:global:yearly:{start:%Y}"
segment_key = "leaderboard:{value}:yearly:{start:%Y}"
"""
FRAME = """
[[board]]
name = "frame"
operator = "best"
ties = "player"
also = ["xp"]

[board.windows.daily]
key = "lb:frame:{start:%Y-%m-%d}"

[[board]]
name = "xp"
operator = "sum"

[[board]]
name = "timed"
operator = "best"
windows = ["all_time", "weekly"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """A Redis for this file: tests empty it."""
    with single() as running:
        yield running


class Migration:
    """A Redis with sorted sets, and the command line beside it."""

    def __init__(self, server: RedisServer, directory: Path) -> None:
        self.server, self.directory = server, directory
        server.ask("FLUSHALL")

    def configure(self, boards: str) -> None:
        config = f'[ledger]\nurl = "sqlite:///{self.directory}/scores.db"\n' + on(self.server.url, boards)
        (self.directory / "keepscore.toml").write_text(config, encoding="utf-8")

    def fill(self, sets: dict[str, dict[str, float]]) -> None:
        with self.server.client() as client:
            for key, members in sets.items():
                client.zadd(key, members)

    def sets(self) -> dict[str, dict[str, float]]:
        """All sorted sets but those that Keepscore names its own."""
        with self.server.client() as client:
            keys = [key for key in client.scan_iter(_type="zset") if not key.startswith(b"keepscore:")]
            return {key.decode(): {m.decode(): s for m, s in client.zrange(key, 0, -1, withscores=True)} for key in keys}

    def run(self, board: str, *flags: str) -> CompletedProcess[str]:
        done = run("import", self.server.url, "--board", board, *flags, cwd=self.directory)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def told(self, board: str, *flags: str) -> Any:
        done = self.run(board, "--json", *flags)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def refusal(self, board: str, *flags: str) -> str:
        before = self.sets()
        done = self.run(board, *flags)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert self.sets() == before
        return done.stderr

    def scores(self, board: str, *ranking: str) -> dict[str, float]:
        done = run("export", board, "--format", "jsonl", *ranking, cwd=self.directory)
        assert done.returncode == 0, done.stderr
        return {row["player_id"]: row["score"] for row in map(json.loads, done.stdout.splitlines())}

    def verify(self) -> None:
        for command in ("verify", "rebuild", "verify"):
            done = run(command, cwd=self.directory)
            assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def migration(server: RedisServer, tmp_path: Path) -> Migration:
    return Migration(server, tmp_path)


SETS = {GLOBAL: {"ada": 5000.0, "ben": 3000.0}, WEEKLY: {"ada": 50.0}, PAST: {"cy": 7.0, "ada": 1.0}}


def test_each_key_becomes_exactly_its_own_ranking(migration: Migration) -> None:
    migration.configure(XP)
    migration.fill(SETS)
    assert migration.told("xp", "--key", "leaderboard:*")["imported"] == 5
    for _ in range(2):
        assert migration.scores("xp") == SETS[GLOBAL]
        assert migration.scores("xp", "--window", "weekly") == SETS[WEEKLY]
        assert migration.scores("xp", "--window", "weekly", "--window-id", WEEK_BEFORE) == SETS[PAST]
        assert migration.sets() == SETS, "other programs find what they had"
        migration.verify()


def test_a_dry_run_shows_which_key_becomes_which_ranking(migration: Migration) -> None:
    migration.configure(XP)
    migration.fill(SETS)
    told = migration.told("xp", "--key", "leaderboard:*", "--dry-run")
    assert (told["new"], told["other_score"], told["same_score"], told["rejected"]) == (5, 0, 0, [])
    assert [(row["key"], row["window"], row["window_id"], row["segment"], row["new"]) for row in told["rankings"]] == [
        (GLOBAL, "all_time", "all_time", "", 2),
        (PAST, "weekly", WEEK_BEFORE, "", 2),
        (WEEKLY, "weekly", WEEK, "", 1),
    ]
    shown = migration.run("xp", "--key", GLOBAL, "--key", WEEKLY, "--dry-run").stdout
    assert all(words in " ".join(shown.split()) for words in (f"{GLOBAL} all_time 2", f"{WEEKLY} weekly {WEEK} 1", "Nothing was changed"))
    assert migration.sets() == SETS


def test_opening_balances_are_events_with_a_scope_and_a_label(migration: Migration) -> None:
    migration.configure(XP)
    migration.fill({WEEKLY: {"ada": 50.0}})
    migration.told("xp", "--key", WEEKLY)
    done = run("events", "ada", "--json", cwd=migration.directory)
    (event,) = json.loads(done.stdout)[0]["events"]
    assert (event["amount"], event["scope"]) == (50, {"windows": ["weekly"], "segment": ""})
    assert event["metadata"] == {"source": migration.server.url, "key": WEEKLY}


def test_keys_may_be_imported_one_after_the_other(migration: Migration) -> None:
    migration.configure(XP)
    migration.fill(SETS)
    done = migration.run("xp", "--key", GLOBAL)
    assert (done.returncode, "takes no scores" in done.stderr, WEEKLY in done.stderr) == (0, True, True), done.stderr
    assert migration.scores("xp") == SETS[GLOBAL]
    assert migration.sets() == SETS
    refusal = run("increment", "xp", "ada", "5", cwd=migration.directory)
    assert (refusal.returncode, WEEKLY in refusal.stderr) == (2, True), refusal.stderr
    done = migration.run("xp", "--key", WEEKLY)
    assert (done.returncode, done.stderr) == (0, "")
    assert migration.scores("xp", "--window", "weekly") == SETS[WEEKLY]
    # What is imported is left out of a pattern; without one, there is nothing to take over.
    assert [row["key"] for row in migration.told("xp", "--key", "leaderboard:*")["rankings"]] == [PAST]
    for keys in (GLOBAL, "leaderboard:*"):
        assert "nothing to take over" in migration.refusal("xp", "--key", keys)
    assert migration.scores("xp") == SETS[GLOBAL]
    assert migration.scores("xp", "--window", "weekly", "--window-id", WEEK_BEFORE) == SETS[PAST]
    assert migration.sets() == SETS
    migration.verify()


def test_keys_of_four_windows_and_of_segments(migration: Migration) -> None:
    migration.configure(PROJECTS)
    week, month, year = f"{TODAY:%G-w%V}", f"{TODAY:%Y-%m}", f"{TODAY:%Y}"
    sets = {
        f"leaderboard:{who}:{window}": {"u1": 10.0 * size + place, "u2": float(size)}
        for size, who in enumerate(("global", "1", "2"), 1)
        for place, window in enumerate(("all_time", f"weekly:{week}", f"monthly:{month}", f"yearly:{year}"))
    }
    migration.fill(sets)
    assert migration.told("points", "--key", "leaderboard:*")["imported"] == 24
    assert migration.sets() == sets
    assert migration.scores("points", "--window", "monthly") == sets[f"leaderboard:global:monthly:{month}"]
    assert migration.scores("points", "--window", "yearly", "--segment", "project:2") == sets[f"leaderboard:2:yearly:{year}"]
    service = Service(migration.directory, on(migration.server.url, PROJECTS), ledger=f"sqlite:///{migration.directory}/scores.db")
    try:
        service.increment("points", "u1", 5, segments={"project": "2"})
        after = migration.sets()
        grown = {key for key in sets if after[key] != sets[key]}
        assert grown == {key for key in sets if key.startswith(("leaderboard:global:", "leaderboard:2:"))}
        assert after["leaderboard:2:all_time"]["u1"] == sets["leaderboard:2:all_time"]["u1"] + 5
    finally:
        service.stop()
    migration.verify()


def test_an_older_day_is_not_credited_to_today_nor_to_linked_boards(migration: Migration) -> None:
    migration.configure(FRAME)
    past = f"{TODAY - timedelta(days=3):%Y-%m-%d}"
    migration.fill({f"lb:frame:{past}": {"ada": 900.0}})
    assert migration.told("frame", "--key", f"lb:frame:{past}")["imported"] == 1
    assert migration.scores("frame", "--window-id", past) == {"ada": 900}
    assert migration.scores("frame") == {}
    assert migration.scores("xp") == {}
    migration.verify()


def test_a_key_of_no_ranking_has_to_be_given_one(migration: Migration) -> None:
    migration.configure(XP)
    migration.fill({"old:week": {"ada": 9.0}})
    refusal = migration.refusal("xp", "--key", "old:week")
    assert all(word in refusal for word in ("'old:week'", "no ranking", "--window-id")), refusal
    assert "no window 'daily'" in migration.refusal("xp", "--key", "old:week", "--window", "daily")
    migration.fill({"old:other": {"ada": 1.0}})
    assert "2 keys" in migration.refusal("xp", "--key", "old:*", "--window", "weekly")
    told = migration.told("xp", "--key", "old:week", "--window", "weekly", "--window-id", WEEK_BEFORE)
    assert [(row["window"], row["window_id"]) for row in told["rankings"]] == [("weekly", WEEK_BEFORE)]
    assert migration.scores("xp", "--window", "weekly", "--window-id", WEEK_BEFORE) == {"ada": 9}
    assert migration.scores("xp") == {}
    past = TODAY - timedelta(days=14)
    told = migration.told("xp", "--key", "old:week", "--window", "weekly", "--at", past.isoformat())
    assert told["rankings"][0]["window_id"] == f"{past:%G-W%V}"
    migration.verify()


def test_composite_numbers_are_taken_apart(migration: Migration) -> None:
    """Equal scores, of which the earlier one is ahead: the number says both."""
    migration.configure(FRAME)
    first, second = int(TODAY.timestamp()) - 500, int(TODAY.timestamp()) - 400
    migration.fill({"old": {"late": 1500 * 2**32 + 2**32 - second, "early": 1500 * 2**32 + 2**32 - first, "low": 3 * 2**32 + 1}})
    formulas = "--score", "floor(score / 2**32)", "--since", "2**32 - score % 2**32"
    done = migration.run("timed", "--key", "old", "--window", "all_time", *formulas, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["imported"], [(bad["key"], bad["member"]) for bad in told["rejected"]]) == (2, [("old", "low")])
    assert "future" in told["rejected"][0]["detail"]
    assert list(migration.scores("timed")) == ["early", "late"]
    assert migration.scores("timed") == {"early": 1500, "late": 1500}
    assert "write one in score" in migration.refusal("timed", "--key", "old", "--score", "score +")
    assert "leave one of them out" in migration.refusal("timed", "--key", "old", "--at", TODAY.isoformat(), "--since", "score")


def test_a_file_takes_none_of_that(migration: Migration) -> None:
    migration.configure(XP)
    (migration.directory / "scores.csv").write_text("player,score\nada,1\n")
    done = run("import", "scores.csv", "--board", "xp", "--window", "weekly", cwd=migration.directory)
    assert (done.returncode, "--window is for a sorted set" in done.stderr) == (2, True)


def test_a_second_import_brings_what_has_changed(migration: Migration) -> None:
    migration.configure(FRAME)
    migration.fill({"old": {"ada": 5.0, "ben": 3.0}})
    for changes, imported in ({}, 2), ({}, 0), ({"ada": 9.0}, 1):
        migration.fill({"old": changes} if changes else {})
        assert migration.told("xp", "--key", "old")["imported"] == imported
    assert migration.scores("xp") == {"ada": 9, "ben": 3}
    migration.verify()


def test_boards_that_need_each_other_are_imported_one_after_the_other(migration: Migration) -> None:
    """Neither can be opened while the other's key holds a set."""
    today = f"lb:frame:{TODAY:%Y-%m-%d}"
    migration.configure(FRAME.replace('operator = "sum"\n', 'operator = "sum"\nties = "player"\n[board.windows.all_time]\nkey = "lb:xp"\n'))
    sets = {today: {"ada": 5.0}, "lb:xp": {"ada": 700.0}}
    migration.fill(sets)
    assert "'xp'" in migration.refusal("frame", "--key", today)
    assert migration.told("xp", "--key", "lb:xp")["imported"] == 1
    assert migration.told("frame", "--key", today)["imported"] == 1
    assert (migration.scores("xp"), migration.scores("frame"), migration.sets()) == ({"ada": 700}, {"ada": 5}, sets)
    migration.verify()
