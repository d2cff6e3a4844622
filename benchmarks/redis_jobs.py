"""Jobs on one Redis: through bare redis-py, through the engine and through the library. Each gives players a second.

All of them write what really moves players: scores that rise. What it takes to make up players is not measured.
"""

from __future__ import annotations

import asyncio
import random
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import chain, count, cycle, islice

import redis
import redis.asyncio

from keepscore import Board, Entry, Leaderboards
from keepscore.domain.boards import RankKind
from keepscore.domain.ordering import Row
from keepscore.domain.scoring import Event
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Batch, Change, Loaded, Ranking, Update
from keepscore.storage.engines.redis.engine import RedisEngine
from keepscore.storage.ledgers.boards import BoardRecord

BATCH = 100
CALLERS = 32
CHUNK = 5000
WRITER = 1
#: Updates a second that are made up before singles are measured.
READY_A_SECOND = 100_000

Pairs = list[tuple[str, int]]


def first_scores(players: int) -> array[int]:
    """Return the score with which each player begins: up to ten million, as in `benchmarks.players.fill`."""
    chance = random.Random(1)
    return array("q", (chance.randrange(10**7) for _ in range(players)))


def in_order(players: int) -> Iterator[list[int]]:
    """Yield all players in the order of their first scores, in chunks: what is near in the order is near in memory, as in a copied set."""
    order = sorted(range(players), key=first_scores(players).__getitem__)
    return (order[start : start + CHUNK] for start in range(0, players, CHUNK))


class Scores:
    """Updates of random players, each to a higher score than before."""

    def __init__(self, first: array[int]) -> None:
        self._scores = first
        self._chance = random.Random(2)

    def player(self) -> str:
        """Pick a random player."""
        return f"p{self._chance.randrange(len(self._scores))}"

    def pair(self) -> tuple[str, int]:
        """Pick a random player and a new score."""
        n = self._chance.randrange(len(self._scores))
        self._scores[n] += self._chance.randrange(1, 1_000_000)
        return f"p{n}", self._scores[n]

    def ready(self, seconds: float) -> Iterator[tuple[str, int]]:
        """Yield pairs that are made up before they are asked for, as many as some seconds may take."""
        return chain([self.pair() for _ in range(int(seconds * READY_A_SECOND))], iter(self.pair, None))

    def pairs(self) -> Pairs:
        """Draw a batch."""
        return [self.pair() for _ in range(BATCH)]


