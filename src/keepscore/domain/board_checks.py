"""Checks of single values of a board's definition.

Each raises a ValueError that says what is allowed, as `duration_ms` does; `boards` adds the field, its value and its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from string import Formatter

from cronsim import CronSim, CronSimError

from keepscore.domain.board_fields import BOUNDS
from keepscore.domain.decay import MAX_HALF_LIFE, MIN_HALF_LIFE
from keepscore.domain.durations import duration_ms

__all__ = [
    "FOREVER_KEPT",
    "SCHEDULES",
    "brief",
    "check_cron",
    "check_movement",
    "check_schedule",
    "check_template",
    "check_ttl",
    "check_type",
    "half_life_of",
    "reset_moments",
    "season_moment",
]

#: Characters of a value that a message shows.
MAX_SHOWN_CHARS = 200
#: Years in which a season may start and end: from the first moment that is taken to before dates run out.
FIRST_YEAR, LAST_YEAR = 1970, 9990
#: Schedules that have a name, and the cron expression of each; a week begins when the board says so.
SCHEDULES = {"hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * {week_start}", "monthly": "0 0 1 * *"}

#: What a window's `ttl` says whose rankings never leave the engine.
FOREVER_KEPT = "forever"

#: The shortest time that movement can be measured against, in milliseconds.
MIN_MOVEMENT_MS = 60_000

#: The exact types only: a bool is no number, and subclasses (of numpy, say) do not come back from plain data as they were.
_TYPES: dict[str, Callable[[object], bool]] = {
    "str": lambda value: type(value) is str,
    "str | null": lambda value: value is None or type(value) is str,
    "bool": lambda value: type(value) is bool,
    "int": lambda value: type(value) is int,
    "int | null": lambda value: value is None or type(value) is int,
    "int | float | null": lambda value: value is None or type(value) in (int, float),
    "list of str": lambda value: isinstance(value, list | tuple) and all(type(item) is str for item in value),
}
#: Fields of a key template that are dates.
_DATES = ("start", "end")


def brief(value: object, write: Callable[[object], str] = repr) -> str:
    """Format a value for a message: whole where it is short, cut where it is long.

    >>> brief("eu"), brief(10**5000)
    ("'eu'", 'a huge int')
    """
    try:
        text = write(value)
    except (ValueError, RecursionError):
        # Python refuses to write integers of more than 4300 digits, alone or in a list, as that takes very long.
        return f"a huge {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"


def check_type(expected: str, value: object) -> None:
    """Check that a value is a `str`, `int`, ... as named in `_TYPES`."""
    if not _TYPES[expected](value):
        raise ValueError(f"expected `{expected}`, got `{type(value).__name__}`")


def check_movement(windows: list[str], movement: str) -> None:
    """Check that a movement is a duration that rankings can look back, or names the window before, where there is one."""
    if movement == "previous_window":
        if windows == ["all_time"]:
            raise ValueError("'previous_window' needs windows that end: all_time has no previous one")
        return
    try:
        short = duration_ms(movement) < MIN_MOVEMENT_MS
    except ValueError as exc:
        raise ValueError(f"{exc}, or 'previous_window'") from None
    if short:
        raise ValueError("allowed: '1m' or more, or 'previous_window'")


def check_template(fields: tuple[str, ...], template: str) -> None:
    """Check that a key template holds plain fields only: `{start.year}` would let a definition look into objects."""
    allowed = f"it may hold {', '.join('{' + field + '}' for field in fields)}"
    allowed += ", and dates with a format such as {start:%Y-%m-%d}" if "start" in fields else " and no dates: all windows share it"
    day = datetime(2026, 11, 15, tzinfo=UTC)
    sample = {field: day if field in _DATES else field for field in fields}
    try:
        for _, field, form, conversion in Formatter().parse(template):
            if field is None:
                continue
            # A format on a text could only pad it, and that to any length.
            formed_wrongly = form and (field not in _DATES or "{" in form)
            if field not in fields or conversion or formed_wrongly:
                raise ValueError(field)
        template.format(**sample).encode()
    except ValueError:
        raise ValueError(allowed) from None


def check_cron(cron: str) -> None:
    """Check that a cron expression has five fields and matches at some time."""
    example = "write five fields such as '0 0 1 */3 *'"
    if len(cron.split()) != 5:
        raise ValueError(example)
    try:
        first = next(CronSim(cron, datetime(2026, 1, 1)), None)
    except CronSimError as exc:
        raise ValueError(f"{exc}; {example}") from None
    except ValueError:
        # A number of thousands of digits.
        raise ValueError(example) from None
    if first is None:
        raise ValueError(f"it never occurs; {example}")


def check_schedule(schedule: str) -> None:
    """Check that something is `hourly`, `daily`, `weekly`, `monthly` or a cron expression."""
    if schedule not in SCHEDULES:
        try:
            check_cron(schedule)
        except ValueError as exc:
            raise ValueError(f"write {', '.join(SCHEDULES)}, or a cron expression: {exc}") from None


def check_ttl(ttl: str) -> None:
    """Check that a time to live is a duration, or `forever`."""
    if ttl != FOREVER_KEPT:
        try:
            duration_ms(ttl)
        except ValueError as exc:
            raise ValueError(f"{exc}, or 'forever'") from None


def half_life_of(operator: str, order: str, decay: object) -> str:
    """Return the half-life in a table that says how scores decay, for a board of that operator and order."""
    if not isinstance(decay, Mapping) or list(decay) != ["half_life"]:
        raise ValueError("give a table with half_life and nothing else")
    text: object = decay["half_life"]
    if type(text) is not str:
        raise ValueError(f"half_life: expected `str`, got `{type(text).__name__}`")
    if not MIN_HALF_LIFE <= duration_ms(text) <= MAX_HALF_LIFE:
        raise ValueError(f"half_life: allowed are 1h to {MAX_HALF_LIFE // 86_400_000}d")
    if operator == "first" or order == "asc":
        field, value = ("operator", operator) if operator == "first" else ("order", order)
        raise ValueError(f"it works with high scores and the operators best, sum and last, and this board has {field} = {value!r}")
    return text


def reset_moments(resets: Sequence[str]) -> tuple[int, ...]:
    """Return the moments of resets, in milliseconds."""
    try:
        times = [datetime.fromisoformat(text) for text in resets]
        moments = tuple(round(time.timestamp() * 1000) for time in times if time.tzinfo)
    except (ValueError, OverflowError):
        moments = ()
    if len(moments) < len(resets) or any(one >= other for one, other in pairwise(moments)) or len(moments) not in BOUNDS["Board.resets"]:
        raise ValueError(f"at most {BOUNDS['Board.resets'].most:,} times such as '2026-11-15T19:30:00.000Z', in order")
    return moments


def season_moment(zone: tzinfo, text: str) -> datetime:
    """Return the moment at which a season starts or ends, in the zone where the text has no offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("write a date such as '2026-11-01' or a time such as '2026-11-01T06:00+01:00'") from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"allowed: years {FIRST_YEAR} to {LAST_YEAR}")
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
