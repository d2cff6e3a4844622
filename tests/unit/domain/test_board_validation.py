"""Definitions that cannot be used are refused with the field, the value and what is allowed."""

import re
from decimal import Decimal
from typing import Any

import pytest

from keepscore.domain.boards import (
    FIELDS,
    WINDOW_FIELDS,
    Board,
    Decay,
    Window,
    board_from_dict,
)
from keepscore.errors import InvalidBoard

BAD = [
    ("name", "letters, digits", ["", "two words", "-dash-first", "n" * 65, "line\n", "größe"]),
    ("name", "`str`", [5, None]),
    ("operator", "best, sum, last", ["total", None]),
    ("order", "desc, asc", ["up", "DESC"]),
    ("decimals", "0 to 9", [-1, 10]),
    ("decimals", "`int`", ["2", 1.5, True]),
    ("ties", "first, last, player", ["random"]),
    ("rank", "unique, standard, dense", ["modified"]),
    ("resolution", "1ms or more", ["0ms", "0w"]),
    ("resolution", "ms, s, m, h, d, w", ["1 second", ""]),
    ("windows", "at least one window", [[], {}]),
    ("windows", "daily, weekly, monthly, yearly, all_time", [["hourly"]]),
    ("windows", "give a list or a table", ["daily"]),
    ("timezone", "IANA name such as", ["Mars/Olympus", "", "Europe", "../../etc/passwd", "a\0b"]),
    ("week_start", "monday, tuesday", ["mon"]),
    ("timezone", "`str`", [5, None]),
    ("resolution", "`str`", [5]),
    ("windows", "each window once", [["daily", "daily"]]),
    ("windows", "a list or a table", [5, None]),
    ("windows", "5 is not a window; allowed: daily, weekly", [[5], {5: {}}]),
    ("segments", "`list of str`", ["region", 5, [5], None]),
    ("segments", "at most 8, each once", [["a", "a"], [f"s{n}" for n in range(9)]]),
    ("min_score", "`int | float | null`", ["5"]),
    ("min_score", "whole numbers", [0.5]),
    ("min_score", "2^53", [-(2**53), -1e300]),
    ("max_score", "2^53", [2**53]),
    ("max_score", "finite", [float("inf"), float("nan")]),
    ("grace", "`str`", [5, None]),
    ("grace", "such as '48h'", ["soon", "-1h", "1.5h"]),
    ("consistency", "eventual, strong", ["total"]),
    ("also", "other boards, each once", [["b"], ["x", "x"], [f"x{n}" for n in range(9)]]),
    ("also", "`list of str`", [5, "xp", [5]]),
    ("keep_top", "allowed: 1 to", [0, -5, 10**13]),
    ("keep_top", "`int | null`", ["1000", 1.5, True, [5]]),
]


@pytest.mark.parametrize(("field", "allowed", "value"), [(field, allowed, value) for field, allowed, bad in BAD for value in bad])
@pytest.mark.parametrize("make", [board_from_dict, lambda data: Board(**data)], ids=["data", "python"])
def test_a_bad_value_is_answered_with_the_field_the_value_and_what_is_allowed(make, field, allowed, value):
    with pytest.raises(InvalidBoard) as raised:
        make({"name": "b", field: value})
    for part in (f"{field} = {value!r}", allowed, f"{field} is {FIELDS[field]}"):
        assert part in str(raised.value)


@pytest.mark.parametrize("segment", ["Region", "9lives", "a b", "", "a" * 33, "länge"])
def test_a_bad_segment_name_is_named_itself(segment):
    with pytest.raises(InvalidBoard, match=re.escape(f"segments = {segment!r}") + ".*lower-case letters"):
        Board("b", segments=["region", segment])


@pytest.mark.parametrize("other", ["", "two words", "-dash-first", "n" * 65, "größe"])
def test_other_boards_are_named_as_boards_are(other):
    with pytest.raises(InvalidBoard, match=re.escape(f"also = {other!r}") + ".*letters, digits"):
        Board("b", also=["xp", other])


