"""Board definitions: what is ranked, how scores combine, how ties break, which windows and segments there are.

A definition is immutable and complete: whatever was left out has its default. It says nothing of where it is stored or who
serves it. `Board("global")` is a board; everything else is optional.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import cached_property, partial
from typing import Any, TypeVar, get_args
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import force_setattr

from keepscore.board_checks import (
    brief,
    check_cron,
    check_movement,
    check_schedule,
    check_template,
    check_type,
    half_life_of,
    reset_moments,
    season_moment,
)
from keepscore.board_fields import (
    CHOICES,
    DECAY_FIELDS,
    FIELDS,
    TYPES,
    WINDOW_FIELDS,
    Consistency,
    Operator,
    Order,
    RankKind,
    Ties,
    Weekday,
    WindowName,
)
from keepscore.board_inactivity import Inactivity, inactivity_from
from keepscore.board_parts import Decay, Window
from keepscore.decay import HalfLife
from keepscore.durations import duration_ms
from keepscore.errors import InvalidBoard, InvalidScore
from keepscore.rollups import Rollup, rollup_from

__all__ = [
    "DECAY_FIELDS",
    "FIELDS",
    "MAX_SCORE",
    "WINDOW_FIELDS",
    "Board",
    "Decay",
    "Operator",
    "Order",
    "RankKind",
    "Score",
    "Ties",
    "Weekday",
    "Window",
    "WindowName",
    "board_from_dict",
]

Score = int | Decimal
T = TypeVar("T")

#: The largest score, and the negative of the smallest: what a double holds exactly.
MAX_SCORE = 2**53 - 1
#: Segments that one board may have.
MAX_SEGMENTS = 8
#: Boards that one submission may be sent on to.
MAX_ALSO = 8
#: Standings of a closed window that may be archived by number.
MAX_ARCHIVE = 100_000_000

#: The most players that a board may say to keep.
MAX_KEEP_TOP = 10**12

#: Fields whose change alters what the rankings show, so that they are rebuilt from the ledger.
MEANING = ("operator", "order", "ties", "resolution", "timezone", "week_start", "segments", "decay", "rollup", "resets", "keep_top")

#: Those of them that change states, and not only their order, or their names.
STATES = tuple(field for field in MEANING if field not in ("ties", "resets", "keep_top"))

_WINDOWS: tuple[str, ...] = get_args(WindowName)
_KEY_FIELDS = ("board", "start", "end")
_SEGMENT_KEY_FIELDS = (*_KEY_FIELDS, "segment", "value")

#: Moves a decimal point without rounding, whatever the caller's own decimal context is.
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)

_ALL_TIME: list[WindowName] = ["all_time"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SEGMENT = re.compile(r"[a-z][a-z0-9_]{0,31}")


class Board(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """The definition of a board. Whoever makes it, it is checked, and `windows` is a list where all of them are plain.

    >>> Board("global").operator
    'best'
    >>> Board("laps", order="asc", decimals=3, windows=["daily", "all_time"]).to_dict()["windows"]
    ['daily', 'all_time']
    """

    name: str
    operator: Operator = "best"
    order: Order = "desc"
    decimals: int = 0
    ties: Ties = "first"
    rank: RankKind = "unique"
    resolution: str = "1ms"
    windows: list[WindowName] | dict[WindowName, Window] = msgspec.field(default_factory=lambda: _ALL_TIME)
    timezone: str = "UTC"
    week_start: Weekday = "monday"
    segments: list[str] = []
    min_score: int | float | None = None
    max_score: int | float | None = None
    decay: Decay | None = None
    grace: str = "1h"
    consistency: Consistency = "eventual"
    also: list[str] = []
    movement: str | None = None
    inactivity: Inactivity | None = None
    rollup: Rollup | None = None
    resets: list[str] = []
    keep_top: int | None = None

    def __post_init__(self) -> None:
        self._check_types()
        self._check_names()
        if not 0 <= self.decimals <= 9:
            raise self._wrong("decimals", self.decimals, "allowed: 0 to 9")
        for field in ("resolution", "grace"):
            self._checked(field, getattr(self, field), duration_ms)
        if self.resolution_ms < 1:
            raise self._wrong("resolution", self.resolution, "allowed: 1ms or more")
        try:
            self.zone  # noqa: B018 - looks the zone up
        except (OSError, ValueError, KeyError, ImportError):
            raise self._wrong("timezone", self.timezone, "write an IANA name such as 'UTC' or 'America/New_York'") from None
        if self.decay is not None:
            given = msgspec.structs.asdict(self.decay) if isinstance(self.decay, Decay) else self.decay
            force_setattr(self, "decay", Decay(self._checked("decay", given, partial(half_life_of, self.operator, self.order))))
        if self.movement is not None:
            self._checked("movement", self.movement, partial(check_movement, list(self.windows)))
        low, high = self.bounds
        if low < 0 and self.decay is not None:
            raise self._wrong("min_score", self.min_score, "a board with decay has no scores below 0")
        if low > high:
            raise self._wrong("min_score", self.min_score, f"it is above max_score = {self.max_score}")
        self.cuts  # noqa: B018 - checks the resets
        force_setattr(self, "windows", self._canonical_windows())
        if self.rollup is not None:
            self._check_rollup()
        if self.inactivity is not None:
            self._check_inactivity()
        if self.keep_top is not None:
            self._check_keep_top(self.keep_top)

    def _check_keep_top(self, keep_top: int) -> None:
        if not 1 <= keep_top <= MAX_KEEP_TOP:
            raise self._wrong("keep_top", keep_top, f"allowed: 1 to {MAX_KEEP_TOP}")
        if self.rollup is not None:
            raise self._wrong("keep_top", keep_top, "a roll-up keeps all players: take away one of the two")
        if self.decay is not None:
            raise self._wrong("keep_top", keep_top, "a board with decay keeps all players: its scores cannot be worked out again exactly")
        if any(window.ttl is not None for window in self.periods.values()):
            raise self._wrong("keep_top", keep_top, "a board with a ttl keeps all players: take away one of the two")

    def _wrong(self, field: str, value: object, allowed: str) -> InvalidBoard:
        meaning = FIELDS.get(field) or WINDOW_FIELDS.get(field.rpartition(".")[2]) or f"a table of {', '.join(WINDOW_FIELDS)}"
        return InvalidBoard(f"board {brief(self.name)}: {field} = {brief(value)} cannot be used; {allowed}. {field} is {meaning}")

    def _checked(self, field: str, value: Any, check: Callable[[Any], T]) -> T:
        try:
            return check(value)
        except ValueError as exc:
            raise self._wrong(field, value, str(exc)) from None

    def _check_types(self) -> None:
        for field, expected in TYPES.items():
            self._checked(field, getattr(self, field), partial(check_type, expected))
        for field in ("segments", "also", "resets"):
            # Lists of its own: a caller's may change, and may be a tuple.
            force_setattr(self, field, list(getattr(self, field)))
        for field, choices in CHOICES.items():
            if getattr(self, field) not in choices:
                raise self._wrong(field, getattr(self, field), f"allowed: {', '.join(choices)}")

    def _check_names(self) -> None:
        form = "allowed: letters, digits, '_', '-', '.', at most 64, a letter or digit first"
        if not _NAME.fullmatch(self.name):
            raise self._wrong("name", self.name, form)
        if len(self.segments) > MAX_SEGMENTS or len(set(self.segments)) < len(self.segments):
            raise self._wrong("segments", self.segments, f"at most {MAX_SEGMENTS}, each once")
        for segment in self.segments:
            if not _SEGMENT.fullmatch(segment):
                raise self._wrong("segments", segment, "allowed: lower-case letters, digits and '_', at most 32, a letter first")
        if len(self.also) > MAX_ALSO or len(set(self.also)) < len(self.also) or self.name in self.also:
            raise self._wrong("also", self.also, f"at most {MAX_ALSO} other boards, each once")
        for other in self.also:
            if not _NAME.fullmatch(other):
                raise self._wrong("also", other, form)

    def _check_rollup(self) -> None:
        given = msgspec.structs.asdict(self.rollup) if isinstance(self.rollup, Rollup) else self.rollup
        rollup = self._checked("rollup", given, partial(rollup_from, self.name))
        force_setattr(self, "rollup", rollup)
        for field in ("segments", "also", "min_score", "max_score", "decay", "inactivity", "resets"):
            if getattr(self, field):
                raise self._wrong(field, getattr(self, field), "a roll-up has none")
        if self.operator != "best":
            raise self._wrong("operator", self.operator, "a roll-up has an aggregate in its place")
        window = self.periods.get(rollup.into)
        if list(self.periods) != [rollup.into] or window is None or window.ttl is not None:
            raise self._wrong("windows", list(self.periods), f"a roll-up has the window of into, {rollup.into}, alone, and without a ttl")

    def _check_inactivity(self) -> None:
        given = msgspec.structs.asdict(self.inactivity) if isinstance(self.inactivity, Inactivity) else self.inactivity
        force_setattr(self, "inactivity", rule := self._checked("inactivity", given, inactivity_from))
        if self.operator not in ("last", "sum") or self.order != "desc" or self.decay or self.also or list(self.periods) != ["all_time"]:
            allowed = "it is for last and sum boards of high scores with the window all_time alone, without decay and also"
            raise self._wrong("inactivity", given, allowed)
        for value in (rule.lose, rule.floor or 0):
            self._bound("inactivity", value)

    def _canonical_windows(self) -> list[str] | dict[str, Window]:
        """One form for each set of windows, so that equal definitions are equal boards: names if all are plain, or a table."""
        given: Any = self.windows
        if not isinstance(given, Mapping | list | tuple):
            raise self._wrong("windows", given, "give a list or a table")
        if not given:
            raise self._wrong("windows", given, "a board has at least one window")
        for name in given:
            if name not in _WINDOWS:
                raise self._wrong("windows", given, f"{brief(name)} is no window; allowed: {', '.join(_WINDOWS)}")
        if len(set(given)) < len(given):
            raise self._wrong("windows", given, "give each window once")
        table = given if isinstance(given, Mapping) else dict.fromkeys(given, Window())
        windows = {name: self._window(name, window) for name, window in table.items()}
        return list(windows) if all(window == Window() for window in windows.values()) else windows

    def _window(self, name: str, given: object) -> Window:
        fields = msgspec.structs.asdict(given) if isinstance(given, Window) else given
        if not isinstance(fields, Mapping):
            raise self._wrong(f"windows.{name}", given, "give a table")
        for field, value in fields.items():
            if field not in WINDOW_FIELDS:
                allowed = ", ".join(WINDOW_FIELDS)
                raise InvalidBoard(f"board {self.name!r}: unknown field {brief(field)} in windows.{name}; allowed: {allowed}")
            if field != "archive":
                self._checked(f"windows.{name}.{field}", value, partial(check_type, "str | null"))
        window = Window(**fields)
        self._check_window(f"windows.{name}", window)
        return window

    def _check_window(self, place: str, window: Window) -> None:
        archive: object = window.archive
        if archive != "all" and not (type(archive) is int and 0 <= archive <= MAX_ARCHIVE):
            raise self._wrong(f"{place}.archive", archive, f"allowed: 0 to {MAX_ARCHIVE}, or 'all'")
        if window.ttl is not None:
            self._checked(f"{place}.ttl", window.ttl, duration_ms)
        if window.snapshot is not None:
            self._checked(f"{place}.snapshot", window.snapshot, check_schedule)
        if window.key is not None:
            self._checked(f"{place}.key", window.key, partial(check_template, _KEY_FIELDS))
        if window.segment_key is not None:
            self._checked(f"{place}.segment_key", window.segment_key, partial(check_template, _SEGMENT_KEY_FIELDS))
        if place == "windows.season":
            self._check_season(window)
            return
        for field in ("start", "end", "cron"):
            if getattr(window, field) is not None:
                raise self._wrong(f"{place}.{field}", getattr(window, field), "only a season has it")

    def _check_season(self, window: Window) -> None:
        if (window.cron is None) == (window.start is None) or (window.start is None) != (window.end is None):
            raise self._wrong("windows.season", msgspec.to_builtins(window), "give start and end, or cron")
        if window.cron is not None:
            self._checked("windows.season.cron", window.cron, check_cron)
            return
        start, end = self._season_moment("start", window.start), self._season_moment("end", window.end)
        # In UTC: two times of one zone are compared by what its clocks show, though these may have been put back.
        if start.astimezone(UTC) >= end.astimezone(UTC):
            raise self._wrong("windows.season.end", window.end, f"it must be later than start = {window.start!r}")

    def _season_moment(self, field: str, text: str | None) -> datetime:
        return self._checked(f"windows.season.{field}", text, partial(season_moment, self.zone))

    @cached_property
    def periods(self) -> dict[str, Window]:
        """The windows by name, in the order given; the first is the one that answers speak of."""
        if isinstance(self.windows, Mapping):
            return {str(name): window for name, window in self.windows.items()}
        return {str(name): Window() for name in self.windows}

    @cached_property
    def first_window(self) -> str:
        """The window that an answer speaks of where none is named."""
        return next(iter(self.periods))

    @cached_property
    def season(self) -> tuple[datetime, datetime] | None:
        """Start and end of an explicit season."""
        window = self.periods.get("season")
        if window is None or window.start is None or window.end is None:
            return None
        return self._season_moment("start", window.start), self._season_moment("end", window.end)

    @cached_property
    def zone(self) -> ZoneInfo:
        """The board's time zone."""
        return ZoneInfo(self.timezone)

    @cached_property
    def grace_ms(self) -> int:
        """How long after its end a window takes late scores."""
        return duration_ms(self.grace)

    @cached_property
    def resolution_ms(self) -> int:
        """The step to which times are cut before anything compares them."""
        return duration_ms(self.resolution)

    @cached_property
    def movement_ms(self) -> int | None:
        """How long ago the ranks were against which movement is told; None: it is not told, or against the window before."""
        return None if self.movement in (None, "previous_window") else duration_ms(str(self.movement))

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """The moments of the resets, at which windows are cut."""
        return self._checked("resets", self.resets, reset_moments)

    @cached_property
    def half_life(self) -> HalfLife | None:
        """How scores decay; where they do, engines keep levels in the place of scores."""
        return None if self.decay is None else HalfLife(duration_ms(self.decay.half_life))

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest score, as stored. Where only the highest is given, the lowest is as far on the other side of zero."""
        high = MAX_SCORE if self.max_score is None else self._bound("max_score", self.max_score)
        if self.min_score is not None:
            return self._bound("min_score", self.min_score), high
        if self.decay is not None:
            return 0, high
        return -high if high > 0 else -MAX_SCORE, high

    def points(self, value: int | float) -> int:
        """The integer that stands for a number of the definition."""
        return self.stored(value if isinstance(value, int) else Decimal(repr(value)))

    def _bound(self, field: str, value: int | float) -> int:
        try:
            return self.points(value)
        except InvalidScore as exc:
            raise self._wrong(field, value, str(exc)) from None

    def stored(self, score: int | Decimal, field: str = "score") -> int:
        """The integer that stands for a score: 10.50 is 1050 on a board with two decimals. Errors speak of `field`."""
        if isinstance(score, int):
            number = score * int(10**self.decimals)
        elif not score.is_finite():
            raise InvalidScore(f"{field} = {score} is not a score: write a finite number")
        elif score and score.adjusted() > 16:
            # Before it becomes an integer: a huge exponent would make a huge one.
            raise InvalidScore(f"{field} = {brief(score, str)} is outside ±(2^53 − 1)")
        else:
            scaled = score.scaleb(self.decimals, _EXACT)
            whole = scaled.to_integral_value(context=_EXACT)
            if scaled != whole:
                digits = f"{self.decimals} decimals" if self.decimals else "whole numbers"
                raise InvalidScore(f"{field} = {brief(score, str)} has too many decimals: board {self.name!r} takes {digits}")
            number = int(whole)
        if not -MAX_SCORE <= number <= MAX_SCORE:
            raise InvalidScore(f"{field} = {brief(score, str)} is outside ±(2^53 − 1){' after scaling' if self.decimals else ''}")
        return number

    def shown(self, number: int) -> Score:
        """The score that a stored integer stands for."""
        return Decimal(number).scaleb(-self.decimals, _EXACT) if self.decimals else number

    def same_meaning(self, other: Board) -> bool:
        """Whether rankings made for one definition are right for the other."""
        return self._same(other, MEANING)

    def same_states(self, other: Board) -> bool:
        """Whether events make the same states by one definition and by the other."""
        return self._same(other, STATES)

    def _same(self, other: Board, fields: tuple[str, ...]) -> bool:
        if any(getattr(self, field) != getattr(other, field) for field in fields):
            return False
        calendar = [(name, w.start, w.end, w.cron) for name, w in self.periods.items()]
        return calendar == [(name, w.start, w.end, w.cron) for name, w in other.periods.items()]

    def same_definition(self, other: Board) -> bool:
        """Whether nothing differs, the order of the windows included."""
        return self == other and list(self.periods) == list(other.periods)

    def to_dict(self) -> dict[str, Any]:
        """The definition as plain data, as `board_from_dict` takes it."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def board_from_dict(data: object) -> Board:
    """A board from plain data (TOML, JSON), or InvalidBoard that names the field, its meaning and what is allowed.

    >>> board_from_dict({"name": "xp", "operator": "total"})
    Traceback (most recent call last):
    ...
    keepscore.errors.InvalidBoard: board 'xp': operator = 'total' cannot be used; allowed: best, sum, last, first. ...
    """
    if not isinstance(data, Mapping):
        raise InvalidBoard(f"a board is a table of fields, not {type(data).__name__}")
    if "name" not in data:
        raise InvalidBoard(f"a board needs a name. name is {FIELDS['name']}")
    for field in data:
        if field not in FIELDS:
            raise InvalidBoard(f"board {brief(data['name'])}: unknown field {brief(field)}; allowed: {', '.join(FIELDS)}")
    return Board(**data)
