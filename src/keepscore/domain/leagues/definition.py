"""The field `league` of a board: its tiers, how large cohorts are, and how many of each are promoted and demoted. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, NamedTuple

import msgspec

from keepscore.domain.board_fields import BOUNDS, COHORT_FIELDS, LEAGUE_FIELDS

__all__ = ["COHORT", "CohortRule", "Cuts", "League", "Zone", "league_from"]

#: The segment of cohorts, which boards with a league have beside their own.
COHORT = "cohort"
#: Where a player of a cohort stands.
Zone = Literal["promotion", "safe", "demotion"]
#: What becomes of players without a score in a window.
Idle = Literal["stay", "demote"]
#: Characters that names of tiers do not have: labels of cohorts and segments are made of them.
_RESERVED = frozenset("-:,+%")
#: Characters of a name of a tier.
MAX_TIER_NAME = 32
#: Players of the smallest cohort that is left alone, unless the board says otherwise.
DEFAULT_MIN = 8


class CohortRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How large cohorts are, and who is put together."""

    target: int = 30
    min: int = DEFAULT_MIN
    by: Literal["arrival", "activity"] = "arrival"


class Cuts(NamedTuple):
    """How many of the first of a cohort go up, and how many of the last go down."""

    up: int
    down: int

    def zone(self, rank: int, size: int) -> Zone:
        """Return the zone of a rank among so many players."""
        return "promotion" if rank <= self.up else "demotion" if rank > size - self.down else "safe"


class League(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The league of a board. Tiers come from the lowest to the highest; `promote` and `demote` have a number for each step between two."""

    tiers: list[str]
    promote: list[int | float | str]
    demote: list[int | float | str] = []
    cohort: CohortRule = CohortRule()
    idle: Idle = "stay"
    window: str = ""

    def place(self, tier: str) -> int:
        """Return the place of a tier; of one that the league no longer has, the lowest."""
        return self.tiers.index(tier) if tier in self.tiers else 0

    def moved(self, tier: str, steps: int) -> str:
        """Return the tier so many steps above (below: negative), as far as there is one."""
        return self.tiers[min(max(self.place(tier) + steps, 0), len(self.tiers) - 1)]

    def cuts(self, tier: str, size: int) -> Cuts:
        """Return how many of a cohort with so many ranked players go up and down. Who goes up does not go down.

        >>> league_from(["weekly"], {"tiers": ["bronze", "silver"], "promote": [2], "demote": ["50%"]}).cuts("silver", 5)
        Cuts(up=0, down=2)
        """
        place = self.place(tier)
        up = min(_seats(self.promote[place], size), size) if place < len(self.tiers) - 1 else 0
        down = min(_seats(self.demote[place - 1], size), size - up) if place else 0
        return Cuts(up, down)


def league_from(windows: list[str], data: Any) -> League:
    """Read the league of a board with these windows from a table, or raise a ValueError that says what is allowed."""
    given = msgspec.to_builtins(data) if isinstance(data, League) else data
    if not isinstance(given, Mapping) or not {"tiers", "promote"} <= set(given) <= set(LEAGUE_FIELDS):
        raise ValueError(f"give a table with tiers and promote; allowed: {', '.join(LEAGUE_FIELDS)}")
    cohort = given.get("cohort", {})
    if not isinstance(cohort, Mapping) or not set(cohort) <= set(COHORT_FIELDS):
        raise ValueError(f"cohort is a table of {', '.join(COHORT_FIELDS)}")
    try:
        league = msgspec.convert({**given, "cohort": dict(cohort)}, League)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from None
    _check_tiers(league.tiers)
    if "min" not in cohort:
        league = msgspec.structs.replace(league, cohort=msgspec.structs.replace(league.cohort, min=min(DEFAULT_MIN, league.cohort.target)))
    _check_cohort(league.cohort)
    steps = len(league.tiers) - 1
    demote = league.demote or [0] * steps
    for field, numbers in (("promote", league.promote), ("demote", demote)):
        if len(numbers) != steps:
            raise ValueError(f"{field} has {len(numbers)} numbers: give {steps}, one for each step between {len(league.tiers)} tiers")
    promote, demote = ([_number(field, one) for one in found] for field, found in (("promote", league.promote), ("demote", demote)))
    found = msgspec.structs.replace(league, promote=promote, demote=demote, window=_window(windows, league.window))
    for tier in found.tiers:
        _check_room(found, tier)
    return found


def _check_tiers(tiers: list[str]) -> None:
    bounds = BOUNDS["League.tiers"]
    if len(tiers) not in bounds or len(set(tiers)) < len(tiers):
        raise ValueError(f"tiers = {tiers[:20]}: give {bounds} different names, the lowest first")
    for name in tiers:
        if not 0 < len(name) <= MAX_TIER_NAME or not name.isprintable() or name != name.strip() or not _RESERVED.isdisjoint(name):
            reserved = " ".join(sorted(_RESERVED))
            raise ValueError(f"tier {name[:40]!r}: allowed are 1 to {MAX_TIER_NAME} printable characters, but {reserved}")


def _check_cohort(cohort: CohortRule) -> None:
    if cohort.target not in BOUNDS["Cohort.target"]:
        raise ValueError(f"cohort.target = {cohort.target}: allowed is {BOUNDS['Cohort.target']}")
    if not 1 <= cohort.min <= cohort.target:
        raise ValueError(f"cohort.min = {cohort.min}: allowed is 1 to target, {cohort.target}")


def _window(windows: list[str], window: str) -> str:
    closing = [name for name in windows if name != "all_time"]
    if not closing:
        raise ValueError("the board has no window that closes: add one, such as 'weekly', to windows")
    if window and window not in closing:
        raise ValueError(f"window = {window[:40]!r} is not a window of the board that closes: it has {', '.join(closing)}")
    return window or closing[0]


def _check_room(league: League, tier: str) -> None:
    """Refuse numbers that reach more players than a full cohort has."""
    place, target = league.place(tier), league.cohort.target
    up = _seats(league.promote[place], target) if place < len(league.tiers) - 1 else 0
    down = _seats(league.demote[place - 1], target) if place else 0
    if up + down > target:
        raise ValueError(
            f"of {target} players in {tier!r}, {up} would go up and {down} down: give smaller numbers, or a larger cohort.target"
        )


def _number(field: str, given: int | float | str) -> int | float | str:
    """Return one form of a count, or of a share, which stays a number below 1 or a text such as '20%'."""
    wrong = f"{field} = {str(given)[:40]!r}: give a count such as 10, a share below 1 such as 0.2, or '20%'"
    if isinstance(given, bool):
        raise ValueError(wrong)
    if isinstance(given, str):
        share = _percent(given)
        if share is None or not 0 <= share <= 1:
            raise ValueError(wrong)
        return given
    if isinstance(given, float) and not given.is_integer():
        if not 0 < given < 1:
            raise ValueError(wrong)
        return given
    if not 0 <= given <= BOUNDS["Cohort.target"].most:
        raise ValueError(wrong)
    return int(given)


def _percent(text: str) -> Decimal | None:
    if not text.endswith("%") or len(text) > 12 or not text.isascii():
        return None
    try:
        found = Decimal(text[:-1]) / 100
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _seats(given: int | float | str, size: int) -> int:
    """Return how many of so many players a number stands for. A share is rounded down."""
    if isinstance(given, int):
        return given
    share = _percent(given) if isinstance(given, str) else Decimal(repr(given))
    assert share is not None, "it is checked"
    return math.floor(share * size)
