"""Rankings that are over: an archive, read as an engine is.

Of a ranking's players, an archive may have kept only the first. It knows how many there were, and says so where it is asked for more.
A page costs O(log N + limit), a count O(rows kept).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.durations import time_of
from keepscore.domain.ordering import KeyCodec, Place, Ranks, Row
from keepscore.domain.results.friends import FriendsBoard
from keepscore.domain.results.leagues import PlayerLeague
from keepscore.domain.results.standings import Around, Count, Lookup, PlayerPlace, Top
from keepscore.errors import NotKept
from keepscore.storage.engines.base import Page, Ranking, Rankings
from keepscore.storage.ledgers.archives import Archive, Archived
from keepscore.storage.ledgers.base import Ledger

__all__ = ["Past", "final_archives", "past_for"]

A = TypeVar("A", Top, PlayerPlace, Around, Lookup, Count, FriendsBoard, PlayerLeague)

#: Beyond every score and level, on both sides.
_FAR = 2**62
#: Rows that are looked through at a time.
CHUNK_ROWS = 1000


class Past(Rankings):
    """One archive. The ranking that its methods are asked for is the one that was archived.

    A `strict` one raises NotKept where there is more than it has kept; others tell what they have.
    """

    is_final = True

    def __init__(self, ledger: Ledger, board: Board, archive: Archive, strict: bool = False) -> None:
        self._ledger = ledger
        self._board = board
        self.archive = archive
        self.last_rank = archive.kept
        self._strict = strict and archive.kept < archive.players

    @property
    def strict(self) -> Past:
        """The same, which tells all or nothing."""
        return Past(self._ledger, self._board, self.archive, strict=True)

    def labelled(self, answer: A) -> A:
        """Return an answer from it, which is final, and says so."""
        answer.archived = True
        answer.as_of = time_of(self.archive.taken)
        return answer

    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        return (await self.places(ranking, [player]))[0]

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        rows = await self._ledger.archives.places(self.archive.id, players)
        total = self.archive.players
        found = {row.player: Place(row.score, row.since, row.rank, row.standard, row.dense, total) for row in rows}
        if self._strict and len(found) < len(set(players)):
            raise self._not_kept("ask for these")
        return [found.get(player) for player in players]

    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        total = self.archive.players
        if self._strict and limit and offset + limit > self.archive.kept:
            raise self._not_kept("ask for these")
        rows = await self._ledger.archives.rows(self.archive.id, offset, limit) if limit else []
        if not rows:
            return Page([], Ranks(total + 1, total + 1, total + 1), total)
        return Page([_row(row) for row in rows], Ranks(rows[0].rank, rows[0].standard, rows[0].dense), total)

    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        found = await self._ledger.archives.places(self.archive.id, [row.player])
        if found and _row(found[0]) == row:
            return await self.page(ranking, found[0].rank, limit)
        # The cursor is older than the archive, or than its revision, and the player has another score now, or none.
        codec, descending = KeyCodec(self._board), self._board.order == "desc"
        mark = codec.encode(row.player, row.score, max(row.since, 0))
        offset = await self._better(row.score)
        while rows := await self._ledger.archives.rows(self.archive.id, offset, CHUNK_ROWS):
            for other in rows:
                key = codec.encode(other.player, other.score, max(other.since, 0))
                if (key < mark) if descending else (key > mark):
                    return await self.page(ranking, other.rank - 1, limit)
            offset = rows[-1].rank
        return await self.page(ranking, self.archive.kept, limit)

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        best, worst = (high, low) if self._board.order == "desc" else (low, high)
        # Those not worse than the worst, but for those better than the best.
        reached = self.archive.players if worst is None else self._known(await self._better(worst, or_equal=True))
        better = 0 if best is None else self._known(await self._better(best))
        return max(reached - better, 0)

    async def _better(self, score: int, or_equal: bool = False) -> int:
        """Count the archived rows that are better than a score."""
        if self._board.order == "desc":
            return await self._ledger.archives.count(self.archive.id, score if or_equal else score + 1, _FAR)
        return await self._ledger.archives.count(self.archive.id, -_FAR, score if or_equal else score - 1)

    def _known(self, counted: int) -> int:
        """Return a count of the archived rows from the first on: the last of them must not be in it, as more of that score may follow."""
        archive = self.archive
        if counted < archive.kept or archive.kept == archive.players:
            return counted
        raise self._not_kept("count scores that are better than theirs, or all")

    def _not_kept(self, instead: str) -> NotKept:
        archive = self.archive
        return NotKept(
            f"the {archive.slot.window} window {archive.slot.window_id} of board {self._board.name!r} is archived, and only its first "
            f"{archive.kept} of {archive.players} players were kept: {instead}"
        )


def _row(archived: Archived) -> Row:
    return Row(archived.player, archived.score, archived.since)


async def final_archives(ledger: Ledger, board_id: int, window: str | None = None, window_id: str | None = None) -> dict[Ranking, Archive]:
    """Return the final standings of closed windows by ranking: of each, the last revision."""
    found: dict[Ranking, Archive] = {}
    for archive in await ledger.archives.find(board_id, window, window_id, "closed"):
        ranking = Ranking(board_id, *archive.slot)
        if ranking not in found or archive.number > found[ranking].number:
            found[ranking] = archive
    return found


async def past_for(ledger: Ledger, board: Board, ranking: Ranking) -> Past | None:
    """Return the final standings of a ranking, if they are archived."""
    archive = (await final_archives(ledger, ranking.board, ranking.window, ranking.window_id)).get(ranking)
    return None if archive is None else Past(ledger, board, archive)
