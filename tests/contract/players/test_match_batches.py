"""Batches of matches: rated in their order, each once, and bad ones by themselves."""

import pytest

from keepscore import Board
from keepscore.errors import InvalidField, UnknownBoard
from tests.contract.opened import NOON, Clock
from tests.contract.players.test_matches import DUELS, PLACES, Oracle, ratings
from tests.support.opening import leaderboards


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


async def test_a_batch_is_rated_in_order_and_once(place):
    oracle = Oracle()
    batch = [{"a": f"p{n % 5}", "b": f"p{n % 4 + 5}", "result": (1, 0.5, 0)[n % 3]} for n in range(60)]
    for one in batch:
        oracle.match(*one.values())
    async with leaderboards(*place, [DUELS], Clock(NOON)) as lb:
        first = await lb.matches.record_many("duels", batch, idempotency_key="b1")
        assert (first.accepted, first.duplicates, first.rejected) == (60, 0, [])
        assert await ratings(lb, "duels") == oracle.shown()
        again = await lb.matches.record_many("duels", batch, idempotency_key="b1")
        assert (again.accepted, again.duplicates) == (60, 60)
        assert [one.players for one in again.matches] == [one.players for one in first.matches]
        assert await ratings(lb, "duels") == oracle.shown()
        assert first.matches[7].match_id == "b1:7"


async def test_bad_matches_are_rejected_by_themselves(tmp_path):
    boards = [DUELS, Board("teams", rating={"system": "openskill"})]
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", boards=boards) as lb:
        good = {"a": "ada", "b": "bo", "result": 1, "match_id": "m"}
        bad = [
            {"a": "ada", "b": "ada", "result": 1},
            {"a": "ada", "b": "bo"},
            {"a": "ada", "b": "bo", "result": 3},
            {"a": "ada", "b": "bo", "result": 1, "teams": [["x"], ["y"]]},
            {"teams": [["x", "z"], ["y"]]},
            {"teams": "xy"},
            {"teams": [["x"], [7]]},
            {"ranks": [1, 2]},
            {"a": "ada", "b": "bo", "result": 1, "at": 5},
            {"a": "ada", "b": "bo", "result": 1, "match_id": 5},
            {"a": "ada", "b": "bo", "result": 1, "k": 5},
            "match",
            {**good, "result": 0},
        ]
        found = await lb.matches.record_many("duels", [good, *bad, good])
        assert [one.index for one in found.rejected] == list(range(1, len(bad) + 1))
        assert (found.accepted, found.duplicates) == (2, 1)
        assert await ratings(lb, "duels") == {"ada": 1016, "bo": 984}
        for size in (0, 1001):
            with pytest.raises(InvalidField):
                await lb.matches.record_many("duels", [good] * size)
        with pytest.raises(UnknownBoard):
            await lb.matches.record_many("none", [good])
        assert (await lb.matches.record_many("teams", [{"teams": [["x", "z"], ["y"]]}])).accepted == 1
