"""The calendar: which window holds a moment, when it starts and ends. Pure; moments are milliseconds since 1970, UTC.

A local day starts at the first moment of its date, so that a day may have 23 or 25 hours and none is ever missing or doubled:
where midnight does not exist (clocks go forward at 0:00) the day starts at the jump, where it comes twice, at the first. A day
that has begun has begun: where clocks go back over midnight, the hour in which they show the old date again is the new day's.
A date that a zone left out has no window. Cron seasons start whenever the local clock comes to show a match for the first time;
a match that clocks skip counts as if they had not yet gone forward (2:30 is 3:30 on that day).
Weeks carry the ISO number of the week in which most of their days lie, whatever day they begin on: with `week_start =
"monday"` that is the ISO week itself.

A reset cuts the windows in which it lies. The last part of a window keeps its id, those before it are versions: `all_time.v1` ended with
the first reset, `all_time.v2` with the second, and `all_time` goes on. A window without a reset in it stays as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple, get_args

from cronsim import CronSim

from keepscore.domain.board_checks import brief
from keepscore.domain.boards import Board, Weekday
from keepscore.errors import UnknownWindow

__all__ = ["FOREVER_MS", "Span", "day_of", "span_at", "span_of", "uncut", "whole_at"]

#: The end of what never ends: beyond the last moment of year 9999.
FOREVER_MS = 253_402_300_800_000
#: The last moment with a calendar: further in the future there are no dates to speak of.
_LAST_YEAR = 9990

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_DAY_MS = 86_400_000
_WEEKDAYS: tuple[str, ...] = get_args(Weekday)
_FORMS = {
    "daily": (r"\d{4}-\d{2}-\d{2}", "2026-11-15"),
    "weekly": (r"\d{4}-W\d{2}", "2026-W46"),
    "monthly": (r"\d{4}-\d{2}", "2026-11"),
    "yearly": (r"\d{4}", "2026"),
    "all_time": ("all_time", "all_time"),
    "season": (r"\d{4}-\d{2}-\d{2}(T\d{4}(\d{2})?)?", "2026-11-01"),
}


class Span(NamedTuple):
    """One window, or a part of one: its name, its id and the moments from `start` up to, not including, `end`."""

    window: str
    id: str
    start: int
    end: int


def span_at(board: Board, window: str, moment: int) -> Span | None:
    """Return the span of a board's window that holds a moment, or None where no season does."""
    whole = whole_at(board, window, moment)
    if not board.resets or whole is None:
        return whole
    cuts = _cuts(board, whole)
    return _part(whole, cuts, bisect_right(cuts, moment))


def day_of(board: Board, moment: int) -> date:
    """Return the day of a moment, by the board's clock."""
    return _clock(board, moment).date()


def span_of(board: Board, window: str, window_id: str) -> Span:
    """Return the span with that id, or raise UnknownWindow where there is none."""
    if not board.resets:
        return _whole_of(board, window, window_id)
    name, dot, version = window_id.partition(".v")
    whole = _whole_of(board, window, name)
    cuts = _cuts(board, whole)
    if not dot:
        return _part(whole, cuts, len(cuts))
    if not re.fullmatch(r"[1-9]\d{0,5}", version, re.ASCII) or int(version) > len(cuts):
        raise UnknownWindow(f"{window_id!r} is not a version of the {window} window {name}, which has {len(cuts)} besides the current one")
    return _part(whole, cuts, int(version) - 1)


def uncut(board: Board, span: Span) -> tuple[Span, str]:
    """Return the whole window that a span is a part of, and its version (`v1`); empty for the present one."""
    name, dot, version = span.id.partition(".v")
    return _whole_of(board, span.window, name), f"v{version}" if dot else ""


def _cuts(board: Board, whole: Span) -> tuple[int, ...]:
    """Return the resets within a window: one at its very start has ended the window before."""
    return board.cuts[bisect_right(board.cuts, whole.start) : bisect_left(board.cuts, whole.end)]


def _part(whole: Span, cuts: tuple[int, ...], number: int) -> Span:
    start = cuts[number - 1] if number else whole.start
    if number == len(cuts):
        return whole._replace(start=start)
    return whole._replace(id=f"{whole.id}.v{number + 1}", start=start, end=cuts[number])


def whole_at(board: Board, window: str, moment: int) -> Span | None:
    """Return the same as `span_at`, whatever resets there were."""
    if window == "all_time":
        return Span("all_time", "all_time", 0, FOREVER_MS)
    try:
        if window == "season":
            return _season_at(board, moment)
        day = _clock(board, moment).date()
        # Clocks that went back over midnight show the date of a day that has ended.
        if moment >= _midnight(board, day + _DAY):
            day += _DAY
        return _span_from(board, window, _first_day(board, window, day))
    except OverflowError:
        raise UnknownWindow(f"{brief(moment)} ms is outside the calendar of windows") from None


