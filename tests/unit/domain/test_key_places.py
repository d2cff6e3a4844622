"""Keys are read backwards: every key that a board would write is found again, as the ranking that it was written for."""

from __future__ import annotations

import pytest

from keepscore import Board
from keepscore.domain.board_parts import Window
from keepscore.domain.key_places import KeyPlaces, RankingPlace
from keepscore.domain.keys import key_of, live_key_of
from keepscore.domain.windows import span_at

NOW = 1_795_000_000_000  # 2026-11-18
DAY = 86_400_000

PROJECTS = Board(
    "points",
    segments=["project"],
    windows={
        "all_time": Window(key="leaderboard:global:all_time", segment_key="leaderboard:{value}:all_time"),
        "weekly": Window(key="leaderboard:global:weekly:{start:%G-w%V}", segment_key="leaderboard:{value}:weekly:{start:%G-w%V}"),
        "monthly": Window(key="leaderboard:global:monthly:{start:%Y-%m}", segment_key="leaderboard:{value}:monthly:{start:%Y-%m}"),
        "yearly": Window(key="leaderboard:global:yearly:{start:%Y}", segment_key="leaderboard:{value}:yearly:{start:%Y}"),
    },
)
DAYS = Board(
    "frame",
    timezone="America/Sao_Paulo",
    segments=["country", "region"],
    windows={
        "daily": Window(
            key="lb:{board}:{start:%d.%m.%y}",
            segment_key="lb:{board}:{start:%d.%m.%y}:{segment}:{value}",
            live_key="lb:{board}:today",
            live_segment_key="lb:{board}:today:{segment}:{value}",
        )
    },
)
PLAIN = Board("plain", windows=["daily", "weekly", "all_time"], segments=["region"])


@pytest.mark.parametrize("board", [PROJECTS, DAYS, PLAIN], ids=lambda board: board.name)
def test_every_key_is_found_again(board: Board) -> None:
    places = KeyPlaces(board, NOW)
    for window in board.periods:
        for age in (0, 1, 8, 40, 400, 1500):
            span = span_at(board, window, NOW - age * DAY)
            assert span is not None
            for segment in ("", *(f"{name}:{value}" for name in board.segments for value in ("7", "BR", "a:b", "{x}"))):
                assert places.find(key_of(board, span, segment)) == [RankingPlace(window, span.id, segment)]
                live = live_key_of(board, window, segment)
                if age == 0 and live is not None:
                    assert places.find(live) == [RankingPlace(window, span.id, segment)]


@pytest.mark.parametrize(
    "key", ["", "leaderboard", "leaderboard:global", "leaderboard::all_time", "leaderboard:1:weekly:2026-W47", "x" * 99]
)
def test_what_no_ranking_has_is_not_found(key: str) -> None:
    assert KeyPlaces(PROJECTS, NOW).find(key) == []


def test_a_window_that_has_not_begun_is_not_found() -> None:
    assert KeyPlaces(PROJECTS, NOW).find("leaderboard:global:weekly:2026-w49") == []


def test_a_key_that_may_be_two_rankings_names_both() -> None:
    board = Board("b", segments=["country", "region"], windows={"all_time": Window(key="lb", segment_key="lb:{value}")})
    assert [place.segment for place in KeyPlaces(board, NOW).find("lb:eu")] == ["country:eu", "region:eu"]


def test_a_ranking_is_named_as_people_say_it() -> None:
    assert str(RankingPlace("all_time", "all_time")) == "all_time"
    assert str(RankingPlace("weekly", "2026-W47", "region:eu")) == "weekly 2026-W47 region:eu"
