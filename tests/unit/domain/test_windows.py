from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from zoneinfo import available_timezones

import pytest
from cronsim import CronSim
from hypothesis import example, given
from hypothesis import strategies as st

from keepscore.domain.boards import Board, Window
from keepscore.domain.windows import FOREVER_MS, span_at, span_of
from keepscore.errors import UnknownWindow

HOUR = 3_600_000
DAY = 24 * HOUR
CALENDAR = ["daily", "weekly", "monthly", "yearly"]
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
ZONES = sorted(available_timezones())


def ms(text):
    moment = datetime.fromisoformat(text)
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def board(zone="UTC", **fields):
    return Board("b", timezone=zone, **fields)


def season(zone="UTC", **fields):
    return board(zone, windows={"season": Window(**fields)})


@pytest.mark.parametrize(
    ("window", "moment", "id", "start", "end"),
    [
        ("daily", "2026-11-15T12:00", "2026-11-15", "2026-11-15", "2026-11-16"),
        ("daily", "2028-02-29T23:59:59.999", "2028-02-29", "2028-02-29", "2028-03-01"),
        ("weekly", "2026-11-15T12:00", "2026-W46", "2026-11-09", "2026-11-16"),
        ("weekly", "2027-01-01", "2026-W53", "2026-12-28", "2027-01-04"),
        ("weekly", "2024-12-30", "2025-W01", "2024-12-30", "2025-01-06"),
        ("monthly", "2026-11-15T12:00", "2026-11", "2026-11-01", "2026-12-01"),
        ("monthly", "2028-02-29", "2028-02", "2028-02-01", "2028-03-01"),
        ("monthly", "2026-12-31T23:59", "2026-12", "2026-12-01", "2027-01-01"),
        ("yearly", "2026-11-15T12:00", "2026", "2026-01-01", "2027-01-01"),
        ("yearly", "2028-02-29", "2028", "2028-01-01", "2029-01-01"),
        ("daily", "1969-12-31T23:59:59.999", "1969-12-31", "1969-12-31", "1970-01-01"),
    ],
)
def test_utc_windows_have_the_expected_id_start_and_end(window, moment, id, start, end):
    assert span_at(board(), window, ms(moment)) == (window, id, ms(start), ms(end))


def test_all_time_is_one_window_from_1970_to_forever():
    everything = ("all_time", "all_time", 0, FOREVER_MS)
    assert span_at(board(), "all_time", ms("2026-11-15")) == everything
    assert span_of(board("Asia/Tokyo"), "all_time", "all_time") == everything


def test_a_start_belongs_to_its_window_and_an_end_to_the_next():
    assert span_at(board(), "daily", ms("2026-11-15")).id == "2026-11-15"
    assert span_at(board(), "daily", ms("2026-11-15") - 1).id == "2026-11-14"


@pytest.mark.parametrize(
    ("zone", "day", "start", "hours"),
    [
        ("Europe/Berlin", "2026-03-28", "2026-03-28T00:00+01:00", 24),
        ("Europe/Berlin", "2026-03-29", "2026-03-29T00:00+01:00", 23),
        ("Europe/Berlin", "2026-10-25", "2026-10-25T00:00+02:00", 25),
        ("America/New_York", "2026-03-08", "2026-03-08T00:00-05:00", 23),
        ("America/New_York", "2026-11-01", "2026-11-01T00:00-04:00", 25),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-05T00:00+11:00", 24.5),
        ("Asia/Kathmandu", "2026-11-15", "2026-11-15T00:00+05:45", 24),
        # Midnight does not exist: the day starts at the jump to 1:00.
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00-02:00", 23),
        ("Asia/Beirut", "2026-03-29", "2026-03-29T01:00+03:00", 23),
        ("Africa/Cairo", "2026-04-24", "2026-04-24T01:00+03:00", 23),
        # Midnight comes twice: the day starts at the first.
        ("America/Havana", "2026-11-01", "2026-11-01T00:00-04:00", 25),
        # Clocks go back at midnight to 23:00: that day is the longer one.
        ("America/Sao_Paulo", "2018-02-17", "2018-02-17T00:00-02:00", 25),
    ],
)
def test_local_days_start_at_their_first_moment_and_have_the_hours_that_clocks_gave_them(zone, day, start, hours):
    span = span_of(board(zone), "daily", day)
    assert (span.start, span.end - span.start) == (ms(start), hours * HOUR)
    assert span_at(board(zone), "daily", span.start) == span_at(board(zone), "daily", span.end - 1) == span
    assert span_at(board(zone), "daily", span.start - 1).end == span.start


