"""Positions of rankings in Redis: a hash beside each board's watermarks, moved by every script that changes a ranking.

The hash has the board's life under an empty name, and a number for each ranking. The life is `load-server`: a rebuild begins another
one, and so does whoever first finds another server, or one that has restarted, as that may lack something. A ranking that was dropped
leaves where it was in `first`, from where all that come count on.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.positions import Position, epoch_of
from keepscore.storage.engines.base import PositionSupport, Ranking
from keepscore.storage.engines.redis.answers import unpack
from keepscore.storage.engines.redis.boards import KnownBoard, KnownBoards
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall

__all__ = ["RedisPositions"]

#: Positions that are remembered, in bytes; and about what each takes beside its ranking.
POSITIONS_BYTES, POSITION_BYTES = 8 << 20, 200

_pack = msgspec.msgpack.Encoder().encode


class RedisPositions(PositionSupport):
    """Knows where rankings are, from all that Redis answers."""

    def __init__(self, client: RedisClient, boards: KnownBoards) -> None:
        self._client = client
        self._boards = boards
        self.reads_behind = client.has_replicas
        self._latest: ByteCache[Ranking, tuple[str, Position]] = ByteCache(POSITIONS_BYTES)

    def place(self, known: KnownBoard) -> list[str] | bool:
        """Return what scripts count changes of a board with; False for a shadow, which nobody reads."""
        return False if known.prefix else [secrets.token_hex(4), self._client.server_of(known.positions)]

    def new_life(self, known: KnownBoard) -> str:
        """Return the life of a board that was just loaded."""
        return f"{secrets.token_hex(4)}-{self._client.server_of(known.positions)}"

    def noted(self, ranking: Ranking, life: str, seq: int) -> Position | None:
        """Return the position that a script tells of, and remember it; None where it knows none."""
        if not life:
            return None
        last = self._latest.get(ranking)
        if last is not None and last[0] == life:
            epoch, is_newer = last[1].epoch, seq > last[1].seq
        else:
            epoch, is_newer = epoch_of(life.replace("-", ""), *ranking[1:]), True
        position = Position(epoch, seq)
        if is_newer:
            self._latest.put(ranking, (life, position), POSITION_BYTES + bytes_of(ranking))
        return position

    def moved(self, rankings: Sequence[Ranking], told: Any) -> None:
        """Take up what the script `apply` tells."""
        if not isinstance(told, bool):
            life, moved = told[2:]
            for place, seq in zip(moved[::2], moved[1::2], strict=True):
                self.noted(rankings[place - 1], life, seq)

    def latest(self, ranking: Ranking) -> Position | None:
        last = self._latest.get(ranking)
        return None if last is None else last[1]

    async def read(self, rankings: Sequence[Ranking]) -> list[Position | None]:
        found: dict[Ranking, Position | None] = {}
        for board_id in {ranking.board for ranking in rankings}:
            known, own = self._boards.get(board_id), [ranking for ranking in rankings if ranking.board == board_id]
            if known is not None:
                argument = _pack([self.place(known), ["\0".join(ranking[1:]) for ranking in own]])
                life, seqs = unpack(await self._client.run(ScriptCall("position", [known.positions], argument)))
                found |= {ranking: self.noted(ranking, life, seq) for ranking, seq in zip(own, seqs, strict=True)}
        return [found.get(ranking) for ranking in rankings]
