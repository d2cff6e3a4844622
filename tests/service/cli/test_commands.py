"""Every command: against a service, and on a ledger itself."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.service.running import KEEPSCORE, Service, run
from tests.support.ports import free_port

COMMANDS = [
    [],
    *(
        [name]
        for name in ("serve", "boards", "submit", "increment", "top", "rank", "around", "verify", "rebuild", "import", "export", "version")
    ),
    *([name] for name in ("windows", "snapshots", "history", "as-of", "events", "export-events")),
    *([name] for name in ("migrate", "keeper", "revise", "reset")),
    *([name] for name in ("friends", "groups", "view", "needs", "why")),
    *(["groups", name] for name in ("create", "show", "list", "join", "leave", "rotate", "delete", "rank")),
    *(["leagues", name] for name in ("show", "history", "simulate")),
    *(["friends", name] for name in ("show", "set", "add", "remove", "rank")),
    *(["keeper", name] for name in ("status", "run-once")),
    *(["boards", name] for name in ("list", "show", "apply", "delete")),
]

BOARDS = """
[[board]]
name = "games"
operator = "last"
windows = ["all_time", "daily"]
segments = ["region"]

[[board]]
name = "laps"
order = "asc"
decimals = 2

[[board]]
name = "xp"
operator = "sum"
windows = ["all_time", "daily"]
"""


class Cli:
    """Commands that reach a board in one of two ways."""

    def __init__(self, directory: Path, *reach: str) -> None:
        self.directory = directory
        self._reach = reach

    def __call__(self, *arguments: str, code: int = 0) -> str:
        done = run(*arguments, *self._reach, cwd=self.directory)
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))

    def refused(self, *arguments: str) -> str:
        """A command that fails: the one sentence that it says."""
        done = run(*arguments, *self._reach, cwd=self.directory)
        assert done.returncode not in (0, 1), (arguments, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
        return done.stderr


@pytest.fixture(scope="module", params=["service", "ledger"])
def cli(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The command line with `--url`, and with `--config` and no service."""
    directory = tmp_path_factory.mktemp(f"cli-{request.param}")
    if request.param == "service":
        running = Service(directory, BOARDS)
        yield Cli(directory, "--url", running.url)
        running.stop()
    else:
        config = directory / "keepscore.toml"
        config.write_text(f'[ledger]\nurl = "sqlite:///{directory}/scores.db"\n{BOARDS}', encoding="utf-8")
        yield Cli(directory, "--config", str(config))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(tmp_path: Path, command: list[str]) -> None:
    done = run(*command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "Usage: keepscore" in done.stdout
    assert len(done.stdout.splitlines()) > 5
    # In the list of commands, a sentence that does not fit ends with dots.
    assert "..." not in done.stdout.replace("[ARGS]...", "").replace("{FRIEND}...", "")


def test_help_is_printed_as_it_is_written(tmp_path: Path) -> None:
    assert "TOML file with [[board]] tables" in run("boards", "apply", "--help", cwd=tmp_path).stdout


def test_version(tmp_path: Path) -> None:
    from keepscore import __version__

    for done in (
        run("version", cwd=tmp_path),
        run("--version", cwd=tmp_path),
        subprocess.run([KEEPSCORE, "version"], capture_output=True, text=True, check=True),
    ):
        assert done.stdout.strip() == f"keepscore {__version__}"


def test_scores_are_submitted_and_read(cli: Cli) -> None:
    receipt = cli.json("submit", "games", "alice", "1500", "--segment", "region:eu", "--game-id", "g1")
    assert (receipt["score"], receipt["rank"], receipt["windows"]["daily"]["score"]) == (1500, 1, 1500)
    table = cli("submit", "games", "bob", "-5")
    assert all(word in table for word in ("all_time", "daily", "-5", "new"))
    assert cli.json("increment", "games", "bob", "-2")["score"] == -7
    assert "-6" in cli("increment", "games", "bob", "1")
    top = cli.json("top", "games", "--limit", "5")
    assert [(s["rank"], s["player_id"], s["score"]) for s in top["standings"]] == [(1, "alice", 1500), (2, "bob", -6)]
    shown = cli("top", "games", "--window", "daily")
    assert all(word in shown for word in ("games", "daily", "2 players", "alice", "1500", "bob", "-6"))
    assert "bob" not in cli("top", "games", "--segment", "region:eu")
    assert cli.json("rank", "games", "bob", "--rank", "dense")["rank"] == 2
    assert "rank 2 of 2" in cli("rank", "games", "bob")
    assert [s["player_id"] for s in cli.json("around", "games", "2", "--around", "1")["standings"]] == ["alice", "bob"]
    assert "alice" in cli("around", "games", "1")
    verified = cli.json("verify")
    assert {found["board"]: found["differences"] for found in verified} == {"games": [], "laps": [], "xp": []}
    assert "differences" in cli("verify", "games")


def test_a_correction_names_its_windows(cli: Cli) -> None:
    cli.json("increment", "xp", "ada", "1410")
    assert list(cli.json("submit", "xp", "ada", "500")["windows"]) == ["all_time"]
    both = cli.json("submit", "xp", "ada", "400", "--window", "daily", "--window", "all_time")
    assert {window: state["score"] for window, state in both["windows"].items()} == {"all_time": 400, "daily": 1310}
    assert "is for corrections" in cli.refused("submit", "games", "ada", "5", "--window", "daily")
    shown = cli("events", "ada", "--board", "xp")
    assert "counts in" in " ".join(shown.split())
    assert "correction" in shown


def test_a_player_whom_the_engine_does_not_keep(tmp_path: Path) -> None:
    running = Service(tmp_path, '[[board]]\nname = "many"\nkeep_top = 10\n')
    try:
        cli = Cli(tmp_path, "--url", running.url)
        running.post("many", "scores/batch", {"scores": [{"player_id": f"p{n}", "score": 1000 - n} for n in range(1, 61)]})
        # Players are removed after a checkpoint.
        for _ in range(2):
            cli("keeper", "run-once")
        shown = cli("rank", "many", "p40")
        place = cli.json("rank", "many", "p40")
        assert (place["approximate"], place["around"], place["ranks"]["unique"]) == (True, [], place["rank"])
        first, *_, row = shown.splitlines()
        assert first.startswith(f"about rank {place['rank']} (± {place['error']}) of 60 (percentile ")
        assert row.split()[:4] == [str(place["rank"]), "p40", "–", "960"]
        assert "only the first 10 of 60" in cli.refused("rank", "many", "p40", "--around", "2")
        assert "nobody" in cli.refused("rank", "many", "nobody")
        kept = cli("rank", "many", "p5").splitlines()
        assert kept[0].startswith("rank 5 of 60 (")
        assert [line.split()[1] for line in kept[-5:]] == ["p3", "p4", "p5", "p6", "p7"]
        assert len(cli("rank", "many", "p5", "--around", "0").splitlines()) == len(shown.splitlines())
    finally:
        running.stop()


def test_decimals_and_any_player(cli: Cli) -> None:
    for player, score in (("李 / ?&%", "83.25"), ('"q" 🏆', "82.5")):
        assert cli.json("submit", "laps", player, score)["player_id"] == player
    assert "83.25" in cli("rank", "laps", "李 / ?&%")
    shown = cli("top", "laps")
    assert shown.index('"q" 🏆') < shown.index("李 / ?&%")
    assert "82.50" in shown


def test_a_key_counts_once(cli: Cli) -> None:
    scores = [cli.json("increment", "games", "keyed", "5", "--key", "once")["score"] for _ in range(2)]
    assert scores == [5, 5]


def test_boards_are_listed_shown_and_applied(cli: Cli) -> None:
    toml, plain, one = (cli.directory / name for name in ("more.toml", "more.json", "one.json"))
    toml.write_text('[[board]]\nname = "linked"\nalso = ["target"]\n[[board]]\nname = "target"\noperator = "sum"\n')
    plain.write_text('[{"name": "from-json", "windows": {"daily": {"ttl": "7d"}}}]')
    one.write_text('{"name": "single", "operator": "first"}')
    assert "board linked: version 1" in cli("boards", "apply", str(toml))
    assert cli.json("boards", "apply", str(plain))["windows"] == {"daily": {"ttl": "7d"}}
    assert "single" in cli("boards", "apply", str(one))
    one.write_text('{"name": "single", "operator": "last"}')
    said = cli.refused("boards", "apply", str(one))
    assert all(word in said for word in ("operator changes from 'first' to 'last'", "--yes"))
    assert cli.json("boards", "show", "single")["version"] == 1
    assert "board single: version 2" in cli("boards", "apply", str(one), "--yes")
    assert "board single: version 2" in cli("boards", "apply", str(one))
    names = {board["name"] for board in cli.json("boards", "list")["boards"]}
    assert names >= {"games", "laps", "linked", "target", "from-json", "single"}
    listed = cli("boards", "list")
    assert all(word in listed for word in ("linked", "target", "sum", "all_time, daily"))
    assert cli.json("boards", "show", "single")["operator"] == "last"
    assert "operator" in cli("boards", "show", "single")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["top", "nowhere"], ["nowhere"]),
        (["boards", "show", "nowhere"], ["nowhere"]),
        (["verify", "nowhere"], ["nowhere"]),
        (["export", "nowhere"], ["nowhere"]),
        (["rank", "games", "nobody"], ["nobody", "games"]),
        (["top", "games", "--window", "weekly"], ["weekly"]),
        (["top", "games", "--window", "daily", "--window-id", "2026-13-01"], ["2026-13-01"]),
        (["top", "games", "--segment", "planet:earth"], ["planet"]),
        (["top", "games", "--rank", "olympic"], ["olympic"]),
        (["top", "games", "--limit", "0"], ["limit", "0"]),
        (["top", "games", "--limit", "many"], ["limit"]),
        (["around", "games", "0"], ["rank", "0"]),
        (["submit", "games", "alice", "much"], ["much"]),
        (["submit", "games", "alice", "nan"], ["nan"]),
        (["submit", "games", "alice", "inf"], ["inf"]),
        (["submit", "games", "alice", "1.5"], ["1.5"]),
        (["submit", "games", "alice", "1e999"], ["score"]),
        (["submit", "games", "", "1"], ["player"]),
        (["submit", "games", "alice", "1", "--at", "soon"], ["at", "soon"]),
        (["submit", "games", "alice", "1", "--segment", "planet:earth"], ["planet"]),
        (["submit", "games", "alice"], ["SCORE"]),
        (["increment", "laps", "alice", "1"], ["laps", "increment"]),
        (["boards", "apply", "missing.toml"], ["missing.toml"]),
        (["boards", "apply", "broken.toml"], ["broken.toml", "TOML"]),
        (["boards", "apply", "broken.json"], ["broken.json", "JSON"]),
        (["boards", "apply", "empty.toml"], ["empty.toml", "board"]),
        (["boards", "apply", "number.json"], ["number.json"]),
        (["boards", "apply", "numbers.json"], []),
        (["boards", "apply", "wrong.toml"], ["operator", "total"]),
        (["import", "missing.csv", "--board", "games"], ["missing.csv"]),
        (["import", "scores.txt", "--board", "games"], ["scores.txt", ".csv"]),
        (["import", "scores.csv", "--board", "nowhere"], ["nowhere"]),
        (["nonsense"], ["nonsense"]),
    ],
    ids=lambda value: " ".join(value)[:60],
)
def test_errors_are_told_in_a_sentence(cli: Cli, arguments: list[str], words: list[str]) -> None:
    files = {"broken.toml": "[[board]\n", "broken.json": "{", "empty.toml": "", "number.json": "5", "numbers.json": "[5]"}
    files |= {"wrong.toml": '[[board]]\nname = "w"\noperator = "total"\n', "scores.txt": "", "scores.csv": "player,score\nalice,1\n"}
    for name, text in files.items():
        (cli.directory / name).write_text(text)
    said = cli.refused(*arguments)
    for word in words:
        assert word in said, said
    if said.startswith("Error:"):
        assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://", "http://127.0.0.1:1", "http://127.0.0.1:x"])
