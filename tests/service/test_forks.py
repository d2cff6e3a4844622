"""Leaderboards and real forks: a child opens its own or says why not, never hangs, and never touches what its parent has open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepscore.sync import Leaderboards
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import single

#: What every program begins with. `child(work)` forks, and returns what `work` returned there, or the error that it raised, as text.
#: The child comes to its end as programs do: with all objects finalized.
PRELUDE = """
import asyncio, gc, os, pickle, signal, sys, threading, time
from keepscore import Board, Leaderboards, sync

LEDGER, ENGINE = sys.argv[1:3]
BOARDS = [Board("b", operator="sum")]

def child(work, wait=True, end=sys.exit):
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        os.close(here)
        try:
            told = str(work())
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        os.write(there, told.encode())
        os.close(there)
        gc.collect()
        end(0)
    os.close(there)
    if not wait:
        return pid, here
    return answer(pid, here)

def answer(pid, here):
    with os.fdopen(here, "rb") as pipe:
        told = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    assert status == 0, (status, told)
    return told

def sockets():
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            link = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        found |= {link} if link.startswith("socket:") or "eventpoll" in link else set()
    return found
"""


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with single() as server:
        yield server.url


@pytest.fixture
def postgres(redis_url: str) -> tuple[str, str]:
    """An empty PostgreSQL and Redis, for several processes."""
    ledger = shared_postgres().new_database()
    with Leaderboards.open(ledger, redis_url) as lb:
        for info in lb.admin.boards():
            lb.admin.delete_board(info.board.name)
    return ledger, redis_url


def run(code: str, ledger: str, engine: str = "embedded://") -> list[str]:
    """Run a program, which has to end by itself and without a word on stderr; return the lines that it printed."""
    words = [sys.executable, "-c", PRELUDE + code, ledger, engine]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def totals(ledger: str, engine: str = "embedded://") -> dict[str, int]:
    """Return all scores, and prove that they are what the ledger says."""
    with Leaderboards.open(ledger, engine) as lb:
        assert lb.admin.verify("b").ok
        return {standing.player_id: int(standing.score) for standing in lb.top("b", limit=1000).standings}


def test_a_child_opens_its_own_on_redis_and_postgresql(postgres: tuple[str, str]) -> None:
    code = """
lb = sync.Leaderboards.open(LEDGER, ENGINE, boards=BOARDS)
lb.increment("b", "parent", 1)
of_parent = sockets()

def work():
    shared = sockets() & of_parent
    # One end of the pair of sockets by which the parent's threads wake its loop: nothing is listening at the other end here.
    # And maybe a connection that the parent was just opening, which nobody here knows of.
    assert len(shared) <= 2, shared
    lb.increment("b", "child", 1)
    lb.history.windows("b")
    return lb.count("b").count

print(len(of_parent) >= 3, child(work), child(work))
for _ in range(50): lb.increment("b", "parent", 1)
print(lb.rank("b", "parent").score, lb.rank("b", "child").score)
"""
    assert run(code, *postgres) == ["True 2 2", "51 2"]
    assert totals(*postgres) == {"parent": 51, "child": 2}


@pytest.mark.parametrize("shared", [False, True], ids=["embedded", "redis"])
def test_a_child_is_refused_the_sqlite_file_that_its_parent_has_open(shared: bool, redis_url: str, tmp_path: Path) -> None:
    code = """
lb = sync.Leaderboards.open(LEDGER, ENGINE, boards=BOARDS)
lb.increment("b", "parent", 1)
print(child(lambda: lb.increment("b", "child", 1)))
print(child(lambda: sync.Leaderboards.open(LEDGER, ENGINE).top("b")))
for _ in range(50): lb.increment("b", "parent", 1)
"""
    place = f"sqlite:///{tmp_path}/scores.db", redis_url if shared else "embedded://"
    told = run(code, *place)
    assert len(told) == 2
    for line in told:
        assert line.startswith(f"LedgerInUse: the ledger {tmp_path}/scores.db was open when this process was forked"), line
        assert line.endswith("make the first call after the fork, or keep rankings in Redis and the ledger in PostgreSQL"), line
    assert totals(*place) == {"parent": 51}


def test_a_child_may_be_the_first_to_call(tmp_path: Path) -> None:
    code = """
lb = sync.Leaderboards.open(LEDGER, boards=BOARDS)

def work():
    lb.increment("b", "child", 1)
    try:
        return grandchild_of(lb)
    finally:
        lb.close()

def grandchild_of(lb):
    return child(lambda: lb.top("b"))

