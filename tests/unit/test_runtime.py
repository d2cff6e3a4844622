"""The composition: every part by name, none exchanged afterwards, and the clock and the keeper in the hands of who builds it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from keepscore import Board, Leaderboards
from keepscore.connect import feed_for
from keepscore.errors import InvalidBoard, NotUsable
from keepscore.lifecycle.administration import Administration
from keepscore.players.profiles import Players
from keepscore.reading.history import History
from keepscore.runtime import RuntimeSettings, build_runtime
from keepscore.storage.engines.embedded.engine import EmbeddedEngine
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.support.opening import leaderboards
from tests.unit.client.test_client import public

NOON = 1_794_744_000_000


class Ledger(SqliteLedger):
    """Remembers whether it was closed."""

    closed = False

    async def close(self) -> None:
        self.closed = True
        await super().close()


async def test_a_runtime_is_built_from_its_parts_and_frozen() -> None:
    engine, settings = EmbeddedEngine(), RuntimeSettings(boards=[Board("b")], keeper="manual")
    runtime = await build_runtime(ledger=Ledger(":memory:"), engine=engine, feed=feed_for(engine), clock=lambda: NOON, settings=settings)
    await runtime.start()
    assert (runtime.engine, runtime.settings, runtime.clock()) == (engine, settings, NOON)
    with pytest.raises(dataclasses.FrozenInstanceError):
        runtime.engine = EmbeddedEngine()  # type: ignore[misc]
    assert [info.board.name for info in await runtime.admin.boards()] == ["b"]
    await runtime.stop()


async def test_what_cannot_start_is_closed() -> None:
    ledger = Ledger(":memory:")
    with pytest.raises(InvalidBoard, match="defined twice"):
        async with leaderboards(ledger, boards=[Board("b"), Board("b")]):
            pass
    assert ledger.closed


async def test_a_manual_keeper_does_its_jobs_when_it_is_asked_to() -> None:
    async with leaderboards("sqlite:///:memory:", boards=[Board("b")], clock=lambda: NOON) as lb:
        keeper = lb.runtime.keeper
        assert all(status.last_run is None for status in (await lb.admin.keeper_status()).jobs)
        assert await keeper.job("checkpoint").run(NOON) == "1 board"
        assert (await lb.admin.run_keeper()).now == "2026-11-15T12:00:00.000Z"


async def test_there_are_no_parts_before_it_is_open() -> None:
    lb = Leaderboards.open("sqlite:///:memory:", boards=[Board("b")])
    with pytest.raises(NotUsable, match="not open"):
        _ = lb.runtime


def test_the_readme_names_every_method_of_the_namespaces() -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for name, methods in {"history": History, "players": Players, "admin": Administration}.items():
        (row,) = re.findall(rf"\n\| `lb\.{name}` \| (.*) \|", page)
        assert set(re.findall(r"`(\w+)`", row)) == set(public(methods)), name
