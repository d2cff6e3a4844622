"""Roll-ups: a board whose ranking is made from the windows of other boards, such as a week from its days. Pure.

A player's score is the aggregate, over all parts within the span, of the score in the part times the weight of its board. A part is one
window of one board; after a reset each version is a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from keepscore.domain.board_fields import BOUNDS, ROLLUP_FIELDS

__all__ = ["Rollup", "mark_of", "rolled_up", "rollup_from"]

Aggregate = Literal["sum", "max", "min", "average"]

#: Windows, and the longer ones that consist of whole windows of that kind.
NESTED = {"daily": ("weekly", "monthly", "yearly"), "monthly": ("yearly",)}
#: The largest weight.
MAX_WEIGHT = 1_000_000
#: What a score is cut to: what a double holds exactly.
MAX_SUM = 2**53 - 1


class Rollup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a board is made from the windows of others."""

    of: list[str]
    window: str
    into: str
    aggregate: Aggregate = "sum"
    best: int | None = None
    weights: dict[str, int] = {}


def rollup_from(name: str, data: Any) -> Rollup:
    """Read a roll-up from the table of the board of that name, or raise a ValueError that says what is allowed."""
    if not isinstance(data, Mapping) or not {"of", "window", "into"} <= set(data) <= set(ROLLUP_FIELDS):
        raise ValueError(f"give a table with of, window and into; allowed: {', '.join(ROLLUP_FIELDS)}")
    try:
        found = msgspec.convert(dict(data), Rollup)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from None
    if len(found.of) not in BOUNDS["Rollup.of"] or len(set(found.of)) < len(found.of) or name in found.of:
        raise ValueError(f"of: {BOUNDS['Rollup.of']} other boards, each once")
    if found.into not in NESTED.get(found.window, ()):
        pairs = "; ".join(f"{window} into {' or '.join(longer)}" for window, longer in NESTED.items())
        raise ValueError(f"window and into: allowed are {pairs}")
    if found.aggregate not in get_args(Aggregate):
        raise ValueError(f"aggregate: allowed are {', '.join(get_args(Aggregate))}")
    if found.best is not None and (found.aggregate != "average" or found.best < 1):
        raise ValueError("best: a number from 1, and only with aggregate = 'average'")
    if not set(found.weights) <= set(found.of) or not all(0 < abs(weight) <= MAX_WEIGHT for weight in found.weights.values()):
        raise ValueError(f"weights: whole numbers up to ±{MAX_WEIGHT}, not 0, for boards in of")
    return found


def rolled_up(rollup: Rollup, desc: bool, scores: Sequence[int]) -> int:
    """Combine the scores of the parts, weighted. An average is rounded to the last decimal of the board, halves up.

    >>> rolled_up(Rollup(["a"], "daily", "weekly", "average", best=2), True, [1, 4, 7])
    6
    """
    if rollup.aggregate == "max":
        score = max(scores)
    elif rollup.aggregate == "min":
        score = min(scores)
    elif rollup.aggregate == "sum":
        score = sum(scores)
    else:
        taken = sorted(scores, reverse=desc)[: rollup.best]
        score = (2 * sum(taken) + len(taken)) // (2 * len(taken))
    return max(-MAX_SUM, min(MAX_SUM, score))


def mark_of(board: int, writer: int) -> int:
    """Name the watermark that says how far the events of a writer on another board are in a roll-up."""
    return board << 32 | writer