def test_the_zone_decides_to_which_window_a_moment_belongs():
    new_year = ms("2026-12-31T23:30+00:00")
    assert [span_at(board("Asia/Tokyo"), w, new_year).id for w in CALENDAR] == ["2027-01-01", "2026-W53", "2027-01", "2027"]
    assert [span_at(board("UTC"), w, new_year).id for w in CALENDAR] == ["2026-12-31", "2026-W53", "2026-12", "2026"]


def test_weeks_and_months_with_a_clock_change_are_an_hour_shorter_or_longer():
    berlin = board("Europe/Berlin")
    spans = [span_of(berlin, *window) for window in [("weekly", "2026-W13"), ("weekly", "2026-W43"), ("monthly", "2026-10")]]
    assert [span.end - span.start for span in spans] == [7 * DAY - HOUR, 7 * DAY + HOUR, 31 * DAY + HOUR]


@pytest.mark.parametrize(
    ("week_start", "first", "id"),
    [
        ("monday", "2026-11-09", "2026-W46"),
        ("tuesday", "2026-11-10", "2026-W46"),
        ("wednesday", "2026-11-11", "2026-W46"),
        ("thursday", "2026-11-12", "2026-W46"),
        ("friday", "2026-11-13", "2026-W47"),
        ("saturday", "2026-11-14", "2026-W47"),
        ("sunday", "2026-11-15", "2026-W47"),
    ],
)
def test_weeks_begin_on_week_start_and_carry_the_iso_number_of_most_of_their_days(week_start, first, id):
    b = board(week_start=week_start)
    assert span_at(b, "weekly", ms("2026-11-15T12:00")) == ("weekly", id, ms(first), ms(first) + 7 * DAY)


def test_every_week_of_ten_years_has_its_own_id_whatever_day_weeks_begin_on():
    for week_start in WEEKDAYS:
        b = board(week_start=week_start)
        ids = [span_at(b, "weekly", ms("2020-01-01") + n * 7 * DAY).id for n in range(530)]
        assert ids == sorted(set(ids))


@pytest.mark.parametrize(
    ("window", "id"),
    [
        ("daily", "2026-02-29"),
        ("daily", "2026-11-31"),
        ("daily", "2026-13-01"),
        ("daily", "2026-00-10"),
        ("daily", "2026-1-5"),
        ("daily", "20261105"),
        ("daily", "2026-11-05 "),
        ("daily", "2026-11-05\n"),
        ("daily", "٢٠٢٦-11-05"),
        ("daily", "2026-W46"),
        ("daily", ""),
        ("daily", "0000-01-01"),
        ("daily", "0001-01-01"),
        ("daily", "9999-12-31"),
        ("weekly", "2026-W00"),
        ("weekly", "2026-W54"),
        ("weekly", "2025-W53"),
        ("weekly", "2026-W1"),
        ("weekly", "2026-46"),
        ("weekly", "9999-W52"),
        ("monthly", "2026-00"),
        ("monthly", "2026-13"),
        ("monthly", "2026-11-01"),
        ("yearly", "0000"),
        ("yearly", "9999"),
        ("yearly", "26"),
        ("yearly", "-026"),
        ("all_time", "2026"),
        ("all_time", ""),
    ],
)
def test_malformed_and_impossible_ids_are_unknown_windows(window, id):
    with pytest.raises(UnknownWindow):
        span_of(board("Europe/Berlin"), window, id)


