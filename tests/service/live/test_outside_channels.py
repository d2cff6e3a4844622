"""Channels of Redis that other programs can read: ranks that scores have changed, and windows that have ended."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis

from keepscore import Board, Leaderboards
from keepscore.config import load_settings
from keepscore.domain.inputs import Entry
from keepscore.errors import ConfigError
from tests.contract.both import own_redis

#: Sunday, 2026-11-15, at noon.
NOON, DAY_MS = 1_794_744_000_000, 86_400_000
ON = {"live.updates_channel": "leaderboard:updates:{player}", "live.reset_channel": "leaderboard:reset"}
PATIENCE_S = 20.0


class Program:
    """A program that listens."""

    def __init__(self, subscription) -> None:
        self._subscription = subscription

    async def next(self) -> tuple[str, dict]:
        """The channel and the message that comes next."""
        found = await self._subscription.get_message(ignore_subscribe_messages=True, timeout=PATIENCE_S)
        while found is None:
            found = await self._subscription.get_message(ignore_subscribe_messages=True, timeout=PATIENCE_S)
        return found["channel"].decode(), json.loads(found["data"])


@asynccontextmanager
async def listening(clock: list[int], settings: dict[str, str], *boards: Board):
    url = own_redis()
    settings = load_settings(None, {"ledger.url": "sqlite:///:memory:", "engine.url": url, **settings}, {})
    async with Leaderboards.configured(settings, boards, lambda: clock[0]) as lb, Redis.from_url(url) as client, client.pubsub() as heard:
        await heard.psubscribe("*leaderboard:*", "ranks/*")
        await heard.get_message(timeout=PATIENCE_S)
        yield lb, Program(heard)


async def test_a_players_own_score_changes_the_rank():
    async with listening([NOON], ON, Board("global"), Board("other")) as (lb, program):
        await lb.submit("global", "ada", 10)
        assert await program.next() == (
            "leaderboard:updates:ada",
            {"old_rank": None, "new_rank": 1, "board": "global", "window": "all_time"},
        )
        await lb.submit_many("global", [Entry(player_id="bob", score=5), Entry(player_id="cyd", score=7)])
        assert [(channel[20:], told["old_rank"], told["new_rank"]) for channel, told in (await program.next(), await program.next())] == [
            ("bob", None, 2),
            ("cyd", None, 2),
        ]
        # The same rank, and a player who is not ranked: nothing is told.
        await lb.submit("global", "ada", 11)
        await lb.moderation.hide("ada", reason="cheats")
        await lb.submit("global", "ada", 99)
        await lb.submit("global", "bob", 50)
        channel, told = await program.next()
        assert (channel, told["old_rank"], told["new_rank"]) == ("leaderboard:updates:bob", 2, 1)


async def test_each_window_where_the_channel_names_it():
    settings = {"live.updates_channel": "ranks/{board}/{window}/{player}"}
    async with listening([NOON], settings, Board("xp", operator="sum", windows=["daily", "all_time"])) as (lb, program):
        await lb.increment("xp", "ada", 10)
        assert [(await program.next())[0] for _ in range(2)] == ["ranks/xp/daily/ada", "ranks/xp/all_time/ada"]


async def test_a_window_that_is_closed_and_a_board_that_is_reset():
    clock = [NOON]
    async with listening(clock, {**ON, "live.updates_channel": "off"}, Board("global", windows=["daily"], grace="0s")) as (lb, program):
        await lb.submit("global", "ada", 10)
        await lb.admin.reset("global")
        told = {"type": "daily", "date": "2026-11-15", "board": "global", "window_id": "2026-11-15.v1", "event": "reset"}
        assert await program.next() == ("leaderboard:reset", told)
        clock[0] += 60_000
        await lb.submit("global", "ada", 20)
        clock[0] += DAY_MS
        await lb.admin.run_keeper()
        told = {"type": "daily", "date": "2026-11-16", "board": "global", "window_id": "2026-11-15", "event": "closed"}
        assert await program.next() == ("leaderboard:reset", told)


async def test_off_by_default():
    async with listening([NOON], {}, Board("global")) as (lb, program):
        await lb.submit("global", "ada", 10)
        await lb.admin.reset("global")
        await lb.runtime.feed._clients[0].publish("leaderboard:end", "{}")
        assert await program.next() == ("leaderboard:end", {})


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("live.updates_channel", "leaderboard:updates", "{player}"),
        ("live.updates_channel", "{player} {name}", "{name}"),
        ("live.reset_channel", "reset:{player}", "leaderboard:reset"),
        ("live.reset_channel", "", "leaderboard:reset"),
        ("live.reset_channel", "leaderboard:reset", "engine on Redis"),
    ],
)
def test_what_cannot_be_used(name: str, value: str, word: str):
    with pytest.raises(ConfigError, match=word.replace("{", r"\{")):
        load_settings(None, {name: value}, {})
