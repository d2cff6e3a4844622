"""What follows from a definition, how it comes back from plain data, and which changes keep its meaning."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.domain.board_fields import INACTIVITY_FIELDS, ROLLUP_FIELDS, RULE_FIELDS
from keepscore.domain.boards import (
    DECAY_FIELDS,
    FIELDS,
    MAX_SCORE,
    WINDOW_FIELDS,
    Board,
    Decay,
    Operator,
    RankKind,
    SortOrder,
    Ties,
    Window,
    board_from_dict,
)
from keepscore.domain.inactivity import Inactivity
from keepscore.domain.rollups import Rollup
from keepscore.domain.rules import Rules


def test_a_name_is_all_that_a_board_needs():
    plain = {"name": "global", "operator": "best", "order": "desc", "increments": False, "decimals": 0, "ties": "first", "rank": "unique"}
    plain |= {"resolution": "1ms", "windows": ["all_time"], "timezone": "UTC", "week_start": "monday", "segments": []}
    plain |= {
        "min_score": None,
        "max_score": None,
        "decay": None,
        "grace": "1h",
        "late": "refuse",
        "consistency": "eventual",
        "read": "key",
        "cdn_top": "60s",
        "cdn_rank": "10s",
        "submit": "auto",
        "also": [],
        "movement": None,
        "inactivity": None,
        "rollup": None,
        "rating": None,
        "tiers": [],
        "league": None,
        "rules": None,
        "prize": None,
        "by": "player",
        "members": None,
        "transfers": None,
        "resets": [],
        "keep_top": None,
        "following": False,
    }
    assert Board("global").to_dict() == board_from_dict({"name": "global"}).to_dict() == plain
    assert list(plain) == list(FIELDS)


def test_what_follows_from_a_definition():
    board = Board("b", windows=["weekly", "all_time"], grace="90m", resolution="1s", timezone="Asia/Tokyo")
    assert (board.first_window, list(board.periods)) == ("weekly", ["weekly", "all_time"])
    assert (board.grace_ms, board.resolution_ms) == (5_400_000, 1000)
    assert (board.zone.key, board.season) == ("Asia/Tokyo", None)
    assert board.bounds == (-MAX_SCORE, MAX_SCORE)


def test_bounds_are_scaled_like_scores():
    board = Board("b", decimals=2, min_score=-1, max_score=0.1)
    assert board.bounds == (-100, 10)


@pytest.mark.parametrize("operator", ["best", "sum", "last"])
def test_a_board_with_decay_comes_back_from_plain_data(operator):
    board = Board("b", operator=operator, decay=Decay("48h"))
    assert board == Board("b", operator=operator, decay={"half_life": "48h"}) == board_from_dict(board.to_dict())
    assert board.to_dict()["decay"] == {"half_life": "48h"}
    assert board.same_meaning(board_from_dict(board.to_dict()))
    assert not board.same_meaning(Board("b", operator=operator, decay=Decay("24h")))
    assert board.bounds == (0, MAX_SCORE)
    assert board.half_life.score(board.half_life.level(100, 0), 48 * 3_600_000) == 50
    assert Board("b", operator=operator).half_life is None


def test_plain_tables_and_tuples_are_taken_in_python():
    assert Board("b", windows={"daily": {"ttl": "1h"}}) == Board("b", windows={"daily": Window(ttl="1h")})
    assert Board("b", windows=("daily",), segments=("region",)) == Board("b", windows=["daily"], segments=["region"])


@pytest.mark.parametrize("windows", [["daily", "all_time"], {"daily": {}, "all_time": {}}, {"daily": Window(), "all_time": Window()}])
def test_windows_without_settings_are_a_list_however_they_were_given(windows):
    assert Board("b", windows=windows).windows == ["daily", "all_time"]


def test_windows_with_settings_are_a_table():
    board = Board("b", windows={"daily": {"ttl": "1h"}, "all_time": {}})
    assert board.windows == {"daily": Window(ttl="1h"), "all_time": Window()}
    assert board.to_dict()["windows"] == {"daily": {"ttl": "1h"}, "all_time": {}}


def test_a_board_does_not_change_with_the_lists_that_it_was_made_from():
    windows, segments, also = ["daily"], ["region"], ["xp"]
    board = Board("b", windows=windows, segments=segments, also=also)
    for names in (windows, segments, also):
        names.clear()
    assert (board.windows, board.segments, board.also) == (["daily"], ["region"], ["xp"])


@pytest.mark.parametrize("key", ["lb:{board}:{start:%Y-%m-%d}:{end:%H%M}", "{{{board}}}", "plain", "{start}"])
def test_templates_of_plain_fields_are_taken(key):
    assert Board("b", windows={"daily": Window(key=key)}).periods["daily"].key == key


def test_a_season_may_lie_anywhere_from_1970_to_9990():
    board = Board("b", windows={"season": {"start": "1970-01-01", "end": "9990-12-31"}})
    assert [moment.year for moment in board.season] == [1970, 9990]


def test_every_field_of_a_window_has_its_meaning_written_down():
    assert list(WINDOW_FIELDS) == list(Window.__struct_fields__)
    assert list(DECAY_FIELDS) == list(Decay.__struct_fields__)
    assert list(INACTIVITY_FIELDS) == list(Inactivity.__struct_fields__)
    assert list(ROLLUP_FIELDS) == list(Rollup.__struct_fields__)
    assert list(RULE_FIELDS) == list(Rules.__struct_fields__)


durations = st.builds("{}{}".format, st.integers(1, 999_999_999), st.sampled_from(["ms", "s", "m", "h", "d", "w"]))

plain_windows = st.builds(
    Window,
    key=st.none() | st.just("lb:{board}:{start:%Y-%m-%d}"),
    segment_key=st.none() | st.just("lb:{board}:{segment}:{value}"),
    ttl=st.none() | durations,
    archive=st.just("all") | st.integers(0, 10_000),
)

seasons = st.sampled_from([Window(cron="0 0 1 * *"), Window(start="2026-11-01", end="2026-12-01", ttl="8w")])

tables = st.dictionaries(st.sampled_from(["daily", "weekly", "monthly", "yearly", "all_time"]), plain_windows, min_size=1)

boards = st.builds(
    Board,
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", fullmatch=True).filter(lambda name: name != "other"),
    operator=st.sampled_from(get_args(Operator)),
    order=st.sampled_from(get_args(SortOrder)),
    decimals=st.integers(0, 9),
    ties=st.sampled_from(get_args(Ties)),
    rank=st.sampled_from(get_args(RankKind)),
    resolution=durations,
    windows=tables | st.builds(lambda table, season: {**table, "season": season}, tables, seasons),
    timezone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
    week_start=st.sampled_from(["monday", "sunday"]),
    segments=st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True), max_size=8, unique=True),
    min_score=st.none() | st.integers(-1000, 0),
    max_score=st.none() | st.integers(0, 1000),
    grace=durations,
    consistency=st.sampled_from(["eventual", "strong"]),
    also=st.sampled_from([[], ["other"]]),
)


@given(boards)
def test_a_board_comes_back_from_plain_data(board):
    again = board_from_dict(board.to_dict())
    assert again == board
    assert (again.to_dict(), again.periods) == (board.to_dict(), board.periods)
    assert again.same_meaning(board)
    assert (again.bounds, again.grace_ms, again.season) == (board.bounds, board.grace_ms, board.season)


def test_changes_of_looks_and_limits_keep_the_meaning_of_rankings():
    board = Board("b", windows=["daily"])
    for change in [{"rank": "dense"}, {"max_score": 5}, {"grace": "2h"}, {"consistency": "strong"}, {"also": ["c"]}]:
        assert board.same_meaning(Board("b", **{"windows": ["daily"], **change}))
    assert board.same_meaning(Board("b", windows={"daily": Window(ttl="48h", archive="all")}))


CHANGES = [{"operator": "sum"}, {"order": "asc"}, {"ties": "last"}, {"resolution": "1s"}, {"timezone": "Asia/Tokyo"}]
CHANGES += [{"week_start": "sunday"}, {"segments": ["region"]}, {"windows": ["daily", "weekly"]}, {"windows": ["weekly"]}]
CHANGES += [{"decay": {"half_life": "7d"}}]


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_what_is_ranked_change_the_meaning(change):
    assert not Board("b", windows=["daily"]).same_meaning(Board("b", **{"windows": ["daily"], **change}))


def test_a_season_that_moves_changes_the_meaning():
    one, two = (Board("b", windows={"season": Window(start="2026-11-01", end=end)}) for end in ("2026-12-01", "2026-12-02"))
    assert not one.same_meaning(two)


@pytest.mark.parametrize("schedule", ["hourly", "daily", "weekly", "monthly", "*/15 * * * *"])
def test_snapshots_do_not_change_what_rankings_mean(schedule):
    plain, scheduled = Board("b"), Board("b", windows={"all_time": Window(snapshot=schedule)})
    assert scheduled.same_meaning(plain)
    assert board_from_dict(scheduled.to_dict()) == scheduled
