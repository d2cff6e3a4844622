"""Sorted sets that another system has in Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from keepscore.connect import is_redis
from keepscore.domain.boards import Board
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.keys import ASIDE
from keepscore.errors import ConfigError
from keepscore.leaderboards import now_ms
from keepscore.storage.engines.base import Ranking
from keepscore.storage.engines.redis.answers import unpack
from keepscore.storage.engines.redis.boards import TAKEN, ListEntry, present_rankings
from keepscore.storage.engines.redis.client import RedisClient
from keepscore.storage.engines.redis.layouts import board_keys, keys_of
from keepscore.storage.engines.redis.url import parse_redis_url

__all__ = ["SortedSets", "sorted_sets"]

#: Members that one read brings, about; and keys that one look for keys does.
CHUNK_MEMBERS, CHUNK_KEYS = 5000, 1000
#: What makes a pattern of a key.
PATTERN = set("*?[")
#: What Keepscore names its own keys by.
OWN = "keepscore:"

T = TypeVar("T")


@contextmanager
def sorted_sets(url: str) -> Iterator[SortedSets]:
    """Open the sorted sets of the Redis at a URL."""
    with asyncio.Runner() as runner:
        client = RedisClient(parse_redis_url(url))
        runner.run(client.open())
        try:
            yield SortedSets(client, runner)
        finally:
            runner.run(client.close())


class SortedSets:
    """The sorted sets of one Redis."""

    def __init__(self, client: RedisClient, runner: asyncio.Runner) -> None:
        self._client = client
        self._runner = runner
        #: The address, without a password, and the database.
        self.address = f"{client.address.shown}/{client.address.database}"

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def _command(self, *args: Any) -> Any:
        return self._run(self._client.command(*args))

    # -- what there is --------------------------------------------------------------------------------------------------

    def keys(self, patterns: Iterable[str], or_none: bool = False, or_aside: bool = False) -> list[str]:
        """Return the keys of sorted sets that are named, or fit a pattern such as `leaderboard:*`; raise ConfigError where there are none.

        `or_none`: those that are gone are left out. `or_aside`: sets that were moved aside are found, too. A pattern finds no keys that
        begin with `keepscore:` unless it says so. O(keys of the Redis) with a pattern.
        """
        found: dict[str, None] = {}
        for pattern in patterns:
            if or_aside and not PATTERN & set(pattern) and self.exists(ASIDE + pattern):
                found[ASIDE + pattern] = None
                continue
            if self.exists(pattern) or not (or_none or PATTERN & set(pattern)):
                found[pattern] = None
                continue
            fitting = sorted(self._scan(pattern) if PATTERN & set(pattern) else ())
            if or_aside:
                fitting = sorted({*fitting, *(key for key in self._scan(ASIDE + pattern) if key.removeprefix(ASIDE) not in fitting)})
            if not fitting and not or_none:
                raise ConfigError(f"no sorted set in the Redis at {self.address} fits {pattern!r}: name one with --key")
            found |= dict.fromkeys(fitting)
        for key in found:
            self._check_type(key)
        return list(found)

    def _scan(self, pattern: str) -> set[str]:
        if self._client.is_cluster:
            raise ConfigError(f"{pattern!r} is a pattern, and a Redis Cluster cannot be searched by one: name every key with --key")
        cursor, found = 0, set()
        while True:
            cursor, keys = self._command("SCAN", cursor, "MATCH", pattern, "COUNT", CHUNK_KEYS, "TYPE", "zset")
            names = {key.decode("utf-8", "replace") for key in keys}
            found |= {name for name in names if pattern.startswith(OWN) or not name.startswith(OWN)}
            if cursor == 0:
                return found

    def _check_type(self, key: str) -> None:
        kind = self._command("TYPE", key).decode()
        if kind != "zset":
            found = "does not exist" if kind == "none" else f"is a {kind}"
            raise ConfigError(f"{key!r} {found} in the Redis at {self.address}: name a sorted set with --key")

    def exists(self, key: str) -> bool:
        """Return whether there is a key."""
        return bool(self._command("EXISTS", key))

    def read(self, key: str, advance: Callable[[int], None] = lambda done: None) -> dict[str, float]:
        """Return the members of a set and their numbers; empty where there is none. O(N).

        While others write, everybody is met who is there all the time: with a cursor, nobody is missed for having moved.
        """
        cursor, found = 0, {}
        while True:
            cursor, chunk = self._command("ZSCAN", key, cursor, "COUNT", CHUNK_MEMBERS)
            for member, number in chunk:
                found[member.decode("utf-8", "replace")] = number
            advance(len(found))
            if cursor == 0:
                return found

    # -- a board's own keys ---------------------------------------------------------------------------------------------

    def is_at(self, engine: str) -> bool:
        """Return whether an engine is this very Redis."""
        if not is_redis(engine):
            return False
        there, here = parse_redis_url(engine), self._client.address
        return (there.hosts, there.database) == (here.hosts, here.database)

    def is_own(self, key: str, board: Board, place: RankingPlace) -> bool:
        """Return whether a set has the name of the board's own key."""
        ranking = Ranking(0, place.window, place.window_id, place.segment)
        return key in [keys_of(board, ranking, live).key for live in ({}, {place.window: place.window_id})]

    def is_made(self, key: str, board: Board, place: RankingPlace) -> bool:
        """Return whether a set is the board's own, made by itself."""
        return self.is_own(key, board, place) and self.is_listed(board, place)

    def in_the_way(self, board: Board) -> list[str]:
        """Return the keys of a board's present rankings that hold sets which the board has not made."""
        found = [keys_of(board, ranking) for ranking in present_rankings(0, board, now_ms())]
        return [place.key for place in found if self.exists(place.key) and not self._is_listed(board, place.field)]

    def is_kept(self, board: Board) -> bool:
        """Return whether a service keeps the board in this Redis."""
        return self.exists(board_keys(board).watermarks)

    def is_listed(self, board: Board, place: RankingPlace) -> bool:
        """Return whether a board has made a ranking here."""
        return self._is_listed(board, keys_of(board, Ranking(0, place.window, place.window_id, place.segment)).field)

    def _is_listed(self, board: Board, field: str) -> bool:
        found = self._command("HGET", board_keys(board).listed, field)
        return found is not None and ListEntry(*unpack(found)).players != TAKEN

    # -- moving ---------------------------------------------------------------------------------------------------------

    def check_room_aside(self, keys: Iterable[str]) -> None:
        """Raise ConfigError where a set cannot be moved aside, as there is one already."""
        for key in keys:
            if self.exists(ASIDE + key):
                raise ConfigError(f"{key!r} cannot be moved to {ASIDE + key!r}, which already exists: rename or delete that one first")

    def move_aside(self, key: str) -> bool:
        """Make room for the board; return False where there is no such set any more."""
        if not self.exists(key):
            return False
        if not self._command("RENAMENX", key, ASIDE + key):
            raise ConfigError(f"{key!r} cannot be moved to {ASIDE + key!r}, which already exists: rename or delete that one first")
        return True

    def move_back(self, key: str) -> bool:
        """Undo that; return False where another set has its name by now."""
        return bool(self._command("RENAMENX", ASIDE + key, key))
