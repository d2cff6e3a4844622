"""How long a call to a server may take, as URLs say it."""

from __future__ import annotations

__all__ = ["deadline_s"]

#: Seconds.
SHORTEST_S, LONGEST_S = 0.05, 60


def deadline_s(text: str | None, default: float) -> float:
    """Read the seconds that a call may take, or raise a ValueError that says what is allowed.

    >>> deadline_s(None, 2.0), deadline_s("0.5", 2.0)
    (2.0, 0.5)
    """
    try:
        seconds = default if text is None else float(text)
    except ValueError:
        seconds = 0
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise ValueError(f"deadline = {text!r} is not a number of seconds from {SHORTEST_S} to {LONGEST_S}")
    return seconds
