"""An event in the ledger of which something is not what it should be: it counts nowhere, is named, and stops nobody else."""

import logging
import sqlite3

import pytest

from keepscore import Board
from tests.contract.opened import standings

BOARD = Board("b", operator="sum", windows=["all_time", "weekly"], segments=["region"])
DAMAGES = {
    "segments": {"segments": b'{"region":'},
    "segments that are a list": {"segments": b"[1]"},
    "metadata": {"metadata": b"{'a': 1}"},
    "scope": {"scope": b'{"windows": 5}'},
    "a verdict": {"kind": "void", "metadata": b"\xff"},
}


def damage(path, **columns):
    """Record one more event of the last writer, as no Keepscore would."""
    with sqlite3.connect(path) as ledger:
        ledger.row_factory = sqlite3.Row
        row = dict(ledger.execute("SELECT * FROM events ORDER BY writer DESC, n DESC LIMIT 1").fetchone())
        row |= {"n": row["n"] + 1, "player": "bad", "amount": 1000} | columns
        ledger.execute(f"INSERT INTO events ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", [*row.values()])
    ledger.close()


@pytest.mark.parametrize("what", DAMAGES)
async def test_the_rest_is_served_after_a_start(lbs, tmp_path, caplog, what):
    async with lbs(BOARD) as lb:
        await lb.increment("b", "ann", 5, segments={"region": "eu"})
        await lb.increment("b", "bob", 7)
    damage(tmp_path / "scores.db", **DAMAGES[what])
    async with lbs(BOARD) as lb:
        assert await standings(lb, "b") == [(1, "bob", 7), (2, "ann", 5)]
        (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
        assert "event 3 of writer" in told
        (reason,) = await lb.ready()
        assert reason.startswith("board 'b': event 3 of writer")
        assert (await lb.increment("b", "ann", 5, segments={"region": "eu"})).score == 10
        assert (await lb.increment("b", "bad", 1)).score == 1
        await lb.admin.rebuild("b")
        assert await standings(lb, "b", segment="region:eu") == [(1, "ann", 10)]
        assert await standings(lb, "b") == [(1, "ann", 10), (2, "bob", 7), (3, "bad", 1)]
        assert (await lb.admin.verify("b")).ok
        assert [event.scope.windows for event in (await lb.history.events("b", "bad")).events if event.scope] == [()]