def test_a_service_that_is_not_there(tmp_path: Path, url: str) -> None:
    for said in (run("top", "games", "--url", url, cwd=tmp_path), run("top", "games", cwd=tmp_path, KEEPSCORE_URL=url)):
        assert said.returncode == 2
        assert said.stderr.startswith("Error:")
        assert len(said.stderr.strip().splitlines()) == 1


def test_a_command_without_a_service_asks_the_one_that_has_the_ledger_open(tmp_path: Path) -> None:
    running = Service(tmp_path, BOARDS)
    try:
        done = run("submit", "games", "alice", "7", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["score"] == 7
        assert running.url in done.stderr
        assert running.get("games", "players/alice")["score"] == 7
        second = run("serve", "--port", str(free_port()), cwd=tmp_path)
        assert second.returncode == 2
        assert "in use" in second.stderr
        assert len(second.stderr.strip().splitlines()) == 1
    finally:
        running.stop()
    assert json.loads(run("top", "games", "--json", cwd=tmp_path).stdout)["standings"][0]["score"] == 7


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE standings SET score = score + 1 WHERE player = 'alice' AND window = 'all_time'",
        "DELETE FROM standings WHERE player = 'alice' AND window = 'daily'",
        "UPDATE events SET amount = amount - 5 WHERE player = 'alice'",
        "DELETE FROM events WHERE player = 'alice'",
    ],
)
def test_verify_finds_what_was_changed_behind_its_back(tmp_path: Path, damage: str) -> None:
    running = Service(tmp_path, BOARDS)
    for player, score in (("alice", 5), ("bob", 6)):
        running.submit("games", player, score)
    running.stop()
    sound = run("verify", cwd=tmp_path)
    assert (sound.returncode, "games" in sound.stdout) == (0, True), sound.stderr
    ledger = sqlite3.connect(running.ledger)
    with ledger:
        assert ledger.execute(damage).rowcount > 0
    ledger.close()
    found = run("verify", cwd=tmp_path)
    assert found.returncode == 1, (found.stdout, found.stderr)
    assert "alice" in found.stdout
    assert "bob" not in found.stdout
    told = run("verify", "games", "--json", cwd=tmp_path)
    assert told.returncode == 1
    assert {difference["player_id"] for difference in json.loads(told.stdout)[0]["differences"]} == {"alice"}