def test_the_error_for_a_wrong_id_shows_the_id_and_a_right_one():
    with pytest.raises(UnknownWindow, match=r"'2026-46'.*weekly.*'2026-W46'"):
        span_of(board(), "weekly", "2026-46")


def test_a_date_that_a_zone_left_out_is_an_unknown_window():
    with pytest.raises(UnknownWindow):
        span_of(board("Pacific/Apia"), "daily", "2011-12-30")


@pytest.mark.parametrize(("zone", "day"), [("Pacific/Kwajalein", "1993-08-21"), ("Pacific/Kiritimati", "1994-12-31")])
def test_days_follow_each_other_over_a_date_that_was_left_out(zone, day):
    with pytest.raises(UnknownWindow):
        span_of(board(zone), "daily", day)
    before, after = (f"{datetime.fromisoformat(day) + timedelta(days=n):%Y-%m-%d}" for n in (-1, 1))
    assert span_of(board(zone), "daily", before).end == span_of(board(zone), "daily", after).start


def test_an_explicit_season_holds_the_moments_from_its_start_to_before_its_end():
    b = season("Europe/Berlin", start="2026-11-01", end="2026-12-01")
    span = ("season", "2026-11-01", ms("2026-11-01T00:00+01:00"), ms("2026-12-01T00:00+01:00"))
    assert span_at(b, "season", span[2]) == span_at(b, "season", span[3] - 1) == span_of(b, "season", "2026-11-01") == span
    assert span_at(b, "season", span[2] - 1) is None
    assert span_at(b, "season", span[3]) is None


def test_a_season_that_does_not_start_at_midnight_has_the_local_time_in_its_id():
    b = season("Europe/Berlin", start="2026-11-01T05:00+00:00", end="2026-11-30T18:00-05:00")
    assert span_of(b, "season", "2026-11-01T0600") == span_at(b, "season", ms("2026-11-15"))
    assert span_at(b, "season", ms("2026-11-15"))[2:] == (ms("2026-11-01T05:00"), ms("2026-11-30T23:00"))


@pytest.mark.parametrize("id", ["2026-11-02", "2026-10-31", "2026-12-01", "2026-11-01T0600", "2026-11-31", "2026-11", "x"])
def test_only_the_id_of_the_explicit_season_itself_is_known(id):
    with pytest.raises(UnknownWindow):
        span_of(season(start="2026-11-01", end="2026-12-01"), "season", id)


@pytest.mark.parametrize("start", ["2026-11-01T06:00:30+00:00", "2026-10-25T02:30+01:00"])
def test_the_id_of_an_explicit_season_finds_it_whenever_it_starts(start):
    b = season("Europe/Berlin", start=start, end="2026-12-01")
    span = span_at(b, "season", ms("2026-11-15"))
    assert span_of(b, "season", span.id) == span


@pytest.mark.parametrize(
    ("start", "id"),
    [
        ("2026-11-01", "2026-11-01"),
        ("2026-11-01T00:00:30", "2026-11-01T000030"),
        ("2026-11-01T06:00", "2026-11-01T0600"),
        ("2026-11-01T06:00:30", "2026-11-01T060030"),
        ("2026-11-01T06:00:00.250", "2026-11-01T0600"),
    ],
)
def test_the_id_of_a_season_says_no_more_than_it_needs(start, id):
    b = season(start=start, end="2026-12-01")
    assert span_of(b, "season", id).id == id
    assert span_of(b, "season", id).start == ms(start)