def test_the_lowest_score_cannot_be_above_the_highest():
    with pytest.raises(InvalidBoard, match=r"min_score = 5 .*max_score = 4"):
        Board("b", min_score=5, max_score=4)
    assert Board("b", min_score=5, max_score=5).bounds == (5, 5)


@pytest.mark.parametrize(
    ("window", "fields", "named"),
    [
        ("daily", {"ttl": "2 days"}, "windows.daily.ttl = '2 days'"),
        ("daily", {"archive": -1}, "windows.daily.archive = -1"),
        ("daily", {"key": "{bord}"}, "windows.daily.key = '{bord}'"),
        ("daily", {"key": "{segment}"}, "windows.daily.key = '{segment}'"),
        ("daily", {"key": "{}"}, "windows.daily.key = '{}'"),
        ("daily", {"key": "{board"}, "windows.daily.key = '{board'"),
        ("daily", {"key": "{start.hours}"}, "windows.daily.key = '{start.hours}'"),
        ("daily", {"key": "{start.__class__}"}, "windows.daily.key = '{start.__class__}'"),
        ("daily", {"key": "{start[0]}"}, "windows.daily.key = '{start[0]}'"),
        ("daily", {"key": "{board!r}"}, "windows.daily.key = '{board!r}'"),
        ("daily", {"key": "{board:>99999999}"}, "windows.daily.key = '{board:>99999999}'"),
        ("daily", {"key": "{start:{board}}"}, "windows.daily.key = '{start:{board}}'"),
        ("daily", {"key": "half \ud800"}, "windows.daily.key = 'half \\ud800'"),
        ("daily", {"live_key": "lb:{start}"}, "it may hold {board} and no dates: all windows share it"),
        ("daily", {"live_segment_key": "{end}:{value}"}, "windows.daily.live_segment_key = '{end}:{value}'"),
        ("all_time", {"live_key": "lb"}, "all_time never ends, and is not renamed: write key"),
        ("daily", {"segment_key": "{player}"}, "windows.daily.segment_key = '{player}'"),
        ("daily", {"segment_key": "{value.upper}"}, "windows.daily.segment_key = '{value.upper}'"),
        ("daily", {"start": "2026-11-01"}, "windows.daily.start = '2026-11-01'"),
        ("daily", {"start": ""}, "windows.daily.start = ''"),
        ("all_time", {"cron": "0 0 1 * *"}, "windows.all_time.cron = '0 0 1 * *'"),
        ("season", {}, "windows.season"),
        ("season", {"start": "2026-11-01"}, "windows.season"),
        ("season", {"end": "2026-11-01"}, "windows.season"),
        ("season", {"cron": "0 0 1 * *", "end": "2026-11-01"}, "windows.season"),
        ("season", {"cron": "0 0 1 * *", "start": "2026-11-01", "end": "2026-12-01"}, "windows.season"),
        ("season", {"start": "soon", "end": "2026-12-01"}, "windows.season.start = 'soon'"),
        ("season", {"start": "2026-11-01", "end": "2026-11-31"}, "windows.season.end = '2026-11-31'"),
        ("season", {"start": "2026-11-01", "end": "2026-11-01"}, "windows.season.end = '2026-11-01'"),
        ("season", {"start": "1969-12-31", "end": "2026-12-01"}, "windows.season.start = '1969-12-31'"),
        ("season", {"start": "0001-01-01", "end": "2026-12-01"}, "windows.season.start = '0001-01-01'"),
        ("season", {"start": "2026-11-01", "end": "9991-01-01"}, "windows.season.end = '9991-01-01'"),
        ("season", {"start": "2026-11-01", "end": "9999-12-31T23:59-12:00"}, "windows.season.end = '9999-12-31T23:59-12:00'"),
        ("season", {"start": "2026-11-01T06:00+00:00", "end": "2026-11-01T07:00+01:00"}, "windows.season.end"),
        ("season", {"cron": "0 0 1 *"}, "windows.season.cron = '0 0 1 *'"),
        ("season", {"cron": "0 0 0 1 * *"}, "windows.season.cron = '0 0 0 1 * *'"),
        ("season", {"cron": ""}, "windows.season.cron = ''"),
        ("season", {"cron": f"{'9' * 5000} 0 1 * *"}, "windows.season.cron = '999"),
        ("season", {"cron": "every month"}, "windows.season.cron = 'every month'"),
        ("season", {"cron": "0 0 30 2 *"}, "windows.season.cron = '0 0 30 2 *'"),
    ],
)
def test_a_bad_window_is_answered_with_the_place_and_the_value(window, fields, named):
    with pytest.raises(InvalidBoard, match=re.escape(named)):
        board_from_dict({"name": "b", "windows": {window: fields}})


