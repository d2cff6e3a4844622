"""Boards that are loaded beside the ones that are read, and then put into their place.

Each load has keys of its own: several may go on at once, in one process or many, and none gets into another's way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import msgspec

from keepscore.domain.boards import Board
from keepscore.domain.keys import ASIDE, FOLLOWING
from keepscore.errors import EngineUnavailable, KeyTaken
from keepscore.storage.engines.base import Loaded, Ranking
from keepscore.storage.engines.redis.boards import (
    TAKEN,
    KnownBoard,
    KnownBoards,
    ListEntry,
    index_scores,
    keys_in,
    list_of,
    sizes_of,
    unlink,
    what_is_taken,
)
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall
from keepscore.storage.engines.redis.layouts import LONG_CALL_S, RankingKeys, companions, keys_of
from keepscore.storage.engines.redis.live_windows import live_from, live_kept, live_text
from keepscore.storage.engines.redis.loading import Loader
from keepscore.storage.engines.redis.positions import RedisPositions

__all__ = ["Shadows"]

#: Milliseconds for which a shadow stays that nobody fills any more.
SHADOW_TTL_MS = 3_600_000
#: Members that are compared at a time.
CHUNK_MEMBERS = 5000
#: Rankings whose entries are written at a time.
CHUNK_RANKINGS = 1000
#: How often a step is tried that others may come in between.
TRIES = 20
#: The answer where a set that a board has followed could not be moved aside.
NO_ROOM = -2

_pack = msgspec.msgpack.Encoder().encode


class Shadows:
    """The shadows that one process makes. What is loaded last is what takes effect."""

    def __init__(self, client: RedisClient, boards: KnownBoards, positions: RedisPositions) -> None:
        self._client = client
        self._boards = boards
        self._positions = positions
        #: Of each board, the players whom Redis refused when it was last loaded, and why.
        self.left_out: dict[int, dict[tuple[Ranking, str], str]] = {}

    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int], seq: int) -> None:
        """Fill a shadow of a board, and drop the one there may have been. O(states)."""
        shadow = self._boards.new_shadow(board_id, board)
        try:
            await self._fill(board_id, shadow, states, applied, seq)
        except Exception:
            await self._drop(shadow)
            raise
        before = self._boards.shadows.get(board_id)
        self._boards.shadows[board_id] = shadow
        if before is not None:
            await self._drop(before)

    async def _fill(self, board_id: int, shadow: KnownBoard, states: AsyncIterator[Loaded], applied: Mapping[int, int], seq: int) -> None:
        rankings: dict[Ranking, RankingKeys] = {}
        loader = Loader(self._client, shadow.watermarks, shadow.listed, SHADOW_TTL_MS)
        try:
            async for ranking, expiry, rows, _, again in states:
                keys = rankings.get(ranking)
                if keys is None:
                    keys = rankings[ranking] = self._boards.at(shadow, ranking)
                await loader.send(keys, expiry, rows, again)
            await loader.finish()
            by_key = {keys.key: ranking for ranking, keys in rankings.items()}
            self.left_out[board_id] = {(by_key[key], player): why for (key, player), why in loader.refused.items()}
        finally:
            await loader.stop()
        if shadow.board.rank == "dense":
            for keys in rankings.values():
                await index_scores(self._client, shadow, keys)
        await self._count(shadow, rankings, loader.least | loader.sent)
        watermarks: list[int | str] = [part for writer, n in applied.items() for part in (writer, n)]
        if shadow.board.is_ordered:
            # Who gave the time of a state that is loaded, a client or the service, is not known.
            watermarks += ["order", f"{seq} {loader.latest}"]
        await self._client.command("HSET", shadow.watermarks, "epoch", shadow.epoch, *watermarks)
        await self._client.command("HSET", shadow.listed, "", "")
        for key in (shadow.watermarks, shadow.listed):
            await self._client.command("PEXPIRE", key, SHADOW_TTL_MS)

    async def _count(self, shadow: KnownBoard, rankings: Mapping[Ranking, RankingKeys], sent: Mapping[str, int]) -> None:
        """Note how many players each ranking has, as far as that is known: what is lost before the shadow takes effect is noticed then."""
        entries = await list_of(self._client, shadow)
        sizes = await sizes_of(self._client, [keys.key for keys in rankings.values()])
        fields: list[str | bytes] = []
        for (ranking, keys), size in zip(rankings.items(), sizes, strict=True):
            players = max(sent.get(keys.key, 0), size)
            if ranking in entries:
                fields += [keys.field, _pack(entries[ranking]._replace(players=players))]
            elif players:
                raise EngineUnavailable(f"Redis has lost something of board {shadow.board.name!r} while it was loaded: try again")
        for start in range(0, len(fields), 2 * CHUNK_RANKINGS):
            await self._client.command("HSET", shadow.listed, *fields[start : start + 2 * CHUNK_RANKINGS])

    async def _drop(self, shadow: KnownBoard) -> None:
        # Where Redis does not answer, it drops it by itself later.
        with suppress(EngineUnavailable):
            await unlink(self._client, [shadow.watermarks, shadow.listed, *await keys_in(self._client, shadow)])

    async def promote(self, board_id: int, now: int, was_here: bool) -> None:
        """Put the shadow into the board's place, in one step. What Keepscore has not made stays where it lies, and is noted."""
        shadow = self._boards.shadows.get(board_id)
        if shadow is None:
            raise _exchanged(board_id)
        shadowed = await list_of(self._client, shadow)
        for _ in range(TRIES):
            known, before = await self._promoted(board_id, shadow.board, now)
            # A shadow knows no live keys.
            new = {ranking: entry._replace(key=self._target(known, ranking, entry)) for ranking, entry in shadowed.items()}
            moves = [
                name
                for ranking, entry in new.items()
                for name in (*(shadow.prefix + one for one in companions(shadowed[ranking].key)), *companions(entry.key))
            ]
            kept = {name for entry in new.values() for name in companions(entry.key)}
            old = await list_of(self._client, known)
            replaced = await self._replaced(shadow, new, old, was_here)
            # A set that the board has followed is kept beside the ranking that takes its place.
            followed = {entry.key.removeprefix(FOLLOWING) for entry in old.values() if entry.key.startswith(FOLLOWING)}
            aside = [ASIDE + entry.key if entry.key in followed else "" for entry in new.values()]
            rankings = [
                (at.field, entry.key, max(1, entry.expiry - now) if entry.expiry else 0, not there and replaced[ranking], at.form[5])
                for (ranking, entry), there in zip(new.items(), aside, strict=True)
                for at in [self._boards.at(shadow, ranking)]
            ]
            ours = [name for entry in old.values() if entry.players != TAKEN for name in companions(entry.key)]
            gone = [known.needs_restate, *(key for key in ours if key not in kept)]
            kept_aside = [key for key in aside if key]
            keys = [known.watermarks, known.listed, shadow.watermarks, shadow.listed, *moves, *gone, *kept_aside, known.positions]
            places = [4 + len(moves) + len(gone) + kept_aside.index(key) + 1 if key else 0 for key in aside]
            life = self._positions.new_life(known)
            argument = _pack([before, known.epoch, live_text(known.live), len(old), rankings, places, len(gone), life])
            done = await self._client.run(ScriptCall("promote", keys, argument), LONG_CALL_S)
            if done == NO_ROOM:
                raise KeyTaken(f"board {known.board.name!r}: a set under {ASIDE} is in the way of the one that it follows: rename it")
            if done < 0:
                raise _exchanged(board_id)
            if done:
                if self._boards.shadows.get(board_id) is shadow:
                    del self._boards.shadows[board_id]
                self._boards.define(board_id, known)
                self._boards.take(board_id, await what_is_taken(self._client, known) if TAKEN in replaced.values() else {})
                return
        raise EngineUnavailable(f"board {known.board.name!r} could not be replaced: new rankings kept coming. Try again")

    async def _promoted(self, board_id: int, board: Board, now: int) -> tuple[KnownBoard, str | bool]:
        """Where the board of a shadow is to lie, and the epoch in its place. What is live stays so: rotating is another step."""
        known = self._boards.known(board_id, board)
        epoch, live = await self._client.command("HMGET", known.watermarks, "epoch", "live")
        known = self._boards.known(board_id, board, live_kept(board, live_from(live), now))
        return known, False if epoch is None else epoch.decode(errors="replace")

    @staticmethod
    def _target(known: KnownBoard, ranking: Ranking, entry: ListEntry) -> str:
        return keys_of(known.board, ranking, known.live).key if known.live.get(ranking.window) == ranking.window_id else entry.key

    async def _replaced(
        self, shadow: KnownBoard, new: Mapping[Ranking, ListEntry], old: Mapping[Ranking, ListEntry], was_here: bool
    ) -> dict[Ranking, int | bool]:
        """Return how many players the key of each ranking must have for the shadow to replace it; False: any; TAKEN: it is not the board's.

        A key is the board's own if the list tells of all that it holds. Where the list was lost, it is so if the board was here before
        and everybody whom it holds is in the shadow: nothing can be lost then that the ledger does not have.
        """
        found: dict[Ranking, int | bool] = {}
        by_key = {entry.key: entry for entry in old.values()}
        for (ranking, entry), size in zip(new.items(), await sizes_of(self._client, [one.key for one in new.values()]), strict=True):
            listed = by_key.get(entry.key)
            mine = listed is not None and listed.players != TAKEN
            if mine and listed is not None and size >= listed.players:
                found[ranking] = False
            elif size <= 0 or ((mine or was_here) and await self._has_all(shadow, ranking, entry.key)):
                found[ranking] = size
            else:
                found[ranking] = TAKEN
        return found

    async def _has_all(self, shadow: KnownBoard, ranking: Ranking, key: str) -> bool:
        """Return whether everybody under a key is in the shadow's ranking, too. O(N)."""
        keys, start = self._boards.at(shadow, ranking), 0
        while members := await self._client.command("ZRANGE", key, start, start + CHUNK_MEMBERS - 1):
            if keys.form[0] == "timed":
                there = await self._client.command("HMGET", keys.times, *(member[6:] for member in members))
            else:
                there = await self._client.command("ZMSCORE", keys.key, *members)
            if None in there:
                return False
            start += CHUNK_MEMBERS
        return True


def _exchanged(board_id: int) -> EngineUnavailable:
    return EngineUnavailable(f"the rankings of board {board_id} were replaced in the meantime: try again")
