"""Rebuild rankings from the ledger, compare them with it, and repair them."""

from __future__ import annotations

import logging
import time
from contextlib import suppress

from keepscore.domain.inputs import Progress
from keepscore.domain.results.standings import Rebuild, Verification
from keepscore.errors import EngineUnavailable, KeyTaken, RankingLost
from keepscore.lifecycle.definitions import Definitions
from keepscore.lifecycle.jobs.checkpoints import Checkpoints
from keepscore.lifecycle.jobs.retiring import learn_archived
from keepscore.lifecycle.verify import MAX_DIFFERENCES, verify_board
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.partial_rankings import prune_board
from keepscore.storage.engines.base import Ranking
from keepscore.storage.feeds.base import Feed
from keepscore.writing.parts import WriteParts

__all__ = ["Rebuilds"]

#: Problems that are repaired player by player. Others need a rebuild.
SINGLE = {"score", "since", "missing", "extra"}
#: How often a board is rebuilt while it is verified.
MAX_HEALS = 3

log = logging.getLogger(__name__)


class Rebuilds:
    """Does what an operator asks for."""

    def __init__(self, parts: WriteParts, definitions: Definitions, checkpoints: Checkpoints, feed: Feed) -> None:
        self._catalog, self._ledger, self._engine, self._clock = parts.stores
        self._healing = parts.healing
        self._restater = parts.restater
        self._spool = parts.spool
        self._write_pause = parts.write_pause
        self._definitions = definitions
        self._checkpoints = checkpoints
        self._feed = feed

    async def rebuild(self, name: str, progress: Progress) -> Rebuild:
        """Rebuild a board's rankings from all of its events, and its teams. Readers see the old ones until it finishes."""
        begun = time.perf_counter()
        live = self._catalog[name]
        if live.board.ranks_teams:
            members = await self._rebuild(live, begun, progress)
            teams = await self._rebuild(self._catalog.shown(name), begun, progress)
            return Rebuild(name, members.events, members.players, members.rankings + teams.rankings, teams.seconds)
        return await self._rebuild(live, begun, progress)

    async def _rebuild(self, live: LiveBoard, begun: float, progress: Progress) -> Rebuild:
        name = live.name
        await self._engine.check_keys(live.board)
        await self._spool.drain_board(live)
        before: set[Ranking] = set()
        with suppress(RankingLost):
            before = set(await self._engine.rankings(live.id))
        events, players = await self._definitions.rebuild(name, progress)
        after = set(await self._engine.rankings(live.id))
        await self._feed.publish(before | after)
        for ranking, why in self._engine.taken().items():
            if ranking.board == live.id:
                raise KeyTaken(f"board {name!r} is rebuilt, except for {ranking.window_id} {ranking.segment}: {why}")
        return Rebuild(name, events, players, len(after), round(time.perf_counter() - begun, 3))

    async def prune(self) -> None:
        """Remove the players whom the engine does not have to keep, on all boards with `keep_top`. For one process at a time."""
        if not await self._ledger.leadership.lead():
            return
        for live in [live for live in self._catalog if live.board.is_partial]:
            await self._restater.restate_late(live)
            if not await prune_board(self._ledger, self._engine, live, self._clock(), self._checkpoints.checkpoint_kept):
                await self._definitions.refill(live.name)
                await prune_board(self._ledger, self._engine, live, self._clock(), self._checkpoints.checkpoint_kept)

    async def verify(self, name: str, repair: bool) -> Verification:
        """Compare a board and its teams with the ledger; with `repair`, put right what differs, and compare again."""
        found = await self._verify_one(name, repair)
        if self._catalog[name].board.ranks_teams:
            teams = await self._verify_one(self._catalog.shown(name).name, repair)
            found.differences = [*found.differences, *teams.differences]
            found.repaired, found.rebuilt = [*found.repaired, *teams.repaired], found.rebuilt or teams.rebuilt
        return found

    async def _verify_one(self, name: str, repair: bool) -> Verification:
        found = await self._verify(name)
        if not repair or found.ok:
            return found
        rebuilt = len(found.differences) >= MAX_DIFFERENCES or any(one.problem not in SINGLE for one in found.differences)
        left = found
        if not rebuilt:
            await self._restate(self._catalog[name], found)
            left = await self._verify(name)
            # What is written at odds with everything cannot be written over.
            rebuilt = not left.ok
        if rebuilt:
            await self._list(self._catalog[name], found)
            await self.rebuild(name, lambda *_: None)
            left = await self._verify(name)
        left.repaired, left.rebuilt = found.differences, rebuilt
        return left

    async def _verify(self, name: str) -> Verification:
        live = self._catalog[name]
        # What another process has just archived may have left the engine.
        await learn_archived(self._ledger, self._catalog)
        await self._engine.check_keys(live.board)
        await self._spool.drain_board(live)
        await self._restater.restate_late(live)
        for _ in range(MAX_HEALS):
            try:
                return await verify_board(self._ledger, self._engine, live, self._clock(), self._write_pause)
            except RankingLost as lost:
                log.warning("verifying board %r: %s", name, lost)
                await self._healing.heal(lost)
        raise EngineUnavailable(f"the engine lost something of board {name!r} repeatedly while it was verified: try again")

    async def _restate(self, live: LiveBoard, found: Verification) -> None:
        """Restate the players that differ."""
        needs_restate: dict[Ranking, list[str]] = {}
        for one in found.differences:
            needs_restate.setdefault(Ranking(live.id, one.window, one.window_id, one.segment or ""), []).append(one.player_id)
        await self._restater.restate(live, needs_restate)
        await self._feed.publish(set(needs_restate))

    async def _list(self, live: LiveBoard, found: Verification) -> None:
        """Let the engine know of rankings that it does not tell of: what lies there is the board's own, and may be replaced."""
        missing = {Ranking(live.id, d.window, d.window_id, d.segment or ""): d for d in found.differences if d.problem == "missing ranking"}
        await self._restater.restate(live, {ranking: [one.player_id] for ranking, one in missing.items()})
