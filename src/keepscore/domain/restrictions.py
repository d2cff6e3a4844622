"""Restrictions: players who are not ranked for a while, though their scores are recorded. Pure.

A *hidden* player is ranked for nobody, a *shadowed* one only for themselves; one who was *merged* into another counts as that one. A
restriction is about some boards, by name, or about all, those that are defined later included. The latest one that is in force counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

__all__ = ["Restriction", "RestrictionKind", "RestrictionState", "latest_in_force"]

#: Whether a player is ranked for nobody, for themselves, or as another.
RestrictionKind = Literal["hide", "shadow", "merge"]
#: How far a restriction is: rankings are being restated for it, are, are being restated for its end, or are.
RestrictionState = Literal["applying", "standing", "lifting", "lifted"]


class Restriction(msgspec.Struct, omit_defaults=True):
    """A decision about one player as the ledger keeps it. Times are in milliseconds."""

    restriction_id: str
    kind: RestrictionKind
    player: str
    reason: str
    since: int
    state: RestrictionState
    #: The boards that it is about; None: all.
    boards: tuple[str, ...] | None = None
    #: From when on it is no longer in force by itself; None: never.
    until: int | None = None
    #: Since when it is lifted, on boards by name, and everywhere.
    lifted_on: dict[str, int] = msgspec.field(default_factory=dict)
    lifted: int | None = None
    #: The account that a guest was merged into.
    into: str | None = None

    def is_in_force(self, board: str, at: int) -> bool:
        """Return whether it is in force on a board at a moment."""
        if not self.since <= at or (self.boards is not None and board not in self.boards):
            return False
        ends = (self.until, self.lifted, self.lifted_on.get(board))
        return all(end is None or at < end for end in ends)

    def is_over(self, at: int) -> bool:
        """Return whether it is in force nowhere any more."""
        if self.boards is not None and all(board in self.lifted_on for board in self.boards):
            return True
        return any(end is not None and end <= at for end in (self.until, self.lifted))

    @property
    def is_unfinished(self) -> bool:
        """Whether some rankings may not be restated for it yet."""
        return self.state in ("applying", "lifting")


def latest_in_force(restrictions: Iterable[Restriction], board: str, at: int) -> Restriction | None:
    """Return the restriction of a player that counts on a board at a moment."""
    found = [one for one in restrictions if one.is_in_force(board, at)]
    return max(found, key=lambda one: (one.since, one.restriction_id), default=None)
