"""Long work gives others their turn: counted in turns of the event loop and in collections, not in seconds."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepscore import Board, Leaderboards
from keepscore.domain.inputs import Entry
from keepscore.service import interpreter
from keepscore.service.interpreter import Collector, share_time
from keepscore.storage import pace

#: Entries of a batch, and the most of them that are worked on in one turn, whatever is done with them.
BATCH, MOST_IN_A_TURN = 5000, 500


@pytest.fixture
def shared_time() -> Iterator[Collector]:
    """A process that is set up as a service is, until the end of the test."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    yield share_time()
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    sys.setswitchinterval(interval)


def full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])


async def test_no_full_collection_begins_in_the_middle_of_the_work(tmp_path: Path, shared_time: Collector) -> None:
    async with Leaderboards.open(f"sqlite:///{tmp_path / 'scores.db'}", boards=[Board("b", windows=["daily", "all_time"])]) as lb:
        before, young = full_collections(), int(gc.get_stats()[1]["collections"])
        for start in range(0, 4 * BATCH, BATCH):
            await lb.submit_many("b", [Entry(player_id=f"p{n}", score=n) for n in range(start, start + BATCH)])
        await lb.admin.run_keeper()
        assert (await lb.admin.verify("b")).ok
        assert full_collections() == before
        assert int(gc.get_stats()[1]["collections"]) > young, "young objects are looked through as ever"


def test_a_full_collection_comes_when_nobody_waits(shared_time: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    before = full_collections()
    monkeypatch.setattr(interpreter, "QUIET_SHARE", 1000.0)
    shared_time.look()
    assert full_collections() == before, "the last one was just now"
    monkeypatch.setattr(interpreter, "EARLIEST_S", 0.0)
    gc.collect(1)
    shared_time.look()
    assert full_collections() == before, "few objects came"
    for _ in range(interpreter.WORTHWHILE):
        gc.collect(1)
    monkeypatch.setattr(interpreter, "QUIET_SHARE", -1.0)
    shared_time.look()
    assert full_collections() == before, "others are at work"
    monkeypatch.setattr(interpreter, "QUIET_SHARE", 1000.0)
    shared_time.look()
    assert full_collections() == before + 1


class Ticking:
    """Counts the turns that others get."""

    def __init__(self) -> None:
        self.turns = 0
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.turns += 1

    async def during(self, work: object) -> int:
        """How many turns others got during some work."""
        before = self.turns
        await work  # type: ignore[misc]
        return self.turns - before

    def end(self) -> None:
        self._task.cancel()


async def test_others_get_their_turn_while_a_batch_is_worked_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every turn is over at once, there are as many as there are places at which the work may be put aside."""
    monkeypatch.setattr(pace, "TURN_S", 0.0)
    boards = [Board("best"), Board("sums", operator="sum"), Board("last", operator="last", resolution="1h")]
    async with Leaderboards.open("sqlite:///:memory:", boards=boards) as lb:
        ticking = Ticking()
        try:
            for _ in range(2):
                # The second time, players of the last board are restated.
                for board in boards:
                    what = "amount" if board.name == "sums" else "score"
                    entries = [Entry(player_id=f"p{n}", **{what: n}) for n in range(BATCH)]
                    assert await ticking.during(lb.submit_many(board.name, entries)) >= BATCH // MOST_IN_A_TURN, board.name
            assert await ticking.during(lb.admin.verify("best")) >= BATCH // 2000
            assert await ticking.during(lb.runtime.checkpoints.checkpoint()) >= 3 * BATCH // 2000
        finally:
            ticking.end()
