"""Where the boards that one process knows lie in Redis, and their shadows."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.boards import Board
from keepscore.domain.keys import FOLLOWING
from keepscore.domain.windows import span_at
from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.base import Ranking
from keepscore.storage.engines.redis.answers import unpack
from keepscore.storage.engines.redis.batches import foreign, other_type, taken
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall
from keepscore.storage.engines.redis.layouts import LONG_CALL_S, RankingKeys, board_keys, companions, fingerprint, keys_of
from keepscore.storage.engines.redis.live_windows import live_text

__all__ = [
    "TAKEN",
    "KnownBoard",
    "KnownBoards",
    "ListEntry",
    "filled_rankings",
    "index_scores",
    "keys_in",
    "list_of",
    "present_ranking",
    "present_rankings",
    "rankings_in",
    "sizes_of",
    "somebody_elses",
    "unlink",
    "what_is_taken",
    "wrong_type",
]
__all__ += [
    "filled_rankings",
    "index_scores",
    "keys_in",
    "list_of",
    "present_ranking",
    "present_rankings",
    "rankings_in",
    "sizes_of",
    "somebody_elses",
    "unlink",
]
__all__ += ["what_is_taken", "wrong_type"]

#: Keys of rankings that are remembered, in bytes.
KEYS_BYTES = 32 << 20
#: Players that one script call looks at for an index of scores.
CHUNK_PLAYERS = 5000
#: The number of players of a ranking whose key holds what Keepscore has not made.
TAKEN = -1
#: Keys whose sizes one script call tells.
SIZED = 1000

_pack = msgspec.msgpack.Encoder().encode
_NONE: Mapping[str, str] = {}


class KnownBoard(NamedTuple):
    """A board as this process knows it."""

    board: Board
    #: What the rankings have to be made for: the ledger, the board's life, what its definition means in Redis, and what is live.
    epoch: str
    watermarks: str
    listed: str
    spool: str
    needs_restate: str
    lock: str
    positions: str
    #: What the names of its rankings' keys begin with, where it is a shadow.
    prefix: str = ""
    #: The ids of the windows whose rankings lie under live keys, by name, where windows have such keys.
    live: Mapping[str, str] = {}


class ListEntry(NamedTuple):
    """What a board's list tells of a ranking."""

    expiry: int
    #: How far the index of its scores is.
    indexed: float | bool
    key: str
    #: What is known of rows that were removed, if some were.
    pruned: Any = False
    #: How many players it has (0 where nobody has counted them), or TAKEN.
    players: int = 0


class KnownBoards:
    """The boards of one process, for the ledger of an identity."""

    def __init__(self) -> None:
        self.ledger = ""
        #: Rankings whose keys hold what Keepscore has not made, and what to do about it.
        self.taken: dict[Ranking, str] = {}
        self._boards: dict[int, KnownBoard] = {}
        #: Shadows that are loaded, with the keys of their own.
        self.shadows: dict[int, KnownBoard] = {}
        self._keys: ByteCache[Ranking, RankingKeys] = ByteCache(KEYS_BYTES)

    def known(self, board_id: int, board: Board, live: Mapping[str, str] = _NONE) -> KnownBoard:
        """Return where a board lies that has a definition, and some live windows."""
        keys = board_keys(board)
        # What is kept for one ledger is not for another.
        keys = keys._replace(spool=f"{keys.spool}:{self.ledger}")
        epoch = f"{self.ledger}:{board_id}:{fingerprint(board)}" + (f":{live_text(live)}" if live else "")
        return KnownBoard(board, epoch, *keys, live=live)

    def new_shadow(self, board_id: int, board: Board) -> KnownBoard:
        """Return where a shadow of a board is to lie: nowhere that another one does, or did."""
        known, prefix = self.known(board_id, board), f"keepscore:new:{secrets.token_hex(4)}:"
        return known._replace(
            watermarks=prefix + known.watermarks, listed=prefix + known.listed, needs_restate=prefix + known.needs_restate, prefix=prefix
        )

    def define(self, board_id: int, known: KnownBoard) -> None:
        """Take up a board's definition."""
        self._boards[board_id] = known
        for ranking in [ranking for ranking in self._keys if ranking.board == board_id]:
            self._keys.pop(ranking)

    def get(self, board_id: int) -> KnownBoard | None:
        """Return a board, if it is known."""
        return self._boards.get(board_id)

    def ids(self) -> list[int]:
        """Return the numbers of all boards."""
        return list(self._boards)

    def all(self) -> list[KnownBoard]:
        """Return all boards."""
        return list(self._boards.values())

    def forget(self, board_id: int) -> None:
        """Forget a board."""
        self._boards.pop(board_id, None)
        self.take(board_id, {})

    def take(self, board_id: int, found: dict[Ranking, str]) -> None:
        """Note which rankings of a board have keys that hold something else."""
        self.taken = {ranking: why for ranking, why in self.taken.items() if ranking.board != board_id} | found

    def note(self, looked_at: Collection[Ranking], found: dict[Ranking, str]) -> None:
        """Note which of some rankings have keys that hold something else."""
        self.taken = {ranking: why for ranking, why in self.taken.items() if ranking not in looked_at} | found

    def side(self, board_id: int, shadow: bool) -> KnownBoard | None:
        """Return a board, or its shadow."""
        return (self.shadows if shadow else self._boards).get(board_id)

    def at(self, known: KnownBoard, ranking: Ranking) -> RankingKeys:
        """Return where a ranking lies. The keys of a board that is read are remembered."""
        if prefix := known.prefix:
            keys = keys_of(known.board, ranking, known.live)
            return keys._replace(key=prefix + keys.key, times=prefix + keys.times, dense=prefix + keys.dense)
        found = self._keys.get(ranking)
        if found is None:
            if ranking.window not in known.board.periods:
                raise EngineUnavailable(f"board {known.board.name!r} no longer has the window {ranking.window!r}: try again")
            found = keys_of(known.board, ranking, known.live)
            self._keys.put(ranking, found, bytes_of(found))
        return found


