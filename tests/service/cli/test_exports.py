"""Standings and events as Parquet, and the commands that look back."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pyarrow import parquet

from keepscore.cli.parquet import EventFiles
from keepscore.domain.results.reports import BoardEvent
from keepscore.errors import ConfigError
from keepscore.storage.ledgers.archives import Archived
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.service.running import Service, run

BOARDS = """
[[board]]
name = "days"
windows = ["daily", "all_time"]
decimals = 2

[[board]]
name = "xp"
operator = "sum"
segments = ["region"]
"""
CONFIG = f'[ledger]\nurl = "sqlite:///scores.db"\n{BOARDS}'


def done(folder: Path, *arguments: str, code: int = 0) -> str:
    """What a command prints."""
    ended = run(*arguments, cwd=folder)
    assert ended.returncode == code, (arguments, ended.stdout, ended.stderr)
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.stderr if code else ended.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger without a service, with scores of two months, and one archived day."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "keepscore.toml").write_text(CONFIG)
    (folder / "days.csv").write_text("player,score,at\n" + "".join(f"p{n},{n}.25,2026-01-01T00:00:00Z\n" for n in range(1200)))
    (folder / "xp.csv").write_text("player,amount,at,segments,game_id\nann,5,2026-02-01T00:00:00Z,region:eu,g1\nbob,-7,,,\n")
    for board in ("days", "xp"):
        done(folder, "import", f"{board}.csv", "--board", board)
    return folder


async def archive(ledger: Path, board: int, slot: Slot, rows: list[Archived], players: int) -> None:
    """Archive a day as the keeper does."""
    opened = SqliteLedger(str(ledger))
    await opened.open(0)
    begun = await opened.archives.begin(board, slot, "closed", 1, 1_767_312_000_000)
    await opened.archives.write(begun, rows)
    await opened.archives.finish(begun, players, len(rows), "digest")
    await opened.close()


def rows_of(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
    return found


def test_standings_as_parquet(folder: Path) -> None:
    done(folder, "export", "days", "--window", "all_time", "--format", "parquet", "--output", "days.parquet")
    rows = rows_of(folder / "days.parquet")
    assert [row["rank"] for row in rows] == list(range(1, 1201))
    assert rows[0] == {
        "rank": 1,
        "player_id": "p1199",
        "name": None,
        "score": Decimal("1199.25"),
        "since": datetime(2026, 1, 1, tzinfo=UTC),
    }
    done(folder, "export", "xp", "--format", "parquet", "-o", "xp.parquet")
    assert [(row["player_id"], row["score"]) for row in rows_of(folder / "xp.parquet")] == [("ann", 5), ("bob", -7)]
    assert not list(folder.glob(".*.partial"))


def test_what_cannot_be_exported(folder: Path) -> None:
    assert "--output" in done(folder, "export", "xp", "--format", "parquet", code=2)
    assert "nothing" in done(folder, "export", "nothing", "--format", "parquet", "--output", "x.parquet", code=2)
    assert not (folder / "x.parquet").exists()
    for kind in ("csv", "parquet"):
        assert "no/such/file cannot be written" in done(folder, "export", "xp", "--format", kind, "--output", "no/such/file", code=2)
    assert "xp.csv cannot be written" in done(folder, "export-events", "--output", "xp.csv", code=2)


async def test_an_archived_window_is_exported(folder: Path) -> None:
    rows = [Archived(n, n, n, f"p{n}", 100 * (2000 - n), 1000 * n) for n in range(1, 1501)]
    await archive(folder / "scores.db", 1, Slot("daily", "2025-12-31", ""), rows, 5000)
    told = done(folder, "export", "days", "--window", "daily", "--window-id", "2025-12-31")
    found = list(csv.DictReader(io.StringIO(told)))
    assert [(row["rank"], row["player_id"]) for row in found] == [(str(n), f"p{n}") for n in range(1, 1501)]
    assert found[0]["score"] == "1999.00"
    listed = json.loads(done(folder, "windows", "days", "--window", "daily", "--json"))["windows"]
    assert [(w["window_id"], w["state"], w["players"]) for w in listed] == [("2026-01-01", "closing", 1200), ("2025-12-31", "closed", 5000)]
    history = json.loads(done(folder, "history", "days", "p7", "--json"))
    assert [(h["window_id"], h["rank"], h["score"]) for h in history["history"]] == [("2026-01-01", 1193, 7.25), ("2025-12-31", 7, 1993)]
    assert "Best: rank 7 in 2025-12-31, with 1993.00" in done(folder, "history", "days", "p7")
    assert "5,000 players · archived" in done(folder, "top", "days", "--window-id", "2025-12-31")


def test_events_by_month(folder: Path, tmp_path: Path) -> None:
    month = f"events-{datetime.now(UTC):%Y-%m}.parquet"
    for _ in range(2):
        assert "Exported 1,202 events to 1 file in" in done(folder, "export-events", "--output", str(tmp_path / "lake"))
        (file,) = (tmp_path / "lake").iterdir()
        rows = rows_of(file)
        assert (file.name, len(rows)) == (month, 1202)
    (ann,) = [row for row in rows if row["player_id"] == "ann"]
    assert ann | {"board": "xp", "kind": "increment", "amount": 5, "at": datetime(2026, 2, 1, tzinfo=UTC), "game_id": "g1"} == ann
    assert json.loads(ann["segments"]) == {"region": "eu"}
    assert sorted({(row["writer"], row["n"]) for row in rows if row["board"] == "xp"}) == [(ann["writer"], 1), (ann["writer"], 2)]
    done(folder, "export-events", "xp", "--output", str(tmp_path / "xp"))
    assert {row["board"] for row in rows_of(tmp_path / "xp" / month)} == {"xp"}


def test_months_are_told_apart_and_replaced_whole(tmp_path: Path) -> None:
    start, last = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    event = BoardEvent("a", "score", 1, start, last, None, None, {"a": [1]}, 1, 1)
    with EventFiles(tmp_path) as files:
        files.add("b", event)
        files.add("b", replace(event, received=last + timedelta(milliseconds=1), n=2, amount=Decimal("0.000000001")))
    assert files.months == ["2026-01", "2026-02"]
    assert [row["amount"] for row in rows_of(tmp_path / "events-2026-02.parquet")] == [Decimal("0.000000001")]
    assert rows_of(tmp_path / "events-2026-01.parquet")[0]["metadata"] == '{"a":[1]}'

    def interrupted() -> None:
        with EventFiles(tmp_path) as files:
            files.add("b", replace(event, n=9))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [row["n"] for row in rows_of(tmp_path / "events-2026-01.parquet")] == [1]
    assert len(list(tmp_path.iterdir())) == 2


def test_without_pyarrow_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'keepscore\[parquet\]'"):
        EventFiles(tmp_path)


def test_looking_back_at_a_service(service: Service, tmp_path: Path) -> None:
    board = service.define("looking-back", windows=["daily", "all_time"])
    service.submit(board, "ann", 5)
    between = service.submit(board, "bob", 3) and service.get(board, "players/bob")["since"]
    service.submit(board, "bob", 9)
    reach = ("--url", service.url)
    assert done(tmp_path, "windows", board, *reach).count("open") == 2
    standings = json.loads(done(tmp_path, "as-of", board, "--at", between, "--json", *reach))["standings"]
    assert [(s["player_id"], s["score"]) for s in standings] == [("ann", 5), ("bob", 3)]
    assert "ann" in done(tmp_path, "as-of", board, "--at", between, "--window", "all_time", *reach)
    assert "future" in done(tmp_path, "as-of", board, "--at", "2999-01-01T00:00:00Z", *reach, code=2)
    assert "Best: rank 1" in done(tmp_path, "history", board, "bob", *reach)
    assert "Exported 3 events to 1 file in" in done(tmp_path, "export-events", board, "-o", "lake", *reach)
