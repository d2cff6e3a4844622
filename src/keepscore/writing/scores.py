"""The scores that a group of submissions depends on, read at once before it is recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

from keepscore.domain.scoring import Event, State
from keepscore.domain.verdicts import that_count
from keepscore.errors import EngineUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.projection.partial_rankings import not_kept
from keepscore.projection.rating_book import RatingBook, book_of
from keepscore.projection.replay import restated_all
from keepscore.storage.engines.base import Ranking, RankingEngine
from keepscore.storage.ledgers.base import Ledger
from keepscore.writing.headroom import Headroom

__all__ = ["Scores"]

#: Players whose scores are read in one call.
CHUNK_ENTRIES = 1000


async def _settled(boards: Iterable[LiveBoard]) -> None:
    """Take the engine as it is."""


class Scores:
    """Scores as they are now: those of the engine or, where it is away or does not keep a player, those of the ledger."""

    def __init__(
        self,
        engine: RankingEngine,
        ledger: Ledger,
        clock: Callable[[], int],
        settle: Callable[[Iterable[LiveBoard]], Awaitable[None]] = _settled,
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._clock = clock
        #: Called before boards are looked at: brings the engine up to date.
        self._settle = settle
        self._headroom = Headroom()

    async def have_room(self, live: LiveBoard, rankings: Collection[Ranking], total: int) -> bool:
        """Return whether amounts that add up to a total keep scores of these rankings below the largest number. Mostly without a call."""
        now = self._clock()
        if self._headroom.take(rankings, total, now):
            return True
        try:
            await self._settle([live])
            peaks = await self._engine.peaks(list(rankings))
        except EngineUnavailable:
            return False
        self._headroom.learn(dict(zip(rankings, peaks, strict=True)), now)
        return self._headroom.take(rankings, total, now)

    async def read(self, live: LiveBoard, entries: Sequence[tuple[Iterable[Ranking], str]]) -> dict[tuple[Ranking, str], int]:
        """Return the scores of players of a board, each in some rankings; nothing for who has none. A call for a thousand players."""
        found: dict[tuple[Ranking, str], int] = {}
        await self._settle([live])
        for start in range(0, len(entries), CHUNK_ENTRIES):
            wanted: dict[Ranking, dict[str, None]] = {}
            for rankings, player in entries[start : start + CHUNK_ENTRIES]:
                for ranking in rankings:
                    wanted.setdefault(ranking, {})[player] = None
            self._headroom.forget(wanted)
            for ranking, states in (await self._states(live, wanted)).items():
                found |= {(ranking, player): state.score for player, state in states.items() if state is not None}
        return found

    async def matches(self, live: LiveBoard, players: Collection[str]) -> dict[str, list[Event]]:
        """Return the matches of players that count. O(events of the players)."""
        pasts = await pasts_of(self._ledger, live, list(players))
        return {player: [event for event in that_count(past.events) if event.kind == "match"] for player, past in pasts.items()}

    async def rating_book(self, live: LiveBoard, players: Collection[str]) -> RatingBook:
        """Return the ratings of players as all of their matches have made them. O(events of the players)."""
        await self._settle([live])
        return book_of(live, await pasts_of(self._ledger, live, list(players)))

    async def _states(self, live: LiveBoard, wanted: Mapping[Ranking, Collection[str]]) -> dict[Ranking, dict[str, State | None]]:
        try:
            states = await self._engine.states_in(wanted)
            missing = not_kept(live, wanted, states)
        except EngineUnavailable:
            states, missing = {ranking: {} for ranking in wanted}, {ranking: list(players) for ranking, players in wanted.items()}
        if any(missing.values()):
            positions = await self._ledger.events.positions(live.id)
            for ranking, own in (await restated_all(self._ledger, live, missing, positions)).items():
                states[ranking] |= own
        # Those who are not ranked go on from the score that they would have.
        unranked = {ranking: [player for player in players if live.hides(player)] for ranking, players in wanted.items()}
        if any(unranked.values()):
            positions = await self._ledger.events.positions(live.id)
            for ranking, own in (await restated_all(self._ledger, live, unranked, positions, with_hidden=True)).items():
                states[ranking] |= own
        return states
