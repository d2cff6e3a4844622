"""Leaderboards are opened by the first call and closed once, whoever else calls at the same time."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from keepscore import Board, Leaderboards, sync
from keepscore.errors import LedgerInUse, LedgerUnavailable, NotUsable
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.support.opening import leaderboards

BOARDS = [Board("b")]
MEMORY = "sqlite:///:memory:"
#: The task in which somebody waits.
REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("REQUEST", default="none")


class Counted(SqliteLedger):
    """Counts how often it is opened, and takes its time."""

    opened = 0
    context = ""

    async def open(self, now: int) -> int:
        type(self).opened += 1
        type(self).context = REQUEST.get()
        await asyncio.sleep(0)
        return await super().open(now)


# -- async --------------------------------------------------------------------------------------------------------------------


async def test_the_first_call_opens_it() -> None:
    lb = Leaderboards.open(MEMORY, boards=BOARDS)
    assert (await lb.submit("b", "ada", 5)).rank == 1
    assert (await lb.rank("b", "ada")).score == 5
    await lb.close()


@pytest.mark.parametrize("name", ["history", "players", "admin", "keys"])
async def test_a_namespace_opens_it_too(name: str) -> None:
    lb = Leaderboards.open(MEMORY, boards=BOARDS)
    calls: dict[str, Any] = {
        "history": lambda: lb.history.windows("b"),
        "players": lambda: lb.players.profile("ada"),
        "admin": lambda: lb.admin.boards(),
        "keys": lambda: lb.keys.all(),
    }
    await calls[name]()
    assert lb.runtime.catalog
    await lb.close()
    with pytest.raises(NotUsable, match="closed"):
        await calls[name]()


async def test_many_first_calls_open_it_once() -> None:
    Counted.opened = 0
    lb = leaderboards(Counted(":memory:"), boards=BOARDS)
    receipts = await asyncio.gather(*(lb.submit("b", f"p{i}", i) for i in range(50)))
    assert (Counted.opened, len(receipts)) == (1, 50)
    assert (await lb.count("b")).count == 50
    await lb.close()


async def test_a_first_caller_who_gives_up_does_not_stop_the_others() -> None:
    lb = leaderboards(Counted(":memory:"), boards=BOARDS)
    first, second = asyncio.create_task(lb.submit("b", "ada", 1)), asyncio.create_task(lb.submit("b", "ben", 2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).rank == 1
    with pytest.raises(asyncio.CancelledError):
        await first
    await lb.close()


async def test_what_runs_in_the_background_does_not_belong_to_the_first_request() -> None:
    REQUEST.set("first")
    lb = leaderboards(Counted(":memory:"), boards=BOARDS)
    await lb.top("b")
    assert Counted.context == "none"
    await lb.close()


async def test_a_first_call_that_fails_is_tried_again_by_the_next(tmp_path: Path) -> None:
    lb = Leaderboards.open(f"sqlite:///{tmp_path}/folder/scores.db", boards=BOARDS)
    (tmp_path / "folder").write_text("not a folder")
    for _ in range(2):
        with pytest.raises(LedgerUnavailable, match="folder cannot be written"):
            await lb.top("b")
    (tmp_path / "folder").unlink()
    assert (await lb.top("b")).standings == []
    await lb.close()


async def test_closed_leaderboards_say_so_and_may_be_closed_again() -> None:
    lb = Leaderboards.open(MEMORY, boards=BOARDS)
    await lb.submit("b", "ada", 5)
    await asyncio.gather(lb.close(), lb.close())
    await lb.close()
    with pytest.raises(NotUsable, match=r"closed: open new ones with Leaderboards\.open"):
        await lb.top("b")
    with pytest.raises(NotUsable, match="closed"):
        async with lb:
            pass


async def test_leaderboards_that_were_never_used_can_be_closed() -> None:
    lb = Leaderboards.open(MEMORY, boards=BOARDS)
    await lb.close()
    with pytest.raises(NotUsable, match="closed"):
        await lb.top("b")


async def test_closing_waits_for_an_opening_that_is_under_way(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/scores.db"
    lb = Leaderboards.open(url, boards=BOARDS)
    call = asyncio.create_task(lb.submit("b", "ada", 5))
    await asyncio.sleep(0)
    await lb.close()
    await asyncio.gather(call, return_exceptions=True)
    async with Leaderboards.open(url) as again:
        assert (await again.admin.boards())[0].board.name == "b"


async def test_a_context_manager_may_come_after_the_first_call() -> None:
    lb = Leaderboards.open(MEMORY, boards=BOARDS)
    await lb.submit("b", "ada", 5)
    async with lb:
        assert (await lb.rank("b", "ada")).rank == 1
    with pytest.raises(NotUsable, match="closed"):
        await lb.top("b")


def test_another_event_loop_is_told_what_to_do() -> None:
    lb = Leaderboards.open(MEMORY, boards=BOARDS)

    async def use_it() -> int | None:
        return (await lb.submit("b", "ada", 5)).rank

    async def close_it() -> None:
        await lb.close()

    with asyncio.Runner() as first:
        assert first.run(use_it()) == 1
        for wrong in (use_it, close_it):
            with (
                pytest.raises(NotUsable, match=r"another event loop: open new ones in this one.*keepscore\.sync"),
                asyncio.Runner() as second,
            ):
                second.run(wrong())
        assert first.run(use_it()) == 1
        first.run(close_it())


# -- blocking -----------------------------------------------------------------------------------------------------------------


def test_blocking_leaderboards_work_at_once_and_are_closed_once() -> None:
    lb = sync.Leaderboards.open(MEMORY, boards=BOARDS)
    assert lb.submit("b", "ada", 5).rank == 1
    assert lb.admin.boards()[0].board.name == "b"
    lb.close()
    lb.close()
    for call in (lambda: lb.top("b"), lambda: lb.admin.boards(), lb.__enter__):
        with pytest.raises(NotUsable, match="closed"):
            call()


def test_a_namespace_may_be_the_first_call() -> None:
    lb = sync.Leaderboards.open(MEMORY, boards=BOARDS)
    assert lb.keys.all() == []
    lb.close()


def test_many_threads_make_the_first_call_at_once() -> None:
    Counted.opened = 0
    lb = sync.Leaderboards(leaderboards(Counted(":memory:"), boards=BOARDS))
    barrier = threading.Barrier(16)

    def submit(number: int) -> int | None:
        barrier.wait(30)
        return lb.submit("b", f"p{number}", number).rank

    with ThreadPoolExecutor(16) as pool:
        assert len(list(pool.map(submit, range(16)))) == 16
    assert (Counted.opened, lb.count("b").count) == (1, 16)
    lb.close()


def test_threads_that_close_and_call_at_once_never_hang(tmp_path: Path) -> None:
    lb = sync.Leaderboards.open(f"sqlite:///{tmp_path}/scores.db", boards=BOARDS)
    acknowledged: set[str] = set()
    refused = threading.Event()

    def submit(number: int) -> None:
        for i in range(100_000):
            try:
                lb.submit("b", f"p{number}-{i}", 1)
            except NotUsable:
                return refused.set()
            acknowledged.add(f"p{number}-{i}")
        raise AssertionError("never refused")

    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(submit, number) for number in range(4)]
        while len(acknowledged) < 20:
            refused.wait(0.001)
        closes = [pool.submit(lb.close) for _ in range(2)]
        for call in (*closes, *calls):
            call.result(30)
    with sync.Leaderboards.open(f"sqlite:///{tmp_path}/scores.db") as again:
        starts = range(0, len(acknowledged) + 8, 1000)
        found = {standing.player_id for start in starts for standing in again.top("b", limit=1000, offset=start).standings}
    assert acknowledged <= found
    assert len(found) <= len(acknowledged) + 4, "what was cut short may be there"


def test_a_blocking_call_from_within_its_own_thread_is_an_error_not_a_deadlock() -> None:
    lb = sync.Leaderboards.open(MEMORY, boards=BOARDS)
    lb.submit("b", "ada", 5)
    errors: list[BaseException] = []

    def progress(*_: object) -> None:
        for call in (lambda: lb.top("b"), lb.close):
            with pytest.raises(NotUsable, match="own thread") as caught:
                call()
            errors.append(caught.value)

    lb.admin.rebuild("b", progress=progress)
    assert errors
    lb.close()


def test_two_at_once_in_one_process_are_told_apart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/scores.db"
    with sync.Leaderboards.open(url, boards=BOARDS) as lb, pytest.raises(LedgerInUse, match=r"in use.*Redis"):
        sync.Leaderboards.open(url).top("b")
    assert lb


# -- the end of a program -----------------------------------------------------------------------------------------------------

PROGRAM_ENDS = {
    "blocking": """
