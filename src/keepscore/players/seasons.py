"""The end of a season: small cohorts are merged before it, and when its window is closed, players move up and down, once.

Final ranks are folded from the ledger, so that all that counts is in them, and nothing else. What becomes of players is recorded cohort by
cohort, and counts when the season is marked as decided: whatever is interrupted begins again and records the same. A void or a revision
after that changes no tier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keepscore.domain.leagues.cohorts import merges, outcomes
from keepscore.domain.leagues.definition import League
from keepscore.domain.ordering import KeyCodec
from keepscore.domain.scoring import Event, State, amount_of, cut, fold_for
from keepscore.domain.verdicts import that_count
from keepscore.domain.windows import Span, span_at
from keepscore.lifecycle.archiving import bring_together, folded_in
from keepscore.lifecycle.parts import JobParts
from keepscore.players.enrolment import CHUNK_PLAYERS, Enrolment
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.leagues import Arrival, Member, SeasonKey, Settled
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.pace import Pace

__all__ = ["Seasons"]

#: The share of a window, counted from its end, in which cohorts that are too small are merged: a tenth.
MERGE_SHARE = 10
#: Members whose final places are recorded at a time.
CHUNK_MEMBERS = 1000


class Seasons:
    """Merges cohorts, and decides seasons."""

    def __init__(self, parts: JobParts, enrolment: Enrolment) -> None:
        self._parts = parts
        self._ledger = parts.ledger
        self._enrolment = enrolment
        #: How many players were ranked at the last look, in seasons with fewer members.
        self._ranked: dict[SeasonKey, int] = {}

    async def advance(self, live: LiveBoard, now: int) -> list[str]:
        """Do all that is due for the seasons of a board; return the windows that were decided."""
        league = live.board.league
        assert league is not None, "only those boards are asked for"
        decided: list[str] = []
        seasons = await self._ledger.leagues.seasons(live.id)
        undecided = [record.key for record in seasons if record.decided_at is None]
        present = span_at(live.board, league.window, self._parts.clock())
        if present is not None and SeasonKey(live.id, present.window, present.start) not in [record.key for record in seasons]:
            # A league that is new finds players who have scored before.
            await self._enrol_missing(live, present)
        #: Whether all earlier seasons are decided.
        is_next = True
        for season in undecided:
            span = _span(live, season)
            if span is None:
                # The board no longer has such a window: nobody moves.
                await self._ledger.leagues.decide(season, now)
            elif is_next and await self._is_closed(live, span):
                await self._decide(live, league, span, now)
                decided.append(span.id)
            else:
                if is_next:
                    await self._enrol_waiting(live, span)
                await self._enrol_missing(live, span)
                if now >= span.end - (span.end - span.start) // MERGE_SHARE:
                    await self._merge(live, league, span)
                is_next = False
        return decided

    async def _enrol_waiting(self, live: LiveBoard, span: Span) -> None:
        """Find cohorts for those who have waited until an earlier season was decided."""
        while waiting := await self._ledger.leagues.waiting(SeasonKey(live.id, span.window, span.start), CHUNK_PLAYERS):
            await self._enrolment.enrol(live, span, waiting)

    async def _is_closed(self, live: LiveBoard, span: Span) -> bool:
        """Return whether the final standings of a window are there."""
        if span.end <= live.closed.get(span.window, 0):
            return True
        if span[:2] not in live.closed_early:
            return False
        archived = await self._ledger.archives.find(live.id, span.window, span.id, "closed")
        return Slot(span.window, span.id, "") in {archive.slot for archive in archived}

    async def _enrol_missing(self, live: LiveBoard, span: Span) -> None:
        """Enrol players who are ranked, where more of them were so at the last look than there are members now."""
        season, whole = SeasonKey(live.id, span.window, span.start), Ranking(live.id, span.window, span.id, "")
        if len(await self._ledger.leagues.waiting(season, 1)):
            return
        members = sum((await self._ledger.leagues.sizes(season)).values())
        total = (await self._parts.engine.page(whole, 0, 0)).total
        before = self._ranked.pop(season, 0)
        if total > members:
            self._ranked[season] = total
        for first in range(0, total if before > members else 0, CHUNK_PLAYERS):
            rows = (await self._parts.engine.page(whole, first, CHUNK_PLAYERS)).rows
            await self._enrolment.enrol(live, span, [Arrival(row.player, max(row.since, 0)) for row in rows])

    async def _merge(self, live: LiveBoard, league: League, span: Span) -> None:
        """Put cohorts that are too small into others."""
        season = SeasonKey(live.id, span.window, span.start)
        for source, into in merges(league.cohort.min, await self._ledger.leagues.sizes(season)):
            await self._ledger.leagues.merge(season, source, into)
            await self._enrolment.tell(live, span, [Member("", *source), Member("", *into)])

    async def _decide(self, live: LiveBoard, league: League, span: Span, now: int) -> None:
        """Record what becomes of all members, and let it count."""
        season = SeasonKey(live.id, span.window, span.start)
        upto = await bring_together(self._parts, live)
        whole = Ranking(live.id, span.window, span.id, "")
        states = (await folded_in(self._ledger, live, [span], upto, Pace())).get(whole, {})
        ranked = sorted(states, key=lambda player: (states[player].since, player))
        await self._enrolment.enrol(live, span, [Arrival(player, states[player].since) for player in ranked])
        await self._enrol_waiting(live, span)
        await self._merge(live, league, span)
        settled: list[Settled] = []
        for cohort in await self._ledger.leagues.sizes(season):
            members = [member.player for member in await self._ledger.leagues.roster(season, cohort)]
            settled += await self._settled(live, whole, cohort.tier, members, states)
            if len(settled) >= CHUNK_MEMBERS:
                await self._ledger.leagues.settle(season, settled)
                settled = []
        await self._ledger.leagues.settle(season, settled)
        await self._ledger.leagues.decide(season, now)

    async def _settled(
        self, live: LiveBoard, whole: Ranking, tier: str, players: Sequence[str], states: Mapping[str, State]
    ) -> list[Settled]:
        """Return what becomes of the members of a cohort. O(events of its members)."""
        league = live.board.league
        assert league is not None, "only those boards are asked for"
        codec, is_high = KeyCodec(live.board), live.board.order == "desc"
        keys = {player: codec.encode(player, *states[player]) for player in players if player in states}
        ranked = sorted(keys, key=keys.__getitem__, reverse=is_high)
        idle = [player for player in players if player not in keys]
        pasts = await pasts_of(self._ledger, live, ranked) if ranked else {}
        counted = {player: [e for e in that_count(past.events) if whole in live.rankings_of(e)] for player, past in pasts.items()}
        peaks = best_ranks(live, counted)
        found = []
        for player, rank, result, after in outcomes(league, tier, ranked, idle):
            state = states.get(player)
            peak = None if rank is None else min(peaks.get(player, rank), rank)
            score, since = (None, None) if state is None else (state.score, max(state.since, 0))
            found.append(Settled(player, rank, score, since, peak, len(counted.get(player, ())), result, after))
        return found


def best_ranks(live: LiveBoard, events: Mapping[str, Sequence[Event]]) -> dict[str, int]:
    """Return the best rank that each of some players has had among them, as their events came. O(events x players)."""
    board, fold, codec = live.board, fold_for(live.board), KeyCodec(live.board)
    sign = board.order == "desc"
    order = sorted((event.seq or 0, event.writer, event.n, event) for own in events.values() for event in own)
    states: dict[str, State] = {}
    keys: dict[str, bytes] = {}
    best: dict[str, int] = {}
    for *_, event in order:
        player, before = event.player, keys.get(event.player)
        states[player] = fold(states.get(player), event.kind, amount_of(board, event), cut(board, event.at))
        keys[player] = codec.encode(player, states[player].score, max(states[player].since, 0))
        is_better = before is None or (keys[player] > before) == sign
        # Who falls back lets others pass.
        for one in (player,) if is_better else keys:
            rank = 1 + len([key for key in keys.values() if (key > keys[one]) == sign and key != keys[one]])
            best[one] = min(best.get(one, rank), rank)
    return best


def _span(live: LiveBoard, season: SeasonKey) -> Span | None:
    return span_at(live.board, season.window, season.starts) if season.window in live.board.periods else None
