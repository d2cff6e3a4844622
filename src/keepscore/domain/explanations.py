"""Why a player's events count in a ranking, or do not; and which score a rank needs. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.ordering import Row
from keepscore.domain.scoring import ADDING, Event, amount_of, cut, in_order
from keepscore.domain.verdicts import EventId, event_id
from keepscore.errors import InvalidField

__all__ = ["Reason", "equal_is_ahead", "outdone", "rank_of_share"]

#: Why an event does not count: a better score does, an earlier one, or a later one; its time or its scope is of another window, it names
#: no such segment, it came when the window had closed, or it was made void.
Reason = Literal["worse_score", "not_first", "replaced", "other_window", "other_segment", "late", "voided"]


def outdone(board: Board, events: Sequence[Event]) -> dict[EventId, Reason]:
    """Return which of a player's events in one ranking do not count beside the others, and why. O(n log n).

    >>> events = [Event(1, 1, n, "a", "score", amount, n, n) for n, amount in enumerate([5, 9, 7], 1)]
    >>> outdone(Board("b"), events)
    {(1, 1): 'worse_score', (1, 3): 'worse_score'}
    >>> outdone(Board("b", operator="first"), events)
    {(1, 2): 'not_first', (1, 3): 'not_first'}
    >>> outdone(Board("b", operator="last"), [*events, Event(1, 1, 4, "a", "increment", 1, 4, 4)])
    {(1, 1): 'replaced', (1, 2): 'replaced'}
    """
    if not events or board.operator == "sum":
        return {}
    if board.operator == "best":
        sign = -1 if board.order == "desc" else 1
        best = min(events, key=lambda event: (sign * amount_of(board, event), cut(board, event.at)))
        return {event_id(event): "worse_score" for event in events if event is not best}
    ordered = [event for _, event in in_order(events)]
    if board.operator == "first":
        return {event_id(event): "not_first" for event in ordered[1:]}
    last = max((i for i, event in enumerate(ordered) if event.kind not in ADDING), default=0)
    return {event_id(event): "replaced" for event in ordered[:last]}


def equal_is_ahead(board: Board, rank: RankKind, player: str, other: Row) -> bool:
    """Return whether a player who gets the score of another now has that one's rank, or a better one.

    >>> [equal_is_ahead(Board("b", ties=ties), "unique", "zoe", Row("ada", 5, 0)) for ties in ("first", "last", "player")]
    [False, True, True]
    """
    if rank != "unique":
        return True
    if board.ties == "player":
        return (player.encode() > other.player.encode()) == (board.order == "desc")
    return board.ties == "last"


def rank_of_share(text: str, total: int) -> int:
    """Return the last rank of the first so many percent of players, rounded up, as tiers are.

    >>> rank_of_share("1%", 1000), rank_of_share("0.5", 100), rank_of_share("100%", 7), rank_of_share("1%", 101)
    (10, 1, 7, 2)
    """
    try:
        share = Decimal(text.strip().removesuffix("%"))
        if not 0 < share <= 100:
            raise InvalidOperation
    except InvalidOperation:
        raise InvalidField(f"top = {text[:40]!r} is not a share of the players: write it as in 1%") from None
    return max(1, math.ceil(share * total / 100))
