"""What is archived of three of the example systems, read as a person would: with SQL, from the view `archived_standings`."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.service.running import run, taken
from tests.service.test_example_systems import System, system


def rows(folder: Path, here: System, columns: str, where: str) -> list[Any]:
    """Archived standings, in order."""
    with closing(sqlite3.connect(folder / f"{here.name}.db")) as database:
        return database.execute(f"SELECT {columns} FROM archived_standings WHERE {where} ORDER BY window_id, segment, rank").fetchall()


def run_once(folder: Path, here: System, now: str | None = None) -> dict[str, Any]:
    """Let the keeper do its jobs as of a moment; what each did."""
    done = run("keeper", "run-once", "--json", "--url", here.service.url, *(["--now", now] if now else []), cwd=folder)
    assert done.returncode == 0, done.stderr
    jobs = {job["name"]: job for job in taken(here.service.client.get("/v1/keeper"))["jobs"]}
    assert [name for name, job in jobs.items() if job["error"]] == []
    return jobs


def test_only_all_time_is_snapshotted_per_project_and_over_all(tmp_path: Path) -> None:
    with system("projects", tmp_path) as here:
        here.play()
        jobs = run_once(tmp_path, here)
        assert jobs["snapshot"]["result"] == "snapshots of points all_time"
        assert jobs["close"]["result"].startswith("closed ")
        midnight = time.time() // 86_400 * 86_400
        found = rows(tmp_path, here, '"window", segment, kind, number, players, rank, player, score', "board = 'points'")
        assert found == [
            ("all_time", segment, "snapshot", midnight, len(standings), rank, player, score)
            for segment, standings in {
                "": [("101", 120), ("103", 65), ("102", 55)],
                "project:1": [("101", 50), ("102", 25), ("103", 15)],
                "project:2": [("101", 70), ("103", 50), ("102", 30)],
            }.items()
            for rank, (player, score) in enumerate(standings, 1)
        ]
        # Once.
        run_once(tmp_path, here)
        assert rows(tmp_path, here, '"window", segment, kind, number, players, rank, player, score', "board = 'points'") == found


def test_the_top_of_the_week_before_on_monday_at_midnight(tmp_path: Path) -> None:
    with system("weekly_xp", tmp_path) as here:
        here.play()
        here.backfill("xp", *({"player_id": f"u{n:04}", "amount": 1, "at": "2026-05-02T00:00:00Z"} for n in range(1100)))
        run_once(tmp_path, here, "2026-05-03T23:59:59Z")
        assert rows(tmp_path, here, "window_id, rank, player, score, taken", "kind = 'closed'") == [
            ("2026-W17", 1, "ada", 120, "2026-04-27 00:00:00")
        ]
        run_once(tmp_path, here, "2026-05-04T00:00:00Z")
        week = rows(tmp_path, here, "rank, player, score, players, taken", "window_id = '2026-W18'")
        assert [row[:3] for row in week[:4]] == [(1, "eve", 80), (2, "ben", 80), (3, "ada", 75), (4, "u1099", 1)]
        assert (len(week), {row[3:] for row in week}) == (1000, {(1103, "2026-05-04 00:00:00")})
        assert rows(tmp_path, here, "since", "window_id = '2026-W18' AND player = 'eve'") == [("2026-05-01 07:45:00",)]
        assert rows(tmp_path, here, "rank", "window_id = '2026-W19'") == []


def test_the_top_hundred_of_each_week(tmp_path: Path) -> None:
    with system("daily_frame", tmp_path) as here:
        here.backfill("daily_frame", *({"player_id": f"u{n:03}", "score": n, "at": "2026-05-01T12:00:00Z"} for n in range(120)))
        run_once(tmp_path, here)
        found = rows(tmp_path, here, "rank, player, score", "board = 'daily_frame_week' AND kind = 'closed'")
        assert found == [(rank, f"u{120 - rank:03}", 120 - rank) for rank in range(1, 101)]
