"""States on their way into Redis, in chunks that are under way while the next ones are made."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import Any

import msgspec

from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall
from keepscore.storage.engines.redis.layouts import RankingKeys

__all__ = ["Loader"]

#: Rows that one script call loads: about ten milliseconds, in which Redis answers nobody else.
CHUNK_ROWS = 4000
#: Rows that are put in order together. What is near in order is near in the sorted set.
SORTED = 10 * CHUNK_ROWS
#: Calls that are under way at a time.
DEPTH = 3
#: Rows that are left out at most: more are no single bad ones.
MAX_REFUSED = 100
#: Seconds that a call may take.
LONG_CALL_S = 60.0

#: The last time that six bytes hold.
LAST_TIME = (1 << 48) - 1

#: How a member, six bytes and a player id of some length, begins in msgpack: as a text, since scripts do not know its type for bytes.
_HEADS = [b"\xda" + (6 + length).to_bytes(2) for length in range(256)]
_pack = msgspec.msgpack.Encoder().encode
_score, _since = itemgetter(1), itemgetter(2)


class Loader:
    """Sends chunks of rows. `watermarks` and `listed` are the keys of the shadow, which stays for `keep` milliseconds if nobody goes on."""

    def __init__(self, client: RedisClient, watermarks: str, listed: str, keep: int) -> None:
        self._client = client
        self._keys = watermarks, listed
        self._keep = keep
        self._under_way: deque[asyncio.Future[Any]] = deque()
        #: Rows that were sent to each key, but for those that hold replaced ones.
        self.sent: Counter[str] = Counter()
        #: Rows that were there, by key, before some were replaced: there are as many, at least.
        self.least: Counter[str] = Counter()
        #: Rows that were refused while others were taken, by key and player, and why.
        self.refused: dict[tuple[str, str], str] = {}
        #: The latest time of a row.
        self.latest = 0

    async def send(self, keys: RankingKeys, expiry: int, rows: Iterable[tuple[str, int, int]], again: bool) -> None:
        """Send rows of a ranking; they may be under way still when this returns."""
        if again:
            # A row that replaces another must not come before it.
            await self._until(0)
            self.least[keys.key] = max(self.least[keys.key], self.sent.pop(keys.key, 0))
        by_script = again or self._client.is_cluster
        if not by_script and keys.key not in self.sent:
            await self._client.run(self._script(keys, expiry, [], again), LONG_CALL_S)
        for chunk in _chunks(rows):
            self.latest = max(self.latest, max(map(_since, chunk)))
            self._under_way.append(asyncio.ensure_future(self._put(keys, chunk, (expiry, again) if by_script else None)))
            if not again:
                self.sent[keys.key] += len(chunk)
            # It is sent now.
            await asyncio.sleep(0)
            await self._until(DEPTH - 1)

    async def _put(self, keys: RankingKeys, rows: list[tuple[str, int, int]], by_script: tuple[int, bool] | None) -> None:
        """Put rows into a ranking. A row that is refused though others are taken is left out: it must not keep all from being ranked."""
        try:
            if by_script is None:
                await self._client.transaction(self._commands(keys, rows), LONG_CALL_S)
            else:
                await self._client.run(self._script(keys, by_script[0], rows, by_script[1]), LONG_CALL_S)
            return
        except (EngineUnavailable, OverflowError, UnicodeError) as exc:
            if (isinstance(exc, EngineUnavailable) and not exc.is_refused) or len(self.refused) >= MAX_REFUSED:
                raise
            error = exc
        half = len(rows) // 2
        if half:
            await self._put(keys, rows[:half], by_script)
            await self._put(keys, rows[half:], by_script)
            return
        player = rows[0][0]
        self.refused[keys.key, player] = str(error)
        if by_script is None or not by_script[1]:
            self.sent[keys.key] -= 1
        if by_script is None and keys.form[-1]:
            # The time may have been taken.
            await self._client.command("HDEL", keys.times, player)

    def _script(self, keys: RankingKeys, expiry: int, rows: list[tuple[str, int, int]], again: bool) -> ScriptCall:
        """Return a call that lists a ranking, and puts rows into it."""
        numbers, times = _columns(keys, rows) if rows else ([], [])
        if keys.form[0] == "timed":
            # The script takes the times from the members.
            heads, times = _HEADS, []
            numbers[1::2] = [msgspec.Raw(heads[len(member) - 6] + member) for member in numbers[1::2]]
        argument = _pack([keys.form, keys.field, keys.name, expiry, numbers, times, again, self._keep])
        return ScriptCall("load", [*self._keys, *keys[:3]], argument)

    def _commands(self, keys: RankingKeys, rows: list[tuple[str, int, int]]) -> list[tuple[Any, ...]]:
        """Do the same without a script, which would take Redis twice as long, for rows that are new in a ranking that is listed."""
        numbers, times = _columns(keys, rows)
        commands: list[tuple[Any, ...]] = [("ZADD", keys.key, *numbers)]
        if times:
            commands.append(("HSET", keys.times, *times))
        return commands + [("PEXPIRE", key, self._keep) for key in (keys.key, keys.times, *self._keys)]

    async def finish(self) -> None:
        """Wait for all that is under way, and see that nothing was lost since, as a failover may."""
        await self._until(0)
        for key, sent in self.sent.items():
            if (found := await self._client.command("ZCARD", key)) != sent:
                raise _lost(sent, found)
        for key, least in self.least.items():
            if (found := await self._client.command("ZCARD", key)) < least:
                raise _lost(least, found)

    async def stop(self) -> None:
        """Give up what is under way."""
        for call in self._under_way:
            call.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._under_way.clear()

    async def _until(self, left: int) -> None:
        while len(self._under_way) > left:
            await self._under_way[0]
            self._under_way.popleft()


def _lost(sent: int, found: int) -> EngineUnavailable:
    return EngineUnavailable(f"of {sent} players that were loaded, Redis has {found}: it has lost something. Try again")


def _chunks(rows: Iterable[tuple[str, int, int]]) -> Iterator[list[tuple[str, int, int]]]:
    rest = iter(rows)
    while some := sorted(islice(rest, SORTED), key=_score):
        yield from (some[i : i + CHUNK_ROWS] for i in range(0, len(some), CHUNK_ROWS))


def _columns(keys: RankingKeys, rows: list[tuple[str, int, int]]) -> tuple[list[Any], list[Any]]:
    """Return some rows as flat lists: numbers and members of the sorted set; players and their times, where these are kept."""
    kind, unit, start, step, reversed_time, keeps = keys.form
    players, scores, sinces = zip(*rows, strict=True)
    numbers: list[Any] = [None] * (2 * len(rows))
    numbers[0::2] = scores
    numbers[1::2] = players
    if kind == "composite":
        if reversed_time:
            numbers[0::2] = [score * unit + unit - 1 - (since - start) // step for _, score, since in rows]
        else:
            numbers[0::2] = [score * unit + (since - start) // step for _, score, since in rows]
    if kind != "timed" and not keeps:
        return numbers, []
    times: list[Any] = [None] * (2 * len(rows))
    times[0::2] = players
    if kind == "timed":
        last = LAST_TIME if reversed_time else 0
        times[1::2] = prefixes = [abs(last - since).to_bytes(6) for since in sinces]
        numbers[1::2] = [prefix + player.encode() for prefix, player in zip(prefixes, players, strict=True)]
    else:
        times[1::2] = [str(since) for since in sinces]
    return numbers, times