class Stopwatch:
    """Runs in parts, until the seconds are over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent = self._begun = 0.0

    @property
    def runs(self) -> bool:
        """Whether there is time left."""
        return self._spent < self._seconds

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._spent += time.perf_counter() - self._begun

    def rate(self, done: int) -> float:
        """Return how many players a second that is."""
        return done / self._spent


# -- bare redis-py --------------------------------------------------------------------------------------------------------


class Bare:
    """A sorted set and nothing else."""

    def __init__(self, port: int, key: str, players: int) -> None:
        self.key = key
        self._client = redis.Redis(port=port)
        self._port = port
        self._scores = Scores(first_scores(players))

    def fill(self, players: int) -> None:
        """Put the players in with their first scores."""
        scores = first_scores(players)
        for chunk in in_order(players):
            self._client.zadd(self.key, {f"p{n}": scores[n] for n in chunk})

    def pipelines(self, seconds: float) -> float:
        """Send ZADD and ZREVRANK of 100 players in one pipeline after the other."""
        watch, done = Stopwatch(seconds), 0
        while watch.runs:
            pairs = self._scores.pairs()
            with watch:
                pipeline = self._client.pipeline(transaction=False)
                for player, score in pairs:
                    pipeline.zadd(self.key, {player: score})
                    pipeline.zrevrank(self.key, player)
                ranks = pipeline.execute()[1::2]
            done += len(ranks)
        return watch.rate(done)

    async def async_pipelines(self, seconds: float) -> float:
        """Do the same through asyncio."""
        watch, done = Stopwatch(seconds), 0
        async with redis.asyncio.Redis(port=self._port) as client:
            while watch.runs:
                pairs = self._scores.pairs()
                with watch:
                    pipeline = client.pipeline(transaction=False)
                    for player, score in pairs:
                        pipeline.zadd(self.key, {player: score})
                        pipeline.zrevrank(self.key, player)
                    ranks = (await pipeline.execute())[1::2]
                done += len(ranks)
        return watch.rate(done)

    def singles(self, seconds: float) -> float:
        """Send one ZADD and one ZREVRANK, one call after the other."""
        watch, done = Stopwatch(seconds), 0
        while watch.runs:
            player, score = self._scores.pair()
            with watch:
                self._client.zadd(self.key, {player: score})
                self._client.zrevrank(self.key, player)
            done += 1
        return watch.rate(done)


# -- the engine -----------------------------------------------------------------------------------------------------------


class OnEngine:
    """A board in the engine, without a ledger."""

    def __init__(self, engine: RedisEngine, number: int, board: Board, players: int) -> None:
        self.board = board
        self._engine = engine
        self._live = LiveBoard(BoardRecord(number, 1, board, 1))
        self.ranking = Ranking(number, "all_time", "all_time", "")
        self._scores = Scores(first_scores(players))
        self._applied = 0

    async def fill(self, players: int) -> None:
        """Put the players in with their first scores."""
        scores = first_scores(players)
        now = _now()

        async def states() -> AsyncIterator[Loaded]:
            for chunk in in_order(players):
                yield Loaded(self.ranking, 0, [Row(f"p{n}", scores[n], now) for n in chunk], fresh=False)

        await self._engine.load(self._live.id, self.board, states(), {})
        await self._engine.promote(self._live.id)

    def _update(self, player: str, score: int, now: int) -> Update:
        return self._live.update(Event(self._live.id, WRITER, 0, player, "score", score, now, now, None), ranked=True)

    async def _apply(self, updates: list[Update]) -> list[Change]:
        batch = Batch(self._live.id, WRITER, self._applied, self._applied + len(updates), updates, self.board.rank)
        (outcomes,) = await self._engine.apply([batch])
        self._applied += len(updates)
        return [outcome.changes[0] for outcome in outcomes]

    async def batches(self, seconds: float) -> float:
        """Send batches of 100 updates that answer with old and new rank."""
        watch, done = Stopwatch(seconds), 0
        while watch.runs:
            now = _now()
            updates = [self._update(player, score, now) for player, score in self._scores.pairs()]
            with watch:
                changes = await self._apply(updates)
            assert all(change.updated and change.rank for change in changes)
            done += len(changes)
        return watch.rate(done)

    async def callers(self, seconds: float) -> float:
        """Send single updates from 32 callers at once: what waits while a batch is under way is the next one."""
        waiting: list[tuple[Update, asyncio.Future[Change]]] = []

        async def commit() -> None:
            while True:
                await asyncio.sleep(0)
                group, waiting[:] = waiting[:], []
                changes = await self._apply([update for update, _ in group]) if group else []
                for (_, future), change in zip(group, changes, strict=True):
                    future.set_result(change)

        async def update(player: str, score: int) -> None:
            future: asyncio.Future[Change] = asyncio.get_running_loop().create_future()
            waiting.append((self._update(player, score, _now()), future))
            assert (await future).updated

        ready = self._scores.ready(seconds)
        committing = asyncio.create_task(commit())
        rate = await _called(lambda: update(*next(ready)), seconds)
        committing.cancel()
        return rate

    async def places(self, seconds: float, wanted: RankKind | None = None) -> float:
        """Ask for the ranks of 100 players, all numbers or the wanted one, in one call after the other."""
        watch, done = Stopwatch(seconds), 0
        while watch.runs:
            players = [self._scores.player() for _ in range(BATCH)]
            with watch:
                places = await self._engine.places(self.ranking, players, wanted)
            assert all(places)
            done += len(places)
        return watch.rate(done)

    async def lookups(self, seconds: float) -> float:
        """Ask for the ranks of 100 players a call, from 32 callers at once."""
        asked = cycle([[self._scores.player() for _ in range(BATCH)] for _ in range(1000)])

        async def look() -> None:
            assert all(await self._engine.places(self.ranking, next(asked), "unique"))

        return BATCH * await _called(look, seconds)


# -- the library ----------------------------------------------------------------------------------------------------------


class InLibrary:
    """A board in the library, the players of which have scores up to ten million."""

    def __init__(self, leaderboards: Leaderboards, board: str, players: int) -> None:
        self._leaderboards = leaderboards
        self._board = board
        self._scores = Scores(array("q", [10**7]) * players)

    async def submissions(self, seconds: float) -> float:
        """Call `Leaderboards.submit` from 32 callers at once, each a durable write that answers with the rank."""
        ready = self._scores.ready(seconds)
        return await _called(lambda: self._submit(*next(ready)), seconds)

    async def _submit(self, player: str, score: int) -> None:
        receipt = await self._leaderboards.submit(self._board, player, score)
        assert receipt.updated
        assert not receipt.pending


class ByOperator:
    """Boards of two windows in the library that differ in the operator only: what a sum costs beside a best."""

    def __init__(self, leaderboards: Leaderboards, board: Board) -> None:
        self._leaderboards = leaderboards
        self._board = board.name
        self._field = "amount" if board.operator == "sum" else "score"
        self._numbers = count(1)

    def _entries(self, size: int) -> list[Entry]:
        # Ever higher: what changes nothing would cost a best less.
        return [Entry(player_id=f"p{n * 7919 % 10_000}", **{self._field: n}) for n in islice(self._numbers, size)]

    async def batches(self, seconds: float) -> float:
        """Count entries a second in batches of a thousand, one after the other."""
        begun, done = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            answer = await self._leaderboards.submit_many(self._board, self._entries(1000))
            done += answer.accepted
        return done / (time.perf_counter() - begun)

    async def singles(self, seconds: float) -> float:
        """Count durable writes a second that answer with the rank, from 32 callers at once."""
        return await _called(self._submit, seconds)

    async def _submit(self) -> None:
        submit = self._leaderboards.increment if self._field == "amount" else self._leaderboards.submit
        n = next(self._numbers)
        assert not (await submit(self._board, f"p{n * 7919 % 10_000}", n)).pending


async def _called(call: Callable[[], Awaitable[None]], seconds: float) -> float:
    """Count calls a second from 32 callers at once."""
    begun, done = time.perf_counter(), 0

    async def caller() -> None:
        nonlocal done
        while time.perf_counter() - begun < seconds:
            await call()
            done += 1

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return done / (time.perf_counter() - begun)


def _now() -> int:
    return time.time_ns() // 1_000_000


# -- memory ---------------------------------------------------------------------------------------------------------------


def layouts() -> Iterator[tuple[str, Board]]:
    """Yield a board of each layout, by name."""
    yield "plain", Board("plain", ties="player")
    yield "composite", Board("composite", resolution="1m", min_score=0, max_score=10_000_000)
    yield "timed", Board("timed")


def bytes_of(port: int, pattern: str) -> int:
    """Count the bytes that all keys of a pattern take, each member included."""
    with redis.Redis(port=port) as client:
        return sum(client.memory_usage(key, samples=0) or 0 for key in client.scan_iter(pattern))