@pytest.mark.parametrize(
    ("windows", "parts"),
    [
        ({"hourly": {}}, ["windows", "'hourly'", "daily, weekly"]),
        ({5: {}}, ["windows", "5", "daily, weekly"]),
        ({"daily": 5}, ["windows.daily = 5"]),
        ({"daily": {"archive": "some"}}, ["windows.daily.archive = 'some'", "'all'"]),
        ({"daily": {"ttl": 5}}, ["windows.daily.ttl = 5"]),
        ({"daily": {"ttl": 5}}, ["`str | null`", f"windows.daily.ttl is {WINDOW_FIELDS['ttl']}"]),
        ({"daily": {"archive": None}}, ["windows.daily.archive = None", "0 to 100,000,000, or 'all'"]),
        ({"daily": {"archive": True}}, ["windows.daily.archive = True", "0 to 100,000,000, or 'all'"]),
        ({"daily": {"key": "{start[0]}"}}, ["windows.daily.key = '{start[0]}'", "{board}"]),
        ({"daily": {5: "1h"}}, ["unknown field 5 in windows.daily", "ttl"]),
        ({"season": {"cron": 5}}, ["windows.season.cron = 5"]),
    ],
)
@pytest.mark.parametrize("make", [board_from_dict, lambda data: Board(**data)], ids=["data", "python"])
def test_a_value_of_the_wrong_type_inside_of_windows_is_named(make, windows, parts):
    with pytest.raises(InvalidBoard) as raised:
        make({"name": "b", "windows": windows})
    assert all(part in str(raised.value) for part in parts)


@pytest.mark.parametrize("fields", [{"ttl": 5}, {"archive": "some"}, {"start": 5}])
def test_a_window_made_in_python_is_checked_too(fields):
    (field,) = fields
    with pytest.raises(InvalidBoard, match=rf"windows\.daily\.{field} = "):
        Board("b", windows={"daily": Window(**fields)})


def test_boards_that_forget_or_decay_keep_all_players():
    with pytest.raises(InvalidBoard, match="keep_top = 5 cannot be used; a board with decay keeps all players"):
        Board("b", keep_top=5, decay={"half_life": "7d"})
    with pytest.raises(InvalidBoard, match="keep_top = 5 cannot be used; a board with a ttl keeps all players"):
        Board("b", keep_top=5, windows={"all_time": {}, "daily": {"ttl": "2d"}})
    assert Board("b", keep_top=5, windows={"daily": {"archive": 5}}).keep_top == 5


HUGE_NUMBER = 10**5000


@pytest.mark.parametrize("field", FIELDS)
def test_a_number_of_thousands_of_digits_is_not_written_out(field):
    for value in (HUGE_NUMBER, [HUGE_NUMBER], {HUGE_NUMBER: HUGE_NUMBER}):
        with pytest.raises(InvalidBoard, match=f"{field} = a huge "):
            board_from_dict({"name": "b", field: value})
    with pytest.raises(InvalidBoard, match="unknown field a huge int"):
        board_from_dict({"name": "b", HUGE_NUMBER: 5})


