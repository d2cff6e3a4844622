"""Doubts about a submission: why it goes to the moderators, and whether it counts until they decide. Pure."""

from __future__ import annotations

from typing import NamedTuple

from keepscore.domain.results.review import Reason
from keepscore.errors import RuleBroken

__all__ = ["Suspicion", "reason_of"]


class Suspicion(NamedTuple):
    """Why a submission is doubted, under the id of the decision that it waits for."""

    id: str
    reasons: tuple[Reason, ...]
    #: Whether it does not count until it is approved.
    is_held: bool


def reason_of(error: RuleBroken) -> Reason:
    """Return a broken rule as the reason of a doubt."""
    return Reason(error.rule, error.limit, error.value, error.detail)
