"""Who is on a board: its slices with their sizes, and ranked players by their names."""

from __future__ import annotations

import asyncio

from keepscore.domain.results.players import FoundPlayers, SegmentInfo, Segments
from keepscore.domain.results.standings import Standing
from keepscore.domain.segments import shown_label
from keepscore.domain.values import check_name
from keepscore.errors import InvalidField
from keepscore.projection.stores import Stores
from keepscore.reading.reader import MAX_LOOKUP, Reader
from keepscore.reading.view import MAX_OFFSET, View, check_limit, check_within
from keepscore.storage.engines.base import Ranking

__all__ = ["MAX_FOUND", "BoardPeople"]

#: Players that one search returns.
MAX_FOUND = 100
#: Players with fitting names who are looked up before a search gives up.
MAX_NAMED = 10_000


class BoardPeople:
    """Answers questions about the people of boards."""

    def __init__(self, stores: Stores, reader: Reader) -> None:
        self._ledger, self._engine = stores.ledger, stores.engine
        self._reader = reader

    async def segments(self, view: View, name: str | None, limit: int, offset: int) -> Segments:
        """Return the slices of a window that have players, by name and value. O(rankings of the board + limit)."""
        check_limit(limit)
        check_within("offset", offset, 0, MAX_OFFSET)
        board, window, window_id, _ = view.labels
        archived = await self._ledger.archives.find(view.live.id, window, window_id, "closed") if view.ended else []
        sizes = {one.slot.segment: one.players for one in sorted(archived, key=lambda one: one.number) if one.slot.segment}
        known = sizes.keys() or {
            one.segment for one in await self._engine.rankings(view.live.id) if one.segment and one[1:3] == view.ranking[1:3]
        }
        wanted = sorted(one for one in known if name is None or one.partition(":")[0] == name)

        async def info(segment: str) -> SegmentInfo:
            ranking = Ranking(view.live.id, window, window_id, segment)
            total = sizes.get(segment)
            players = (await self._engine.page(ranking, 0, 0)).total if total is None else total
            return SegmentInfo(shown_label(segment), *segment.partition(":")[::2], players)

        found = await asyncio.gather(*map(info, wanted[offset : offset + limit]))
        return Segments(board, window, window_id, len(wanted), [one for one in found if one.total_players])

    async def search(self, view: View, name: str, limit: int) -> FoundPlayers:
        """Return ranked players whose names begin with some letters, in rank order. O(players with such names)."""
        if not 1 <= limit <= MAX_FOUND:
            raise InvalidField(f"limit = {limit} is out of range: 1 to {MAX_FOUND}")
        sought = (check_name(name) or "").casefold()
        after, seen, more = ("", ""), 0, True
        standings: list[Standing] = []
        while more and seen < MAX_NAMED and len(standings) < limit:
            named = await self._ledger.players.named(sought, after, MAX_LOOKUP)
            more = len(named) == MAX_LOOKUP
            if not named:
                break
            after, seen = named[-1][::-1], seen + len(named)
            players = [player for player, _ in named]
            # Nobody is found by a name that is not shown.
            told = await self._reader.labels.visible(players, view.viewer)
            visible = [player for player, shown in zip(players, told, strict=True) if player == shown]
            if visible:
                standings += (await self._reader.lookup(view, visible)).standings
        standings.sort(key=lambda one: one.rank)
        return FoundPlayers(*view.labels, standings[:limit], more or len(standings) > limit)