async def wrong_type(client: RedisClient, known: KnownBoard, now: int) -> str | None:
    """Say what to do about the first of a board's present keys that is of another type; None: all can be used."""
    rankings = [keys_of(known.board, ranking, known.live).key for ranking in present_rankings(0, known.board, now)]
    own = [known.watermarks, known.listed, known.spool, known.needs_restate, known.lock, known.positions]
    found = unpack(await client.run(ScriptCall("types", [*own, *rankings], b"")))
    return other_type(*found) if found else None


async def somebody_elses(client: RedisClient, known: KnownBoard, now: int) -> str | None:
    """Say what to do about a sorted set under one of a board's present keys that no board of its name has made."""
    keys = [keys_of(known.board, ranking, known.live).key for ranking in present_rankings(0, known.board, now)]
    # What the board has followed so far is its own from now on, and moved aside when the rankings take its place.
    mine = {entry.key.removeprefix(FOLLOWING) for entry in (await rankings_in(client, known)).values()}
    sizes = zip(keys, await sizes_of(client, keys), strict=True)
    return next((foreign(key, size) for key, size in sizes if size and key not in mine), None)


def present_ranking(board_id: int, board: Board, now: int) -> Ranking | None:
    """Return the first ranking that a board has now; None: it is between two seasons."""
    return next(iter(present_rankings(board_id, board, now)), None)


def present_rankings(board_id: int, board: Board, now: int) -> list[Ranking]:
    """Return the rankings that a board has now, except segments."""
    spans = [span_at(board, window, now) for window in board.periods]
    return [Ranking(board_id, span.window, span.id, "") for span in spans if span is not None]


async def list_of(client: RedisClient, known: KnownBoard) -> dict[Ranking, ListEntry]:
    """Read all entries of a board's list."""
    found = await client.command("HGETALL", known.listed)
    board_id = int(known.epoch.split(":")[1])
    return {Ranking(board_id, *field.decode().split("\0")): ListEntry(*unpack(text)) for field, text in found.items() if field}


async def rankings_in(client: RedisClient, known: KnownBoard) -> dict[Ranking, ListEntry]:
    """Return the rankings that a board's list names: not those whose keys hold something else."""
    return {ranking: entry for ranking, entry in (await list_of(client, known)).items() if entry.players != TAKEN}


async def filled_rankings(client: RedisClient, known: KnownBoard, now: int) -> list[Ranking]:
    """Return the rankings that hold a player, or should: one whose key is gone before its time is lost, and reading it says so."""
    found = await rankings_in(client, known)
    sizes = zip(found.items(), await sizes_of(client, [entry.key for entry in found.values()]), strict=True)
    return [ranking for (ranking, entry), size in sizes if size or (entry.players and not 0 < entry.expiry <= now)]


async def keys_in(client: RedisClient, known: KnownBoard) -> list[str]:
    """Return all keys of a board's rankings; those of a shadow still have other names."""
    return [known.prefix + name for entry in (await rankings_in(client, known)).values() for name in companions(entry.key)]


async def sizes_of(client: RedisClient, keys: Sequence[str]) -> list[int]:
    """Count the players under each key; -1 where it is no sorted set."""
    sizes: list[int] = []
    for start in range(0, len(keys), SIZED):
        sizes += await client.run(ScriptCall("sizes", keys[start : start + SIZED], b""))
    return sizes


async def what_is_taken(client: RedisClient, known: KnownBoard) -> dict[Ranking, str]:
    """Return the rankings of a board whose keys hold what Keepscore did not write, and what to do about each."""
    found = {ranking: entry.key for ranking, entry in (await list_of(client, known)).items() if entry.players == TAKEN}
    told = {}
    for (ranking, key), size in zip(found.items(), await sizes_of(client, list(found.values())), strict=True):
        if size:
            told[ranking] = taken(key, (await client.command("TYPE", key)).decode(), size)
    return told


async def unlink(client: RedisClient, keys: Sequence[str]) -> None:
    """Drop keys."""
    for start in range(0, len(keys), 1000):
        await client.command("UNLINK", *keys[start : start + 1000], seconds=LONG_CALL_S)


async def index_scores(client: RedisClient, known: KnownBoard, keys: RankingKeys) -> None:
    """Make the index of a ranking's distinct scores: O(N log N) once, kept up to date from then on."""
    argument = _pack([False if known.prefix else known.epoch, keys.form, keys.field, keys.name, CHUNK_PLAYERS])
    complete = False
    while not complete:
        complete = bool(await client.run(ScriptCall("index", [known.watermarks, known.listed, *keys[:3]], argument), LONG_CALL_S))
