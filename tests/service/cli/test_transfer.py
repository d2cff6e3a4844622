"""Import and export of scores, by command."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import quote

import pytest

from tests.service.running import Service, on_terminal, run


class Files:
    """A board of the shared service and files to import into it."""

    def __init__(self, service: Service, board: str, directory: Path) -> None:
        self.service = service
        self.board = board
        self.directory = directory

    def write(self, name: str, *lines: str) -> None:
        (self.directory / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def run(self, name: str, *flags: str, **options: Any) -> CompletedProcess[str]:
        done = run("import", name, "--board", self.board, "--url", self.service.url, *flags, cwd=self.directory, **options)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def load(self, name: str, *flags: str, code: int = 0) -> Any:
        done = self.run(name, "--json", *flags)
        assert done.returncode == code, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    def scores(self, **query: Any) -> dict[str, Any]:
        return {s["player_id"]: s["score"] for s in self.service.get(self.board, "top", **query)["standings"]}


@pytest.fixture
def files(service: Service, tmp_path: Path, request: pytest.FixtureRequest) -> Files:
    name = service.define(f"files-{abs(hash(request.node.name))}", operator="sum", windows=["all_time", "daily"], segments=["region"])
    return Files(service, name, tmp_path)


def test_csv(files: Files) -> None:
    day = f"{datetime.now(UTC) - timedelta(days=400):%Y-%m-%d}"
    files.write(
        "scores.csv",
        "player,amount,at,segments,game_id",
        f"alice,5,{day}T10:00:00Z,region:eu,g1",
        'bob,-7,,"region:us",',
        '"Smith, ""J"" 李",3,,,',
    )
    assert files.load("scores.csv") == {"imported": 3, "already_imported": 0, "rejected": []}
    assert files.scores() == {"alice": 5, 'Smith, "J" 李': 3, "bob": -7}
    assert files.scores(segment="region:eu") == {"alice": 5}
    assert files.scores(window="daily", window_id=day) == {"alice": 5}, "a closed window counts what is imported into it"


def test_json_lines(files: Files) -> None:
    files.write(
        "scores.jsonl",
        '{"player": "alice", "amount": 5, "at": "2025-01-01T00:00:00Z", "segments": {"region": "eu"}}',
        "",
        '{"player_id": 12345, "amount": 7, "segments": "region:eu"}',
    )
    assert files.load("scores.jsonl") == {"imported": 2, "already_imported": 0, "rejected": []}
    assert files.scores(segment="region:eu") == {"12345": 7, "alice": 5}


def test_again_counts_nothing_twice(files: Files) -> None:
    lines = ["player,amount", "alice,1", "alice,1", "alice,1", "bob,2"]
    files.write("scores.csv", *lines)
    assert files.load("scores.csv")["imported"] == 4
    assert files.scores() == {"alice": 3, "bob": 2}, "equal lines of one file count each"
    assert files.load("scores.csv") == {"imported": 0, "already_imported": 4, "rejected": []}
    files.write("scores.csv", *lines, "alice,1", "carol,9")
    assert files.load("scores.csv") == {"imported": 2, "already_imported": 4, "rejected": []}
    assert files.scores() == {"carol": 9, "alice": 4, "bob": 2}


def test_bad_lines_are_told_by_number_and_can_be_mended(files: Files) -> None:
    good = ["player,amount,at", "alice,1,", "bob,2,"]
    bad = ["carol,much,", ",4,", "dave,5,soon", "erin,6,2999-01-01T00:00:00Z", "frank,,", "gina,1.5,", "x,NaN,", "y,1,,extra"]
    files.write("scores.csv", *good, *bad, "zoe,9,")
    answer = files.load("scores.csv", code=1)
    assert answer["imported"] == 3
    assert [rejection["line"] for rejection in answer["rejected"]] == list(range(4, 12))
    done = files.run("scores.csv")
    assert done.returncode == 1
    assert "8 bad lines" in done.stdout
    for number, word in ((4, "much"), (6, "soon"), (7, "2999")):
        assert any(f"line {number}:" in line and word in line for line in done.stderr.splitlines()), done.stderr
    mended = [f"{line.split(',')[0] or 'nobody'},10," for line in bad]
    files.write("scores.csv", *good, *mended, "zoe,9,")
    assert files.load("scores.csv") == {"imported": 8, "already_imported": 3, "rejected": []}
    assert files.scores()["carol"] == 10
    assert sum(files.scores().values()) == 1 + 2 + 9 + 80


@pytest.mark.parametrize(
    "line",
    [
        '{"player": "a"',
        "[]",
        "5",
        '{"player": "a"}',
        '{"amount": 1}',
        '{"player": "a", "amount": true}',
        '{"player": "a", "amount": "much"}',
        '{"player": "a", "amount": null}',
        '{"player": "a", "amount": 1e400}',
        '{"player": "a", "amount": 1e999999999}',
        '{"player": "a", "amount": "1e999999999"}',
        '{"player": "a", "amount": 1' + "0" * 5000 + "}",
        '{"player": "a", "amount": [1]}',
        '{"player": "a", "amount": 1, "score": 1}',
        '{"player": "a", "amount": 1, "colour": "red"}',
        '{"player": ["a"], "amount": 1}',
        '{"player": true, "amount": 1}',
        '{"player": 1.5, "amount": 1}',
        '{"player": "", "amount": 1}',
        '{"player": "a\\u0000", "amount": 1}',
        '{"player": "\\ud800", "amount": 1}',
        '{"player": "a", "amount": 1, "segments": "eu"}',
        '{"player": "a", "amount": 1, "segments": ["eu"]}',
        '{"player": "a", "amount": 1, "segments": {"planet": "earth"}}',
        '{"player": "a", "amount": 1, "at": 5}',
        "[" * 5000,
    ],
    ids=lambda line: line[:60],
)
def test_a_bad_line_does_not_spoil_the_others(files: Files, line: str) -> None:
    files.write("scores.jsonl", '{"player": "first", "amount": 1}', line, '{"player": "last", "amount": 2}')
    done = files.run("scores.jsonl", "--json", timeout=10)
    assert done.returncode == 1, (done.stdout, done.stderr)
    answer = json.loads(done.stdout)
    assert (answer["imported"], [rejection["line"] for rejection in answer["rejected"]]) == (2, [2])
    assert files.scores() == {"last": 2, "first": 1}


def test_a_dry_run_tells_every_line_that_the_import_refuses(files: Files) -> None:
    board = files.service.define(f"{files.board}-dry", operator="sum", max_score=100, segments=["region"])
    files.board = board
    files.service.increment(board, "old", 60)
    good = ["player,amount,score,at,segments", "alice,1,,,", "old,,60,,"]
    bad = [
        *("carol,much,,,", ",4,,,", "dave,5,,soon,", "erin,6,,2999-01-01T00:00:00Z,", "gina,1.5,,,", "hugo,,101,,", "old,41,,,"),
        *("a\x01b,1,,,", "x" * 129 + ",1,,,", "y,1,,,planet:earth", "z,1,,1969-01-01T00:00:00Z,"),
    ]
    files.write("scores.csv", *good, *bad, "zoe,9,,,")
    dry = files.load("scores.csv", "--dry-run", code=1)
    shown = files.run("scores.csv", "--dry-run")
    assert files.scores() == {"old": 60}, "nothing was changed"
    assert (dry["new"], dry["same_score"]) == (2, 1)
    done = files.load("scores.csv", code=1)
    assert (done["imported"], [rejection["line"] for rejection in done["rejected"]]) == (3, list(range(4, 15)))
    # The clock goes on between the two.
    assert [_timeless(rejection) for rejection in dry["rejected"]] == [_timeless(rejection) for rejection in done["rejected"]]
    assert "11 bad lines" in shown.stdout
    told = [line for line in files.run("scores.csv").stderr.splitlines() if line.startswith("scores.csv, line ")]
    assert [line.partition(" clock, ")[0] for line in shown.stderr.splitlines() if line.startswith("scores.csv, line ")] == [
        line.partition(" clock, ")[0] for line in told
    ]


def _timeless(rejection: dict[str, Any]) -> tuple[int, str]:
    return rejection["line"], rejection["detail"].partition(" clock, ")[0]


def test_a_dry_run_refuses_no_line_that_was_imported_before(files: Files) -> None:
    files.board = files.service.define(f"{files.board}-dry", operator="sum", max_score=100)
    files.write("scores.csv", "player,amount", "alice,60")
    assert files.load("scores.csv")["imported"] == 1
    assert files.load("scores.csv", "--dry-run")["rejected"] == []
    assert files.load("scores.csv")["already_imported"] == 1


def test_lines_that_are_no_text(files: Files) -> None:
    (files.directory / "scores.jsonl").write_bytes(b'{"player": "a", "amount": 1}\n{"player": "\xff", "amount": 1}\n')
    assert [rejection["line"] for rejection in files.load("scores.jsonl", code=1)["rejected"]] == [2]
    (files.directory / "scores.csv").write_bytes(b"player,amount\na,1\n\xff,1\n")
    done = files.run("scores.csv")
    assert done.returncode != 0
    assert "3" in done.stderr or "UTF-8" in done.stderr


def test_a_huge_cell_is_a_bad_line(files: Files) -> None:
    files.write("scores.csv", "player,amount", "a,1", "x" * 200_000 + ",1", "b,2")
    assert [rejection["line"] for rejection in files.load("scores.csv", code=1)["rejected"]] == [3]
    assert files.scores() == {"b": 2, "a": 1}


@pytest.mark.parametrize("lines", [[], ["player,amount"]])
def test_nothing_to_import(files: Files, lines: list[str]) -> None:
    files.write("scores.csv", *lines)
    assert files.load("scores.csv")["imported"] == 0


def test_a_wrong_header(files: Files) -> None:
    files.write("scores.csv", "alice,5")
    done = files.run("scores.csv")
    assert (done.returncode, "alice" in done.stderr, "player" in done.stderr) == (2, True, True)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("player,score,score", ["two columns 'score'"]),
        ("player,player_id,score", ["'player' and 'player_id'", "mean the same"]),
        ("at,player,score,since", ["'at' and 'since'"]),
        ("rank,rank,player,score", ["two columns 'rank'"]),
    ],
)
def test_columns_that_are_there_twice_are_refused_by_name(files: Files, header: str, words: list[str]) -> None:
    files.write("scores.csv", header, "alice,5,6,7")
    done = files.run("scores.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert all(word in done.stderr for word in [*words, "scores.csv", "remove one"])
    files.write("scores.jsonl", '{"player": "alice", "player_id": "bob", "score": 5}')
    done = files.run("scores.jsonl")
    assert (done.returncode, "'player' and 'player_id' mean the same" in done.stderr) == (1, True), done
    assert files.scores() == {}


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "'=1+1", "''+1", "'quoted", "plain"]


def test_exported_texts_are_no_formulas_and_come_back_as_they_were(service: Service, tmp_path: Path) -> None:
    name = service.define("formulas", operator="last")
    copy = service.define("formulas-copy", operator="last")
    for score, player in enumerate(FORMULAS, -3):
        service.submit(name, player, score)
        assert service.client.put(f"/v1/players/{quote(player, safe='')}", json={"name": f"={player}"}).status_code == 200
    file = tmp_path / "formulas.csv"
    assert run("export", name, "--output", str(file), "--url", service.url, cwd=tmp_path).returncode == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert {int(row["score"]) for row in rows} == set(range(-3, 5)), "numbers stay numbers"
    for row in rows:
        assert row["player_id"][0] not in "=+-@", row
        assert row["name"].startswith("'=")
    assert run("import", str(file), "--board", copy, "--url", service.url, cwd=tmp_path).returncode == 0
    assert service.order(copy) == service.order(name)


def test_many_lines_show_progress(files: Files) -> None:
    files.write("scores.csv", "player,amount", *(f"p{number},{number}" for number in range(2500)))
    arguments = ["import", "scores.csv", "--board", files.board, "--url", files.service.url]
    code, shown = on_terminal(*arguments, cwd=files.directory)
    assert (code, "2500 imported" in shown, "100%" in shown) == (0, True, True), shown
    quiet = files.run("scores.csv")
    assert (quiet.returncode, quiet.stderr) == (0, "scores.csv was imported before\n")
    assert files.service.get(files.board, "top", limit=1)["total_players"] == 2500


def test_a_ledger_without_a_service(tmp_path: Path) -> None:
    (tmp_path / "keepscore.toml").write_text('[ledger]\nurl = "sqlite:///x.db"\n[[board]]\nname = "b"\noperator = "sum"\n')
    (tmp_path / "scores.csv").write_text("player,amount\nalice,1\nalice,1\n")
    for imported in (2, 0):
        done = run("import", "scores.csv", "--board", "b", "--json", cwd=tmp_path)
        assert (done.returncode, json.loads(done.stdout)["imported"]) == (0, imported)
    shown = run("export", "b", cwd=tmp_path)
    assert [row["score"] for row in csv.DictReader(io.StringIO(shown.stdout))] == ["2"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_was_exported_can_be_imported(service: Service, tmp_path: Path, kind: str) -> None:
    source = service.define(f"exported-{kind}", decimals=2, segments=["region"])
    target = service.define(f"imported-{kind}", decimals=2)
    players = ["alice", 'Smith, "J"', "李 🏆", "a/b", " spaced "]
    for number in range(1100):
        players_name = players[number] if number < len(players) else f"p{number}"
        service.submit(source, players_name, number / 4, at=f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}Z")
    file = tmp_path / f"out.{kind}"
    done = run("export", source, "--format", kind, "--output", file.name, "--url", service.url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = run("export", source, "--format", kind, "--url", service.url, cwd=tmp_path)
    assert printed.stdout == file.read_text(encoding="utf-8")
    lines = printed.stdout.splitlines()
    rows = [json.loads(line) for line in lines] if kind == "jsonl" else list(csv.DictReader(lines))
    assert [int(row["rank"]) for row in rows] == list(range(1, 1101))
    assert (float(rows[0]["score"]), rows[-1]["player_id"]) == (1099 / 4, "alice")
    back = run("import", file.name, "--board", target, "--url", service.url, cwd=tmp_path)
    assert back.returncode == 0, back.stderr[:500]
    assert service.get(target, "top", limit=1000)["standings"] == service.get(source, "top", limit=1000)["standings"]
