"""The first score in a season puts a player into a cohort.

Who is enrolled is recorded in the ledger, in one step for all who came together, after their scores. A process that dies in between, or a
score that comes another way (spooled, imported, approved later), leaves players without a cohort: whoever looks at their league, and the
keeper, enrol them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial

from keepscore.domain.leagues.cohorts import Placement
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import RESTATING
from keepscore.domain.windows import Span
from keepscore.errors import KeepscoreError
from keepscore.lifecycle.jobs.closing import closes_at
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Ranking
from keepscore.storage.feeds.base import Feed
from keepscore.storage.ledgers.leagues import Arrival, Member, SeasonKey

__all__ = ["CHUNK_PLAYERS", "Enrolment"]

#: Players who are enrolled at a time.
CHUNK_PLAYERS = 500
#: Players who are remembered as enrolled; where there are more, all are forgotten, and the ledger is asked.
MAX_KNOWN = 500_000

log = logging.getLogger(__name__)


class Enrolment:
    """Implements `writing.protocols.Arrivals`."""

    def __init__(self, stores: Stores, feed: Feed) -> None:
        self._ledger, self._clock = stores.ledger, stores.clock
        self._feed = feed
        #: Who has a cohort, or waits for one, by season, as far as this process knows; and how many that are.
        self._known: dict[SeasonKey, set[str]] = {}
        self._count = 0

    def forget(self) -> None:
        """Forget who is enrolled: the ledger may be another by now."""
        self._known.clear()
        self._count = 0

    def forget_player(self, board_id: int, player: str) -> None:
        """Forget that a player is enrolled on a board."""
        for season, players in self._known.items():
            if season.board == board_id:
                players.discard(player)

    async def arrived(self, recorded: Iterable[tuple[LiveBoard, Event]]) -> None:
        """See that the players of recorded events are in a cohort. Never fails: what is missing is found later."""
        found: dict[tuple[LiveBoard, Span], dict[str, int]] = {}
        now = self._clock()
        for live, event in recorded:
            league = live.board.league
            if league is None or event.kind in RESTATING:
                continue
            span = next((span for span in live.position(event.at).spans if span.window == league.window), None)
            if span is None or event.player in self._known.get(_season(live, span), ()) or now >= closes_at(live, span):
                continue
            if Ranking(live.id, span.window, span.id, "") in live.rankings_of(event):
                found.setdefault((live, span), {}).setdefault(event.player, event.received)
        for (live, span), players in found.items():
            try:
                await self.enrol(live, span, [Arrival(player, at) for player, at in players.items()])
            except KeepscoreError as exc:
                log.warning("players of board %r are put into cohorts later: %s", live.name, exc)

    async def enrol(self, live: LiveBoard, span: Span, arrivals: Sequence[Arrival]) -> list[Member]:
        """Put players into cohorts of a season, in order, who have none; return these."""
        league = live.board.league
        if league is None:
            return []
        season, enrolled = _season(live, span), list[Member]()
        for first in range(0, len(arrivals), CHUNK_PLAYERS):
            some = arrivals[first : first + CHUNK_PLAYERS]
            enrolled += await self._ledger.leagues.enrol(season, some, partial(Placement, league))
            self._remember(season, some)
        await self.tell(live, span, enrolled)
        return enrolled

    async def tell(self, live: LiveBoard, span: Span, members: Sequence[Member]) -> None:
        """Let readers know that cohorts have other members."""
        changed = {one.cohort for one in members if one.cohort is not None}
        if changed:
            await self._feed.publish({Ranking(live.id, span.window, span.id, cohort.segment) for cohort in changed})

    def _remember(self, season: SeasonKey, arrivals: Sequence[Arrival]) -> None:
        if self._count > MAX_KNOWN:
            self.forget()
        known = self._known.setdefault(season, set())
        before = len(known)
        known.update(arrival.player for arrival in arrivals)
        self._count += len(known) - before


def _season(live: LiveBoard, span: Span) -> SeasonKey:
    return SeasonKey(live.id, span.window, span.start)
