"""Sorted sets that another system has in Redis, on their way to a board."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from keepscore.answers import encode
from keepscore.config import Settings
from keepscore.engines.base import Ranking
from keepscore.engines.layouts import board_keys, keys_of
from keepscore.engines.redis_client import RedisClient
from keepscore.engines.redis_url import EXAMPLES, parse_redis_url
from keepscore.errors import ConfigError
from keepscore.leaderboards import now_ms
from keepscore.windows import span_at

__all__ = ["SortedSets", "sorted_set"]

#: Members that one read brings.
CHUNK = 5000
#: Where a set is moved that has the name of a board's key.
ASIDE = "keepscore:before:"

T = TypeVar("T")


@contextmanager
def sorted_set(url: str) -> Iterator[SortedSets]:
    """The sorted sets of the Redis at a URL."""
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

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def size(self, key: str) -> int:
        """How many members a set has; ConfigError where it is none."""
        kind = self._run(self._client.command("TYPE", key)).decode()
        if kind != "zset":
            found = "is not there" if kind == "none" else f"is a {kind}"
            raise ConfigError(f"{key!r} {found} in the Redis at {self._client.address.shown}: name a sorted set with --key")
        return int(self._run(self._client.command("ZCARD", key)))

    def save(self, key: str, file: Path, advance: Callable[[int], None]) -> None:
        """Write a set to a file, a line a member. O(N)."""
        done = 0
        with file.open("wb") as lines:
            while chunk := self._run(self._client.command("ZRANGE", key, done, done + CHUNK - 1, "WITHSCORES")):
                for member, text in zip(chunk[::2], chunk[1::2], strict=True):
                    score = float(text)
                    entry = {"player": member.decode("utf-8", "replace"), "score": int(score) if score.is_integer() else score}
                    lines.write(encode(entry) + b"\n")
                done += len(chunk) // 2
                advance(done)

    def is_own(self, key: str, settings: Settings, board: str) -> bool:
        """Whether the set has the name of the board's own key, and is in the engine's Redis."""
        if settings.engine.partition(":")[0] not in EXAMPLES:
            return False
        engine = parse_redis_url(settings.engine)
        here = self._client.address
        definition = next((one for one in settings.boards if one.name == board), None)
        if definition is None or (engine.hosts, engine.database) != (here.hosts, here.database):
            return False
        spans = [span_at(definition, window, now_ms()) for window in definition.periods]
        for keys in [keys_of(definition, Ranking(0, span.window, span.id, "")) for span in spans if span is not None]:
            if keys.key == key:
                if self._run(self._client.command("HEXISTS", board_keys(definition).listed, keys.field)):
                    raise ConfigError(f"{key!r} is Keepscore's own already, on board {board!r}: there is nothing to take over")
                return True
        return False

    def move_aside(self, key: str) -> None:
        """Make room for the board."""
        self._run(self._moved(key))

    async def _moved(self, key: str) -> None:
        if not await self._client.command("RENAMENX", key, ASIDE + key):
            raise ConfigError(f"{key!r} cannot be moved to {ASIDE + key!r}, which is there already: rename or delete that one first")
