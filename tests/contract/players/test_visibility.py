"""Who sees who a player is: in every list and answer, as the visibility of the profile says."""

import pytest

from keepscore import Board
from keepscore.errors import UnknownPlayer
from tests.contract.both import own_redis
from tests.contract.opened import NOON, Clock
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres

BOARD = Board("b", windows=["daily", "all_time"])
PLACES = {
    "sqlite": (lambda folder: f"sqlite:///{folder / 'scores.db'}", lambda: "embedded://"),
    "postgres": (lambda folder: shared_postgres().new_database(), own_redis),
}
MODES = ("public", "friends", "pseudonym", "hidden")
PICTURE = "https://example.org/p.png"


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


class Friends:
    """One player calls another a friend."""

    async def friends_with(self, viewer, players):
        return {player for player in players if (player, viewer) == ("friends", "ann")}


async def fill(lb):
    for score, mode in enumerate(reversed(MODES)):
        await lb.submit("b", mode, score)
        await lb.players.put(mode, {"name": f"I am {mode}", "avatar_url": PICTURE, "visibility": mode})


async def lists(lb, viewer=None):
    """What all lists show to somebody: ranks, ids and names."""
    reader = lb.runtime.reader
    view = reader.view("b")._replace(viewer=viewer)
    found = [
        (await reader.top(view)).standings,
        (await reader.around(view, 1)).standings,
        (await reader.lookup(view, MODES)).standings,
        (await reader.player(view, "public", 10)).around,
    ]
    if viewer is None:
        found.append((await lb.history.as_of("b", "2026-11-15T12:00:00Z")).standings)
    shown = [[(one.rank, one.player_id, one.name, one.avatar_url or None) for one in standings] for standings in found]
    assert all(one == shown[0] for one in shown)
    return shown[0]


async def test_everybody_sees_what_players_show(place):
    async with leaderboards(*place, [BOARD], Clock(NOON)) as lb:
        await fill(lb)
        handle = {mode: lb.runtime.reader.labels.handle(mode) for mode in MODES}
        public = (1, "public", "I am public", PICTURE)
        friends, secret = ((n, handle[mode], handle[mode], None) for n, mode in ((2, "friends"), (3, "pseudonym")))
        assert await lists(lb) == [public, friends, secret]
        assert await lists(lb, "public") == [public, friends, secret]
        assert await lists(lb, "pseudonym") == [public, friends, (3, "pseudonym", "I am pseudonym", PICTURE)]
        assert await lists(lb, "hidden") == [public, friends, secret, (4, "hidden", "I am hidden", PICTURE)]
        assert await lists(lb, "ann") == [public, friends, secret]
        lb.runtime.reader.labels.friendships = Friends()
        assert await lists(lb, "ann") == [public, (2, "friends", "I am friends", PICTURE), secret]
        assert (await lb.top("b")).total_players == 4


async def test_one_who_asks_for_a_player_learns_no_more(place):
    async with leaderboards(*place, [BOARD], Clock(NOON)) as lb:
        await fill(lb)
        reader = lb.runtime.reader
        with pytest.raises(UnknownPlayer, match="'hidden' is not ranked on board 'b'"):
            await lb.rank("b", "hidden")
        assert (await lb.lookup("b", ["hidden", "nobody"])).missing == ["nobody", "hidden"]
        assert (await lb.history.of("b", "hidden")).history == []
        assert len((await lb.history.of("b", "hidden", viewer="hidden")).history) == 1
        own = await reader.player(reader.view("b")._replace(viewer="hidden"), "hidden")
        assert (own.player_id, own.name, own.rank) == ("hidden", "I am hidden", 4)
        for mode in ("friends", "pseudonym"):
            found = await lb.rank("b", mode)
            handle = reader.labels.handle(mode)
            assert (found.player_id, found.name) == (handle, handle)
            assert mode not in str((found.to_dict(), (await lb.history.of("b", mode)).to_dict()))


async def test_cursors_and_changes_tell_nothing(place):
    async with leaderboards(*place, [BOARD], Clock(NOON)) as lb:
        await fill(lb)
        seen, cursor = [], None
        while True:
            page = await lb.top("b", limit=1, cursor=cursor)
            seen += [one.rank for one in page.standings]
            cursor = page.next_cursor
            if cursor is None:
                break
            assert "pseudonym" not in str(_decoded(cursor))
        assert seen == [1, 2, 3]
        await lb.players.change("hidden", {"visibility": "public"})
        assert (await lb.top("b")).standings[-1].name == "I am hidden"
        await lb.players.change("hidden", {"visibility": "hidden"})
        assert len((await lb.top("b")).standings) == 3


def _decoded(cursor):
    import base64

    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


async def test_invented_names_stay(tmp_path):
    handles = []
    for _ in range(2):
        async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", "embedded://", [BOARD], Clock(NOON)) as lb:
            handles.append([lb.runtime.reader.labels.handle(f"p{n}") for n in range(1000)])
    assert handles[0] == handles[1]
    assert len(set(handles[0])) == 1000
