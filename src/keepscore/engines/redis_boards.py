"""Where the boards that one process knows lie in Redis, and their shadows."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from keepscore.boards import Board
from keepscore.engines.base import Ranking
from keepscore.engines.layouts import RankingKeys, board_keys, fingerprint, keys_of
from keepscore.engines.redis_batches import other_type
from keepscore.engines.redis_client import RedisClient
from keepscore.errors import InvalidBoard
from keepscore.windows import span_at

__all__ = ["KnownBoard", "KnownBoards", "check_types"]

#: Keys of rankings that are remembered.
REMEMBERED = 100_000


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


class KnownBoards:
    """The boards of one process, for the ledger of an identity."""

    def __init__(self) -> None:
        self.ledger = ""
        self._boards: dict[int, KnownBoard] = {}
        self.shadows: dict[int, KnownBoard] = {}
        #: What the names of this process's shadows begin with.
        self.prefix = f"keepscore:new:{secrets.token_hex(4)}:"
        self._keys: dict[Ranking, RankingKeys] = {}

    def known(self, board_id: int, board: Board) -> KnownBoard:
        """Where a board lies that has a definition."""
        keys = board_keys(board)
        # What is kept for one ledger is not for another.
        keys = keys._replace(spool=f"{keys.spool}:{self.ledger}")
        return KnownBoard(board, f"{self.ledger}:{board_id}:{fingerprint(board)}", *keys)

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
        """A board, or its shadow with the keys of that."""
        known = (self.shadows if shadow else self._boards).get(board_id)
        if known is None or not shadow:
            return known
        return known._replace(marks=self.prefix + known.marks, listed=self.prefix + known.listed, late=self.prefix + known.late)

    def at(self, known: KnownBoard, ranking: Ranking, shadow: bool = False) -> RankingKeys:
        """Where a ranking lies. The keys of a board that is read are remembered."""
        if shadow:
            keys = keys_of(known.board, ranking)
            return keys._replace(key=self.prefix + keys.key, times=self.prefix + keys.times, dense=self.prefix + keys.dense)
        found = self._keys.get(ranking)
        if found is None:
            if len(self._keys) >= REMEMBERED:
                self._keys.clear()
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
