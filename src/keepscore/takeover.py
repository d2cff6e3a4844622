"""Sorted sets that another system has in Redis, on their way to a board."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from keepscore.answers import Lookup, Rejection, encode
from keepscore.applier import Applier
from keepscore.boards import Board
from keepscore.catalog import Catalog
from keepscore.config import Settings
from keepscore.connect import engine_from_url, feed_for, ledger_from_url
from keepscore.definitions import in_effect
from keepscore.engines.base import Ranking
from keepscore.engines.layouts import board_keys, keys_of
from keepscore.engines.redis_client import RedisClient
from keepscore.engines.redis_url import EXAMPLES, parse_redis_url
from keepscore.entries import Entry
from keepscore.errors import ConfigError
from keepscore.leaderboards import now_ms
from keepscore.ledgers.base import Ledger
from keepscore.loading import load_from_events
from keepscore.reader import Reader
from keepscore.rehearsal import rehearse
from keepscore.windows import span_at

__all__ = ["LedgerAlone", "SortedSets", "defined", "ledger_alone", "sorted_set"]

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


def defined(settings: Settings, board: str) -> Board | None:
    """A board's definition, from the ledger and the configuration. The engine is not asked: it may hold what has to be moved first."""

    async def found() -> Board | None:
        ledger = ledger_from_url(settings.ledger, shared=_is_redis(settings.engine))
        await ledger.open(now_ms())
        try:
            records = await in_effect(ledger, settings.boards)
        finally:
            await ledger.close()
        return next((record.board for record in records if record.board.name == board), None)

    return asyncio.run(found())


@contextmanager
def ledger_alone(settings: Settings, board: str) -> Iterator[LedgerAlone]:
    """A board as the ledger alone has it, for a dry run: under its key in Redis lies what has to be moved first. O(events)."""
    with asyncio.Runner() as runner:
        ledger = ledger_from_url(settings.ledger, shared=_is_redis(settings.engine))
        runner.run(ledger.open(now_ms()))
        try:
            alone = LedgerAlone(ledger, board, runner)
            runner.run(alone.load(settings.boards))
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

    async def load(self, configured: list[Board]) -> None:
        """Fold the events of the board, and of those to which its scores are sent on."""
        for record in await in_effect(self._ledger, configured):
            self._catalog.put(record)
        self._catalog.taken_from = await self._ledger.taken_from()
        live = self._catalog[self._board]
        for one in (live, *self._catalog.links(live)):
            await load_from_events(self._ledger, self._engine, one, now_ms())
            await self._engine.promote(one.id)
        assured = Applier(0, self._catalog, self._ledger, self._engine).assured
        self._reader = Reader(self._catalog, self._engine, self._ledger, feed_for(self._engine), b"", now_ms, assured)

    def check(self, entries: list[dict[str, Any]]) -> dict[int, str]:
        """Why which entries would be refused, by their place."""
        rejected = self._runner.run(self._rejected([Entry(**entry) for entry in entries]))
        return {rejection.index: rejection.detail for rejection in rejected}

    def scores(self, players: list[str]) -> dict[str, Any]:
        """The scores of those players who are on the board."""
        found: Lookup = self._runner.run(self._reader.lookup(self._reader.view(self._board), players))
        return {standing.player_id: standing.score for standing in found.standings}

    async def _rejected(self, entries: list[Entry]) -> list[Rejection]:
        live = self._catalog[self._board]
        return (await rehearse(self._catalog, self._engine, self._ledger, live, entries, now_ms(), backfill=True)).rejected


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
                    shown = int(score) if score.is_integer() else score if math.isfinite(score) else str(score)
                    entry = {"player": member.decode("utf-8", "replace"), "score": shown}
                    lines.write(encode(entry) + b"\n")
                done += len(chunk) // 2
                advance(done)

    def is_own(self, key: str, board: Board, engine: str) -> bool:
        """Whether the set has the name of the board's own key, and is in the Redis of the engine."""
        field = _field_of(key, board) if _is_redis(engine) and self._is_at(engine) else None
        if field is not None and self._is_listed(board, field):
            raise ConfigError(f"{key!r} is Keepscore's own already, on board {board.name!r}: there is nothing to take over")
        return field is not None

    def is_in_the_way(self, key: str, board: Board) -> bool:
        """Whether the set has the name of the own key of a board that a service keeps in this Redis, and the service has not made it."""
        field = _field_of(key, board)
        if field is None or self._is_listed(board, field):
            return False
        return bool(self._run(self._client.command("EXISTS", board_keys(board).marks)))

    def _is_at(self, engine: str) -> bool:
        there, here = parse_redis_url(engine), self._client.address
        return (there.hosts, there.database) == (here.hosts, here.database)

    def _is_listed(self, board: Board, field: str) -> bool:
        return bool(self._run(self._client.command("HEXISTS", board_keys(board).listed, field)))

    def move_aside(self, key: str) -> None:
        """Make room for the board."""
        self._run(self._moved(key))

    async def _moved(self, key: str) -> None:
        if not await self._client.command("RENAMENX", key, ASIDE + key):
            raise ConfigError(f"{key!r} cannot be moved to {ASIDE + key!r}, which is there already: rename or delete that one first")


def _field_of(key: str, board: Board) -> str | None:
    """The name of the present ranking of a board that lies under a key; None: there is none."""
    spans = [span_at(board, window, now_ms()) for window in board.periods]
    places = [keys_of(board, Ranking(0, span.window, span.id, "")) for span in spans if span is not None]
    return next((place.field for place in places if place.key == key), None)
