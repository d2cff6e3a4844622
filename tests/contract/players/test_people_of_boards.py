"""Who is on a board: slices with their sizes, and ranked players by their names."""

import pytest

from keepscore import Board
from keepscore.errors import BadInput
from tests.contract.both import own_redis
from tests.contract.opened import DAY, NOON, Clock
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres

BOARD = Board("b", windows=["daily", "all_time"], segments=["region", "mode"])
PLACES = {
    "sqlite": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "postgres": (lambda folder: shared_postgres().new_database(), own_redis),
}


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


async def test_the_slices_of_a_window_are_listed_with_their_sizes(place):
    clock = Clock(NOON)
    async with leaderboards(*place, [BOARD], clock, "manual") as lb:
        for n in range(6):
            await lb.submit("b", f"p{n}", n, segments={"region": "eu" if n < 4 else "us", "mode": "x"})

        async def sizes(**named):
            found = await lb.players.segments("b", **named)
            return found.total, [(one.segment, one.name, one.value, one.total_players) for one in found.segments]

        region = [("region:eu", "region", "eu", 4), ("region:us", "region", "us", 2)]
        assert await sizes() == (3, [("mode:x", "mode", "x", 6), *region])
        assert await sizes(name="region", window="all_time") == (2, region)
        assert await sizes(limit=1, offset=1) == (3, region[:1])
        assert await sizes(name="none") == (0, [])
        clock.now += 2 * DAY
        await lb.admin.run_keeper()
        assert await sizes() == (0, [])
        assert await sizes(window="daily", window_id="2026-11-15") == (3, [("mode:x", "mode", "x", 6), *region])


async def test_ranked_players_are_found_by_their_names(place):
    async with leaderboards(*place, [BOARD], Clock(NOON)) as lb:
        names = {"a": "Ada", "b": "ADAM", "c": "Bea", "d": "ada lovelace", "e": "Ädam", "f": "Adele"}
        for score, (player, name) in enumerate(names.items()):
            await lb.players.put(player, {"name": name})
            if player != "f":
                await lb.submit("b", player, score, segments={"region": "eu" if score < 2 else "us"})

        async def found(name, **named):
            answer = await lb.players.search("b", name, **named)
            return [(one.rank, one.player_id) for one in answer.standings], answer.more

        assert await found("ad") == ([(2, "d"), (4, "b"), (5, "a")], False)
        assert await found("äD") == ([(1, "e")], False)
        assert await found("ad", limit=2) == ([(2, "d"), (4, "b")], True)
        assert await found("ad", segment="region:eu") == ([(1, "b"), (2, "a")], False)
        assert await found("x") == ([], False)
        await lb.players.change("d", {"visibility": "pseudonym"})
        await lb.players.change("b", {"visibility": "hidden"})
        assert await found("ad") == ([(5, "a")], False)
        assert await found("ad", viewer="b") == ([(4, "b"), (5, "a")], False)
        for wrong in ({"name": ""}, {"name": "a", "limit": 0}, {"name": "a", "limit": 101}):
            with pytest.raises(BadInput):
                await lb.players.search("b", **wrong)
