"""Live keys: the rankings of a board's present windows lie under names without a date, and are renamed when their windows end.

Which window of each name is the live one is a part of the board's epoch in Redis, which every script compares before it does anything.
So a ranking is where its board's epoch says, a rotation is one script that renames keys and changes the epoch, and a process that does not
know of it yet is told that its epoch is another one, learns what is live by now (`is_moved`), and asks again. A ranking that is not live,
as its window has ended or as nobody has rotated yet, lies under its own key.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.base import Ranking
from keepscore.storage.engines.redis.boards import KnownBoard, KnownBoards, list_of, what_is_taken
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall
from keepscore.storage.engines.redis.layouts import LONG_CALL_S, keys_of
from keepscore.storage.engines.redis.live_windows import live_from, live_next, live_text, live_until
from keepscore.storage.engines.redis.positions import RedisPositions

__all__ = ["Rotation"]

#: How often a step is tried that others may come in between.
TRIES = 20

_pack = msgspec.msgpack.Encoder().encode


class Rotation:
    """Renames rankings whose windows have ended, and learns what others have renamed."""

    def __init__(self, client: RedisClient, boards: KnownBoards, positions: RedisPositions, clock: Callable[[], int]) -> None:
        self._client = client
        self._boards = boards
        self._positions = positions
        self._clock = clock
        #: Until when the live windows of each board last, by its epoch.
        self._until: dict[int, tuple[str, int]] = {}

    async def rotate(self, board_id: int) -> None:
        """Rename a board's rankings whose windows have ended, and those whose windows have begun, in one step. O(rankings).

        Nothing is asked where no window has ended.
        """
        for _ in range(TRIES):
            known = self._boards.get(board_id)
            if known is None or not known.live or not self._is_due(board_id, known):
                return
            live = live_next(known.board, known.live, self._clock())
            if live == known.live:
                return
            turned = self._boards.known(board_id, known.board, live)
            done = await self._rename(known, turned)
            if done < 0:
                # Who looks for a ranking finds out, and the board is rebuilt as it was.
                return
            if done:
                if self._boards.get(board_id) is known:
                    self._boards.define(board_id, turned)
                    self._boards.take(board_id, await what_is_taken(self._client, turned))
                return
            if not await self.is_moved(board_id, known.epoch) and not await self._is_there(known):
                return
        raise EngineUnavailable("live keys could not be renamed: new rankings kept coming. Try again")

    async def _is_there(self, known: KnownBoard) -> bool:
        """Whether the board is not lost, and not another one by now."""
        return bool(await self._client.command("HGET", known.watermarks, "epoch") == known.epoch.encode())

    def _is_due(self, board_id: int, known: KnownBoard) -> bool:
        epoch, until = self._until.get(board_id, ("", 0))
        if epoch != known.epoch:
            until = live_until(known.board, known.live)
            self._until[board_id] = known.epoch, until
        return self._clock() >= until

    async def _rename(self, known: KnownBoard, turned: KnownBoard) -> int:
        """Rename what lies elsewhere by another knowledge of what is live; return what the script answers."""
        listed = await list_of(self._client, known)
        keys, rankings = [known.watermarks, known.listed, known.positions], []
        # Those that leave live keys make room for others.
        for ranking in sorted(listed, key=lambda ranking: known.live.get(ranking.window) != ranking.window_id):
            old, new = keys_of(known.board, ranking, known.live), keys_of(known.board, ranking, turned.live)
            if old.key != new.key:
                keys += [*old[:3], *new[:3]]
                rankings.append((new.field, new.name))
        argument = _pack([known.epoch, turned.epoch, live_text(turned.live), len(listed), rankings, self._positions.place(known)])
        return int(await self._client.run(ScriptCall("rotate", keys, argument), LONG_CALL_S))

    async def retime(self, ranking: Ranking, expiry: int) -> None:
        """Set when a ranking may be dropped, wherever it lies by now (0: never). One that is lost is told when it is loaded."""
        known = self._boards.get(ranking.board)
        if known is None:
            return
        keys = self._boards.at(known, ranking)
        argument = _pack([known.epoch, keys.field, keys.name, expiry, self._clock()])
        done = await self._client.run(ScriptCall("retime", [known.watermarks, known.listed, *keys[:3]], argument))
        if not done and await self.is_moved(ranking.board, known.epoch):
            await self.retime(ranking, expiry)

    async def is_moved(self, board_id: int, epoch: str) -> bool:
        """Return whether rankings that were looked for by an epoch have only been renamed since; their names are known then."""
        known = self._boards.get(board_id)
        if known is None or not known.live or known.epoch.split(":")[:3] != epoch.split(":")[:3]:
            return False
        if known.epoch != epoch:
            return True
        found, live = await self._client.command("HMGET", known.watermarks, "epoch", "live")
        moved = self._boards.known(board_id, known.board, live_from(live))
        if moved.epoch == epoch or found != moved.epoch.encode():
            return False
        if self._boards.get(board_id) is known:
            self._boards.define(board_id, moved)
        return True
