"""Webhooks: sent until they are acknowledged, with one id, whatever the receiver does; never to a private address by mistake."""

import asyncio
from itertools import pairwise

import pytest

from keepscore.domain.webhooks import webhook_target
from keepscore.errors import InvalidField, InvalidPage, RewardSettled, UnknownDelivery
from keepscore.fairplay.webhook_sender import Refused, WebhookSender
from keepscore.fairplay.webhooks import Deliver
from keepscore.storage.ledgers.outbox import Message
from tests.contract.fairplay.test_prizes import DAY_ID, kept, play, shown
from tests.contract.fairplay.test_prizes import clock as clock
from tests.contract.fairplay.test_prizes import opening as opening
from tests.contract.fairplay.test_prizes import place as place
from tests.contract.opened import DAY, HOUR, SECOND
from tests.support.receivers import SECRET, Receiver

CUP = ("cup", "daily", DAY_ID)


@pytest.fixture
def receiver():
    found = Receiver()
    yield found
    found.close()


def target(receiver):
    return webhook_target(receiver.url, SECRET, ["127.0.0.1"])


def deliver(lb, receiver, **options):
    """The keeper's job, with a receiver."""
    return Deliver(lb.runtime.keeper.job("close").parts, WebhookSender(target(receiver), **options))


async def decided(lb, clock):
    await play(lb, clock, ada=30, bo=20, cy=10)
    await kept(lb, clock, DAY + HOUR)
    await lb.prizes.finalize(*CUP)


async def test_a_reward_is_sent_until_it_is_acknowledged(opening, clock, receiver):
    async with opening() as lb:
        await decided(lb, clock)
        job = deliver(lb, receiver, deadline_s=0.5)
        receiver.usual = 500
        for status, words in ((500, "answered 500"), (302, "redirects"), (0, "did not answer"), (-1, "within 0.5 s"), (410, "410")):
            receiver.usual = status
            await job.run(clock.now)
            waiting = await lb.webhooks.deliveries(state="pending")
            assert all(words in one.error for one in waiting.deliveries), waiting
            assert {one.state for one in waiting.deliveries} == {"failing"}
            clock.now += 30 * 60 * SECOND
        sent = set(receiver.ids)
        assert (len(sent), len(receiver.ids), waiting.pending, waiting.failing) == (2, 10, 2, 2)
        with pytest.raises(RewardSettled, match="on its way"):
            await lb.prizes.claim(*CUP, "ada")
        receiver.usual = 299
        assert "delivered 2 messages" in await job.run(clock.now)
        assert set(receiver.ids) == sent
        clock.now += 30 * DAY
        assert await job.run(clock.now) == ""
        assert [row[4] for row in (await shown(lb))[1]] == ["paid", "paid", None]
        assert (await shown(lb))[0] == "paid"
        data = {body["data"]["player_id"]: body["data"] for _, body in receiver.received}
        assert (data["ada"]["reward"], data["ada"]["rank"], data["ada"]["score"]) == ("gold", 1, 30)
        assert {one.state for one in (await lb.webhooks.deliveries()).deliveries} == {"delivered"}


async def test_pauses_grow_and_can_be_cut_short(opening, clock, receiver):
    async with opening() as lb:
        await decided(lb, clock)
        job, tries = deliver(lb, receiver), []
        receiver.usual = 503
        for _ in range(3000):
            before = len(receiver.ids)
            await job.run(clock.now)
            if len(receiver.ids) > before:
                tries.append(clock.now)
            if len(tries) == 4:
                break
            clock.now += SECOND
        assert [after - before for before, after in pairwise(tries)] == [5000, 30_000, 120_000]
        receiver.usual = 200
        assert await job.run(clock.now) == ""
        first = (await lb.webhooks.deliveries(limit=1)).deliveries[0]
        assert (await lb.webhooks.retry(first.id)).deliveries == 1
        assert "delivered 1 message" in await job.run(clock.now)
        with pytest.raises(UnknownDelivery):
            await lb.webhooks.retry(first.id)
        page = await lb.webhooks.deliveries(limit=1)
        rest = await lb.webhooks.deliveries(cursor=page.next_cursor)
        assert len({one.id for one in page.deliveries + rest.deliveries}) == 2
        assert (await lb.webhooks.retry()).deliveries == 1
        await job.run(clock.now)
        assert (await shown(lb))[0] == "paid"
        with pytest.raises(InvalidField):
            await lb.webhooks.deliveries(state="lost")
        for wrong in ("\0", "é", "x" * 65, ""):
            with pytest.raises(UnknownDelivery):
                await lb.webhooks.retry(wrong)
        for cursor in ("x", "1", "9" * 20 + ".a", "1.\0", "1."):
            with pytest.raises(InvalidPage):
                await lb.webhooks.deliveries(cursor=cursor)


async def test_a_process_that_dies_sends_it_again_with_the_same_id(opening, clock, receiver):
    async with opening() as lb:
        await decided(lb, clock)
        outbox = lb.runtime.ledger.outbox
        (first, _) = await outbox.due(clock.now, 10)
        # It died after the try was counted, or after it was sent: the ledger tells the same.
        assert await outbox.begin(first.id, 0, clock.now + 5 * SECOND)
        assert not await outbox.begin(first.id, 0, clock.now + 5 * SECOND)
    async with opening() as lb:
        job = deliver(lb, receiver)
        await job.run(clock.now)
        assert first.id not in receiver.ids
        clock.now += 5 * SECOND
        await asyncio.gather(job.run(clock.now), deliver(lb, receiver).run(clock.now))
        assert receiver.ids.count(first.id) == 1
        assert (await shown(lb))[0] == "paid"


async def test_without_a_webhook_messages_wait_and_claims_take_them_back(opening, clock, receiver):
    async with opening() as lb:
        await decided(lb, clock)
        assert await lb.runtime.keeper.job("deliver webhooks").run(clock.now) == ""
        await lb.prizes.claim(*CUP, "ada")
        await deliver(lb, receiver).run(clock.now)
        assert [body["data"]["player_id"] for _, body in receiver.received] == ["bo"]
        assert (await shown(lb))[0] == "paid"
        assert (await lb.webhooks.deliveries()).is_configured is False


def message(body="{}"):
    return Message("rw_1", "reward.granted", 1, body, 0, 0, 0, None, None)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fe80::1", "::ffff:192.168.0.1", "0.0.0.0"])
async def test_a_name_with_a_private_address_gets_nothing(address, receiver):
    asked = []

    async def resolve(host, port):
        asked.append(host)
        return ["93.184.215.14", address]

    found = webhook_target("https://hooks.example.com/x", SECRET, [])
    with pytest.raises(Refused, match="private address"):
        await WebhookSender(found, resolve).send(message(), 0)
    assert asked == ["hooks.example.com"]


async def test_the_connection_goes_to_the_address_that_was_checked(receiver):
    port = int(receiver.url.split(":")[2].split("/")[0])
    asked = []

    async def resolve(host, port):
        asked.append(host)
        return ["127.0.0.1"]

    found = webhook_target(f"http://hooks.internal:{port}/hooks?from=keepscore", SECRET, ["hooks.internal"])
    await WebhookSender(found, resolve).send(message(), 5000)
    assert (asked, receiver.ids) == (["hooks.internal"], ["rw_1"])
    receiver.close()
    with pytest.raises(Refused, match="cannot be reached"):
        await WebhookSender(found, resolve).send(message(), 0)
