"""The rules of a board: what a submission may bring, and how often. How they are written, and what they say. Pure.

`rule_checks` says whether a submission breaks one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import msgspec

from keepscore.domain.anomalies import Anomalies
from keepscore.domain.board_fields import BOUNDS, RATE_PATTERN, RULE_FIELDS, FieldBounds, WindowName
from keepscore.domain.durations import duration_ms
from keepscore.errors import InvalidScore

if TYPE_CHECKING:
    from keepscore.domain.boards import Board

__all__ = ["HOLDING", "Limit", "RuleLimits", "Rules", "limits_of", "rules_from"]

#: The shortest time that a rule counts in (milliseconds).
MIN_TIME_MS = 1000

Required = Literal["game_id"]
#: What happens to a submission that breaks a rule.
OnBreak = Literal["refuse", "quarantine"]
#: The rules whose breaches can be put in quarantine. A missing or used game is always refused, and so are too many attempts.
HOLDING = ("max_increase", "max_submissions", "score_per_second", "builds", "max_score", "min_score")
#: A rate such as `10/1h`, or most counts by the names of windows.
Counts = str | dict[str, int]

_RATE = re.compile(RATE_PATTERN, re.ASCII)
_WINDOWS: tuple[str, ...] = get_args(WindowName)
#: How many values lists may have.
_LISTS = dict.fromkeys(("max_increase", "max_submissions", "max_attempts"), FieldBounds(1, 8))
_LISTS |= {"require": BOUNDS["Rules.require"], "builds": BOUNDS["Rules.builds"]}


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What a board demands of submissions beside its bounds. All fields are optional."""

    max_increase: int | float | str | list[int | float | str] | None = None
    max_submissions: Counts | list[Counts] | None = None
    max_attempts: Counts | list[Counts] | None = None
    score_per_second: int | float | None = None
    require: list[Required] = []
    builds: list[str] = []
    max_score: int | float | None = None
    min_score: int | float | None = None
    on_break: OnBreak | dict[str, OnBreak] = "refuse"
    anomalies: Literal["flag", "quarantine"] | Anomalies | None = None


class Limit(NamedTuple):
    """At most so much: in some milliseconds, in one window of the calendar, or, with neither, in one submission."""

    most: int
    #: As the definition has it, for messages.
    text: str
    ms: int | None = None
    window: str | None = None


class RuleLimits(NamedTuple):
    """The rules of a board, ready to be checked. Numbers are as stored."""

    increase: tuple[Limit, ...]
    submissions: tuple[Limit, ...]
    attempts: tuple[Limit, ...]
    #: Points in a second.
    per_second: Fraction | None
    #: Whether each game of a player counts once.
    once_a_game: bool
    builds: tuple[str, ...]
    #: What one submission may bring.
    scores: tuple[int | None, int | None] = (None, None)
    #: The rules whose breaches are put in quarantine.
    holding: frozenset[str] = frozenset()
    #: What is doubted, though it breaks no rule.
    anomalies: Anomalies | None = None

    @property
    def needs_events(self) -> bool:
        """Whether they go by what a player has sent before."""
        is_watched = self.anomalies is not None and bool(self.anomalies.own or self.anomalies.top)
        return bool(self.increase or self.submissions or self.attempts or self.once_a_game or is_watched)


def rules_from(data: Any) -> Rules | None:
    """Read rules from a table, or raise a ValueError that says what is allowed. Without any rule there is none.

    >>> rules_from({"max_submissions": {"daily": 10}}).max_submissions, rules_from({"builds": []})
    ({'daily': 10}, None)
    """
    if not isinstance(data, Mapping) or not set(data) <= set(RULE_FIELDS):
        raise ValueError(f"give a table; allowed: {', '.join(RULE_FIELDS)}")
    try:
        found = msgspec.convert({name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}, Rules)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from None
    for field, bounds in _LISTS.items():
        value = getattr(found, field)
        if isinstance(value, list) and len(value) not in bounds:
            raise ValueError(f"{field}: allowed are {bounds} values")
    if any(not 0 < len(pattern) <= 128 for pattern in found.builds):
        raise ValueError("builds: allowed are patterns of 1 to 128 characters, such as '1.4.*'")
    if isinstance(found.on_break, dict) and not set(found.on_break) <= set(HOLDING):
        raise ValueError(f"on_break: allowed rules are {', '.join(HOLDING)}; the others always refuse")
    return None if msgspec.structs.replace(found, on_break="refuse") == Rules() else found


