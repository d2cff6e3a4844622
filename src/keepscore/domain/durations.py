"""Durations as people write them: ``1ms``, ``30s``, ``10m``, ``48h``, ``7d``, ``8w``. Inside, all are milliseconds, and so are moments."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["DURATION_PATTERN", "duration_ms", "text_of", "time_of"]

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
#: How a duration is written.
DURATION_PATTERN = rf"(\d{{1,9}})({'|'.join(_UNITS)})"


def duration_ms(text: str) -> int:
    """Return a duration in milliseconds, or raise a ValueError that says how to write one.

    >>> duration_ms("48h")
    172800000
    """
    found = re.fullmatch(DURATION_PATTERN, text, re.ASCII)
    if found is None:
        raise ValueError(f"{text!r} is not a duration: write a whole number and one of {', '.join(_UNITS)}, such as '48h'")
    return int(found[1]) * _UNITS[found[2]]


def time_of(moment: int) -> datetime:
    """Turn a moment, in milliseconds since 1970, into a time as people write it."""
    return datetime.fromtimestamp(moment / 1000, UTC)


def text_of(moment: int) -> str:
    """Format a moment for an answer, always with milliseconds, so that texts sort as moments do."""
    return time_of(moment).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
