"""Durations as people write them: ``1ms``, ``30s``, ``10m``, ``48h``, ``7d``, ``8w``. Inside, all are milliseconds, and so are moments."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["duration_ms", "time_of"]

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def duration_ms(text: str) -> int:
    """Milliseconds of a duration; a ValueError that says how to write one where it is not one.

    >>> duration_ms("48h")
    172800000
    """
    found = re.fullmatch(r"(\d{1,9})(ms|s|m|h|d|w)", text)
    if found is None:
        raise ValueError(f"{text!r} is not a duration: write a whole number and one of {', '.join(_UNITS)}, such as '48h'")
    return int(found[1]) * _UNITS[found[2]]


def time_of(moment: int) -> datetime:
    """A moment, in milliseconds since 1970, as people write times."""
    return datetime.fromtimestamp(moment / 1000, UTC)