@pytest.mark.parametrize("over_http", [True, False])
def test_what_was_changed_behind_its_back_is_repaired(tmp_path: Path, over_http: bool) -> None:
    running = Service(tmp_path, BOARDS)
    for player, score in (("alice", 5), ("bob", 6)):
        running.submit("games", player, score)
    running.stop()
    ledger = sqlite3.connect(running.ledger)
    with ledger:
        assert ledger.execute("UPDATE standings SET score = 70 WHERE player = 'alice' AND window = 'all_time'").rowcount == 1
    ledger.close()
    reach: list[str] = []
    if over_http:
        running.start()
        reach = ["--url", running.url]
    found = run("verify", "games", *reach, cwd=tmp_path)
    assert found.returncode == 1, (found.stdout, found.stderr)
    assert [word in found.stdout for word in ("alice", "score", "all_time", "5 since", "70 since")] == [True] * 5
    repaired = run("verify", "games", "--repair", *reach, cwd=tmp_path)
    assert repaired.returncode == 0, (repaired.stdout, repaired.stderr)
    assert "Repaired:" in repaired.stdout
    told = json.loads(run("verify", "games", "--repair", "--json", *reach, cwd=tmp_path).stdout)
    assert (told[0]["differences"], told[0]["repaired"], told[0]["rebuilt"]) == ([], [], False)
    running.stop()


@pytest.mark.parametrize("over_http", [True, False])
def test_a_rebuild_says_what_it_did(tmp_path: Path, over_http: bool) -> None:
    running = Service(tmp_path, BOARDS)
    for player, score in (("alice", 5), ("bob", 6), ("alice", 7)):
        running.submit("games", player, score)
    reach = ["--url", running.url] if over_http else []
    if not over_http:
        running.stop()
    (one,) = json.loads(run("rebuild", "games", "--json", *reach, cwd=tmp_path).stdout)
    assert (one["board"], one["events"], one["players"], one["seconds"] > 0) == ("games", 3, 2, True)
    shown = run("rebuild", *reach, cwd=tmp_path)
    assert (shown.returncode, "games" in shown.stdout, "seconds" in shown.stdout) == (0, True, True)
    nowhere = run("rebuild", "nowhere", *reach, cwd=tmp_path)
    assert (nowhere.returncode, "nowhere" in nowhere.stderr) == (2, True)
    running.stop()
