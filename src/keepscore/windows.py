"""The calendar: which window holds a moment, when it starts and ends. Pure; moments are milliseconds since 1970, UTC.

A local day starts at the first moment of its date, so that a day may have 23 or 25 hours and none is ever missing or doubled:
where midnight does not exist (clocks go forward at 0:00) the day starts at the jump, where it comes twice, at the first.
Weeks carry the ISO number of the week in which most of their days lie, whatever day they begin on: with `week_start =
"monday"` that is the ISO week itself.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple, get_args

from cronsim import CronSim

from keepscore.boards import Board, Weekday
from keepscore.errors import UnknownWindow

__all__ = ["FOREVER", "Span", "span_at", "span_of"]

#: The end of what never ends: beyond the last moment of year 9999.
FOREVER = 253_402_300_800_000
#: The last moment with a calendar: further in the future there are no dates to speak of.
_LAST_YEAR = 9990

_WEEKDAYS: tuple[str, ...] = get_args(Weekday)
_FORMS = {
    "daily": (r"\d{4}-\d{2}-\d{2}", "2026-11-15"),
    "weekly": (r"\d{4}-W\d{2}", "2026-W46"),
    "monthly": (r"\d{4}-\d{2}", "2026-11"),
    "yearly": (r"\d{4}", "2026"),
    "all_time": ("all_time", "all_time"),
    "season": (r"\d{4}-\d{2}-\d{2}(T\d{4})?", "2026-11-01"),
}


class Span(NamedTuple):
    """One window: its name, its id and the moments from `start` up to, not including, `end`."""

    window: str
    id: str
    start: int
    end: int


def span_at(board: Board, window: str, moment: int) -> Span | None:
    """The span of a board's window that holds a moment, or None where no season does."""
    if window == "all_time":
        return Span("all_time", "all_time", 0, FOREVER)
    if window == "season":
        return _season_at(board, moment)
    day = datetime.fromtimestamp(moment / 1000, board.zone).date()
    return _span_from(board, window, _first_day(board, window, day))


def span_of(board: Board, window: str, window_id: str) -> Span:
    """The span with that id, or UnknownWindow where there is none."""
    form, example = _FORMS[window]
    wrong = UnknownWindow(f"{window_id!r} is not the id of a {window} window: write one such as {example!r}")
    if not re.fullmatch(form, window_id, re.ASCII):
        raise wrong
    if window == "all_time":
        return Span("all_time", "all_time", 0, FOREVER)
    try:
        if window == "season":
            form = "%Y-%m-%dT%H%M" if "T" in window_id else "%Y-%m-%d"
            moment = _ms(datetime.strptime(window_id, form).replace(tzinfo=board.zone))
            span = _season_at(board, moment)
        elif window == "weekly":
            year, week = window_id.split("-W")
            middle = date.fromisocalendar(int(year), int(week), 4)
            span = _span_from(board, window, _first_day(board, window, middle))
        else:
            parts = [int(part) for part in window_id.split("-")]
            span = _span_from(board, window, date(*[*parts, 1, 1][:3]))
    except (ValueError, OverflowError):
        raise wrong from None
    if span is None or span.id != window_id:
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
        raise UnknownWindow(f"{first.isoformat()} lies outside the calendar of windows (years 2 to {_LAST_YEAR - 1})")
    if window == "daily":
        label, after = first.isoformat(), first + timedelta(days=1)
    elif window == "weekly":
        year, week, _ = (first + timedelta(days=3)).isocalendar()
        label, after = f"{year:04d}-W{week:02d}", first + timedelta(days=7)
    elif window == "monthly":
        label, after = f"{first.year:04d}-{first.month:02d}", (first + timedelta(days=31)).replace(day=1)
    else:
        label, after = f"{first.year:04d}", first.replace(year=first.year + 1)
    return Span(window, label, _midnight(board, first), _midnight(board, after))


def _midnight(board: Board, day: date) -> int:
    # fold=0 takes the earlier of two midnights, and for one that does not exist the moment of the jump.
    return _ms(datetime.combine(day, time(), board.zone))


def _ms(moment: datetime) -> int:
    return round(moment.astimezone(UTC).timestamp() * 1000)


def _season_at(board: Board, moment: int) -> Span | None:
    if board.season is not None:
        start, end = board.season
        return _season(board, start, end) if _ms(start) <= moment < _ms(end) else None
    cron = board.periods["season"].cron
    assert cron is not None, "a season without cron has start and end"
    local = datetime.fromtimestamp(moment / 1000, board.zone)
    # Iteration leaves out the moment that it starts from; going back, that moment itself may be a start.
    start = next(CronSim(cron, local + timedelta(minutes=1), reverse=True))
    while _ms(start) > moment:
        start = next(CronSim(cron, start, reverse=True))
    end = next(CronSim(cron, local))
    return _season(board, start, end)


def _season(board: Board, start: datetime, end: datetime) -> Span:
    local = start.astimezone(board.zone)
    label = f"{local:%Y-%m-%d}" if local.time() == time() else f"{local:%Y-%m-%dT%H%M}"
    return Span("season", label, _ms(start), _ms(end))
