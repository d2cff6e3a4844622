"""Keys in Redis that other services read: a hash of each player, and a player's friends for an hour."""

import pytest
import redis

from keepscore import Board
from keepscore.domain.mirrors import MirrorKeys
from tests.contract.both import own_redis
from tests.contract.opened import NOON, Clock, at
from tests.support.opening import leaderboards

KEYS = MirrorKeys("player:{player_id}", "leaderboard:friends:{player_id}", "global")
BOARDS = [Board("global"), Board("other"), Board("duels", rating={"system": "elo"})]


@pytest.fixture
def url():
    return own_redis()


@pytest.fixture
def server(url):
    with redis.Redis.from_url(url, decode_responses=True) as client:
        yield client


def opened(tmp_path, url, keys=KEYS, engine=None):
    return leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", engine or url, BOARDS, Clock(NOON), mirror=keys)


async def test_a_hash_has_what_is_known_about_a_player(tmp_path, url, server):
    async with opened(tmp_path, url) as lb:
        await lb.players.put("12345", {"name": "ProGamer", "level": 50, "region": "us-east", "team": "owls"})
        await lb.runtime.mirror.settle()
        assert server.hgetall("player:12345") == {"username": "ProGamer", "level": "50", "region": "us-east"}
        await lb.submit("global", "12345", 10)
        await lb.runtime.mirror.settle()
        assert server.hget("player:12345", "last_score_update") == at(NOON).isoformat()
        await lb.players.change("12345", {"region": None, "level": 51})
        await lb.runtime.mirror.settle()
        assert server.hgetall("player:12345") == {"username": "ProGamer", "level": "51", "last_score_update": at(NOON).isoformat()}
        # Who does not want to be known is not known here, either.
        await lb.players.change("12345", {"visibility": "pseudonym"})
        await lb.runtime.mirror.settle()
        assert server.hgetall("player:12345") == {"last_score_update": at(NOON).isoformat()}
        await lb.matches.record("duels", "ada", "bo", 1)
        await lb.submit("global", "cy", 5, name="Cy")
    assert set(server.hgetall("player:ada")) == {"last_score_update"}
    assert server.hget("player:cy", "username") == "Cy"


async def test_erasure_removes_the_hash(tmp_path, url, server):
    async with opened(tmp_path, url) as lb:
        await lb.submit("global", "ada", 5, name="Ada")
        await lb.runtime.mirror.settle()
        assert server.exists("player:ada")
        await lb.moderation.erase("ada", "asked for it")
        await lb.runtime.mirror.settle()
        assert not server.exists("player:ada")


async def test_friends_live_for_an_hour(tmp_path, url, server):
    async with opened(tmp_path, url) as lb:
        for player, score in (("12345", 30), ("ada", 50), ("bo", 20), ("cy", 90)):
            await lb.submit("global", player, score)
            await lb.submit("other", player, 1)
        await lb.friends.replace("12345", ["ada", "bo", "gone"])
        found = await lb.friends.ranking("global", "12345", limit=1)
        assert [standing.player_id for standing in found.standings] == ["ada"]
        key = "leaderboard:friends:12345"
        assert server.zrevrange(key, 0, -1, withscores=True) == [("ada", 50), ("12345", 30), ("bo", 20)]
        assert 3_590_000 < server.pttl(key) <= 3_600_000
        await lb.friends.ranking("other", "12345")
        await lb.friends.ranking("global", "12345", friend_ids=["cy"])
        assert server.zscore(key, "ada") == 50
        await lb.friends.remove("12345", "ada")
        await lb.friends.ranking("global", "12345")
        assert server.zrange(key, 0, -1) == ["bo", "12345"]


async def test_nothing_fails_with_these_keys(tmp_path, url, server):
    server.set("player:ada", "a text")
    server.set("leaderboard:friends:ada", "a text")
    async with opened(tmp_path, url) as lb:
        await lb.players.put("ada", {"name": "Ada"})
        await lb.submit("global", "ada", 5)
        assert (await lb.friends.ranking("global", "ada")).standings[0].score == 5
    assert (server.get("player:ada"), server.get("leaderboard:friends:ada")) == ("a text", "a text")


async def test_there_are_none_unless_they_are_named(tmp_path, url, server):
    async with opened(tmp_path, url, MirrorKeys()) as lb:
        await lb.players.put("ada", {"name": "Ada"})
        await lb.submit("global", "ada", 5)
        await lb.friends.ranking("global", "ada")
    assert server.keys("player:*") == server.keys("leaderboard:*") == []
    async with opened(tmp_path, url, engine="embedded://") as lb:
        await lb.players.put("ada", {"name": "Ada L"})
        await lb.friends.ranking("global", "ada")
