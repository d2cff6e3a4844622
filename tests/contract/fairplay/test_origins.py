"""Where scores come from: builds and marks of addresses are recorded, voided by, and shown as evidence."""

import pytest

from keepscore import Board, Entry
from keepscore.domain.actors import acting
from keepscore.errors import InvalidField, UnknownPlayer
from keepscore.storage.ledgers.addresses import SeenAddress
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import DAY, NOON, Clock, differences, recorded
from tests.support.opening import leaderboards

BOARDS = [Board("best", rules={"max_score": 100, "on_break": "quarantine"}, also=["linked"]), Board("linked")]


@pytest.fixture(params=PLACES)
def opening(request, tmp_path, clock):
    ledger, engine = PLACES[request.param]
    place = ledger(tmp_path), engine()
    return lambda: leaderboards(*place, BOARDS, clock)


@pytest.fixture
def clock():
    return Clock(NOON)


async def test_events_are_voided_by_build_and_by_address(opening):
    async with opening() as lb:
        for player, build in (("ada", "1.4.1"), ("bob", "1.4.2"), ("cem", None)):
            play = await lb.begin_play("best", player, build=build)
            await lb.submit("best", player, 10, play_token=play.play_token)
        with acting("player eve", "192.0.2.7"):
            await lb.submit("best", "eve", 20)
        with acting("player fay", "2001:db8::1"):
            await lb.submit_many("best", [Entry(player_id="fay", score=30)])
        by_build = await lb.moderation.void("best", "a bad build", build="1.4.2")
        assert (by_build.events, by_build.changes[0].player_id) == (1, "bob")
        assert (await lb.moderation.void("best", "none", build="9", dry_run=True)).events == 0
        # The whole network of an IPv6 address is one.
        by_address = await lb.moderation.void("best", "a farm", address="2001:db8::2")
        assert (by_address.events, by_address.changes[0].player_id) == (1, "fay")
        assert (await lb.moderation.void("best", "a farm", address="::ffff:192.0.2.7", player_id="eve", dry_run=True)).events == 1
        with pytest.raises(UnknownPlayer):
            await lb.rank("best", "fay")
        assert {s.player_id for s in (await lb.top("best")).standings} == {"eve", "ada", "cem"}
        await lb.moderation.undo(by_address.void_id, "no farm")
        assert (await lb.rank("best", "fay")).rank == 1
        for address in ("", "here", "192.0.2.0/24", "1" * 5000):
            with pytest.raises(InvalidField, match="is not an IP address"):
                await lb.moderation.void("best", "why", address=address)
        marks = {event.player: event.address for event in await recorded(lb, "best") if event.kind == "score"}
        assert marks["ada"] is None
        assert len(marks["eve"]) == 16
        assert not any("192.0.2" in str(event) for event in await recorded(lb, "best"))
        assert {event.address for event in await recorded(lb, "linked")} >= {marks["eve"], marks["fay"]}
        await lb.admin.rebuild("best")
        assert await differences(lb) == []


async def test_accounts_from_one_address_are_evidence(opening, clock):
    async with opening() as lb:
        for player in ("ada", "bob", "cem"):
            with acting(f"player {player}", "192.0.2.7"):
                await lb.submit("best", player, 10)
        with acting("player dan", "192.0.2.8"):
            await lb.submit("best", "dan", 10)
        with acting("player ada", "192.0.2.7"):
            await lb.submit("best", "ada", 500)
        (item,) = (await lb.moderation.queue()).items
        assert (item.evidence.address.accounts, item.evidence.address.player_ids) == (2, ["bob", "cem"])
        assert (item.evidence.history.best, item.evidence.history.submissions) == (10, 1)
    async with opening() as lb:
        (item,) = (await lb.moderation.queue()).items
        assert item.evidence.address.player_ids == ["bob", "cem"]
        clock.now += 91 * DAY
        await lb.admin.run_keeper()
        (item,) = (await lb.moderation.queue()).items
        assert (item.evidence.address.accounts, item.evidence.address.address is None) == (0, False)


async def test_addresses_in_both_ledgers(opening):
    async with opening() as lb:
        store = lb.runtime.ledger.addresses
        await store.add([])
        await store.add([SeenAddress(1, "a", "bob", 5), SeenAddress(1, "a", "ada", 7), SeenAddress(2, "a", "cem", 1)])
        await store.add([SeenAddress(1, "a", "bob", 3), SeenAddress(1, "b", "bob", 3)])
        assert await store.players(1, "a", 10) == ["ada", "bob"]
        assert await store.players(1, "a", 1) == ["ada"]
        assert await store.forget(6, 1) == 1
        assert await store.forget(6, 10) == 2
        assert await store.players(1, "a", 10) == ["ada"]
