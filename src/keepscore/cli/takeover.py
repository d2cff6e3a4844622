"""Sorted sets that another system has in Redis, on their way to a board."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from keepscore.config import Settings
from keepscore.connect import engine_from_url, feed_for, ledger_from_url
from keepscore.domain.boards import Board
from keepscore.domain.inputs import Entry
from keepscore.domain.results.standings import Lookup, Rejection, encode
from keepscore.domain.windows import span_at
from keepscore.errors import ConfigError
from keepscore.leaderboards import now_ms
from keepscore.lifecycle.configured import in_effect
from keepscore.projection.behind import Behind
from keepscore.projection.changes import Changes
from keepscore.projection.live_boards import Catalog
from keepscore.projection.load import load_from_events
from keepscore.projection.stores import Stores
from keepscore.reading.present import NothingLost
from keepscore.reading.reader import Reader
from keepscore.storage.engines.base import Ranking
from keepscore.storage.engines.redis.answers import unpack
from keepscore.storage.engines.redis.boards import TAKEN, ListEntry
from keepscore.storage.engines.redis.client import RedisClient
from keepscore.storage.engines.redis.layouts import board_keys, keys_of
from keepscore.storage.engines.redis.url import EXAMPLES, parse_redis_url
from keepscore.storage.ledgers.base import Ledger
from keepscore.writing.dry_run import dry_run

__all__ = ["LedgerAlone", "SortedSets", "defined", "ledger_alone", "sorted_set"]

#: Members that one read brings.
CHUNK_MEMBERS = 5000
#: Where a set is moved that has the name of a board's key.
ASIDE = "keepscore:before:"

T = TypeVar("T")


@contextmanager
def sorted_set(url: str) -> Iterator[SortedSets]:
    """Open the sorted sets of the Redis at a URL."""
    with asyncio.Runner() as runner:
        client = RedisClient(parse_redis_url(url))
        runner.run(client.open())
        try:
            yield SortedSets(client, runner)
        finally:
            runner.run(client.close())


def defined(settings: Settings, board: str) -> Board | None:
    """Find a board's definition in the ledger and the configuration. The engine is not asked: it may hold what has to be moved first."""

    async def found() -> Board | None:
        ledger = ledger_from_url(settings.ledger, shared=_is_redis(settings.engine))
        await ledger.open(now_ms())
        try:
            records = await in_effect(ledger, settings.boards, _is_redis(settings.engine))
        finally:
            await ledger.close()
        return next((record.board for record in records if record.board.name == board), None)

    return asyncio.run(found())


@contextmanager
def ledger_alone(settings: Settings, board: str) -> Iterator[LedgerAlone]:
    """Open a board from the ledger alone, for a dry run: its key in Redis holds what has to be moved first. O(events)."""
    with asyncio.Runner() as runner:
        ledger = ledger_from_url(settings.ledger, shared=_is_redis(settings.engine))
        runner.run(ledger.open(now_ms()))
        try:
            alone = LedgerAlone(ledger, board, runner)
            runner.run(alone.load(settings))
            yield alone
        finally:
            runner.run(ledger.close())


class LedgerAlone:
    """One board of a ledger, ranked in this process."""

    def __init__(self, ledger: Ledger, board: str, runner: asyncio.Runner) -> None:
        self._ledger = ledger
        self._board = board
        self._runner = runner
        self._catalog = Catalog()
        self._engine = engine_from_url("embedded://", now_ms)
        self._stores = Stores(self._catalog, ledger, self._engine, now_ms)

    async def load(self, settings: Settings) -> None:
        """Fold the events of the board, and of those to which its scores are sent on."""
        for record in await in_effect(self._ledger, settings.boards, _is_redis(settings.engine)):
            self._catalog.put(record)
        self._catalog.accepts_from = await self._ledger.openings.accepts_from()
        live = self._catalog[self._board]
        for one in (live, *self._catalog.links(live)):
            await load_from_events(self._ledger, self._engine, one, now_ms())
            await self._engine.promote(one.id)
        changes = Changes()
        behind = Behind(self._catalog, changes)
        self._reader = Reader(self._stores, feed_for(self._engine), b"", NothingLost(), behind, changes)

    def check(self, entries: list[Entry]) -> dict[int, str]:
        """Return why entries would be refused, by their place."""
        rejected = self._runner.run(self._rejected(entries))
        return {rejection.index: rejection.detail for rejection in rejected}

    def scores(self, players: list[str]) -> dict[str, Any]:
        """Return the scores of those players who are on the board."""
        found: Lookup = self._runner.run(self._reader.lookup(self._reader.view(self._board), players))
        return {standing.player_id: standing.score for standing in found.standings}

    async def _rejected(self, entries: list[Entry]) -> list[Rejection]:
        live = self._catalog[self._board]
        return (await dry_run(self._stores, live, entries, backfill=True)).rejected