@pytest.mark.parametrize("fields", [{"archive": HUGE_NUMBER}, {"ttl": HUGE_NUMBER}, {"key": [HUGE_NUMBER]}])
def test_a_number_of_thousands_of_digits_inside_of_windows_is_named(fields):
    (field,) = fields
    with pytest.raises(InvalidBoard, match=rf"windows\.daily\.{field} = a huge "):
        board_from_dict({"name": "b", "windows": {"daily": fields}})


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(InvalidBoard) as raised:
        Board("x" * 100_000)
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("decimals", "2"),
        ("decimals", 1.5),
        ("resolution", 5),
        ("timezone", 5),
        ("segments", "region"),
        ("min_score", "5"),
        ("min_score", Decimal(5)),
        ("max_score", True),
        ("also", 5),
        ("operator", 5),
        ("week_start", ["monday"]),
        ("windows", {"daily", "all_time"}),
        ("windows", Window()),
        ("decay", "7d"),
        ("decay", ["half_life"]),
    ],
)
def test_a_value_of_the_wrong_type_is_an_invalid_board_in_python_too(field, value):
    with pytest.raises(InvalidBoard, match=re.escape(f"'b': {field} = {value!r} cannot be used") + f".*{field} is "):
        Board("b", **{field: value})


BAD_DECAYS = [
    ({}, "give a table with half_life"),
    ({"half_life": "7d", "floor": 5}, "give a table with half_life"),
    ({"half_time": "7d"}, "give a table with half_life"),
    ({"half_life": 7}, "half_life: expected `str`, got `int`"),
    ({"half_life": None}, "half_life: expected `str`"),
    ({"half_life": "a week"}, "is not a duration"),
    ({"half_life": "59m"}, "half_life: allowed are 1h to 36500d"),
    ({"half_life": "0s"}, "half_life: allowed are 1h to 36500d"),
    ({"half_life": "36501d"}, "half_life: allowed are 1h to 36500d"),
]


@pytest.mark.parametrize(("decay", "words"), BAD_DECAYS)
def test_a_decay_that_cannot_be_used_is_refused(decay, words):
    with pytest.raises(InvalidBoard) as raised:
        board_from_dict({"name": "b", "decay": decay})
    for part in (f"'b': decay = {decay!r} cannot be used", words, f"decay is {FIELDS['decay']}"):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"operator": "first"}, "this board has operator = 'first'"),
        ({"order": "asc"}, "this board has order = 'asc'"),
        ({"min_score": -1}, "min_score = -1 cannot be used; a board with decay has no scores below 0"),
        ({"max_score": -1}, "it is above max_score = -1"),
    ],
)
def test_what_does_not_go_with_decay_is_refused(fields, words):
    with pytest.raises(InvalidBoard, match=words):
        Board("b", decay=Decay("7d"), **fields)


def test_unknown_fields_are_named_with_those_that_there_are():
    with pytest.raises(InvalidBoard, match=r"'b'.*'orders'.*operator, order"):
        board_from_dict({"name": "b", "orders": "asc"})
    with pytest.raises(InvalidBoard, match=r"'b'.*unknown field 5.*operator, order"):
        board_from_dict({"name": "b", 5: "asc"})
    with pytest.raises(InvalidBoard, match=r"'tll' in windows\.daily.*ttl"):
        board_from_dict({"name": "b", "windows": {"daily": {"tll": "1h"}}})


@pytest.mark.parametrize("data", [None, 5, "b", ["b"], {}])
def test_something_without_a_name_is_not_a_board(data):
    with pytest.raises(InvalidBoard):
        board_from_dict(data)


@pytest.mark.parametrize("schedule", ["yearly", "", "0 0 * *", "61 * * * *", "0 0 31 2 *"])
def test_a_schedule_that_is_none(schedule):
    with pytest.raises(InvalidBoard, match=r"windows\.all_time\.snapshot = .* hourly, daily, weekly, monthly"):
        Board("b", windows={"all_time": Window(snapshot=schedule)})


@pytest.mark.parametrize(
    "fields", [{"decay": {"half_life": "7d"}}, {"operator": "sum", "inactivity": {"after": "14d", "lose": 5, "every": "7d"}}]
)
def test_a_board_that_follows_changes_no_scores_itself(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidBoard, match="following = True cannot be used; roll-ups, and boards with decay or inactivity"):
        Board("b", following=True, **fields)
