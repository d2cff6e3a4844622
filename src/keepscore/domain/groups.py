"""Private groups: their ids, and invite codes that are easy to read aloud. Pure, but for the randomness of new ones."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from keepscore.domain.values import check_text
from keepscore.errors import InvalidField

__all__ = ["CODE_ALPHABET", "CODE_LENGTH", "TRIES", "GroupCaps", "TryLimit", "check_group_name", "code_of", "new_code", "new_group_id"]

#: Letters and digits of which no two look alike: there is no 0 or O, 1, I or L, 2 or Z, 5 or S, 8 or B, U or V.
CODE_ALPHABET = "ACDEFGHJKMNPQRTWXY34679"
CODE_LENGTH = 8


class GroupCaps(NamedTuple):
    """The most groups, members of one, and groups of one player."""

    groups: int
    members: int
    of_player: int


class TryLimit(NamedTuple):
    """How many wrong invite codes one player may try in some milliseconds."""

    most: int = 10
    within_ms: int = 600_000


#: The limit of wrong tries.
TRIES = TryLimit()


def new_code() -> str:
    """Return a new invite code."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))


def new_group_id() -> str:
    """Return the id of a new group, which nobody guesses."""
    return f"g_{secrets.token_hex(8)}"


def code_of(text: str) -> str:
    """Return the code that somebody has written down: case, spaces and hyphens do not matter.

    >>> code_of("acde-fgh 3")
    'ACDEFGH3'
    """
    return "".join(text.split()).replace("-", "").upper()[: 2 * CODE_LENGTH]


def check_group_name(name: str) -> str:
    """Return the name of a group that can be kept and shown."""
    return check_text("name", name, InvalidField)
