"""A process that is killed while it works on a request with an idempotency key: the retry, elsewhere, finishes it, once."""

import asyncio
import subprocess
import sys

import pytest

from keepscore import Board, Leaderboards
from keepscore.writing import idempotency as claims
from tests.contract.both import own_redis
from tests.support.postgres_servers import shared_postgres

BOARD = Board("b", operator="sum")

#: A process that asks for something and is killed before or after a call to the ledger.
KILLED = """
import asyncio, os, signal, sys
from keepscore import Leaderboards
from tests.faults.test_claims import KINDS

async def main():
    ledger, engine, kind, moment = sys.argv[1:]
    ask, call = KINDS[kind]
    async with Leaderboards.open(ledger, engine) as lb:
        role, _, name = call.partition(".")
        real = getattr(getattr(lb.runtime.ledger, role), name)

        async def deadly(*args):
            if moment == "after":
                await real(*args)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(getattr(lb.runtime.ledger, role), name, deadly)
        await ask(lb)

asyncio.run(main())
"""

#: What is asked for, and the call to the ledger that makes its effect.
KINDS = {
    "put": (lambda lb: lb.admin.put_board(Board("b", operator="last"), version=1, idempotency_key="k"), "boards.put"),
    "delete": (lambda lb: lb.admin.delete_board("b", idempotency_key="k"), "boards.delete"),
    "reset": (lambda lb: lb.admin.reset("b", idempotency_key="k"), "boards.put"),
    "name": (lambda lb: lb.players.name("p", "Pat", idempotency_key="k"), "players.change"),
    "increment": (lambda lb: lb.increment("b", "p", 5, idempotency_key="k"), "events.append"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_retry_finishes_what_a_killed_process_began(kind, moment, monkeypatch):
    monkeypatch.setattr(claims, "STALL_S", 0.5)
    places = shared_postgres().new_database(), own_redis()
    ask, _ = KINDS[kind]
    async with Leaderboards.open(*places, [BOARD]) as lb:
        await lb.increment("b", "q", 1)
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, *places, kind, moment, stderr=subprocess.PIPE)
        _, errors = await process.communicate()
        assert process.returncode == -9, errors.decode()
        answers = await asyncio.gather(*[ask(lb) for _ in range(5)])
        # One of them finishes what was not done yet, whichever takes over.
        assert sum(answer.replayed is not True for answer in answers) <= (moment == "before")
        assert (await ask(lb)).replayed is True
        if kind == "delete":
            assert await lb.admin.boards() == []
            return
        board = await lb.admin.board("b")
        assert (board.version, board.board.operator) == {"put": (2, "last"), "reset": (2, "sum")}.get(kind, (1, "sum"))
        assert len(board.board.resets) == (kind == "reset")
        assert (await lb.players.profile("p")).name in (["Pat"] if kind == "name" else [None])
        found = {s.player_id: s.score for s in (await lb.top("b")).standings}
        assert found == ({} if kind == "reset" else {"q": 1} | ({"p": 5} if kind == "increment" else {}))
        assert (await lb.admin.verify("b")).differences == []
