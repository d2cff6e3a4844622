"""Numbers with their nouns, as people read them."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "player"), counted(2000, "player")
    ('1 player', '2,000 players')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
