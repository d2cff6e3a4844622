"""Profiles on both engines and ledgers: set, changed, shown in every list, and never waited for."""

import asyncio

import pytest
from msgspec import UNSET

from keepscore import Board, Entry
from keepscore.errors import BadInput, LedgerUnavailable
from keepscore.reading.cards import CARD_MS
from tests.contract.both import own_redis
from tests.contract.opened import MINUTE, NOON, Clock
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres

PICTURE = "https://example.org/ann.png"
BOARD = Board("b", windows=["daily", "all_time"])
PLACES = {
    "sqlite": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "postgres": (lambda folder: shared_postgres().new_database(), own_redis),
}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


@pytest.fixture
def clock():
    return Clock(NOON)


async def shown(lb):
    """Names and pictures of all players, by every kind of list."""
    top = (await lb.top("b")).standings
    lists = [
        top,
        (await lb.around("b", 1)).standings,
        (await lb.lookup("b", [one.player_id for one in top])).standings,
        (await lb.rank("b", top[0].player_id, around=10)).around,
        (await lb.history.as_of("b", "2026-11-15T12:00:00Z")).standings,
    ]
    found = [{one.player_id: (one.name, one.avatar_url) for one in standings} for standings in lists]
    assert all(one == found[0] for one in found)
    for player, told in found[0].items():
        own = await lb.rank("b", player)
        assert (own.name, own.avatar_url) == told
    return found[0]


async def test_profiles_are_set_changed_and_deleted(place, clock):
    async with leaderboards(*place, [BOARD], clock) as lb:
        await lb.submit("b", "ann", 2)
        await lb.submit("b", "bob", 1)
        assert await shown(lb) == {"ann": (None, UNSET), "bob": (None, UNSET)}
        assert (await lb.players.profile("ann")).to_dict() == {"player_id": "ann", "name": None}
        whole = {"name": "Ann", "avatar_url": PICTURE, "region": "eu", "country": "BR", "level": 7, "team": "owls"}
        whole |= {"attributes": {"clan": "x", "age": 3}, "visibility": "friends"}
        assert (await lb.players.put("ann", whole)).to_dict() == {"player_id": "ann", **whole}
        await lb.players.change("ann", {"visibility": "public", "attributes": {"clan": None, "new": True}, "team": None})
        rest = {"attributes": {"age": 3, "new": True}}
        left = {name: whole[name] for name in ("name", "avatar_url", "region", "country", "level")}
        assert (await lb.players.profile("ann")).to_dict() == {"player_id": "ann", **left, **rest}
        assert await shown(lb) == {"ann": ("Ann", PICTURE), "bob": (None, UNSET)}
        await lb.players.name("ann", "Anna")
        assert (await lb.players.profile("ann")).level == 7
        assert (await lb.players.put("ann", {"name": "A", "level": 8})).to_dict() == {"player_id": "ann", "name": "A", "level": 8}
        assert await shown(lb) == {"ann": ("A", UNSET), "bob": (None, UNSET)}
        deleted = [await lb.players.delete("ann", idempotency_key="k") for _ in range(2)]
        assert [one.replayed for one in deleted] == [UNSET, True]
        assert await shown(lb) == {"ann": (None, UNSET), "bob": (None, UNSET)}


async def test_many_profiles_at_once_and_once(place, clock):
    async with leaderboards(*place, [BOARD], clock) as lb:
        await lb.players.put("p1", {"name": "One", "country": "BR"})
        many = [{"player_id": f"p{n}", "level": n} for n in range(100)] + [
            {"player_id": "p1", "level": "x"},
            {"name": "N"},
            {},
            {"nick": 1},
        ]
        for replayed in (UNSET, True):
            answer = await lb.players.change_many(many, idempotency_key="k")
            assert (answer.accepted, [one.index for one in answer.rejected], answer.replayed) == (100, [100, 101, 102, 103], replayed)
        assert (await lb.players.profile("p1")).to_dict() == {"player_id": "p1", "name": "One", "country": "BR", "level": 1}
        for wrong in ([], [{"player_id": "a", "level": 1}] * 10_001):
            with pytest.raises(BadInput, match=f"{len(wrong)} entries"):
                await lb.players.change_many(wrong)


async def test_changes_of_one_profile_at_the_same_time_all_count(place, clock):
    async with leaderboards(*place, [BOARD], clock) as lb:
        await asyncio.gather(*[lb.players.change("p", {"attributes": {f"a{n}": n}}) for n in range(20)])
        assert (await lb.players.profile("p")).attributes == {f"a{n}": n for n in range(20)}


