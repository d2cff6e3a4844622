"""Leagues: a player's cohort, past seasons, and what a proposed league would have done. `lb.leagues`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keepscore.domain.boards import Board, Score
from keepscore.domain.durations import time_of
from keepscore.domain.explanations import equal_is_ahead
from keepscore.domain.leagues.cohorts import PastSeason, Placement, SeasonBefore
from keepscore.domain.leagues.definition import League
from keepscore.domain.ordering import Row
from keepscore.domain.results.leagues import LeagueHistory, LeagueSeason, LeagueSimulation, LeagueStanding, PlayerLeague
from keepscore.domain.values import check_player
from keepscore.domain.windows import Span, span_at
from keepscore.errors import UnknownLeague
from keepscore.players.enrolment import Enrolment
from keepscore.players.league_simulation import simulated
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.reading.reader import Reader
from keepscore.reading.view import MAX_LIMIT, check_within
from keepscore.storage.engines.base import Ranking, Rankings
from keepscore.storage.ledgers.leagues import Arrival, Member, Membership, SeasonKey

__all__ = ["MAX_SEASONS", "Leagues"]

#: Seasons of one answer.
MAX_SEASONS = 200


class Leagues:
    """Looks at leagues of boards."""

    def __init__(self, stores: Stores, reader: Reader, enrolment: Enrolment) -> None:
        self._catalog, self._ledger, self._engine, self._clock = stores
        self._reader = reader
        self._enrolment = enrolment

    def _league(self, board: str) -> tuple[LiveBoard, League]:
        live = self._catalog[board]
        if live.board.league is None:
            raise UnknownLeague(f"board {live.name!r} has no league: give it one with the field 'league'")
        return live, live.board.league

    async def of(self, board: str, player_id: str) -> PlayerLeague:
        """Return a player's tier and cohort in the present season, as the player sees it. O(log N) for each of the cohort."""
        live, league = self._league(board)
        player = check_player(player_id)
        span = span_at(live.board, league.window, self._clock())
        found = await self._ledger.leagues.of_player(live.id, player, 2)
        member = None if span is None else await self._member(live, span, player, found)
        ends = None if span is None else time_of(span.end)
        window_id = None if span is None else span.id
        if span is None or member is None or member.cohort is None:
            tier = await self._tier(live, league, span, [one for one in found if span is None or one.season.key.starts < span.start])
            return PlayerLeague(live.name, league.window, window_id, player, tier, None, None, None, 0, [], None, None, ends)
        view = self._reader.view(board, league.window, span.id, member.cohort.segment, "unique")._replace(viewer=player)

        async def read(source: Rankings) -> PlayerLeague:
            rows = (await source.page(view.ranking, 0, MAX_LIMIT)).rows
            place = PlayerLeague(live.name, league.window, span.id, player, member.tier, None, None, None, len(rows), [], None, None, ends)
            _rank(live.board, league, place, rows)
            return place

        answer = await self._reader.read(view, read)
        answer.cohort = member.cohort.label
        answer.standings = await self._reader.labels.shown(answer.standings, player)
        return answer

    async def _member(self, live: LiveBoard, span: Span, player: str, found: Sequence[Membership]) -> Member | None:
        """Return a player's place in the present season. One who is ranked and has none yet gets one."""
        season = SeasonKey(live.id, span.window, span.start)
        known = next((one.member for one in found if one.season.key == season), None)
        if known is not None or await self._engine.place(Ranking(live.id, span.window, span.id, ""), player) is None:
            return known
        enrolled = await self._enrolment.enrol(live, span, [Arrival(player, self._clock())])
        return enrolled[0] if enrolled else None

    async def _tier(self, live: LiveBoard, league: League, span: Span | None, found: Sequence[Membership]) -> str:
        """Return the tier of a player who has no cohort now."""
        seasons = await self._ledger.leagues.seasons(live.id)
        before = [SeasonBefore(s.key.starts, s.decided_at is not None) for s in seasons if span is None or s.key.starts < span.start]
        decided = [one for one in found if one.season.decided_at is not None]
        last = None if not found else (decided or found)[0]
        return Placement(league, before).tier(None if last is None else _past(last))

    async def history(self, board: str, player_id: str, *, limit: int = 50) -> LeagueHistory:
        """Return the seasons in which a player took part, the newest first."""
        live, league = self._league(board)
        check_within("limit", limit, 1, MAX_SEASONS)
        player = check_player(player_id)
        found = await self._ledger.leagues.of_player(live.id, player, limit)
        seasons = [season for one in found if (season := _season(live, one)) is not None]
        tiers = [tier for one in seasons for tier in (one.tier, one.next_tier) if tier is not None]
        return LeagueHistory(live.name, player, max(tiers, key=league.place, default=None), seasons)

    async def simulate(self, board: str, league: Mapping[str, Any], *, windows: int = 12) -> LeagueSimulation:
        """Return what a proposed league would have made of the last past windows of a board. Nothing is changed. O(events)."""
        return await simulated(self._ledger, self._catalog[board], league, windows, self._clock())


def _past(one: Membership) -> PastSeason:
    is_decided = one.season.decided_at is not None
    return PastSeason(one.season.key.starts, (one.member.next_tier if is_decided else None) or one.member.tier, one.member.plays)


def _season(live: LiveBoard, one: Membership) -> LeagueSeason | None:
    (_, window, starts), decided = one.season
    span = span_at(live.board, window, starts) if window in live.board.periods else None
    if span is None:
        return None
    member = one.member
    label = None if member.cohort is None else member.cohort.label
    if decided is None:
        return LeagueSeason(window, span.id, time_of(span.end), member.tier, label, None, None, None, None, None)
    score = None if member.score is None else live.board.shown(member.score)
    told = member.rank, member.peak, score, member.result, member.next_tier
    return LeagueSeason(window, span.id, time_of(span.end), member.tier, label, *told)


def _rank(board: Board, league: League, answer: PlayerLeague, rows: Sequence[Row]) -> None:
    """Fill in the standings of a cohort, and where the player is among them."""
    size = len(rows)
    cuts = league.cuts(answer.tier, size)
    answer.standings = [
        LeagueStanding(rank, row.player, None, board.shown(row.score), cuts.zone(rank, size), row.player == answer.player_id)
        for rank, row in enumerate(rows, 1)
    ]
    own = next((one for one in answer.standings if one.is_current_player), None)
    if own is None:
        return
    answer.rank, answer.zone = own.rank, own.zone
    nothing = board.shown(0)
    if cuts.up:
        answer.to_promotion = nothing if own.zone == "promotion" else _missing(board, own, rows[cuts.up - 1])
    if own.zone != "demotion":
        answer.to_safety = nothing
    elif size > cuts.down:
        answer.to_safety = _missing(board, own, rows[size - cuts.down - 1])


def _missing(board: Board, own: LeagueStanding, holder: Row) -> Score:
    """Return by how much a player's score has to change to be ahead of somebody."""
    score = board.shown(holder.score)
    distance = score - own.score if board.order == "desc" else own.score - score
    return distance if equal_is_ahead(board, "unique", own.player_id, holder) else distance + board.shown(1)
