"""A file counts once, whatever its name and however late; one that grew goes on; another one is another import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from keepscore.cli.importing import ImportTarget, bring_file
from keepscore.cli.options import reach
from keepscore.client import SyncClient
from keepscore.errors import AnswerLost
from tests.service.running import Service, run
from tests.support.postgres_servers import shared_postgres

BOARDS = '[[board]]\nname = "b"\noperator = "sum"\nmax_score = 1000000\n'


class Importing:
    """A board on a ledger, with a service or without, and files to import."""

    def __init__(self, folder: Path, ledger: str, service: Service | None) -> None:
        self.folder = folder
        self.service = service
        if service is None:
            (folder / "keepscore.toml").write_text(f'[ledger]\nurl = "{ledger}"\n{BOARDS}')

    def write(self, name: str, *amounts: int, head: str = "player,amount") -> None:
        lines = [head, *(f"p{place % 7},{amount}" for place, amount in enumerate(amounts))]
        (self.folder / name).write_text("".join(line + "\n" for line in lines))

    def run(self, name: str, *flags: str) -> CompletedProcess[str]:
        where = ["--url", self.service.url] if self.service is not None else []
        done = run("import", name, "--board", "b", *where, *flags, cwd=self.folder)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def load(self, name: str, *flags: str) -> tuple[int, int]:
        told = json.loads(self.run(name, "--json", *flags).stdout)
        return told["imported"], told["already_imported"]

    def total(self) -> int:
        where = ["--url", self.service.url] if self.service is not None else []
        shown = run("export", "b", "--format", "jsonl", *where, cwd=self.folder)
        return sum(json.loads(line)["score"] for line in shown.stdout.splitlines())


@pytest.fixture(params=["service", "sqlite", "postgres"])
def importing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Importing]:
    ledger = shared_postgres().new_database() if request.param == "postgres" else "sqlite:///scores.db"
    service = Service(tmp_path, BOARDS) if request.param == "service" else None
    try:
        yield Importing(tmp_path, ledger, service)
    finally:
        if service is not None:
            service.stop()


@pytest.mark.timeout(180)
def test_a_file_counts_once_goes_on_and_is_told_from_others(importing: Importing) -> None:
    amounts = [place % 50 + 1 for place in range(2345)]
    importing.write("scores.csv", *amounts)
    assert importing.load("scores.csv") == (2345, 0)
    # The same under another name, in another form.
    importing.write("renamed.csv", *amounts)
    rows = [{"amount": amount, "player": f"p{place % 7}"} for place, amount in enumerate(amounts)]
    (importing.folder / "same.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [importing.load(name) for name in ("scores.csv", "renamed.csv", "same.jsonl")] == [(0, 2345)] * 3
    assert "renamed.csv was imported before, as scores.csv" in importing.run("renamed.csv").stderr
    # It grew, within a part and beyond; and what it was before is known still.
    importing.write("grown.csv", *amounts, *[1] * 1000)
    importing.write("again.csv", *amounts, *[1] * 1000, *[1])
    grown = importing.run("grown.csv")
    assert "up to row 2345 of 3345: continuing there" in grown.stderr
    assert "1000 imported, 2345 imported before" in grown.stdout
    assert [importing.load(name) for name in ("grown.csv", "scores.csv", "again.csv", "again.csv")] == [
        (0, 3345),
        (0, 2345),
        (1, 3345),
        (0, 3346),
    ]
    assert importing.total() == sum(amounts) + 1001
    # Another file of the same name counts, with the lines that are the same as before, and of another source, the same.
    importing.write("scores.csv", *amounts[:1500], 7)
    other = importing.run("scores.csv")
    assert "differs from the file of that name" in other.stderr
    assert "1501 imported, 0 imported before" in other.stdout
    assert importing.load("scores.csv") == (0, 1501)
    assert importing.load("scores.csv", "--source", "second") == (1501, 0)
    assert importing.total() == sum(amounts) + 1001 + 2 * (sum(amounts[:1500]) + 7)


def test_several_at_once_count_once(tmp_path: Path) -> None:
    service = Service(tmp_path, BOARDS)
    try:
        importing = Importing(tmp_path, "", service)
        importing.write("scores.csv", *range(1, 3001))

        def bring(_: int) -> tuple[int, int]:
            with SyncClient(service.url) as client:
                brought = bring_file(tmp_path / "scores.csv", "", ImportTarget(client, "b"), lambda _: None)
            return brought.counts["imported"], brought.counts["already_imported"]

        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(bring, range(4)))
        assert sum(imported for imported, _ in told) == 3000
        assert all(sum(counts) == 3000 for counts in told)
        assert importing.total() == 3000 * 3001 // 2
    finally:
        service.stop()


class Cut:
    """Boards to which parts come until one is cut off, on its way there or on its way back."""

    def __init__(self, boards: Any, parts: int, arrives: bool) -> None:
        self.admin, self._boards, self._parts, self._arrives = self, boards, parts, arrives

    def imported_parts(self, board: str, **behind: Any) -> Any:
        return self._boards.admin.imported_parts(board, **behind)

    def import_scores(self, board: str, entries: list[Any], **how: Any) -> Any:
        self._parts -= 1
        if self._parts < 0 and not self._arrives:
            raise AnswerLost("cut off")
        answer = self._boards.admin.import_scores(board, entries, **how)
        if self._parts < 0:
            raise AnswerLost("cut off")
        return answer


@pytest.mark.parametrize("arrives", [False, True])
def test_an_import_that_was_cut_short_goes_on(tmp_path: Path, arrives: bool) -> None:
    importing = Importing(tmp_path, f"sqlite:///{tmp_path / 'scores.db'}", None)
    bad = "player,amount\n" + "".join(f"p{n},{'much' if n % 100 == 0 else n}\n" for n in range(3500))
    (tmp_path / "scores.csv").write_text(bad)
    with reach(None, str(tmp_path / "keepscore.toml")) as local:

        def bring(boards: Any) -> Any:
            return bring_file(tmp_path / "scores.csv", "", ImportTarget(boards, "b"), lambda _: None)

        with pytest.raises(AnswerLost):
            bring(Cut(local, 2, arrives))
        brought = bring(local)
        known = 2970 if arrives else 1980
        assert (brought.counts["imported"], brought.counts["already_imported"]) == (3465 - known, known)
        assert len(brought.bad) == 35
        # Bad lines are mended, some of them, then the rest; each counts once.
        for mended in (1000, 3500, 3500):
            lines = [f"p{n},{n if n % 100 or n < mended else 'much'}" for n in range(3500)]
            (tmp_path / "scores.csv").write_text("player,amount\n" + "".join(line + "\n" for line in lines))
            told = bring(local)
            assert sum(told.counts.values()) + len(told.bad) == 3500
    assert importing.total() == sum(range(3500))


def test_what_the_board_refuses_is_told_again_and_taken_when_it_fits(tmp_path: Path) -> None:
    importing = Importing(tmp_path, f"sqlite:///{tmp_path / 'scores.db'}", None)
    importing.write("scores.csv", 5, 2_000_000, 6)
    importing.write("bad.csv", 2_000_000, 3_000_000)
    assert importing.load("scores.csv") == (2, 0)
    assert importing.load("scores.csv") == (0, 2)
    assert "line 3: amount = 2000000" in importing.run("scores.csv").stderr
    assert [importing.load("bad.csv"), importing.load("bad.csv")] == [(0, 0), (0, 0)]
    importing.write("scores.csv", 5, 20, 6)
    assert [importing.load("scores.csv"), importing.load("scores.csv")] == [(1, 2), (0, 3)]
    importing.write("scores.csv", 5, 21, 6)
    assert "line 3: this row was imported before with different content" in importing.run("scores.csv").stderr
    assert importing.total() == 31
