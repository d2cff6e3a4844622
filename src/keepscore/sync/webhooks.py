"""The namespace `webhooks` of the blocking library.

Made from `keepscore.fairplay.webhooks` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepscore.domain.results.webhooks import Deliveries, Retried

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Webhooks"]


class Webhooks:
    """The outbox of the ledger: messages about rewards, each sent until its receiver acknowledges it."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def deliveries(self, *, state: str | None = None, limit: int = 100, cursor: str | None = None) -> Deliveries:
        """Return deliveries, the newest first: all, those that wait (`pending`), or those that are `delivered`."""
        return self._leaderboards._run(self._leaderboards._async.webhooks.deliveries(state=state, limit=limit, cursor=cursor))

    def retry(self, delivery_id: str | None = None) -> Retried:
        """Try a delivery, or all that wait, again now, and not only when their pause is over."""
        return self._leaderboards._run(self._leaderboards._async.webhooks.retry(delivery_id))
