"""What callers get about webhooks: deliveries, and what became of them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from keepscore.domain.results.plain import Result

__all__ = ["Deliveries", "Delivery", "DeliveryState", "Retried"]

#: How far a delivery is: not tried yet, tried in vain, or acknowledged.
DeliveryState = Literal["pending", "failing", "delivered"]


class Delivery(Result):
    """A message that is sent until it is acknowledged. `id` is its `webhook-id`, and never changes."""

    id: str
    type: str
    state: DeliveryState
    created_at: datetime
    attempts: int
    #: Null once it is delivered.
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    #: Why the last try failed.
    error: str | None


class Deliveries(Result):
    """A page of deliveries, the newest first."""

    #: Whether webhooks are configured: else deliveries wait.
    is_configured: bool
    pending: int
    failing: int
    deliveries: list[Delivery]
    next_cursor: str | None


class Retried(Result):
    """How many deliveries are tried again now."""

    deliveries: int
