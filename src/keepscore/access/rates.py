"""Rates as people write them: ``600/1m``, or ``off``. Pure."""

from __future__ import annotations

from typing import NamedTuple

from keepscore.domain.durations import duration_ms

__all__ = ["Rate", "rate_of"]

#: The longest time in which requests are counted, in seconds.
MAX_SECONDS = 7 * 86_400


class Rate(NamedTuple):
    """So many units in so many seconds."""

    amount: int
    seconds: int


def rate_of(text: str) -> Rate | None:
    """Return a rate, or None for no limit; a ValueError that says how to write one where it is not one.

    >>> rate_of("600/1m"), rate_of("off")
    (Rate(amount=600, seconds=60), None)
    """
    if text == "off":
        return None
    amount, slash, time = text.partition("/")
    try:
        seconds, rest = divmod(duration_ms(time), 1000)
    except ValueError:
        seconds, rest = 0, 0
    if not slash or not amount.isascii() or not amount.isdecimal() or not 1 <= int(amount[:12]) <= 10**9 or len(amount) > 10:
        seconds = 0
    if not 1 <= seconds <= MAX_SECONDS or rest:
        raise ValueError(f"{text!r} is not a rate: write a number and a time from 1s to 7d, such as '600/1m', or 'off'")
    return Rate(int(amount), seconds)