def _whole_of(board: Board, window: str, window_id: str) -> Span:
    form, example = _FORMS[window]
    wrong = UnknownWindow(f"{window_id!r} is not the id of a {window} window: write one such as {example!r}")
    if not re.fullmatch(form, window_id, re.ASCII):
        raise wrong
    if window == "all_time":
        return Span("all_time", "all_time", 0, FOREVER_MS)
    try:
        if window == "season" and board.season is not None:
            span = _season(board, *map(_ms, board.season))
        elif window == "season":
            span = _cron_season(board, _first_shown(board, datetime.fromisoformat(window_id)))
        elif window == "weekly":
            year, week = window_id.split("-W")
            middle = date.fromisocalendar(int(year), int(week), 4)
            span = _span_from(board, window, _first_day(board, window, middle))
        else:
            parts = [int(part) for part in window_id.split("-")]
            span = _span_from(board, window, date(*[*parts, 1, 1][:3]))
    except (ValueError, OverflowError):
        raise wrong from None
    if span.id != window_id or span.start >= span.end:
        raise wrong
    return span


def _first_day(board: Board, window: str, day: date) -> date:
    if window == "weekly":
        return day - timedelta(days=(day.weekday() - _WEEKDAYS.index(board.week_start)) % 7)
    if window == "monthly":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if window == "yearly" else day


def _span_from(board: Board, window: str, first: date) -> Span:
    if not 1 < first.year < _LAST_YEAR:
        raise UnknownWindow(f"{first.isoformat()} is outside the calendar of windows (years 2 to {_LAST_YEAR - 1})")
    if window == "daily":
        label, after = first.isoformat(), first + _DAY
    elif window == "weekly":
        year, week, _ = (first + timedelta(days=3)).isocalendar()
        label, after = f"{year:04d}-W{week:02d}", first + timedelta(days=7)
    elif window == "monthly":
        label, after = f"{first.year:04d}-{first.month:02d}", (first + timedelta(days=31)).replace(day=1)
    else:
        label, after = f"{first.year:04d}", first.replace(year=first.year + 1)
    return Span(window, label, _midnight(board, first), _midnight(board, after))


def _midnight(board: Board, day: date) -> int:
    return _first_shown(board, datetime.combine(day, time()))


def _first_shown(board: Board, shown: datetime) -> int:
    """Return the first moment at which the board's clock shows a time."""
    # fold=0 takes the earlier of two, and for a time that clocks skip the offset before the jump: a midnight is the jump itself.
    return _ms(shown.replace(tzinfo=board.zone, fold=0))


def _clock(board: Board, moment: int) -> datetime:
    """Return what the board's clock shows at a moment, without the zone, so that it is compared and counted as clocks are read."""
    return (_EPOCH + timedelta(milliseconds=moment)).astimezone(board.zone).replace(tzinfo=None, fold=0)


def _ms(moment: datetime) -> int:
    return round(moment.astimezone(UTC).timestamp() * 1000)


def _season_at(board: Board, moment: int) -> Span | None:
    if board.season is None:
        return _cron_season(board, moment)
    span = _season(board, *map(_ms, board.season))
    return span if span.start <= moment < span.end else None


def _cron_season(board: Board, moment: int) -> Span:
    # Iteration leaves out the time that it starts from; going back, that time itself may be a start.
    back = CronSim(_cron(board), _clock(board, moment) + timedelta(minutes=1), reverse=True)
    start = next(found for shown in back if (found := _first_shown(board, shown)) <= moment)
    # In an hour that comes twice, later times of the clock may have been starts already.
    while (end := _next_start(board, start)) <= moment:
        start = end
    return _season(board, start, end)


def _next_start(board: Board, after: int) -> int:
    """Return the earliest start of a cron season after a moment."""
    # Skipped times come at the same moments as the shown times an hour later, so that the order of the clock is not that of
    # the moments there: look from before the skip, and on until the clock has passed the best that was found.
    unchanged = _clock(board, after - _DAY_MS) + _DAY
    starts = []
    for shown in CronSim(_cron(board), min(unchanged, _clock(board, after))):
        start = _first_shown(board, shown)
        if start > after:
            starts.append(start)
        if starts and shown >= _clock(board, min(starts)):
            break
    return min(starts)


def _cron(board: Board) -> str:
    cron = board.periods["season"].cron
    assert cron is not None, "a season without start and end has cron"
    return cron


def _season(board: Board, start: int, end: int) -> Span:
    shown = _clock(board, start)
    label = shown.date().isoformat()
    if shown.time() != time():
        label += f"{shown:T%H%M%S}" if shown.second else f"{shown:T%H%M}"
    return Span("season", label, start, end)