@pytest.mark.parametrize(
    ("cron", "moment", "id", "start", "end"),
    [
        ("0 0 1 */3 *", "2026-11-15", "2026-10-01", "2026-10-01T00:00+02:00", "2027-01-01T00:00+01:00"),
        ("0 0 1 */3 *", "2026-09-30T22:00", "2026-10-01", "2026-10-01T00:00+02:00", "2027-01-01T00:00+01:00"),
        ("0 0 1 */3 *", "2026-09-30T21:59:59.999", "2026-07-01", "2026-07-01T00:00+02:00", "2026-10-01T00:00+02:00"),
        ("0 18 * * 5", "2026-11-15", "2026-11-13T1800", "2026-11-13T18:00+01:00", "2026-11-20T18:00+01:00"),
        ("0 0 29 2 *", "2026-11-15", "2024-02-29", "2024-02-29T00:00+01:00", "2028-02-29T00:00+01:00"),
    ],
)
def test_cron_seasons_run_from_one_match_to_the_next_in_local_time(cron, moment, id, start, end):
    b = season("Europe/Berlin", cron=cron)
    span = span_at(b, "season", ms(moment))
    assert span == ("season", id, ms(start), ms(end))
    assert span_of(b, "season", id) == span


@pytest.mark.parametrize("id", ["2026-10-02", "2026-10-01T0600", "2026-11-01", "2026-02-30"])
def test_a_moment_at_which_no_cron_season_starts_is_not_an_id(id):
    with pytest.raises(UnknownWindow):
        span_of(season(cron="0 0 1 */3 *"), "season", id)


@pytest.mark.parametrize("cron", ["30 2 * * *", "0 * * * *"])
def test_cron_seasons_hold_their_moments_where_an_hour_comes_twice(cron):
    b = season("Europe/Berlin", cron=cron)
    for moment in range(ms("2026-10-24T22:00"), ms("2026-10-25T04:00"), 600_000):
        check_tiling(b, "season", moment)


def test_a_cron_time_that_comes_twice_starts_a_season_at_the_first_and_one_that_is_skipped_an_hour_later():
    b = season("Europe/Berlin", cron="30 2 * * *")
    assert span_of(b, "season", "2026-10-25T0230")[2:] == (ms("2026-10-25T02:30+02:00"), ms("2026-10-26T02:30+01:00"))
    assert span_of(b, "season", "2026-03-29T0330")[2:] == (ms("2026-03-29T03:30+02:00"), ms("2026-03-30T02:30+02:00"))
    with pytest.raises(UnknownWindow):
        span_of(b, "season", "2026-03-29T0230")


CHANGES = [("Europe/Berlin", "2026-03-29"), ("Europe/Berlin", "2026-10-25"), ("Australia/Lord_Howe", "2026-04-05")]
CHANGES += [("Australia/Lord_Howe", "2026-10-04"), ("America/St_Johns", "2010-11-07"), ("Africa/Cairo", "2026-04-24")]
CHANGES += [("Pacific/Apia", "2011-12-30"), ("America/Havana", "2026-11-01")]


@pytest.mark.parametrize("cron", ["30 2 * * *", "15,40 * * * *", "15,40 2 * * *", "*/10 0-3 * * *", "1 0,23 * * *", "0 0 * * *"])
@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_cron_seasons_are_those_between_the_sorted_starts_where_clocks_change(zone, day, cron):
    b = season(zone, cron=cron)
    first = datetime.fromisoformat(day) - timedelta(days=3)
    shown = takewhile(lambda time: time < first + timedelta(days=6), CronSim(cron, first))
    starts = sorted({round(time.replace(tzinfo=b.zone).timestamp() * 1000) for time in shown})
    seen = []
    for moment in range(ms(day) - DAY, ms(day) + DAY, 300_000):
        at = bisect_right(starts, moment)
        span = span_at(b, "season", moment)
        assert span[2:] == (starts[at - 1], starts[at])
        assert span_of(b, "season", span.id) == span
        seen.append(span)
    assert len({span.id for span in seen}) == len({span.start for span in seen})


