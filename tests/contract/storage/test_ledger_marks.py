"""Values under names in both ledgers. The names are in the tables of ledgers that are in use: they do not change."""

import pytest

from keepscore.domain.results.reports import JobStatus
from keepscore.storage.ledgers import marks
from keepscore.storage.ledgers.slots import Slot

WEEK = Slot("weekly", "2026-W46", "region:eu")

#: A mark, a value, and how a ledger has it.
STORED = [
    (marks.closed_until(7, "daily"), 1_794_744_000_000, "closed:7:daily", b"1794744000000"),
    (marks.snapshot_taken(7, "daily"), 12, "snapshot:7:daily", b"12"),
    (marks.configured("b"), b"\x00\xff", "configured:b", b"\x00\xff"),
    (marks.is_stale_rollup(7), True, "rollup:7", b"stale"),
    (marks.is_stale_rollup(8), False, "rollup:8", b""),
    (marks.histogram(7, WEEK), b"sample", "histogram:7\x1fweekly\x1f2026-W46\x1fregion:eu", b"sample"),
    (marks.board_home(7), "redis://there/0", "home:7", b"redis://there/0"),
    (marks.ENGINE_HOME, "", "engine:home", b""),
    (marks.SERVICE_URL, "http://[::1]:1", "url", b"http://[::1]:1"),
    (marks.PROBED, 5, "probe", b"5"),
    (marks.SECRET, b"s", "secret", b"s"),
]


@pytest.mark.parametrize(("mark", "value", "name", "stored"), STORED, ids=lambda part: part if isinstance(part, str) else "")
async def test_a_mark_is_kept_under_its_name_and_comes_back(ledger, mark, value, name, stored):
    assert mark.name == name
    await ledger.marks.put(mark, value)
    assert await ledger.marks.read(name) == stored
    assert await ledger.marks.get(mark) == value


async def test_the_status_of_a_job_comes_back(ledger):
    status = JobStatus("close", 1.0, result="closed daily 2026-11-15")
    await ledger.marks.put(marks.job_status("close"), status)
    assert await ledger.marks.get(marks.job_status("close")) == status
    assert await ledger.marks.read("keeper:close") is not None


async def test_a_mark_without_a_value_and_one_with_another(ledger):
    mark = marks.closed_until(1, "daily")
    assert await ledger.marks.get(mark) is None
    for moment in (5, 7):
        await ledger.marks.put(mark, moment)
        assert await ledger.marks.get(mark) == moment
    assert await ledger.marks.get(marks.closed_until(1, "weekly")) is None


async def test_closed_windows_are_found_by_board_and_window(ledger):
    assert await ledger.marks.closed_windows() == {}
    for board, window, moment in ((1, "daily", 5), (1, "weekly", 7), (12, "daily", 9)):
        await ledger.marks.put(marks.closed_until(board, window), moment)
    await ledger.marks.put(marks.snapshot_taken(1, "daily"), 3)
    assert await ledger.marks.closed_windows() == {1: {"daily": 5, "weekly": 7}, 12: {"daily": 9}}


async def test_names_are_found_by_how_they_begin(ledger):
    for name in ("a:1", "a:2", "A:3", "b", "a%"):
        await ledger.marks.write({name: name.encode()})
    assert await ledger.marks.read_all("a:") == {"a:1": b"a:1", "a:2": b"a:2"}
    assert await ledger.marks.read_all("c") == {}


async def test_several_are_kept_together_or_not_at_all(ledger):
    await ledger.marks.write({"a:1": b"one", "a:2": b"two"})
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the driver says of a value that is none
        await ledger.marks.write({"a:1": b"other", "a:3": object()})
    assert await ledger.marks.read_all("a:") == {"a:1": b"one", "a:2": b"two"}


async def test_the_secret_is_made_once_for_each_ledger(place, tmp_path):
    found = []
    for _ in range(2):
        ledger = place()
        await ledger.open(0)
        found += [await ledger.marks.secret(), await ledger.marks.secret()]
        await ledger.close()
    assert len(set(found)) == 1
    assert len(found[0]) >= 16
