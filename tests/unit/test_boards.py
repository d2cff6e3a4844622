import re
from decimal import Decimal, localcontext
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.board_inactivity import INACTIVITY_FIELDS, Inactivity
from keepscore.boards import (
    DECAY_FIELDS,
    FIELDS,
    MAX_SCORE,
    WINDOW_FIELDS,
    Board,
    Decay,
    Operator,
    Order,
    RankKind,
    Ties,
    Window,
    board_from_dict,
)
from keepscore.durations import duration_ms
from keepscore.errors import InvalidBoard, InvalidScore
from keepscore.rollups import ROLLUP_FIELDS, Rollup


def test_a_name_is_all_that_a_board_needs():
    plain = {"name": "global", "operator": "best", "order": "desc", "decimals": 0, "ties": "first", "rank": "unique"}
    plain |= {"resolution": "1ms", "windows": ["all_time"], "timezone": "UTC", "week_start": "monday", "segments": []}
    plain |= {
        "min_score": None,
        "max_score": None,
        "decay": None,
        "grace": "1h",
        "consistency": "eventual",
        "also": [],
        "movement": None,
        "inactivity": None,
        "rollup": None,
        "resets": [],
        "keep_top": None,
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
    ("windows", "daily, weekly, monthly, yearly, all_time", [["hourly"], "daily"]),
    ("timezone", "IANA name such as", ["Mars/Olympus", "", "Europe", "../../etc/passwd", "a\0b"]),
    ("week_start", "monday, tuesday", ["mon"]),
    ("timezone", "`str`", [5, None]),
    ("resolution", "`str`", [5]),
    ("windows", "each window once", [["daily", "daily"]]),
    ("windows", "a list or a table", [5, None]),
    ("windows", "5 is no window; allowed: daily, weekly", [[5], {5: {}}]),
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
        ({"daily": {"archive": None}}, ["windows.daily.archive = None", "0 to 100000000, or 'all'"]),
        ({"daily": {"archive": True}}, ["windows.daily.archive = True", "0 to 100000000, or 'all'"]),
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


def test_every_field_of_a_window_has_its_meaning_written_down():
    assert list(WINDOW_FIELDS) == list(Window.__struct_fields__)
    assert list(DECAY_FIELDS) == list(Decay.__struct_fields__)
    assert list(INACTIVITY_FIELDS) == list(Inactivity.__struct_fields__)
    assert list(ROLLUP_FIELDS) == list(Rollup.__struct_fields__)


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
    order=st.sampled_from(get_args(Order)),
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


def test_durations_are_read_as_they_are_written():
    texts = ["1ms", "30s", "10m", "48h", "7d", "8w", "0s"]
    assert [duration_ms(text) for text in texts] == [1, 30_000, 600_000, 172_800_000, 604_800_000, 4_838_400_000, 0]


@given(st.text(max_size=4).filter(lambda text: not re.fullmatch(r"\d+(ms|s|m|h|d|w)", text)))
def test_anything_else_is_not_a_duration(text):
    with pytest.raises(ValueError, match="is not a duration"):
        duration_ms(text)


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


def test_ten_times_a_tenth_is_one():
    board = Board("b", decimals=1)
    assert board.shown(sum(board.stored(Decimal("0.1")) for _ in range(10))) == 1


@pytest.mark.parametrize(
    ("decimals", "score", "number"),
    [
        (0, 7, 7),
        (0, Decimal("7.00"), 7),
        (0, Decimal("1e3"), 1000),
        (0, Decimal("0e20"), 0),
        (2, Decimal("0e999999999"), 0),
        (2, Decimal("0e-1000050"), 0),
        (2, Decimal("0.1" + "0" * 10_000), 10),
        (2, 10, 1000),
        (2, Decimal("10.50"), 1050),
        (2, Decimal("-0.01"), -1),
        (2, Decimal("0.010"), 1),
        (9, Decimal("0.000000001"), 1),
        (0, MAX_SCORE, 2**53 - 1),
        (2, Decimal("-90071992547409.91"), -(2**53 - 1)),
    ],
)
def test_scores_are_stored_as_integers_and_shown_as_they_came(decimals, score, number):
    board = Board("b", decimals=decimals)
    stored = board.stored(score)
    assert (stored, type(stored)) == (number, int)
    assert board.shown(number) == score


@given(decimals=st.integers(0, 9), number=st.integers(-MAX_SCORE, MAX_SCORE))
def test_every_stored_score_is_shown_exactly(decimals, number):
    board = Board("b", decimals=decimals)
    assert board.stored(board.shown(number)) == number
    assert board.stored(Decimal(str(board.shown(number)))) == number


@pytest.mark.parametrize("score", ["0.001", "10.505", "1e-30", "-1.000000000000001"])
def test_too_many_decimals_are_refused_not_rounded(score):
    with pytest.raises(InvalidScore, match=f"{re.escape(str(Decimal(score)))} has too many decimals.*2 decimals"):
        Board("b", decimals=2).stored(Decimal(score))


@pytest.mark.parametrize("score", ["0.10000000000000000000000000000000001", "1e-1000050"])
def test_far_decimals_are_refused_too(score):
    with pytest.raises(InvalidScore):
        Board("b", decimals=2).stored(Decimal(score))


HUGE = [2**53, -(2**53), Decimal(2**53), Decimal("1e17"), Decimal("-1e999999"), Decimal("nan"), Decimal("-inf")]


@pytest.mark.parametrize("score", HUGE)
def test_scores_that_a_double_does_not_hold_exactly_are_refused(score):
    with pytest.raises(InvalidScore):
        Board("b").stored(score)


def test_the_bound_holds_for_the_scaled_score():
    with pytest.raises(InvalidScore, match="after scaling"):
        Board("b", decimals=2).stored(2**53 // 100 + 1)


def test_an_integer_of_thousands_of_digits_is_an_invalid_score():
    with pytest.raises(InvalidScore):
        Board("b").stored(HUGE_NUMBER)


def test_the_callers_decimal_context_does_not_round_scores():
    board = Board("b", decimals=2)
    with localcontext() as context:
        context.prec = 3
        assert board.stored(Decimal("1234567.89")) == 123456789
        assert str(board.shown(123456789)) == "1234567.89"


@pytest.mark.parametrize("schedule", ["hourly", "daily", "weekly", "monthly", "*/15 * * * *"])
def test_snapshots_do_not_change_what_rankings_mean(schedule):
    plain, scheduled = Board("b"), Board("b", windows={"all_time": Window(snapshot=schedule)})
    assert scheduled.same_meaning(plain)
    assert board_from_dict(scheduled.to_dict()) == scheduled


@pytest.mark.parametrize("schedule", ["yearly", "", "0 0 * *", "61 * * * *", "0 0 31 2 *"])
def test_a_schedule_that_is_none(schedule):
    with pytest.raises(InvalidBoard, match=r"windows\.all_time\.snapshot = .* hourly, daily, weekly, monthly"):
        Board("b", windows={"all_time": Window(snapshot=schedule)})
