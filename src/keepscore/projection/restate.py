"""Players who are recomputed from the ledger: their events came late, or the engine did not keep them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keepscore.errors import EngineUnavailable
from keepscore.projection.live_boards import Catalog, LiveBoard
from keepscore.projection.partial_rankings import were_there
from keepscore.projection.replay import CHUNK_PLAYERS, restated_all
from keepscore.storage.engines.base import Outcome, Ranking, RankingEngine, Update
from keepscore.storage.ledgers.base import Ledger

__all__ = ["NeedsRestate", "Restater", "needs_restate_of"]

#: How often one player is restated while others change the board.
MAX_TRIES = 100
#: How often states are brought up to what has come in, before they are worked out from the start.
MAX_CATCHES = 20

#: Players to restate, by ranking.
NeedsRestate = Mapping[Ranking, Iterable[str]]
_Players = list[tuple[str, list[Ranking]]]


def needs_restate_of(updates: Iterable[Update], outcomes: Iterable[Outcome]) -> dict[Ranking, dict[str, None]]:
    """Return the players whom updates have left to restate."""
    needs_restate: dict[Ranking, dict[str, None]] = {}
    for update, outcome in zip(updates, outcomes, strict=False):
        for ranking in outcome.restate:
            needs_restate.setdefault(ranking, {})[update.player] = None
    return needs_restate


class Restater:
    """Restates players of boards, many at a time."""

    def __init__(self, catalog: Catalog, ledger: Ledger, engine: RankingEngine) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine

    async def restate(self, live: LiveBoard, needs_restate: NeedsRestate, shadow: bool = False) -> None:
        """Recompute players from the ledger, until nothing has come in between."""
        current = self._catalog.get(live.name)
        if not shadow and (current is None or (current.id, current.semantics_version) != (live.id, live.semantics_version)):
            # The board means something else by now, and was rebuilt for that from the ledger.
            return
        rankings_of: dict[str, list[Ranking]] = {}
        for ranking, players in needs_restate.items():
            for player in players:
                rankings_of.setdefault(player, []).append(ranking)
        everybody = list(rankings_of.items())
        left = [everybody[start : start + CHUNK_PLAYERS] for start in range(0, len(everybody), CHUNK_PLAYERS)]
        tries = 0
        while left:
            some = left.pop()
            if await self._restate(live, some, shadow):
                tries = 0
            elif len(some) > 1:
                # Scores came in meanwhile: fewer are quicker.
                left += [some[len(some) // 2 :], some[: len(some) // 2]]
            else:
                left.append(some)
                tries += 1
                if tries == MAX_TRIES:
                    raise EngineUnavailable(f"player {some[0][0]!r} could not be restated on board {live.name!r}: scores kept coming in")

    async def restate_late(self, live: LiveBoard) -> None:
        """Restate the players whose events came late, or no longer count, and who were not restated then, if there are any."""
        needs_restate: dict[Ranking, list[str]] = {}
        for ranking, player in await self._engine.needs_restate(live.id):
            needs_restate.setdefault(ranking, []).append(player)
        await self.restate(live, needs_restate)

    async def _restate(self, live: LiveBoard, players: _Players, shadow: bool) -> bool:
        """Restate some players, or answer False where something has come in between."""
        upto = await self._position(live, shadow)
        if upto is None:
            return True
        wanted: dict[Ranking, list[str]] = {}
        for player, rankings in players:
            for ranking in rankings:
                if not live.is_retired(ranking):
                    wanted.setdefault(ranking, []).append(player)
        states = await restated_all(self._ledger, live, wanted, upto)
        returned = await were_there(self._engine, self._ledger, live, wanted) if not shadow else set()
        for _ in range(MAX_CATCHES):
            if await self._engine.restate_all(live.id, states, shadow, upto, returned):
                return True
            latest = await self._position(live, shadow)
            if latest is None:
                return True
            if live.board.is_rollup or any(latest.get(writer, 0) < n for writer, n in upto.items()):
                break
            # Scores came in meanwhile, nearly always of others: then the states are what they were.
            touched = await self._players_between(live, upto, latest)
            again = {ranking: [player for player in own if player in touched] for ranking, own in wanted.items()}
            for ranking, newer in (await restated_all(self._ledger, live, again, latest)).items() if any(again.values()) else ():
                states[ranking].update(newer)
            upto = latest
        return False

    async def _position(self, live: LiveBoard, shadow: bool) -> dict[int, int] | None:
        """Return how far a board is, or None where there is nothing to restate now."""
        upto = await self._engine.applied(live.id, shadow)
        if upto is None:
            # It was rebuilt meanwhile, by another definition maybe, from the ledger: the events are in it.
            return None
        if not shadow and self._engine.spool is not None and await self._engine.spool.entries(live.id, 1):
            # The ledger lacks something that the engine has. Who is left is known, and looked after when that is recorded.
            return None
        return upto

    async def _players_between(self, live: LiveBoard, after: Mapping[int, int], upto: Mapping[int, int]) -> set[str]:
        """Return the players with events between two positions. O(events between them)."""
        found: set[str] = set()
        for writer, last in upto.items():
            if after.get(writer, 0) < last:
                async for events in self._ledger.events.of_writer(live.id, writer, after.get(writer, 0), last):
                    found.update(event.player for event in events if event.n <= last)
        return found