print(child(work))
print(lb.increment("b", "parent", 1).total_players)
"""
    first, second = run(code, f"sqlite:///{tmp_path}/scores.db")
    assert first.startswith("LedgerInUse: ")
    assert second == "2", "the child has let go"
    assert totals(f"sqlite:///{tmp_path}/scores.db") == {"child": 1, "parent": 1}


def test_forks_in_the_middle_of_writes_do_no_harm(tmp_path: Path) -> None:
    """Children are forked while transactions are open. To finalize a copy of SQLite's connection would undo them in shared memory."""
    code = """
lb = sync.Leaderboards.open(LEDGER, boards=BOARDS)
lb.increment("b", "p0", 1)
stop, counts = threading.Event(), [1, 0, 0, 0]

def play(number):
    while not stop.is_set():
        lb.increment("b", f"p{number}", 1)
        counts[number] += 1

threads = [threading.Thread(target=play, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
told = {child(lambda: lb.top("b")).partition(":")[0] for _ in range(12)}
stop.set()
for thread in threads: thread.join()
print(told == {"LedgerInUse"}, *counts)
"""
    (line,) = run(code, f"sqlite:///{tmp_path}/scores.db")
    right, *counts = line.split()
    assert right == "True"
    assert totals(f"sqlite:///{tmp_path}/scores.db") == {f"p{number}": int(count) for number, count in enumerate(counts)}


def test_forks_while_others_call_never_hang_on_redis_and_postgresql(postgres: tuple[str, str]) -> None:
    code = """
lb = sync.Leaderboards.open(LEDGER, ENGINE, boards=BOARDS)
stop, counts = threading.Event(), [0, 0]

def play(number):
    while not stop.is_set():
        lb.increment("b", f"p{number}", 1)
        counts[number] += 1

threads = [threading.Thread(target=play, args=(number,)) for number in range(2)]
for thread in threads: thread.start()
told = {child(lambda: lb.increment("b", "child", 1).updated) for _ in range(4)}
stop.set()
for thread in threads: thread.join()
print(told, *counts)
"""
    (line,) = run(code, *postgres)
    right, *counts = line.split()
    assert right == "{'True'}"
    assert totals(*postgres) == {"p0": int(counts[0]), "p1": int(counts[1]), "child": 4}


def test_a_fork_finds_no_lock_locked_by_the_leaderboards_own_thread(tmp_path: Path) -> None:
    """The clock is called in that thread, and stands for all that takes a lock there, such as OpenSSL."""
    code = """
lock, stop = threading.Lock(), threading.Event()

def clock():
    with lock:
        time.sleep(0.005)
    return time.time_ns() // 1_000_000

lb = sync.Leaderboards.open(LEDGER, boards=BOARDS, clock=clock)

def play():
    while not stop.is_set():
        lb.increment("b", "p", 1)

thread = threading.Thread(target=play)
thread.start()
print({child(lambda: lock.acquire(timeout=1)) for _ in range(20)})
stop.set()
thread.join()
"""
    assert run(code, f"sqlite:///{tmp_path}/scores.db") == ["{'True'}"]


def test_a_closed_parent_and_a_context_manager_leave_a_closed_child(tmp_path: Path) -> None:
    code = """
with sync.Leaderboards.open(LEDGER, boards=BOARDS) as lb:
    lb.increment("b", "parent", 1)
    if (pid := os.fork()) == 0:
        raise SystemExit(0)
    os.waitpid(pid, 0)
    lb.increment("b", "parent", 1)
print(child(lambda: lb.top("b")))
"""
    (line,) = run(code, f"sqlite:///{tmp_path}/scores.db")
    assert line.startswith("NotUsable: these leaderboards are closed")
    assert totals(f"sqlite:///{tmp_path}/scores.db") == {"parent": 2}


def test_the_lock_of_a_ledger_ends_with_its_owner_not_with_the_owners_children(tmp_path: Path) -> None:
    code = """
lb = sync.Leaderboards.open(LEDGER, boards=BOARDS)
lb.increment("b", "parent", 1)
pid, _ = child(lambda: time.sleep(25), wait=False)
print(pid, flush=True)
if ENGINE == "kill": os.kill(os.getpid(), signal.SIGKILL)
lb.close()
lb = sync.Leaderboards.open(LEDGER)
print(lb.increment("b", "parent", 1).score, flush=True)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
"""
    ledger = f"sqlite:///{tmp_path}/scores.db"
    words = [sys.executable, "-c", PRELUDE + code.replace('"kill"', '"embedded://"'), ledger, "embedded://"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        child = int(killed.stdout.readline())
        assert killed.wait(30) == -signal.SIGKILL
        try:
            assert totals(ledger) == {"parent": 1}
        finally:
            os.kill(child, signal.SIGKILL)
    assert run(code, ledger)[1:] == ["3"]
    assert totals(ledger) == {"parent": 3}


def test_an_async_program_that_forks(postgres: tuple[str, str]) -> None:
    code = """
lb = Leaderboards.open(LEDGER, ENGINE, boards=BOARDS)

async def play(player):
    await lb.increment("b", player, 1)
    return (await lb.count("b")).count

async def play_and_close(player):
    try:
        return await play(player)
    finally:
        await lb.close()

with asyncio.Runner() as runner:
    runner.run(play("parent"))
    # Not sys.exit: it would leave the `with`, and close the parent's loop.
    print(child(lambda: asyncio.run(play_and_close("child")), end=os._exit))
    runner.run(play_and_close("parent"))
"""
    assert run(code, *postgres) == ["2"]
    assert totals(*postgres) == {"parent": 2, "child": 1}