def check_tiling(b, window, moment):
    span = span_at(b, window, moment)
    assert span.start <= moment < span.end
    assert span_at(b, window, span.start) == span_at(b, window, span.end - 1) == span
    before, after = span_at(b, window, span.start - 1), span_at(b, window, span.end)
    assert (before.end, after.start) == (span.start, span.end)
    assert before.id < span.id < after.id
    assert span_of(b, window, span.id) == span


@pytest.mark.parametrize("window", CALENDAR)
@given(
    zone=st.sampled_from(ZONES),
    week_start=st.sampled_from(WEEKDAYS),
    moment=st.integers(ms("1970-02-01"), ms("2039-01-01")),
)
@example(zone="America/St_Johns", week_start="sunday", moment=ms("2010-11-07T02:31"))
@example(zone="America/St_Johns", week_start="sunday", moment=ms("1987-10-25T02:31"))
@example(zone="Pacific/Apia", week_start="monday", moment=ms("2011-12-30T10:00"))
@example(zone="America/Sao_Paulo", week_start="sunday", moment=ms("2018-11-04T03:00"))
def test_windows_tile_time_in_every_zone(window, zone, week_start, moment):
    check_tiling(board(zone, week_start=week_start), window, moment)


@given(
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Africa/Cairo", "Asia/Kathmandu"]),
    cron=st.sampled_from(["0 0 1 * *", "0 0 1 */3 *", "0 0 * * 1", "15 12 * * *", "0 0 29 2 *", "0 18 * * 5"]),
    moment=st.integers(ms("2011-01-01"), ms("2039-01-01")),
)
def test_cron_seasons_tile_time(zone, cron, moment):
    check_tiling(season(zone, cron=cron), "season", moment)


@pytest.mark.parametrize("moment", ["2010-11-07T02:31", "2010-11-07T03:29"])
def test_a_moment_lies_in_its_window_where_clocks_go_from_0_01_back_to_the_day_before(moment):
    check_tiling(board("America/St_Johns"), "daily", ms(moment))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Africa/Cairo", "UTC"])
def test_the_days_of_thirty_years_follow_each_other_without_a_gap(zone):
    day = datetime(2000, 1, 1)
    spans = [span_of(board(zone), "daily", f"{day + timedelta(days=n):%Y-%m-%d}") for n in range(11_000)]
    assert all(a.end == b.start for a, b in pairwise(spans))
    assert {s.end - s.start for s in spans} <= {23 * HOUR, 24 * HOUR, 25 * HOUR}


def test_a_moment_beyond_all_dates_is_an_unknown_window():
    for moment in (FOREVER_MS, -FOREVER_MS, 10**5000):
        for b in (board("Asia/Tokyo"), board("America/New_York"), board()):
            for window in CALENDAR:
                with pytest.raises(UnknownWindow):
                    span_at(b, window, moment)


def test_a_moment_beyond_all_dates_has_no_season():
    for moment in (FOREVER_MS, FOREVER_MS - 1, ms("0001-01-01"), -FOREVER_MS, 10**5000):
        assert span_at(season(start="1970-01-01", end="9990-12-31"), "season", moment) is None
        for cron in ("0 0 1 */3 *", "0 * * * *"):
            with pytest.raises(UnknownWindow):
                span_at(season(cron=cron), "season", moment)


# -- resets -------------------------------------------------------------------------------------------------------------


def reset(*times, zone="UTC", **fields):
    return board(zone, windows=[*CALENDAR, "all_time"], resets=[f"{time}+00:00" for time in times], **fields)


def test_a_reset_cuts_every_window_in_which_it_lies():
    cut = ms("2026-11-16T09:30")
    found = reset("2026-11-16T09:30:00")
    names = {"daily": "2026-11-16", "weekly": "2026-W47", "monthly": "2026-11", "yearly": "2026", "all_time": "all_time"}
    for window, name in names.items():
        whole = span_at(board(), window, cut)
        assert span_at(found, window, cut - 1) == (window, f"{name}.v1", whole.start, cut)
        assert span_at(found, window, cut) == (window, name, cut, whole.end)


