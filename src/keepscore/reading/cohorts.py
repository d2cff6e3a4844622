"""Cohorts of a league, read as any other segment: the whole ranking of the season, restricted to the members of the cohort.

So a cohort can never disagree with the whole, whatever is voided, hidden or rebuilt, and nothing of it is kept in an engine. A cohort has a
few dozen members: each read costs O(log N) for each of them. Of a season that is decided, the ledger has the final rows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.leagues.cohorts import cohort_named
from keepscore.domain.leagues.definition import COHORT
from keepscore.domain.ordering import FIRST, KeyCodec, Numbering, Place, Ranks, Row
from keepscore.domain.windows import span_of
from keepscore.reading.view import View
from keepscore.storage.engines.base import Page, Ranking, Rankings
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.leagues import Member, SeasonKey

__all__ = ["CohortRows", "Roster", "is_cohort", "roster_of", "whole_view"]

A = TypeVar("A")


def is_cohort(view: View) -> bool:
    """Return whether what is looked at is a cohort of a league."""
    return view.live.board.league is not None and view.ranking.segment.startswith(f"{COHORT}:")


def whole_view(view: View) -> View:
    """Return the view of everybody in the same window."""
    return view._replace(ranking=view.ranking._replace(segment=""))


class Roster(NamedTuple):
    """The members of a cohort, and when its season was decided."""

    members: Sequence[Member]
    decided_at: int | None

    async def rows(self, board: Board, source: Rankings, whole: Ranking) -> CohortRows:
        """Return the ranking of its members, from where the whole ranking is read."""
        if self.decided_at is not None:
            return self.final(board)
        players = [member.player for member in self.members]
        places = await source.places(whole, players) if players else []
        found = [(place.unique, Row(player, place.score, place.since)) for player, place in zip(players, places, strict=True) if place]
        return CohortRows(board, [row for _, row in sorted(found)], source.is_final)

    def final(self, board: Board) -> CohortRows:
        """Return the final ranking of a season that is decided."""
        ranked = sorted((one.rank, Row(one.player, one.score or 0, one.since or 0)) for one in self.members if one.rank is not None)
        return CohortRows(board, [row for _, row in ranked], True)

    def reading(self, view: View, read: Callable[[Rankings], Awaitable[A]]) -> Callable[[Rankings], Awaitable[A]]:
        """Return a read of the cohort, from where the whole ranking is read."""

        async def read_cohort(source: Rankings) -> A:
            return await read(await self.rows(view.live.board, source, whole_view(view).ranking))

        return read_cohort


async def roster_of(ledger: Ledger, view: View) -> Roster:
    """Return who is in the cohort that is looked at. One that does not exist has nobody."""
    ranking = view.ranking
    cohort = cohort_named(ranking.segment.partition(":")[2])
    if cohort is None:
        return Roster([], None)
    season = SeasonKey(ranking.board, ranking.window, span_of(view.live.board, ranking.window, ranking.window_id).start)
    record = await ledger.leagues.season(season)
    return Roster([], None) if record is None else Roster(await ledger.leagues.roster(season, cohort), record.decided_at)


class CohortRows(Rankings):
    """The rows of one cohort, in order. The ranking that its methods are asked for is that one."""

    def __init__(self, board: Board, rows: Sequence[Row], is_final: bool) -> None:
        self.is_final = is_final
        self._board = board
        self.rows = rows
        numbering = Numbering(FIRST)
        self._ranks = [numbering.next(row.score) for row in rows]

    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        return (await self.places(ranking, [player]))[0]

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        total = len(self.rows)
        found = {row.player: Place(row.score, row.since, *ranks, total) for row, ranks in zip(self.rows, self._ranks, strict=True)}
        return [found.get(player) for player in players]

    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        rows, total = list(self.rows[offset : offset + limit]), len(self.rows)
        behind = Ranks(total + 1, total + 1, total + 1)
        return Page(rows, self._ranks[offset] if rows else behind, total)

    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        codec, descending = KeyCodec(self._board), self._board.order == "desc"
        mark = codec.encode(row.player, row.score, max(row.since, 0))
        keys = [codec.encode(one.player, one.score, max(one.since, 0)) for one in self.rows]
        ahead = len([key for key in keys if (key >= mark if descending else key <= mark)])
        return await self.page(ranking, ahead, limit, wanted)

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        return len([row for row in self.rows if (low is None or row.score >= low) and (high is None or row.score <= high)])
