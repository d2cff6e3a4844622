"""What a program says to boards about people: friends, groups, profiles, and what moderators do with players."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from keepscore import Board

__all__ = ["tell_of_people"]

Say = Callable[..., Awaitable[Any]]


async def tell_of_people(say: Say) -> None:
    """Call every method, most of them also with what cannot be done."""
    await say("admin.put_board", Board("people", operator="last", windows=["all_time", "daily"], segments=["region"]))
    for player, score in (("ann", 300), ("ben", 200), ("cleo", 100), ("guest-1", 50)):
        await say("submit", "people", player, score, segments={"region": "eu"})
    await _profiles(say)
    await _friends(say)
    await _groups(say)
    await _explained(say)
    await _leagues(say)
    await _teams(say)
    await _moderated(say)


async def _teams(say: Say) -> None:
    await say("admin.put_board", Board("clans", operator="sum", by="team", members={"mean_of_best": 1}))
    for player, amount in (("tim", 5), ("tom", 7)):
        await say("players.put", player, {"name": player, "team": "red"})
        await say("increment", "clans", player, amount)
    await say("top", "clans")
    await say("players.team", "clans", "red", limit=1)
    await say("players.team", "clans", "green")
    await say("players.team", "people", "red")


async def _profiles(say: Say) -> None:
    await say("players.put", "ann", {"name": "Ann", "country": "BR", "attributes": {"shoe": "red"}})
    for _ in range(2):
        await say("players.change", "ann", {"level": 7}, idempotency_key="level")
    await say("players.change_many", [{"player_id": "ben", "name": "Ben"}, {"player_id": "", "name": "nobody"}], idempotency_key="many")
    await say("players.search", "people", "an", limit=5)
    await say("players.search", "people", "")
    await say("players.segments", "people", name="region", limit=1)
    await say("players.segments", "nowhere")
    await say("players.delete", "ann", idempotency_key="gone")
    await say("distribution", "people", bins=2)
    await say("distribution", "people", bins=0)


async def _friends(say: Say) -> None:
    await say("friends.replace", "ann", ["ben", "zoe"])
    await say("friends.add", "ann", ["cleo"])
    await say("friends.add", "ann", ["ann", ""])
    await say("friends.remove", "ann", "zoe")
    await say("friends.of", "ann")
    await say("friends.ranking", "people", "ann", limit=2)
    await say("friends.ranking", "people", "ann", friend_ids=["cleo", "nobody"], window="daily")
    await say("view", "people", "ann", top=2, around=1, friends=1, windows=["daily"])
    await say("view", "people", "ann", windows=["hourly"])


async def _groups(say: Say) -> None:
    for _ in range(2):
        made = await say("groups.create", "club", "ann", idempotency_key="club")
    await say("groups.join", "ben", made.invite_code)
    await say("groups.join", "cleo", "WRONGONE")
    await say("groups.add", made.group_id, "cleo")
    await say("groups.get", made.group_id)
    await say("groups.get", "g_0")
    await say("groups.of", "ben")
    await say("groups.ranking", "people", made.group_id, player_id="ben", limit=2)
    await say("groups.remove", made.group_id, "cleo")
    await say("groups.rotate", made.group_id)
    await say("groups.delete", made.group_id)


async def _explained(say: Say) -> None:
    await say("explain.needs", "people", "cleo", rank=1)
    await say("explain.needs", "people", "cleo", top="50%")
    await say("explain.needs", "people", "cleo")
    await say("explain.why", "people", "cleo", limit=5)
    await say("explain.why", "people", "nobody")


async def _leagues(say: Say) -> None:
    league = {"tiers": ["low", "high"], "cohort": {"target": 10}, "promote": [1]}
    await say("admin.put_board", Board("ladder", operator="sum", windows=["daily"], league=league))
    for player, amount in (("ann", 3), ("ben", 2)):
        await say("increment", "ladder", player, amount)
    await say("leagues.of", "ladder", "ben")
    await say("leagues.of", "people", "ben")
    await say("top", "ladder", segment="cohort:low-1")
    await say("leagues.history", "ladder", "ann", limit=5)
    await say("leagues.history", "ladder", "ann", limit=0)
    await say("leagues.simulate", "people", {**league, "window": "daily"}, windows=3)
    await say("leagues.simulate", "people", {"tiers": []})


async def _moderated(say: Say) -> None:
    await say("moderation.correct", "people", "ben", 150, "a wrong score", dry_run=True)
    for _ in range(2):
        await say("moderation.correct", "people", "ben", 150, "a wrong score", idempotency_key="corrected")
    await say("moderation.hide", "ben", "a bot", boards=["people"], idempotency_key="hidden")
    await say("moderation.hide", "ben", "", boards=["people"])
    await say("moderation.shadow", "cleo", "a doubt", boards=["people"])
    await say("moderation.restricted", board="people")
    await say("moderation.restore", "ben", "no bot", boards=["people"])
    await say("moderation.restore", "cleo", "no doubt", boards=["people"])
    await say("moderation.merge", "guest-1", "ann", "the same person", dry_run=True)
    await say("moderation.merge", "guest-1", "ann", "the same person", idempotency_key="merged")
    await say("moderation.split", "guest-1", "not the same")
    await say("moderation.split", "guest-1", "not the same")
    await say("moderation.export", "ben")
    for _ in range(2):
        await say("moderation.erase", "cleo", "they asked for it", idempotency_key="erased")
    await say("moderation.erase", "nobody-at-all", "they asked for it")
    await say("moderation.erase", "cleo", "")
