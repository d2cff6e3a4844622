"""Where the boards that one process knows lie in Redis, and their shadows."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from keepscore.boards import Board
from keepscore.engines.base import Ranking
from keepscore.engines.layouts import RankingKeys, board_keys, companions, fingerprint, keys_of
from keepscore.engines.redis_answers import unpack
from keepscore.engines.redis_batches import other_type
from keepscore.engines.redis_client import Call, RedisClient
from keepscore.errors import EngineUnavailable, InvalidBoard
from keepscore.windows import span_at

__all__ = ["PATIENCE", "KnownBoard", "KnownBoards", "check_types", "index_scores", "keys_in", "rankings_in", "unlink"]

#: Keys of rankings that are remembered.
REMEMBERED = 100_000
#: Players that one script call looks at for an index of scores.
CHUNK = 5000
#: Seconds that such a call, or the exchange of a whole board, may take.
PATIENCE = 60.0

_pack = msgspec.msgpack.Encoder().encode


class KnownBoard(NamedTuple):
    """A board as this process knows it."""

    board: Board
    #: What the rankings have to be made for: the ledger, the board's life, and what its definition means in Redis.
    epoch: str
    marks: str
    listed: str
    spool: str
    late: str
    lock: str
    #: What the names of its rankings' keys begin with, where it is a shadow.
    prefix: str = ""


class KnownBoards:
    """The boards of one process, for the ledger of an identity."""

    def __init__(self) -> None:
        self.ledger = ""
        self._boards: dict[int, KnownBoard] = {}
        #: Shadows that are loaded, with the keys of their own.
        self.shadows: dict[int, KnownBoard] = {}
        self._keys: dict[Ranking, RankingKeys] = {}

    def known(self, board_id: int, board: Board) -> KnownBoard:
        """Where a board lies that has a definition."""
        keys = board_keys(board)
        # What is kept for one ledger is not for another.
        keys = keys._replace(spool=f"{keys.spool}:{self.ledger}")
        return KnownBoard(board, f"{self.ledger}:{board_id}:{fingerprint(board)}", *keys)

    def new_shadow(self, board_id: int, board: Board) -> KnownBoard:
        """Where a shadow of a board is to lie: nowhere that another one does, or did."""
        known, prefix = self.known(board_id, board), f"keepscore:new:{secrets.token_hex(4)}:"
        return known._replace(marks=prefix + known.marks, listed=prefix + known.listed, late=prefix + known.late, prefix=prefix)

    def define(self, board_id: int, known: KnownBoard) -> None:
        """Take a definition for that of a board."""
        self._boards[board_id] = known
        for ranking in [ranking for ranking in self._keys if ranking.board == board_id]:
            del self._keys[ranking]

    def get(self, board_id: int) -> KnownBoard | None:
        """A board, if it is known."""
        return self._boards.get(board_id)

    def all(self) -> list[KnownBoard]:
        """All boards."""
        return list(self._boards.values())

    def forget(self, board_id: int) -> None:
        """Forget a board."""
        self._boards.pop(board_id, None)

    def side(self, board_id: int, shadow: bool) -> KnownBoard | None:
        """A board, or its shadow."""
        return (self.shadows if shadow else self._boards).get(board_id)

    def at(self, known: KnownBoard, ranking: Ranking) -> RankingKeys:
        """Where a ranking lies. The keys of a board that is read are remembered."""
        if prefix := known.prefix:
            keys = keys_of(known.board, ranking)
            return keys._replace(key=prefix + keys.key, times=prefix + keys.times, dense=prefix + keys.dense)
        found = self._keys.get(ranking)
        if found is None:
            if len(self._keys) >= REMEMBERED:
                self._keys.clear()
            if ranking.window not in known.board.periods:
                raise EngineUnavailable(f"board {known.board.name!r} has no window {ranking.window!r} any more: try again")
            found = self._keys[ranking] = keys_of(known.board, ranking)
        return found


async def check_types(client: RedisClient, board: Board, now: int) -> None:
    """Refuse a board whose keys hold something else than rankings."""
    keys = board_keys(board)
    for key, wanted in ((keys.marks, "hash"), (keys.listed, "hash"), (keys.spool, "stream"), (keys.late, "set"), (keys.lock, "string")):
        kind = (await client.command("TYPE", key)).decode()
        if kind not in (wanted, "none"):
            raise InvalidBoard(f"board {board.name!r}: {other_type(key, kind)}")
    for span in (span_at(board, window, now) for window in board.periods):
        if span is not None:
            key = keys_of(board, Ranking(0, span.window, span.id, "")).key
            kind = (await client.command("TYPE", key)).decode()
            if kind not in ("zset", "none"):
                raise InvalidBoard(f"board {board.name!r}: {other_type(key, kind)}")


async def rankings_in(client: RedisClient, known: KnownBoard) -> dict[Ranking, tuple[int, str]]:
    """The rankings that a board's list tells of: when they may be dropped, and their keys."""
    found = await client.command("HGETALL", known.listed)
    board_id = int(known.epoch.split(":")[1])
    entries = {Ranking(board_id, *field.decode().split("\0")): unpack(text) for field, text in found.items()}
    return {ranking: (entry[0], entry[2]) for ranking, entry in entries.items()}


async def keys_in(client: RedisClient, known: KnownBoard) -> list[str]:
    """All keys of the rankings that a board's list tells of; those of a shadow have other names still."""
    return [known.prefix + name for _, key in (await rankings_in(client, known)).values() for name in companions(key)]


async def unlink(client: RedisClient, keys: Sequence[str]) -> None:
    """Drop keys."""
    for start in range(0, len(keys), 1000):
        await client.command("UNLINK", *keys[start : start + 1000], seconds=PATIENCE)


async def index_scores(client: RedisClient, known: KnownBoard, keys: RankingKeys) -> None:
    """Make the index of a ranking's distinct scores: O(N log N) once, kept up to date from then on."""
    argument = _pack([keys.form, keys.field, keys.name, CHUNK])
    complete = False
    while not complete:
        complete = bool(await client.run(Call("index", [known.listed, *keys[:3]], argument), PATIENCE))