lb = sync.Leaderboards.open(URL, boards=[Board("b")])
for i in range(200): lb.submit("b", f"p{i}", i)
print("end")
""",
    "blocking, by an error": """
lb = sync.Leaderboards.open(URL, boards=[Board("b")])
for i in range(200): lb.submit("b", f"p{i}", i)
print("end", flush=True)
raise SystemExit(0)
""",
    "blocking, dropped": """
def play():
    lb = sync.Leaderboards.open(URL, boards=[Board("b")])
    for i in range(200): lb.submit("b", f"p{i}", i)
play()
gc.collect()
print("end")
""",
    "blocking, with threads that go on after the main thread": """
lb = sync.Leaderboards.open(URL, boards=[Board("b")])
lb.submit("b", "p0", 0)
def play():
    threading.main_thread().join()
    for i in range(200): lb.submit("b", f"p{i}", i)
    print("end")
threading.Thread(target=play).start()
""",
    "blocking, with daemon threads in the middle of calls": """
lb = sync.Leaderboards.open(URL, boards=[Board("b")])
for i in range(200): lb.submit("b", f"p{i}", i)
def play(name):
    for i in range(10**9): lb.submit("b", f"p{i % 200}", 0)
for name in "abc": threading.Thread(target=play, args=name, daemon=True).start()
time.sleep(0.05)
print("end")
""",
    "async": """
lb = Leaderboards.open(URL, boards=[Board("b")])
async def play():
    for i in range(200): await lb.submit("b", f"p{i}", i)
asyncio.run(play())
print("end")
""",
    "async, with calls under way": """
lb = Leaderboards.open(URL, boards=[Board("b")])
async def play():
    for i in range(200): await lb.submit("b", f"p{i}", i)
    for i in range(20): asyncio.create_task(lb.submit("b", f"p{i}", i))
    await asyncio.sleep(0.001)
asyncio.run(play())
print("end")
""",
}


@pytest.mark.parametrize("how", PROGRAM_ENDS)
def test_a_program_that_never_closes_ends_quietly_and_loses_nothing(how: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/scores.db"
    imports = "import asyncio, gc, threading, time\nfrom keepscore import Board, Leaderboards, sync\n"
    code = f"{imports}URL = {url!r}\n{PROGRAM_ENDS[how]}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
    with sync.Leaderboards.open(url) as lb:
        assert lb.count("b").count == 200
        assert lb.admin.verify("b").ok