def limits_of(board: Board, rules: Rules) -> RuleLimits:
    """Return what rules say on a board, or raise a ValueError that says what is wrong with them."""
    increases = tuple(_increase(board, value) for value in _listed(rules.max_increase))
    if increases and board.operator == "first":
        raise ValueError("max_increase: a first board takes one score, which never gets better")
    submissions, attempts = (
        tuple(limit for value in _listed(getattr(rules, field)) for limit in _counts(board, field, value))
        for field in ("max_submissions", "max_attempts")
    )
    rate = rules.score_per_second
    if rate is not None and not 0 < rate < float("inf"):
        raise ValueError("score_per_second: a number above 0")
    per_second = None if rate is None else Fraction(repr(rate)) * 10**board.decimals
    scores = _score(board, "min_score", rules.min_score), _score(board, "max_score", rules.max_score)
    low, high = scores
    if low is not None and high is not None and low > high:
        raise ValueError("min_score: at most max_score")
    asked = rules.on_break if isinstance(rules.on_break, dict) else dict.fromkeys(HOLDING, rules.on_break)
    holding = frozenset(rule for rule, what in asked.items() if what == "quarantine")
    return RuleLimits(
        increases, submissions, attempts, per_second, "game_id" in rules.require, tuple(rules.builds), scores, holding, _watched(rules)
    )


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _watched(rules: Rules) -> Anomalies | None:
    found = Anomalies(action=rules.anomalies) if isinstance(rules.anomalies, str) else rules.anomalies
    if found is None:
        return None
    for field, most in (("own", 1000), ("board", 1000), ("top", 1000), ("accounts", 1000)):
        if not 0 <= getattr(found, field) <= most:
            raise ValueError(f"anomalies.{field}: a number from 0 to {most}")
    return found


def _score(board: Board, field: str, value: int | float | None) -> int | None:
    try:
        return None if value is None else board.stored(Decimal(repr(value)), field)
    except InvalidScore as exc:
        raise ValueError(str(exc)) from None


def _increase(board: Board, value: int | float | str) -> Limit:
    number, ms = (Decimal(repr(value)), None) if not isinstance(value, str) else _rate("max_increase", value)
    try:
        most = board.stored(number, "max_increase")
    except InvalidScore as exc:
        raise ValueError(str(exc)) from None
    if most <= 0:
        raise ValueError("max_increase: a number above 0")
    return Limit(most, str(value), ms)


def _counts(board: Board, field: str, value: Counts) -> Iterator[Limit]:
    if isinstance(value, str):
        number, ms = _rate(field, value)
        if number != int(number) or number < 1:
            raise ValueError(f"{field} = {value!r}: a whole number above 0, and a time")
        yield Limit(int(number), value, ms)
        return
    for window, most in value.items():
        if window not in _WINDOWS or (window == "season" and "season" not in board.windows):
            raise ValueError(f"{field}: {window!r} is no window; allowed: {', '.join(_WINDOWS)}; season only where the board has one")
        if most < 1:
            raise ValueError(f"{field}.{window}: a whole number above 0")
        yield Limit(most, f"{most} {window}", window=window)


def _rate(field: str, text: str) -> tuple[Decimal, int]:
    """Read a number and a time, such as `5000/1h`."""
    found = _RATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{field} = {text[:40]!r} is no rate: write a number, a slash and a time, such as '5000/1h'")
    number, _, time = text.partition("/")
    if duration_ms(time) < MIN_TIME_MS:
        raise ValueError(f"{field} = {text!r}: the time is 1s or more")
    return Decimal(number), duration_ms(time)
