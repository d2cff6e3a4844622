"""Board definitions: what is ranked, how scores combine, how ties break, which windows and segments there are.

A definition is immutable and complete: whatever was left out has its default. It says nothing of where it is stored or who
serves it. `Board("global")` is a board; everything else is optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import cached_property, partial
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from keepscore.domain.board_checks import FOREVER_KEPT, brief, reset_moments, season_moment
from keepscore.domain.board_fields import (
    DECAY_FIELDS,
    FIELDS,
    WINDOW_FIELDS,
    Consistency,
    Late,
    Operator,
    RankedBy,
    RankKind,
    ReadAccess,
    SortOrder,
    SubmitAccess,
    Ties,
    Transfers,
    Weekday,
    WindowName,
)
from keepscore.domain.board_parts import Decay, Window
from keepscore.domain.board_validation import check_board, checked, wrong
from keepscore.domain.decay import HalfLife
from keepscore.domain.durations import duration_ms
from keepscore.domain.inactivity import Inactivity
from keepscore.domain.leagues.definition import League
from keepscore.domain.prizes import Prize, RewardRanges, reward_ranges
from keepscore.domain.ratings.definition import Rating
from keepscore.domain.ratings.strength import Idleness
from keepscore.domain.rollups import Rollup
from keepscore.domain.rules import RuleLimits, Rules, limits_of
from keepscore.domain.segments import Slicing, slicing_of
from keepscore.domain.team_definition import TEAM, TEAMS_SUFFIX
from keepscore.domain.tiers import Tier
from keepscore.errors import InvalidBoard, InvalidScore

__all__ = [
    "DECAY_FIELDS",
    "FIELDS",
    "MAX_SCORE",
    "MEANING",
    "WINDOW_FIELDS",
    "Board",
    "Decay",
    "Operator",
    "RankKind",
    "Score",
    "SortOrder",
    "Ties",
    "Weekday",
    "Window",
    "WindowName",
    "board_from_dict",
]

Score = int | Decimal

#: The largest score, and the negative of the smallest: what a double holds exactly.
MAX_SCORE = 2**53 - 1

#: How long after its end the ranking of an archived window is kept where the board says nothing: 8 days, in milliseconds.
ARCHIVED_MS = 8 * 86_400_000

#: Fields whose change alters what the rankings show, so that they are rebuilt from the ledger.
MEANING = (
    *("operator", "order", "ties", "resolution", "timezone", "week_start", "segments", "decay", "rollup", "resets", "keep_top"),
    *("by", "members", "transfers"),
)

#: Those of them that change states, and not only their order, or their names.
STATES = tuple(field for field in MEANING if field not in ("ties", "resets", "keep_top"))

#: Moves a decimal point without rounding, whatever the caller's own decimal context is.
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)

_ALL_TIME: list[WindowName] = ["all_time"]


class Board(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """The definition of a board. Whoever makes it, it is checked, and `windows` is a list where all of them are plain.

    >>> Board("global").operator
    'best'
    >>> Board("laps", order="asc", decimals=3, windows=["daily", "all_time"]).to_dict()["windows"]
    ['daily', 'all_time']
    """

    name: str
    operator: Operator = "best"
    order: SortOrder = "desc"
    increments: bool = False
    decimals: int = 0
    ties: Ties = "first"
    rank: RankKind = "unique"
    resolution: str = "1ms"
    windows: list[WindowName] | dict[WindowName, Window] = msgspec.field(default_factory=lambda: _ALL_TIME)
    timezone: str = "UTC"
    week_start: Weekday = "monday"
    segments: list[Any] = []
    min_score: int | float | None = None
    max_score: int | float | None = None
    decay: Decay | None = None
    grace: str = "1h"
    late: Late = "refuse"
    consistency: Consistency = "eventual"
    read: ReadAccess = "key"
    cdn_top: str = "60s"
    cdn_rank: str = "10s"
    submit: SubmitAccess = "auto"
    also: list[str] = []
    movement: str | None = None
    inactivity: Inactivity | None = None
    rollup: Rollup | None = None
    rating: Rating | None = None
    tiers: list[Tier] = []
    league: League | None = None
    rules: Rules | None = None
    prize: Prize | None = None
    by: RankedBy = "player"
    members: str | dict[str, int] | None = None
    transfers: Transfers | None = None
    resets: list[str] = []
    keep_top: int | None = None
    following: bool = False

    def __post_init__(self) -> None:
        check_board(self)

    # -- what callers ask -----------------------------------------------------------------------------------------------

    @property
    def is_ordered(self) -> bool:
        """Whether the order of a player's events matters."""
        return self.operator in ("last", "first") and self.teams_of is None

    @property
    def adds_up(self) -> bool:
        """Whether amounts add to the score that there is."""
        return self.operator in ("sum", "last")

    @property
    def takes_increments(self) -> bool:
        """Whether an amount may be sent in the place of a score."""
        return self.adds_up or self.increments

    @property
    def resolves_increments(self) -> bool:
        """Whether an amount is recorded as the score that it makes: the best so far and the amount."""
        return self.operator == "best"

    @property
    def takes_corrections(self) -> bool:
        """Whether a score that is sent is a correction: the difference to the score that there is."""
        return self.operator == "sum"

    @property
    def has_bounds(self) -> bool:
        """Whether scores have to stay within bounds of the board's own."""
        return (self.min_score, self.max_score) != (None, None)

    @property
    def is_partial(self) -> bool:
        """Whether the engine keeps only the first players of each ranking."""
        return self.keep_top is not None

    @property
    def is_rollup(self) -> bool:
        """Whether it is made from the windows of other boards, and takes no scores of its own."""
        return self.rollup is not None or self.teams_of is not None

    @property
    def made_from(self) -> list[str]:
        """The boards that a roll-up is made from; none for any other board."""
        return [self.teams_of] if self.teams_of is not None else [] if self.rollup is None else self.rollup.of

    @property
    def teams_of(self) -> str | None:
        """The board whose teams it holds; None: it holds players."""
        return self.name.removesuffix(TEAMS_SUFFIX) if self.name.endswith(TEAMS_SUFFIX) else None

    @property
    def ranks_teams(self) -> bool:
        """Whether it takes scores of players and shows teams, which are on a board beside it."""
        return self.by == "team" and self.teams_of is None

    def needs_current_score(self, kind: str) -> bool:
        """Return whether what a submission of a kind records depends on the score that there is."""
        if kind == "match":
            return True
        return self.takes_corrections if kind == "score" else self.resolves_increments

    # -- what is derived ------------------------------------------------------------------------------------------------

    @cached_property
    def periods(self) -> dict[str, Window]:
        """The windows by name, in the order given; the first is the one that answers speak of."""
        if isinstance(self.windows, Mapping):
            return {str(name): window for name, window in self.windows.items()}
        return {str(name): Window() for name in self.windows}

    @cached_property
    def slicing(self) -> Slicing:
        """Where the values of its segments come from, and which slices there are."""
        return slicing_of(self.segments, TEAM if self.ranks_teams else None, self.transfers == "follow")

    @cached_property
    def ttls_ms(self) -> dict[str, int]:
        """How long rankings are kept after their last score, by window, where the board says so."""
        return {
            name: duration_ms(str(window.ttl))
            for name, window in self.periods.items()
            if window.ttl not in (None, FOREVER_KEPT) and not self._is_kept_from_end(window)
        }

    @cached_property
    def archived_ms(self) -> dict[str, int]:
        """How long after their end rankings of archived windows are kept, by window; those that are not here have a `ttl`, or stay."""
        return {
            name: ARCHIVED_MS if window.ttl is None else duration_ms(window.ttl)
            for name, window in self.periods.items()
            if window.ttl is None or (window.ttl != FOREVER_KEPT and self._is_kept_from_end(window))
        }

    def _is_kept_from_end(self, window: Window) -> bool:
        """Whether a `ttl` counts from the window's end: a roll-up has no scores of its own, and a live key never expires."""
        return self.is_rollup or window.is_renamed

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
        return self.season_moment("start", window.start), self.season_moment("end", window.end)

    def season_moment(self, field: str, text: str | None) -> datetime:
        """Return the moment that `start` or `end` of a season names."""
        return checked(self, f"windows.season.{field}", text, partial(season_moment, self.zone))

    @property
    def takes_players(self) -> bool:
        """Whether player tokens may write to it."""
        return self.submit == "players" or (self.submit == "auto" and self.consistency != "strong")

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
        """How far back movement is measured; None: not at all, or against the previous window."""
        return None if self.movement in (None, "previous_window") else duration_ms(str(self.movement))

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """The moments of the resets, at which windows are cut."""
        return checked(self, "resets", self.resets, reset_moments)

    @cached_property
    def half_life(self) -> HalfLife | None:
        """How scores decay; where they do, engines keep levels in the place of scores."""
        return None if self.decay is None else HalfLife(duration_ms(self.decay.half_life))

    @cached_property
    def idleness(self) -> Idleness | None:
        """How ratings become less certain with time; where they do, engines keep levels in the place of ratings."""
        return Idleness(self.rating, int(10**self.decimals)) if self.rating is not None and self.rating.has_deviations else None

    @property
    def aging(self) -> HalfLife | Idleness | None:
        """How what is shown of a stored number changes with time; None: not at all."""
        return self.half_life or self.idleness

    @cached_property
    def limits(self) -> RuleLimits | None:
        """The rules, ready to be checked."""
        return None if self.rules is None else checked(self, "rules", self.rules, partial(limits_of, self))

    @cached_property
    def rewards(self) -> RewardRanges:
        """What ranks of a window get, if it has a prize."""
        return RewardRanges((), ()) if self.prize is None else reward_ranges(self.prize)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest score, as stored. Where only the highest is given, the lowest is as far on the other side of zero."""
        high = MAX_SCORE if self.max_score is None else self.bound("max_score", self.max_score)
        if self.min_score is not None:
            return self.bound("min_score", self.min_score), high
        if self.decay is not None:
            return 0, high
        return -high if high > 0 else -MAX_SCORE, high

    def points(self, value: int | float) -> int:
        """Return the integer that stands for a number of the definition."""
        return self.stored(value if isinstance(value, int) else Decimal(repr(value)))

    def bound(self, field: str, value: int | float) -> int:
        """Return the same for a number that a field has, or raise the error for that field."""
        try:
            return self.points(value)
        except InvalidScore as exc:
            raise wrong(self, field, value, str(exc)) from None

    def stored(self, score: int | Decimal, field: str = "score") -> int:
        """Return the integer that stands for a score: 10.50 is 1050 on a board with two decimals. Errors speak of `field`."""
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
        """Return the score that a stored integer stands for."""
        return Decimal(number).scaleb(-self.decimals, _EXACT) if self.decimals else number

    def same_meaning(self, other: Board) -> bool:
        """Return whether rankings made for one definition are right for the other."""
        return self._same(other, MEANING)

    def same_states(self, other: Board) -> bool:
        """Return whether events make the same states by one definition and by the other."""
        return self._same(other, STATES)

    def _same(self, other: Board, fields: tuple[str, ...]) -> bool:
        if any(getattr(self, field) != getattr(other, field) for field in fields):
            return False
        calendar = [(name, w.start, w.end, w.cron) for name, w in self.periods.items()]
        return calendar == [(name, w.start, w.end, w.cron) for name, w in other.periods.items()]

    def same_definition(self, other: Board) -> bool:
        """Return whether nothing differs, the order of the windows included."""
        return self == other and list(self.periods) == list(other.periods)

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as plain data, as `board_from_dict` takes it."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def board_from_dict(data: object) -> Board:
    """Build a board from plain data (TOML, JSON), or raise InvalidBoard with the field, its meaning and what is allowed.

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
