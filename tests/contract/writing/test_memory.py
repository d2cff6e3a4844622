"""Keyed writes leave nothing in memory: what is kept for speed is bounded in bytes."""

import subprocess
import sys

import pytest

from keepscore import Board
from keepscore.caches import bytes_of
from keepscore.domain.results.standings import BatchReceipt
from keepscore.domain.scoring import Event
from keepscore.errors import CapReached
from keepscore.projection.stores import Stores
from keepscore.reading import versions
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.claims import Claim
from keepscore.storage.ledgers.queries import named_queries
from keepscore.storage.ledgers.sqlite import player_index
from keepscore.storage.ledgers.sqlite.player_index import PlayerIndex
from keepscore.writing import segment_cap
from keepscore.writing.checks import SubmissionRequest, check_submission
from keepscore.writing.idempotency import MAX_ANSWER_BYTES, MAX_UNSAVED_BYTES, Retries
from keepscore.writing.segment_cap import SegmentCap
from tests.contract.opened import DAY, at

#: Bytes that each of many keyed writes may leave, once the caches, which are made small for it, are full.
LEFT_BYTES = 100

GROWTH = """
import asyncio, gc, secrets, sys
from keepscore import Board
from keepscore import Leaderboards
from keepscore.storage.ledgers.sqlite import player_index
from keepscore.storage.ledgers.sqlite import connections as sqlite_connections

sqlite_connections.WRITING_CACHE_KIB = sqlite_connections.CACHE_KIB = 1024
player_index.MAX_TAIL_BYTES = 1 << 20

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

async def main():
    async with Leaderboards.open(f"sqlite:///{sys.argv[1]}", boards=[Board("b", operator="sum")]) as lb:
        async def write(count):
            for _ in range(count // 200):
                keys = [secrets.token_hex(8) for _ in range(200)]
                await asyncio.gather(*[lb.increment("b", f"p{n % 50}", 1, idempotency_key=key) for n, key in enumerate(keys)])
        await write(16_000)
        before = resident()
        await write(16_000)
        print((resident() - before) / 16_000)

asyncio.run(main())
"""


@pytest.mark.timeout(120)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the kernel how much memory there is")
def test_keyed_writes_do_not_grow_the_process(tmp_path):
    done = subprocess.run([sys.executable, "-c", GROWTH, str(tmp_path / "scores.db")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < LEFT_BYTES


async def test_caches_of_the_ledger_are_bounded(run):
    async with run(Board("b")) as lb:
        sizes = [connection.execute("PRAGMA cache_size").fetchone()[0] for connection in lb.runtime.ledger.identity._connections]
    assert all(size < 0 for size in sizes), "in KiB, not in pages"
    assert sum(-size for size in sizes) <= 48 * 1024


def test_entries_of_the_index_are_bounded_by_their_bytes():
    index = PlayerIndex(named_queries("sqlite"))
    n = 0
    while not index.due:
        n += 1
        index.add([Event(1, 1, n, f"{n:0128d}", "score", 1, 1, 1)])
    held = sum(sys.getsizeof(part) for key, found in index._tail.items() for part in (key, key[1], found, *found, *found[0]))
    held += sys.getsizeof(index._tail)
    assert held <= player_index.MAX_TAIL_BYTES * 1.2
    assert n < player_index.MAX_TAIL


async def test_answers_that_wait_to_be_recorded_are_bounded_by_their_bytes(ledger):
    retries = Retries(ledger)
    large = BatchReceipt(1, [], spooled=True)
    large.rejected = ["x" * 1000] * (MAX_ANSWER_BYTES // 1010)
    for n in range(40):
        retries.keep(Claim("submission", "1", f"k{n}", b"f"), large)
    held = retries.unsaved()
    assert MAX_UNSAVED_BYTES // 2 < sum(map(len, held.values())) <= MAX_UNSAVED_BYTES
    retries.saved(held)
    retries.keep(Claim("submission", "1", "k", b"f"), large)
    assert len(retries.unsaved()) == 1


async def test_segment_values_that_are_known_take_no_more_than_their_bytes(run, clock):
    """The least recently used slots are forgotten, one by one, and the cap of those that are known stays."""
    async with run(Board("b", segments=["region"], windows=["daily"], grace="400d")) as lb:
        runtime = lb.runtime
        cap = SegmentCap(Stores(runtime.catalog, runtime.ledger, runtime.engine, runtime.clock), 20)
        cap.known.max_bytes = 100_000

        def check(value, moment):
            given = SubmissionRequest("ada", "score", 5, segments={"region": value}, at=at(moment))
            cap.check(check_submission(runtime.catalog["b"], given, clock.now))

        for day in range(60):
            moment = clock.now - day * DAY
            for n in range(20):
                check(f"{n:064d}", moment)
            # It is used all the time, and so are its values known.
            with pytest.raises(CapReached):
                check("one more", clock.now)
            known = [cap.known.get(slot).values for slot in list(cap.known)]
            held = sum(sys.getsizeof(part) for values in known for part in (values, *values))
            assert held <= cap.known.used_bytes <= 100_000
        assert 10 < len(cap.known) < 40
        # One that was forgotten starts over.
        check("one more", clock.now - DAY)


async def test_a_slot_at_its_cap_always_fits(run):
    async with run(Board("b")) as lb:
        runtime = lb.runtime
        most = 2 * segment_cap.KNOWN_BYTES // segment_cap.VALUE_BYTES
        assert SegmentCap(Stores(runtime.catalog, runtime.ledger, runtime.engine, runtime.clock), most).known.max_bytes >= most * 256
    known = segment_cap._Values()
    for n in range(20_000):
        # The longest values there are: 64 bytes of UTF-8, which take most in memory where they are of four bytes each.
        known.add(chr(0x1F300 + n % 500) + chr(0x1F300 + n // 500) + chr(0x1F600) * 14)
        assert n < 100 or known.bytes <= n * segment_cap.VALUE_BYTES


async def test_versions_of_rankings_are_bounded_by_their_bytes(run, monkeypatch):
    monkeypatch.setattr(versions, "VERSIONS_BYTES", 50_000)
    async with run(Board("b")) as lb:
        known, seen = lb.runtime.reader.versions, set()
        for n in range(1000):
            ranking = Ranking(1, "all_time", "", f"region:{n % 30 if n % 2 else n}")
            known._changed({ranking})
            now = ranking, known.version(ranking)
            assert now not in seen, "what an older page is remembered by comes back"
            seen.add(now)
            assert sum(map(bytes_of, known._counts)) <= 50_000
