"""How commands behave: what they ask first, what they print for people and for pipes, what they leave alone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running import PROGRAM, Service, environment, on_terminal, run, taken
from tests.support.ports import free_port

LONG = "a-player-whose-id-is-much-longer-than-any-terminal-is-wide-" + "x" * 60


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("manners"), '[[board]]\nname = "games"\n[[board]]\nname = "laps"\norder = "asc"\n')
    for player, score in (("ann", 30), ("bob", 20), (LONG, 10)):
        running.submit("games", player, score)
    yield running
    running.stop()


def test_what_is_hard_to_take_back_is_asked_first(service: Service) -> None:
    service.define("asked", operator="sum")
    service.submit("asked", "ann", 5)
    reach = "--url", service.url
    file = service.directory / "asked.json"
    file.write_text('{"name": "asked", "operator": "last"}')
    asked = [(["reset", "asked"], "Reset board asked?"), (["boards", "delete", "asked"], "Delete board asked")]
    asked += [(["boards", "apply", str(file)], "operator changes from 'sum' to 'last'")]
    for command, question in asked:
        code, shown = on_terminal(*command, *reach, cwd=service.directory, answer="n\n")
        assert (code, question in shown) == (1, True), shown
        refused = run(*command, *reach, cwd=service.directory)
        assert (refused.returncode, "--yes" in refused.stderr, refused.stdout) == (2, True, ""), refused
    assert service.get("asked", "players/ann")["score"] == 5
    assert taken(service.client.get("/v1/boards/asked"))["version"] == 1
    for command, _ in (asked[2], asked[0], asked[1]):
        code, shown = on_terminal(*command, *reach, cwd=service.directory, answer="y\n")
        assert code == 0, shown
    assert service.client.get("/v1/boards/asked").status_code == 404
    service.define("asked")
    assert run("boards", "delete", "asked", "--yes", *reach, cwd=service.directory).stdout == "board asked: deleted\n"
    gone = run("boards", "delete", "asked", *reach, cwd=service.directory)
    assert (gone.returncode, "there is no board 'asked'" in gone.stderr) == (2, True)


@pytest.mark.parametrize("columns", ["20", "80"])
def test_nothing_is_cut_or_coloured_in_a_pipe(service: Service, columns: str) -> None:
    variables = {"COLUMNS": columns, "TERM": "xterm-256color"}
    for command in (["top", "games"], ["rank", "games", LONG], ["events", LONG], ["boards", "list"], ["keeper", "status"]):
        arguments = [*PROGRAM, *command, "--url", service.url]
        plain = {name: value for name, value in environment(**variables).items() if name != "NO_COLOR"}
        done = subprocess.run(arguments, cwd=service.directory, env=plain, capture_output=True, text=True, check=True)
        assert "\x1b" not in done.stdout + done.stderr
        assert "…" not in done.stdout
        if command[0] in ("top", "rank"):
            rows = [line for line in done.stdout.splitlines() if LONG in line]
            assert len(rows) == 1, done.stdout


def test_a_narrow_terminal_folds_and_does_not_cut(service: Service) -> None:
    code, shown = on_terminal("top", "games", "--url", service.url, cwd=service.directory, columns=50)
    assert (code, "…" in shown) == (0, False)
    letters = re.sub(r"\x1b\[[0-9;]*m|\s", "", shown)
    assert letters.count("x") >= 60


def test_numbers_are_said_as_people_say_them(service: Service, tmp_path: Path) -> None:
    reach = "--url", service.url
    service.define("alone")
    service.submit("alone", "ann", 1)
    assert "· 1 player\n" in run("top", "alone", *reach, cwd=tmp_path).stdout
    assert run("rank", "games", "bob", *reach, cwd=tmp_path).stdout.startswith("rank 2 of 3 (percentile 66.67)\n")
    assert "66.67 " in run("submit", "games", "bob", "20", *reach, cwd=tmp_path).stdout
    one = tmp_path / "one.csv"
    one.write_text("player,score\nann,1\nbob,much\n")
    done = run("import", str(one), "--board", "alone", *reach, cwd=tmp_path)
    assert done.stdout == "1 imported, 0 imported before, 1 bad line\n"


READS = [
    ["top", "b"],
    ["rank", "b", "p"],
    ["boards", "list"],
    ["boards", "show", "b"],
    ["submit", "b", "p", "1"],
    ["verify"],
    ["export", "b"],
]
READS += [["reset", "b", "--yes"], ["windows", "b"], ["events", "p"], ["keeper", "status"], ["boards", "delete", "b", "--yes"]]


@pytest.mark.parametrize("command", READS, ids=" ".join)
def test_an_empty_directory_stays_empty(tmp_path: Path, command: list[str]) -> None:
    done = run(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(word in done.stderr for word in ("there are no boards here", "keepscore serve", "--url", "--config"))
    assert list(tmp_path.iterdir()) == []


def test_boards_may_be_defined_in_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "boards.json").write_text('{"name": "made"}')
    assert run("boards", "apply", "boards.json", cwd=tmp_path).stdout == "board made: version 1\n"
    assert "made" in run("boards", "list", cwd=tmp_path).stdout


def completed(cwd: Path, line: str, **variables: str) -> list[str]:
    """Return what a shell offers at the end of a line."""
    words = line.split(" ")
    asking = {"_KEEPSCORE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), **variables}
    done = subprocess.run(PROGRAM, cwd=cwd, env=environment(**asking), capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_completes_the_names_of_boards(service: Service, tmp_path: Path) -> None:
    assert completed(tmp_path, f"keepscore top --url {service.url} ga") == ["games"]
    assert completed(tmp_path, "keepscore boards show la", KEEPSCORE_URL=service.url) == ["laps"]
    # Without a URL: the service of the configuration, and what its file says.
    assert completed(service.directory, "keepscore top ga", KEEPSCORE_SERVER_PORT=str(service.port)) == ["games"]
    nobody = str(free_port())
    assert completed(service.directory, "keepscore top ", KEEPSCORE_SERVER_PORT=nobody) == ["games", "laps"]
    assert completed(tmp_path, "keepscore top ", KEEPSCORE_SERVER_PORT=nobody) == []
    assert list(tmp_path.iterdir()) == []
