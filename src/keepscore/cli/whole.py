"""All standings of a ranking, each player once, while scores go on coming in.

A ranking is read page by page, behind the last row of the page before. Who moves meanwhile, from the rows that are read to those that are
not or the other way round, would be met twice or not at all. So rows are kept by player, the newest one of each, and the ranking is
read again until as many players are met as it has. Then the rows are put in order and numbered. O(players) in memory, about 200 bytes each.

What is archived, or comes from a checkpoint while the engine is away, does not change, and is passed on as it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple, cast

from keepscore.cli.options import AnyLeaderboards
from keepscore.domain.boards import Board, RankKind
from keepscore.domain.ordering import KeyCodec, Ranks, number_rows
from keepscore.domain.results.standings import Standing, Top

__all__ = ["RankingName", "all_standings"]

#: Standings of one request.
PAGE_ROWS = 1000
#: How often a ranking is read before it is exported although players may be missing.
MAX_READS = 5


class RankingName(NamedTuple):
    """What names a ranking, and how its ranks are numbered."""

    board: str
    window: str | None = None
    window_id: str | None = None
    segment: str | None = None
    rank: str | None = None


def all_standings(
    boards: AnyLeaderboards, name: RankingName, progress: Callable[[int, int], None], warn: Callable[[str], None]
) -> Iterator[Standing]:
    """Yield all standings of a ranking in their order, each player once.

    `progress` is called with the number of players met and of those that there are; `warn` where some may be missing.
    """
    pages = _pages(boards, name)
    first = next(pages)
    if first.archived is True or first.stale is True:
        yield from _as_read(first, pages, progress)
        return
    met = _Met(boards.admin.board(name.board).board)
    page = met.take(first, progress)
    for read in range(MAX_READS):
        for page in pages if read == 0 else _pages(boards, name._replace(window_id=first.window_id)):
            met.take(page, progress)
        # Behind the first `keep_top`, nobody is listed.
        if len(met.keys) >= page.total_players or met.board.keep_top is not None:
            break
    else:
        missing = page.total_players - len(met.keys)
        warn(f"players kept joining and moving while the ranking was read: about {missing} of {page.total_players} may be missing")
    yield from met.in_order(cast("RankKind", name.rank or met.board.rank))


def _pages(boards: AnyLeaderboards, name: RankingName) -> Iterator[Top]:
    board, window, window_id, segment, rank = name
    cursor = None
    while True:
        page = boards.top(board, limit=PAGE_ROWS, cursor=cursor, window=window, window_id=window_id, segment=segment, rank=rank)
        yield page
        # The window that is current may end while it is read.
        cursor, window_id = page.next_cursor, page.window_id
        if cursor is None:
            return


def _as_read(first: Top, pages: Iterator[Top], progress: Callable[[int, int], None]) -> Iterator[Standing]:
    done = 0
    page: Top | None = first
    while page is not None:
        done += len(page.standings)
        progress(done, page.total_players)
        yield from page.standings
        page = next(pages, None)


class _Met:
    """The players met so far. A row is kept as its order key, which has all there is to know of it but the name."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.keys: dict[str, bytes] = {}
        self._names: dict[str, str] = {}
        self._codec = KeyCodec(board)

    def take(self, page: Top, progress: Callable[[int, int], None]) -> Top:
        """Keep the rows of a page, in the place of older ones of the same players."""
        for standing in page.standings:
            # Where the engine does not know the time, 0 stands for it.
            since = 0 if standing.since is None else round(standing.since.timestamp() * 1000)
            self.keys[standing.player_id] = self._codec.encode(standing.player_id, self.board.stored(standing.score), since)
            if standing.name is not None:
                self._names[standing.player_id] = standing.name
        progress(len(self.keys), page.total_players)
        return page

    def in_order(self, rank: RankKind) -> Iterator[Standing]:
        """Yield the standings, numbered. O(N log N)."""
        rows = [self._codec.decode(key) for key in sorted(self.keys.values(), reverse=self.board.order == "desc")]
        for number, row in zip(number_rows(rank, Ranks(1, 1, 1), rows), rows, strict=True):
            since = datetime.fromtimestamp(row.since / 1000, UTC) if row.since else None
            yield Standing(number, row.player, self._names.get(row.player), self.board.shown(row.score), since, 0)
