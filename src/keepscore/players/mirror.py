"""What is known about players, and rankings among friends, as keys in Redis that other services read. Nothing fails with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from itertools import islice

from keepscore.domain.durations import time_of
from keepscore.domain.mirrors import FRIENDS_TTL_MS, MirrorKeys, hash_of
from keepscore.domain.profiles import NO_CARD, Card
from keepscore.domain.results.friends import FriendsBoard
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import RESTATING
from keepscore.errors import KeepscoreError
from keepscore.storage.engines.base import MirrorSupport
from keepscore.writing.protocols import Origins

__all__ = ["Mirror", "MirroredOrigins"]

#: Players whose hashes wait to be written: what comes on top is left out until they play again.
MAX_WAITING = 100_000
#: Hashes that are written at a time.
TOGETHER = 100

log = logging.getLogger(__name__)


class Mirror:
    """Writes the keys of one process."""

    def __init__(self, store: MirrorSupport | None, keys: MirrorKeys) -> None:
        self._store = store
        self._keys = keys
        #: Fields that wait to be written, by player.
        self._waiting: dict[str, dict[str, str | None]] = {}
        self._task: asyncio.Task[None] | None = None

    def show(self, cards: Mapping[str, Card]) -> None:
        """Write what profiles say."""
        self._put({player: hash_of(card) for player, card in cards.items()})

    def recorded(self, events: Iterable[Event]) -> None:
        """Write when players last scored."""
        if self._store is not None and self._keys.player:
            found = {event.player: event.received for event in events if event.kind not in RESTATING}
            self._put({player: {"last_score_update": time_of(at).isoformat()} for player, at in found.items()})

    def forget(self, board_id: int, player: str) -> None:
        """Remove what is known about a player of whom nothing is to be kept on any board."""
        self._put({player: {**hash_of(NO_CARD), "last_score_update": None}})

    def has_friends(self, board: str) -> bool:
        """Return whether there are keys of rankings among friends on a board."""
        return self._store is not None and self._keys.of_friends(board, "") is not None

    async def show_friends(self, board: str, player: str, found: FriendsBoard) -> None:
        """Write a ranking among friends, which is kept for an hour."""
        store, key = self._store, self._keys.of_friends(board, player)
        if store is not None and key is not None:
            rows = [(standing.player_id, str(standing.score)) for standing in found.standings]
            await _tried(lambda: store.put_ranking(key, rows, FRIENDS_TTL_MS))

    def _put(self, hashes: Mapping[str, Mapping[str, str | None]]) -> None:
        if self._store is None or not self._keys.player:
            return
        for player, fields in hashes.items():
            if player in self._waiting or len(self._waiting) < MAX_WAITING:
                self._waiting.setdefault(player, {}).update(fields)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write(self._store), name="keepscore-mirror")

    async def _write(self, store: MirrorSupport) -> None:
        while self._waiting:
            some = {self._keys.of_player(player): self._waiting.pop(player) for player in list(islice(self._waiting, TOGETHER))}
            await _tried(partial(store.put_hashes, some))

    async def settle(self) -> None:
        """Wait until all that was shown is written, or could not be."""
        if self._task is not None:
            await self._task


class MirroredOrigins:
    """Implements `writing.protocols.Origins`, and tells the mirror what is recorded."""

    def __init__(self, origins: Origins, mirror: Mirror) -> None:
        self.here = origins.here
        self._origins = origins
        self._mirror = mirror

    def recorded(self, events: Iterable[Event]) -> None:
        """Take note of where recorded events came from, and of when players scored."""
        known = list(events)
        self._origins.recorded(known)
        self._mirror.recorded(known)


async def _tried(write: Callable[[], Awaitable[None]]) -> None:
    try:
        await write()
    except KeepscoreError as exc:
        # Other services see what there was. The next change writes it again.
        log.warning("a key for other services was not written: %s", exc)
    except Exception:
        log.exception("a key for other services was not written")
