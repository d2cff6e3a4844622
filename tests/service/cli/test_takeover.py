"""A sorted set that another program has in Redis becomes a board."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.service.redis_places import on, until
from tests.service.running import Service, run
from tests.support.ports import free_port
from tests.support.redis_servers import RedisServer, single

KEY = "leaderboard:global"
SIZE, FEW = 3000, 200

BOARDS = f"""
[[board]]
name = "global"
operator = "last"
ties = "player"

[board.windows.all_time]
key = "{KEY}"

[[board]]
name = "elsewhere"
operator = "sum"
decimals = 1
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """A Redis for this file: tests empty it."""
    with single() as running:
        yield running


class Taking:
    """A Redis with a sorted set, and the command line beside it."""

    def __init__(self, server: RedisServer, directory: Path) -> None:
        self.server, self.directory = server, directory
        self.config = directory / "keepscore.toml"
        self.configure()
        self.server.ask("FLUSHALL")
        self.aside = f"keepscore:before:{KEY}"
        self.members = {f"player:{number}": float(number % 700) for number in range(SIZE - 2)} | {"李 / ?&%": -5.0, '"q" 🏆': 2.0**40}
        self.few = dict(list(self.members.items())[:FEW])

    def configure(self, boards: str = BOARDS) -> None:
        """Name this Redis as the engine."""
        ledger = f'[ledger]\nurl = "sqlite:///{self.directory}/scores.db"\n'
        self.config.write_text(ledger + on(self.server.url, boards), encoding="utf-8")

    def fill(self, key: str, members: dict[str, float]) -> None:
        """What another program does."""
        with self.server.client() as client:
            client.zadd(key, members)

    def set_at(self, key: str) -> dict[str, float]:
        with self.server.client() as client:
            return {member.decode(): score for member, score in client.zrange(key, 0, -1, withscores=True)}

    def stored(self) -> dict[str, bytes]:
        """All keys, each as it is stored."""
        with self.server.client() as client:
            return {key.decode(): client.dump(key) for key in client.scan_iter()}

    def run(self, *flags: str, key: str | None = KEY, board: str = "global") -> CompletedProcess[str]:
        named = [] if key is None else ["--key", key]
        done = run("import", self.server.url, *named, "--board", board, *flags, cwd=self.directory)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def told(self, *flags: str, **options: Any) -> Any:
        done = self.run("--json", *flags, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        told = json.loads(done.stdout)
        del told["rankings"]
        return told

    def refusal(self, *flags: str, **options: Any) -> str:
        done = self.run(*flags, **options)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert done.stderr.splitlines()[-1].startswith("Error: "), done.stderr
        return done.stderr

    def verify(self) -> None:
        done = run("verify", cwd=self.directory)
        assert done.returncode == 0, done.stdout + done.stderr

    def scores(self, board: str = "global") -> dict[str, float]:
        lines = run("export", board, "--format", "jsonl", cwd=self.directory).stdout.splitlines()
        return {row["player_id"]: row["score"] for row in map(json.loads, lines)}


@pytest.fixture
def taking(server: RedisServer, tmp_path: Path) -> Taking:
    return Taking(server, tmp_path)


def test_a_dry_run_tells_and_changes_nothing(taking: Taking) -> None:
    taking.fill(KEY, taking.members)
    assert taking.told("--dry-run") == {"new": SIZE, "other_score": 0, "same_score": 0, "rejected": []}
    done = taking.run("--dry-run")
    assert f"Players: {SIZE} new" in done.stdout
    assert "Nothing was changed" in done.stdout
    assert taking.set_at(KEY) == taking.members
    assert taking.aside not in taking.stored()


def test_the_set_under_the_boards_own_key_is_moved_and_the_board_has_it(taking: Taking) -> None:
    taking.fill(KEY, taking.members)
    assert taking.told() == {"imported": SIZE, "already_imported": 0, "rejected": []}
    assert taking.set_at(taking.aside) == taking.members
    assert taking.set_at(KEY) == taking.members, "other programs find what they had"
    assert taking.scores() == taking.members
    taking.verify()
    service = Service(taking.directory, on(taking.server.url, BOARDS))
    try:
        top = service.get("global", "top", limit=2)
        assert (top["total_players"], [s["player_id"] for s in top["standings"]]) == (SIZE, ['"q" 🏆', "player:699"])
        assert service.increment("global", "player:0", 10_000)["rank"] == 2
        assert taking.set_at(KEY)["player:0"] == 10_000
    finally:
        service.stop()
    taking.verify()


def test_a_second_import_counts_nothing_twice(taking: Taking) -> None:
    taking.fill(KEY, taking.few)
    assert taking.told()["imported"] == FEW
    assert "keepscore's own key" in taking.refusal().lower()
    assert taking.told("--dry-run", key=taking.aside) == {"new": 0, "other_score": 0, "same_score": FEW, "rejected": []}
    taking.told(key=taking.aside)
    assert taking.scores() == taking.few
    taking.verify()


def test_a_set_under_another_key_stays_where_it_is(taking: Taking) -> None:
    taking.fill("other:set", taking.few)
    for imported in (FEW, 0):
        found = taking.told(key="other:set", board="elsewhere")
        assert found == {"imported": imported, "already_imported": FEW - imported, "rejected": []}
        assert taking.scores("elsewhere") == taking.few
    assert taking.set_at("other:set") == taking.few
    changed = {"player:1": 11.5, "new": 3.0}
    taking.fill("other:set", changed)
    told = taking.told("--dry-run", key="other:set", board="elsewhere")
    assert told == {"new": 1, "other_score": 1, "same_score": FEW - 1, "rejected": []}
    assert taking.told(key="other:set", board="elsewhere")["imported"] == 2
    assert taking.scores("elsewhere") == taking.few | changed


BAD: dict[Any, float] = {"half": 0.25, "x" * 200: 1, "endless": float("inf"), "huge": 1e300, b"\x01": 2, "": 3}


def test_members_that_cannot_be_players_are_told(taking: Taking) -> None:
    with taking.server.client() as client:
        client.zadd("bad:set", {"fine": 5, **BAD})
    for flags, counted in (["--dry-run"], "new"), ([], "imported"):
        done = taking.run("--json", *flags, key="bad:set", board="elsewhere")
        assert done.returncode == 1
        told = json.loads(done.stdout)
        assert told[counted] == 1
        found = {rejection["member"]: rejection["detail"] for rejection in told["rejected"]}
        assert found.keys() == {"half", "x" * 200, "endless", "huge", "\x01", ""}
        assert ("decimals" in found["half"], "control" in found["\x01"], "0 bytes" in found[""]) == (True, True, True), found
        assert "inf" in found["endless"]
    assert taking.scores("elsewhere") == {"fine": 5}
    done = taking.run("--dry-run", key="bad:set", board="elsewhere")
    assert "6 bad members" in done.stdout
    assert any(line.startswith("bad:set, member 'half': score = 0.25") for line in done.stderr.splitlines()), done.stderr
    assert "set.jsonl" not in done.stderr


def test_a_dry_run_of_the_boards_own_key_tells_what_the_import_then_tells(taking: Taking) -> None:
    """The ledger knows who is on the board, although Redis holds somebody else's set in its place."""
    service = Service(taking.directory, BOARDS)
    for player, score in (("player:1", 1), ("player:2", 77), ("alice", 5)):
        service.submit("global", player, score)
    service.stop()
    with taking.server.client() as client:
        client.zadd(KEY, {**taking.few, **BAD})
    taking.configure()
    before = taking.stored()
    dry = taking.run("--json", "--dry-run")
    told = json.loads(dry.stdout)
    del told["rankings"]
    rejected = told.pop("rejected")
    assert (dry.returncode, told) == (1, {"new": FEW - 2, "other_score": 1, "same_score": 1})
    assert taking.stored() == before
    done = taking.run("--json")
    told = json.loads(done.stdout)
    del told["rankings"]
    assert (done.returncode, told) == (1, {"imported": FEW, "already_imported": 0, "rejected": rejected})
    assert len(rejected) == len(BAD)
    assert taking.scores() == taking.few | {"alice": 5}


def test_a_running_service_shows_what_is_imported(taking: Taking) -> None:
    service = Service(taking.directory, on(taking.server.url, BOARDS))
    try:
        taking.fill("other:set", taking.few)
        for reach in (["--url", service.url], ["--config", str(taking.config)]):
            taking.told(*reach, key="other:set", board="elsewhere")
            assert service.get("elsewhere", "count")["count"] == FEW
    finally:
        service.stop()


def test_what_is_no_sorted_set_is_refused(taking: Taking) -> None:
    taking.server.ask("SET", "a:string", "x")
    taking.server.ask("HSET", "a:hash", "x", 1)
    before = taking.stored()
    assert all(word in taking.refusal(key="missing") for word in ("'missing'", "does not exist", "--key"))
    assert all(word in taking.refusal(key="a:string") for word in ("'a:string'", "string", "sorted set"))
    assert "hash" in taking.refusal("--dry-run", key="a:hash")
    assert "--key" in taking.refusal(key=None)
    assert taking.stored() == before
    assert not (taking.directory / "scores.db").exists()


@pytest.mark.parametrize("flag", ["--dry-run", "--json"])
def test_a_roll_up_has_no_scores_of_its_own_to_import(taking: Taking, flag: str) -> None:
    taking.configure(
        BOARDS + '[[board]]\nname = "days"\nwindows = ["daily"]\n[[board]]\nname = "weeks"\nwindows = ["weekly"]\n'
        'rollup = {of = ["days"], window = "daily", into = "weekly", aggregate = "sum"}\n'
    )
    taking.fill("scores:week", taking.few)
    before = taking.stored()
    done = taking.run(flag, key="scores:week", board="weeks")
    assert done.returncode == 2
    assert "board 'weeks' is a roll-up" in done.stderr
    assert "Import the keys that belong to 'days'" in done.stderr
    assert taking.stored() == before


def test_a_refused_import_leaves_the_set_where_it_was(taking: Taking) -> None:
    taking.fill("other:set", taking.few)
    assert "nowhere" in taking.refusal(board="nowhere", key="other:set")
    assert "connection refused" in taking.refusal("--url", f"http://127.0.0.1:{free_port()}", key="other:set")
    assert taking.set_at("other:set") == taking.few
    done = run("import", f"redis://127.0.0.1:{free_port()}/0", "--key", KEY, "--board", "global", cwd=taking.directory)
    assert (done.returncode, "cannot be reached" in done.stderr) == (2, True)


def test_a_set_that_was_put_aside_before_is_not_lost(taking: Taking) -> None:
    """There is one already under the name to which this one would be moved."""
    taking.fill(KEY, taking.few)
    taking.fill(taking.aside, {"older": 1.0})
    assert taking.aside in taking.refusal()
    assert (taking.set_at(KEY), taking.set_at(taking.aside)) == (taking.few, {"older": 1.0})
    taking.server.ask("RENAME", taking.aside, "elsewhere")
    assert taking.told()["imported"] == FEW
    assert (taking.set_at(KEY), taking.set_at(taking.aside)) == (taking.few, taking.few)


def test_a_set_of_another_program_is_never_deleted(taking: Taking) -> None:
    """A ledger with scores meets a Redis in which the board's key is somebody else's."""
    service = Service(taking.directory, BOARDS)
    service.submit("global", "alice", 5)
    service.stop()
    taking.fill(KEY, taking.few)
    taking.configure()
    done = run("submit", "global", "alice", "7", cwd=taking.directory)
    assert (taking.set_at(KEY), done.returncode) == (taking.few, 2), done.stdout
    assert all(word in done.stderr for word in (KEY, "keepscore import")), done.stderr
    shown = run("top", "global", cwd=taking.directory).stdout
    assert ("alice" in shown, "may be missing" in shown) == (True, True), shown
    assert taking.told()["imported"] == FEW
    assert taking.scores() == taking.few | {"alice": 5}
    assert taking.set_at(taking.aside) == taking.few


def test_a_set_that_another_program_makes_while_the_service_runs(taking: Taking) -> None:
    """Nothing of it is changed; what was recorded is ranked when it is out of the way."""
    service = Service(taking.directory, on(taking.server.url, BOARDS))
    try:
        taking.fill(KEY, taking.few)
        answer = service.post("global", "scores", {"player_id": "alice", "score": 5})
        assert (answer.status_code, answer.json()["pending"]) == (202, True)
        assert service.increment("elsewhere", "alice", 1)["rank"] == 1
        assert "keepscore import" in service.log.read_text()
        assert taking.set_at(KEY) == taking.few
        taking.server.ask("RENAME", KEY, "out:of:the:way")
        until(lambda: service.order("global") == ["alice"], 5)
        assert taking.set_at(KEY) == {"alice": 5}
        assert taking.set_at("out:of:the:way") == taking.few
    finally:
        service.stop()


def test_a_board_that_only_the_ledger_knows_takes_its_set_over(taking: Taking) -> None:
    (taking.directory / "boards.toml").write_text(BOARDS, encoding="utf-8")
    taking.configure(boards="")
    assert run("boards", "apply", "boards.toml", "--yes", cwd=taking.directory).returncode == 0
    taking.fill(KEY, taking.few)
    assert taking.told() == {"imported": FEW, "already_imported": 0, "rejected": []}
    assert taking.set_at(taking.aside) == taking.few
    assert taking.scores() == taking.few
    taking.verify()
    assert "keepscore's own key" in taking.refusal().lower()


def test_the_definition_that_took_effect_last_tells_the_boards_own_key(taking: Taking) -> None:
    """The file names the key of before: what was changed since is in the ledger."""
    moved = BOARDS.replace(KEY, "leaderboard:moved")
    (taking.directory / "boards.toml").write_text(moved, encoding="utf-8")
    assert run("boards", "list", cwd=taking.directory).returncode == 0
    assert run("boards", "apply", "boards.toml", "--yes", cwd=taking.directory).returncode == 0
    taking.fill("leaderboard:moved", taking.few)
    taking.fill(KEY, {"somebody": 1.0})
    assert taking.told(key="leaderboard:moved")["imported"] == FEW
    assert taking.set_at("keepscore:before:leaderboard:moved") == taking.few
    assert taking.told()["imported"] == 1
    assert (taking.set_at(KEY), taking.aside in taking.stored()) == ({"somebody": 1.0}, False)
    taking.verify()


@pytest.mark.parametrize("named", [True, False], ids=["by --url", "by the ledger that it has open"])
def test_a_service_on_whose_own_key_the_set_lies(taking: Taking, named: bool) -> None:
    """It could not rank what is imported. Beside it, with its configuration, the set is taken over."""
    service = Service(taking.directory, on(taking.server.url, BOARDS))
    try:
        taking.fill(KEY, taking.few)
        beside = taking.directory / "beside.toml"
        beside.write_text(f'[ledger]\nurl = "sqlite:///{service.ledger}"\n', encoding="utf-8")
        for flags in ([], ["--dry-run"]):
            refusal = taking.refusal(*(["--url", service.url] if named else ["--config", str(beside)]), *flags)
            assert all(word in refusal for word in (KEY, "'global'", service.url, "--config")), refusal
        assert (taking.set_at(KEY), service.get("global", "events")["events"]) == (taking.few, [])
        assert taking.told("--config", str(service.config))["imported"] == FEW
        until(lambda: service.get("global", "count")["count"] == FEW, 5)
        assert taking.set_at(taking.aside) == taking.few
    finally:
        service.stop()
    taking.verify()


def test_a_service_whose_engine_is_elsewhere_takes_a_set_of_the_same_name(taking: Taking) -> None:
    service = Service(taking.directory, BOARDS)
    try:
        taking.fill(KEY, taking.few)
        assert taking.told("--url", service.url)["imported"] == FEW
        assert service.get("global", "count")["count"] == FEW
        assert (taking.set_at(KEY), taking.aside in taking.stored()) == (taking.few, False)
    finally:
        service.stop()
