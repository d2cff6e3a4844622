"""An export while scores come in: each player is listed once, in order, whatever moved while it was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from keepscore import Board, Entry
from keepscore.cli.whole import PAGE_ROWS, RankingName, all_standings
from keepscore.domain.results.standings import Standing, Top
from keepscore.sync import Leaderboards

PLAYERS = 2500


class Busy:
    """Leaderboards on which something happens after each page of a ranking is read."""

    def __init__(self, boards: Leaderboards, happens: Callable[[int], None]) -> None:
        self._boards = boards
        self._happens = happens
        self.pages = 0

    def top(self, board: str, **options: Any) -> Top:
        page = self._boards.top(board, **options)
        self.pages += 1
        self._happens(self.pages)
        return page

    def __getattr__(self, name: str) -> Any:
        return getattr(self._boards, name)


@pytest.fixture(params=["last", "last asc", "decimals", "by player"])
def boards(request: pytest.FixtureRequest) -> Iterator[tuple[Leaderboards, Board]]:
    board = {
        "last": Board("b", operator="last", rank="standard"),
        "last asc": Board("b", operator="last", order="asc", ties="last"),
        "decimals": Board("b", operator="last", decimals=2, rank="dense"),
        "by player": Board("b", operator="last", ties="player"),
    }[request.param]
    with Leaderboards.open("sqlite:///:memory:", boards=[board]) as found:
        found.submit_many("b", [Entry(player_id=f"p{n}", score=1000 + n // 2) for n in range(PLAYERS)])
        found.players.name("p7", "Seven")
        yield found, board


def exported(boards: Any, warnings: list[str] | None = None, rank: str | None = None) -> list[Standing]:
    told: list[str] = []
    found = list(all_standings(boards, RankingName("b", rank=rank), lambda done, total: None, told.append))
    if warnings is None:
        assert told == []
    else:
        warnings += told
    return found


def shown(standings: list[Standing]) -> list[tuple[int, str, int | Decimal, Any, str | None]]:
    return [(one.rank, one.player_id, one.score, one.since, one.name) for one in standings]


@pytest.mark.parametrize("rank", [None, "unique", "standard", "dense"])
def test_a_quiet_ranking_is_exported_as_it_is(boards: tuple[Leaderboards, Board], rank: str | None) -> None:
    found, _ = boards
    pages = [found.top("b", limit=PAGE_ROWS, offset=offset, rank=rank).standings for offset in range(0, PLAYERS, PAGE_ROWS)]
    busy = Busy(found, lambda page: None)
    assert shown(exported(busy, rank=rank)) == shown([one for page in pages for one in page])
    assert busy.pages == len(pages), "it is read once"


def test_who_moves_while_it_is_read_is_listed_once(boards: tuple[Leaderboards, Board]) -> None:
    found, board = boards

    def happens(page: int) -> None:
        # Some go from the rows that are read to those that are not, and others the other way round.
        order = [one.player_id for one in found.top("b", limit=1000).standings[:3]]
        last = [one.player_id for one in found.top("b", limit=1000, offset=PLAYERS - 3).standings]
        best, worst = (10**6, -(10**6)) if board.order == "desc" else (-(10**6), 10**6)
        if page < 6:
            found.submit_many("b", [Entry(player_id=player, score=worst - page) for player in order])
            found.submit_many("b", [Entry(player_id=player, score=best + page) for player in last])

    standings = exported(Busy(found, happens))
    assert sorted(one.player_id for one in standings) == sorted(f"p{n}" for n in range(PLAYERS))
    scores = [one.score for one in standings]
    assert scores == sorted(scores, reverse=board.order == "desc")
    if board.rank == "unique":
        assert [one.rank for one in standings] == list(range(1, PLAYERS + 1))


def test_players_who_join_meanwhile_do_not_keep_it_from_ending(boards: tuple[Leaderboards, Board]) -> None:
    found, board = boards
    best = 10**6 if board.order == "desc" else -(10**6)
    warnings: list[str] = []
    standings = exported(Busy(found, lambda page: found.submit("b", f"new{page}", best) and None), warnings)
    players = [one.player_id for one in standings]
    assert len(set(players)) == len(players)
    assert {f"p{n}" for n in range(PLAYERS)} <= set(players)
    assert len(warnings) == 1
