"""Events that are folded and dropped, as the command line and the service tell of them."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyarrow import parquet

from keepscore import Board, Leaderboards
from tests.service.running import Service, refused, run, taken

DAY = 86_400_000
BOARD = """
[[board]]
name = "xp"
operator = "sum"
windows = ["all_time", "monthly"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with scores of every tenth day since 150 days ago."""
    now = time.time_ns() // 1_000_000
    clock = [now - 150 * DAY]

    async def fill() -> None:
        boards = [Board("xp", operator="sum", windows=["all_time", "monthly"])]
        async with Leaderboards.open(f"sqlite:///{tmp_path / 'scores.db'}", boards=boards, clock=lambda: clock[0]) as lb:
            while clock[0] < now:
                await lb.increment("xp", "ann", 1)
                clock[0] += 10 * DAY

    asyncio.run(fill())
    (tmp_path / "keepscore.toml").write_text(f'[ledger]\nurl = "sqlite:///scores.db"\nkeep_events = "31d"\n{BOARD}')
    return tmp_path


def done(folder: Path, *arguments: str) -> str:
    ended = run(*arguments, cwd=folder)
    assert ended.returncode == 0, (arguments, ended.stdout, ended.stderr)
    return ended.stdout


def test_the_command_line_tells_what_is_left(folder: Path) -> None:
    done(folder, "export-events", "--output", "lake")
    months = {file.name: file.read_bytes() for file in (folder / "lake").iterdir()}
    assert "dropped " in done(folder, "keeper", "run-once")
    assert "drop events" in done(folder, "keeper", "status")
    told = done(folder, "events", "ann")
    assert "board xp: some events from before" in told
    assert "were folded and dropped" in told
    assert "15" in done(folder, "top", "xp")
    done(folder, "verify", "xp")
    done(folder, "rebuild", "xp")
    assert "15" in done(folder, "top", "xp")
    done(folder, "export-events", "--output", "lake")
    after = {file.name: file.read_bytes() for file in (folder / "lake").iterdir()}
    assert after.keys() == months.keys()
    assert after[min(months)] == months[min(months)]
    assert sum(parquet.read_table(file).num_rows for file in (folder / "lake").iterdir()) == 15
    assert "dropped" not in done(folder, "keeper", "run-once")


def test_what_the_service_refuses(folder: Path) -> None:
    done(folder, "keeper", "run-once")
    service = Service(folder, f'keep_events = "31d"\n{BOARD}')
    try:
        old = datetime.fromtimestamp(time.time() - 140 * 86_400, UTC)
        events = taken(service.client.get("/v1/boards/xp/events"))
        assert events["complete_from"].endswith("-01T00:00:00Z")
        batch = {"scores": [{"player_id": "bob", "amount": 1, "at": old.isoformat()}]}
        answer = taken(service.client.post("/v1/boards/xp/scores/batch?backfill=true", json=batch))
        assert (answer["accepted"], answer["rejected"][0]["type"]) == (0, "urn:keepscore:invalid-time")
        changed = {"operator": "last", "windows": ["all_time", "monthly"]}
        refused(service.client.put("/v1/boards/xp", json=changed), 409, "Create a new board")
        refused(service.client.get("/v1/boards/xp/as-of", params={"at": old.isoformat()}), 404, "folded and dropped")
        path = f"/v1/boards/xp/windows/monthly/{old:%Y-%m}/revise"
        refused(service.client.post(path, json={"reason": "why not"}), 404, "can no longer be corrected")
        assert taken(service.client.get("/v1/boards/xp/events")) == events
    finally:
        service.stop()
