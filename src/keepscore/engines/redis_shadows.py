"""Boards that are loaded beside the ones that are read, and then put into their place.

Each load has keys of its own: several may go on at once, in one process or many, and none gets into another's way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import msgspec

from keepscore.boards import Board
from keepscore.engines.base import Loaded, Ranking
from keepscore.engines.layouts import RankingKeys, companions
from keepscore.engines.redis_batches import foreign
from keepscore.engines.redis_boards import PATIENCE, KnownBoard, KnownBoards, index_scores, keys_in, rankings_in, unlink
from keepscore.engines.redis_client import Call, RedisClient
from keepscore.engines.redis_loading import Loader
from keepscore.errors import EngineUnavailable, InvalidBoard

__all__ = ["Shadows"]

#: Milliseconds for which a shadow stays that nobody fills any more.
SHADOW_TTL = 3_600_000
#: How often a step is tried that others may come in between.
TRIES = 20

_pack = msgspec.msgpack.Encoder().encode


class Shadows:
    """The shadows that one process makes. What is loaded last is what takes effect."""

    def __init__(self, client: RedisClient, boards: KnownBoards) -> None:
        self._client = client
        self._boards = boards

    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int]) -> None:
        """Fill a shadow of a board, and drop the one there may have been. O(states)."""
        shadow = self._boards.new_shadow(board_id, board)
        try:
            await self._fill(shadow, states, applied)
        except Exception:
            await self._drop(shadow)
            raise
        before = self._boards.shadows.get(board_id)
        self._boards.shadows[board_id] = shadow
        if before is not None:
            await self._drop(before)

    async def _fill(self, shadow: KnownBoard, states: AsyncIterator[Loaded], applied: Mapping[int, int]) -> None:
        rankings: dict[Ranking, RankingKeys] = {}
        loader = Loader(self._client, shadow.marks, shadow.listed, SHADOW_TTL)
        try:
            async for ranking, expiry, rows, _, again in states:
                keys = rankings.get(ranking)
                if keys is None:
                    keys = rankings[ranking] = self._boards.at(shadow, ranking)
                await loader.send(keys, expiry, rows, again)
            await loader.finish()
        finally:
            await loader.stop()
        if shadow.board.rank == "dense":
            for keys in rankings.values():
                await index_scores(self._client, shadow, keys)
        marks = [part for writer, n in applied.items() for part in (writer, n)]
        await self._client.command("HSET", shadow.marks, "epoch", shadow.epoch, *marks)
        await self._client.command("PEXPIRE", shadow.marks, SHADOW_TTL)

    async def _drop(self, shadow: KnownBoard) -> None:
        # Where Redis does not answer, it drops it by itself later.
        with suppress(EngineUnavailable):
            await unlink(self._client, [shadow.marks, shadow.listed, *await keys_in(self._client, shadow)])

    async def promote(self, board_id: int, now: int) -> None:
        """Put the shadow into the board's place, in one step."""
        shadow = self._boards.shadows.get(board_id)
        if shadow is None:
            raise _exchanged(board_id)
        known = self._boards.known(board_id, shadow.board)
        new = await rankings_in(self._client, shadow)
        expiries = [max(1, expiry - now) if expiry else 0 for expiry, _ in new.values()]
        for _ in range(TRIES):
            old = await keys_in(self._client, known)
            for _, key in new.values():
                # Looked up again: another process may have put the same board there since.
                if key not in old and (size := await self._client.command("ZCARD", key)) and key not in await keys_in(self._client, known):
                    raise InvalidBoard(f"board {known.board.name!r}: {foreign(key, size)}")
            moves = [name for _, key in new.values() for name in (*(shadow.prefix + one for one in companions(key)), *companions(key))]
            kept = {name for _, key in new.values() for name in companions(key)}
            gone = [known.late, *(key for key in old if key not in kept)]
            keys = [known.marks, known.listed, shadow.marks, shadow.listed, *moves, *gone]
            done = await self._client.run(Call("promote", keys, _pack([len(old) // 3, expiries])), PATIENCE)
            if done < 0:
                raise _exchanged(board_id)
            if done:
                if self._boards.shadows.get(board_id) is shadow:
                    del self._boards.shadows[board_id]
                self._boards.define(board_id, known)
                return
        raise EngineUnavailable(f"board {known.board.name!r} could not be exchanged: new rankings came all the time. Try again")


def _exchanged(board_id: int) -> EngineUnavailable:
    return EngineUnavailable(f"the rankings of board {board_id} were exchanged meanwhile: try again")