async def test_submissions_carry_names_and_pictures(place, clock):
    async with leaderboards(*place, [BOARD], clock) as lb:
        await lb.submit("b", "ann", 2, name="Ann", avatar_url=PICTURE)
        await lb.submit_many("b", [Entry(player_id="bob", score=1, name="Bob"), Entry(player_id="cy", score=-(2**60), name="Cy")])
        assert await shown(lb) == {"ann": ("Ann", PICTURE), "bob": ("Bob", UNSET)}
        assert (await lb.players.profile("cy")).name is None
        with pytest.raises(BadInput, match="avatar_url = 'javascript:1'"):
            await lb.submit("b", "ann", 3, avatar_url="javascript:1")
        with pytest.raises(BadInput, match="name"):
            await lb.submit("b", "ann", 3, name="")
        assert (await lb.rank("b", "ann")).score == 2
        await lb.submit("b", "ann", 3, name="Anna", idempotency_key="k")
        await lb.players.name("ann", "Renamed")
        await lb.submit("b", "ann", 3, name="Anna", idempotency_key="k")
        assert (await lb.rank("b", "ann")).name == "Renamed"


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "x" * 129},
        {"avatar_url": "ftp://a/b"},
        {"avatar_url": "https://"},
        {"avatar_url": "https://[x"},
        {"avatar_url": "https://e.org/" + "x" * 2048},
        {"country": ""},
        {"country": "x" * 65},
        {"region": "a\n"},
        {"level": -1},
        {"level": True},
        {"level": 2**53},
        {"level": 1.5},
        {"attributes": []},
        {"attributes": {"a": {"b": 1}}},
        {"attributes": {f"a{n}": 1 for n in range(51)}},
        {"attributes": {"a": "x" * 4096}},
        {"visibility": "secret"},
        {"nick": "x"},
    ],
)
async def test_a_profile_that_cannot_be_used_is_refused(tmp_path, clock, fields):
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", "embedded://", [BOARD], clock) as lb:
        for change in (lb.players.put, lb.players.change):
            with pytest.raises(BadInput, match=next(iter(fields))):
                await change("p", fields)
        assert (await lb.players.profile("p")).to_dict() == {"player_id": "p", "name": None}


async def test_another_process_learns_of_changes(clock):
    places = shared_postgres().new_database(), own_redis()
    async with leaderboards(*places, [BOARD], clock) as here, leaderboards(*places, [BOARD], clock) as there:
        for player in ("ann", "bob"):
            await here.submit("b", player, 1)
        assert await shown(there) == {"ann": (None, UNSET), "bob": (None, UNSET)}
        for name in ("Ann", "Anna", None):
            clock.now += 1000
            await here.players.change("ann", {"name": name})
            await there.runtime.keeper.job("refresh").run(clock.now)
            assert (await shown(here))["ann"] == (await shown(there))["ann"] == (name, UNSET)


async def test_cards_are_fetched_together_and_asked_for_again_after_a_while(place, clock):
    async with leaderboards(*place, [BOARD], clock) as lb:
        for n in range(30):
            await lb.submit("b", f"p{n}", n)
        await lb.players.name("p1", "One")
        asked = []
        find = lb.runtime.ledger.players.find

        async def counted(players):
            asked.append(len(players))
            return await find(players)

        lb.runtime.ledger.players.find = counted
        for _ in range(2):
            assert len((await lb.top("b")).standings) == 30
        assert asked == [29]
        clock.now += CARD_MS
        assert (await lb.rank("b", "p1")).name == "One"
        assert asked == [29, 1]


async def test_a_list_does_without_names_that_do_not_come(place, clock):
    async with leaderboards(*place, [BOARD], clock) as lb:
        await lb.submit("b", "ann", 1, name="Ann")
        await lb.runtime.cards.relearn()
        find, waiting = lb.runtime.ledger.players.find, asyncio.Event()

        async def refuse(players):
            raise LedgerUnavailable("away")

        async def slow(players):
            await waiting.wait()
            return await find(players)

        for away in (refuse, slow):
            lb.runtime.ledger.players.find = away
            assert (await lb.top("b")).standings[0].name is None
            clock.now += MINUTE
        waiting.set()
        lb.runtime.ledger.players.find = find
        clock.now += MINUTE
        assert (await lb.top("b")).standings[0].name == "Ann"
        # What is remembered for too long is better than nothing.
        clock.now += CARD_MS
        lb.runtime.ledger.players.find = refuse
        assert (await lb.top("b")).standings[0].name == "Ann"