def test_windows_without_a_reset_stay_as_they_are():
    found = reset("2026-11-16T09:30:00")
    for moment in ("2026-11-15T23:59:59.999", "2026-11-17"):
        assert span_at(found, "daily", ms(moment)) == span_at(board(), "daily", ms(moment))


def test_several_resets_of_one_day_are_versions_in_the_order_of_time():
    found = reset("2026-11-16T09:00:00", "2026-11-16T09:00:00.001", "2026-11-16T23:59:59.999", "2026-11-17T00:00:01")
    ids = [span_at(found, "daily", ms(f"2026-11-16T{t}")).id for t in ("00:00", "09:00", "09:00:00.001", "23:59:59.998", "23:59:59.999")]
    assert ids == ["2026-11-16.v1", "2026-11-16.v2", "2026-11-16.v3", "2026-11-16.v3", "2026-11-16"]
    assert span_at(found, "all_time", ms("2026-11-17")).id == "all_time.v4"


def test_a_reset_at_the_very_start_of_a_day_ends_the_day_before_and_nothing_else():
    found = reset("2026-11-16T00:00:00")
    assert span_at(found, "daily", ms("2026-11-16")) == span_at(board(), "daily", ms("2026-11-16"))
    assert span_at(found, "daily", ms("2026-11-15")) == span_at(board(), "daily", ms("2026-11-15"))
    assert span_at(found, "all_time", ms("2026-11-15")).id == "all_time.v1"


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25)])
def test_the_parts_of_a_day_on_which_clocks_change_are_the_day(day, hours):
    found = reset(f"{day}T00:30:00", f"{day}T01:30:00", zone="Europe/Berlin")
    parts = [span_of(found, "daily", name) for name in (f"{day}.v1", f"{day}.v2", day)]
    assert all(one.end == other.start for one, other in pairwise(parts))
    assert parts[-1].end - parts[0].start == hours * HOUR


@given(
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"]),
    window=st.sampled_from([*CALENDAR, "all_time"]),
    cuts=st.sets(st.integers(1_790_000_000_000, 1_790_000_000_000 + 40 * DAY), min_size=1, max_size=6),
    moment=st.integers(1_790_000_000_000 - DAY, 1_790_000_000_000 + 41 * DAY),
)
def test_parts_hold_their_moments_and_their_ids_lead_back(zone, window, cuts, moment):
    times = [datetime.fromtimestamp(cut / 1000, UTC).isoformat() for cut in sorted(cuts)]
    found = board(zone, windows=[*CALENDAR, "all_time"], resets=times)
    span, whole = span_at(found, window, moment), span_at(board(zone), window, moment)
    assert whole.start <= span.start <= moment < span.end <= whole.end
    assert not [cut for cut in cuts if span.start < cut < span.end]
    assert span_of(found, window, span.id) == span
    assert (".v" in span.id) == (span.end in cuts and span.end != whole.end)


@pytest.mark.parametrize("id", ["all_time.v0", "all_time.v3", "all_time.v01", "all_time.v", "all_time.v1.v1", "all_time.v٢", "all_time."])
def test_a_version_that_there_is_not_is_unknown(id):
    with pytest.raises(UnknownWindow, match="all_time"):
        span_of(reset("2026-11-16T09:00:00", "2026-11-16T10:00:00"), "all_time", id)
    with pytest.raises(UnknownWindow, match="is not the id"):
        span_of(board(), "all_time", "all_time.v1")


@pytest.mark.parametrize("window", [Window(cron="0 0 1 * *"), Window(start="2026-11-01", end="2027-02-01")])
def test_seasons_are_cut_too(window):
    found = board(windows={"season": window}, resets=["2026-11-16T09:00:00Z"])
    assert span_at(found, "season", ms("2026-11-15")).id == "2026-11-01.v1"
    assert span_of(found, "season", "2026-11-01").start == ms("2026-11-16T09:00")