def _is_redis(engine: str) -> bool:
    return engine.partition(":")[0] in EXAMPLES


class SortedSets:
    """The sorted sets of one Redis."""

    def __init__(self, client: RedisClient, runner: asyncio.Runner) -> None:
        self._client = client
        self._runner = runner

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def size(self, key: str) -> int:
        """Count the members of a set; raise ConfigError where it is none."""
        kind = self._run(self._client.command("TYPE", key)).decode()
        if kind != "zset":
            found = "does not exist" if kind == "none" else f"is a {kind}"
            raise ConfigError(f"{key!r} {found} in the Redis at {self._client.address.shown}: name a sorted set with --key")
        return int(self._run(self._client.command("ZCARD", key)))

    def save(self, key: str, file: Path, advance: Callable[[int], None]) -> None:
        """Write a set to a file, a line a member. O(N)."""
        done = 0
        with file.open("wb") as lines:
            while chunk := self._run(self._client.command("ZRANGE", key, done, done + CHUNK_MEMBERS - 1, "WITHSCORES")):
                for member, text in zip(chunk[::2], chunk[1::2], strict=True):
                    score = float(text)
                    shown = int(score) if score.is_integer() else score if math.isfinite(score) else str(score)
                    entry = {"player": member.decode("utf-8", "replace"), "score": shown}
                    lines.write(encode(entry) + b"\n")
                done += len(chunk) // 2
                advance(done)

    def is_own(self, key: str, board: Board, engine: str) -> bool:
        """Return whether the set has the name of the board's own key, and is in the Redis of the engine."""
        field = _field_of(key, board) if _is_redis(engine) and self._is_at(engine) else None
        if field is not None and self._is_listed(board, field):
            raise ConfigError(f"{key!r} is already Keepscore's own key, of board {board.name!r}: there is nothing to take over")
        return field is not None

    def is_in_the_way(self, key: str, board: Board) -> bool:
        """Return whether the set has the own key of a board that a service keeps in this Redis, and the service has not made it."""
        field = _field_of(key, board)
        if field is None or self._is_listed(board, field):
            return False
        return bool(self._run(self._client.command("EXISTS", board_keys(board).watermarks)))

    def _is_at(self, engine: str) -> bool:
        there, here = parse_redis_url(engine), self._client.address
        return (there.hosts, there.database) == (here.hosts, here.database)

    def _is_listed(self, board: Board, field: str) -> bool:
        found = self._run(self._client.command("HGET", board_keys(board).listed, field))
        return found is not None and ListEntry(*unpack(found)).players != TAKEN

    def move_aside(self, key: str) -> None:
        """Make room for the board."""
        self._run(self._moved(key))

    async def _moved(self, key: str) -> None:
        if not await self._client.command("RENAMENX", key, ASIDE + key):
            raise ConfigError(f"{key!r} cannot be moved to {ASIDE + key!r}, which already exists: rename or delete that one first")


def _field_of(key: str, board: Board) -> str | None:
    """Name the present ranking of a board that a key belongs to; None: there is none."""
    spans = [span_at(board, window, now_ms()) for window in board.periods]
    places = [keys_of(board, Ranking(0, span.window, span.id, "")) for span in spans if span is not None]
    return next((place.field for place in places if place.key == key), None)
