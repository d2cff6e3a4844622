"""Where one player stands on many boards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from keepscore.domain.results.access import PlayerStandings
from keepscore.domain.results.standings import PlayerPlace
from keepscore.domain.values import check_player
from keepscore.errors import UnknownPlayer
from keepscore.reading.reader import Reader
from keepscore.reading.view import check_within

__all__ = ["player_standings"]

#: Boards that one answer looks at.
MAX_BOARDS = 1000


async def player_standings(reader: Reader, player: str, boards: Iterable[str], cursor: str | None, limit: int) -> PlayerStandings:
    """Return where a player stands on some boards, by name, those behind a cursor: the reads of all share their round trips."""
    check_player(player)
    check_within("limit", limit, 1, MAX_BOARDS)
    names = sorted(name for name in boards if cursor is None or name > cursor)
    found = await asyncio.gather(*[_place(reader, name, player) for name in names[:limit]])
    places = [place for place in found if place is not None]
    return PlayerStandings(player, places, names[limit - 1] if len(names) > limit else None)


async def _place(reader: Reader, board: str, player: str) -> PlayerPlace | None:
    try:
        return await reader.player(reader.members(board)._replace(viewer=player), player, 0)
    except UnknownPlayer:
        return None
