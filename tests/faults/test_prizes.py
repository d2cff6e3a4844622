"""kill -9 in the middle of closing, deciding and delivering: every reward goes out, and each once, by its id."""

import asyncio
import subprocess
import sys

import pytest

from keepscore import Board, Entry
from keepscore.domain.webhooks import webhook_target
from keepscore.fairplay import prize_windows
from keepscore.fairplay.webhook_sender import WebhookSender
from keepscore.fairplay.webhooks import Deliver
from keepscore.leaderboards import now_ms
from tests.contract.both import own_redis
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres
from tests.support.receivers import SECRET, Receiver

PRIZE = {"winners": 50, "review": "1h", "rewards": [{"ranks": "1", "give": "gold"}, {"ranks": "2-30", "give": "silver"}]}
BOARD = Board("cup", consistency="strong", prize=PRIZE)
WINDOW = ("cup", "all_time", "all_time")

#: A process that takes one step and is killed before or after a call to the ledger, the n-th of its kind.
KILLED = """
import asyncio, os, signal, sys
from tests.faults.test_prizes import STEPS, opened

async def main():
    ledger, engine, step, moment, url = sys.argv[1:]
    act, call, number = STEPS[step]
    async with opened(ledger, engine) as lb:
        role, _, name = call.partition(".")
        real, calls = getattr(getattr(lb.runtime.ledger, role), name), [0]

        async def deadly(*args, **kwargs):
            calls[0] += 1
            if calls[0] < number:
                return await real(*args, **kwargs)
            if moment == "after":
                await real(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(getattr(lb.runtime.ledger, role), name, deadly)
        await act(lb, url)

asyncio.run(main())
"""


def opened(ledger, engine):
    return leaderboards(ledger, engine, [BOARD])


async def close(lb, url):
    await lb.prizes.close(*WINDOW, "it is over", idempotency_key="close")
    await decide_due(lb)


async def decide_due(lb):
    await lb.runtime.keeper.job("decide prizes").run(now_ms())


async def finalize(lb, url):
    await lb.prizes.finalize(*WINDOW, "checked", idempotency_key="final")


async def send(lb, url):
    """Deliver all that waits, whatever its pause."""
    target = webhook_target(url, SECRET, ["127.0.0.1"])
    job = Deliver(lb.runtime.keeper.job("close").parts, WebhookSender(target))
    await lb.runtime.ledger.outbox.retry(None, now_ms())
    await job.run(now_ms())


#: What is done, the call to the ledger in which it dies, and which one of them.
STEPS = {
    "close": (close, "prizes.close", 1),
    "archive": (close, "archives.finish", 1),
    "decide": (finalize, "prizes.decide", 1),
    "begin": (send, "outbox.begin", 9),
    "acknowledge": (send, "outbox.acknowledge", 9),
}


@pytest.fixture(params=[("sqlite", "before"), ("sqlite", "after"), ("postgres", "after")], ids="-".join)
def places_and_moment(request, tmp_path):
    ledger, moment = request.param
    return _places(ledger, tmp_path), moment


def _places(ledger, tmp_path):
    if ledger == "sqlite":
        return f"sqlite:///{tmp_path / 'scores.db'}", "embedded://"
    return shared_postgres().new_database(), own_redis()


@pytest.fixture
def receiver():
    found = Receiver()
    yield found
    found.close()


@pytest.mark.timeout(120)
async def test_every_reward_goes_out_once_whatever_is_killed(places_and_moment, receiver, monkeypatch):
    places, moment = places_and_moment
    monkeypatch.setattr(prize_windows, "ON_THE_WAY_MS", 0)

    async def killed(step):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, *places, step, moment, receiver.url, stderr=subprocess.PIPE
        )
        _, errors = await process.communicate()
        assert process.returncode == -9, errors.decode()

    async with opened(*places) as lb:
        await lb.submit_many("cup", [Entry(player_id=f"p{n:02}", score=100 - n) for n in range(60)])
    await killed("close")
    if places[0].startswith("sqlite"):
        # With several processes, the keeper archives only later.
        await killed("archive")
    async with opened(*places) as lb:
        await decide_due(lb)
        before = await lb.prizes.winners(*WINDOW)
        assert (before.state, len(before.winners)) == ("provisional", 50)
    await killed("decide")
    async with opened(*places) as lb:
        await finalize(lb, "")
        assert (await lb.runtime.ledger.outbox.count()).pending == 30
        assert len((await lb.audit.entries(action="finalize")).entries) == 1
    await killed("begin")
    await killed("acknowledge")
    async with opened(*places) as lb:
        await send(lb, receiver.url)
        assert (await lb.runtime.ledger.outbox.count()).pending == 0
        found = await lb.prizes.winners(*WINDOW)
        assert found.state == "paid"
        assert [(one.rank, one.player_id, one.score) for one in found.winners] == [
            (one.rank, one.player_id, one.score) for one in before.winners
        ]
        assert (await lb.prizes.verify(*WINDOW)).ok
        assert (await lb.audit.verify()).ok
    rewards = {message_id: body["data"]["player_id"] for message_id, body in receiver.received}
    assert sorted(rewards.values()) == [f"p{n:02}" for n in range(30)]
    # What was sent and not recorded came again, with the same id.
    assert len(receiver.ids) <= 30 + 16
