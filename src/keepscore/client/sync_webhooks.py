"""`client.webhooks`: deliveries of a service, and trying them again, blocking.

Made from `keepscore.client.webhooks` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from keepscore.client.calls import NO_KEY, change, decoder, read
from keepscore.client.sync_sending import SyncSend
from keepscore.domain.results.webhooks import Deliveries, Retried

__all__ = ["SyncWebhooks"]


class SyncWebhooks:
    """The outbox of the service: messages about rewards, each sent until its receiver acknowledges it."""

    def __init__(self, call: SyncSend) -> None:
        self._call = call

    def deliveries(self, *, state: str | None = None, limit: int = 100, cursor: str | None = None) -> Deliveries:
        """Return deliveries, the newest first: all, those that wait (`pending`), or those that are `delivered`."""
        query = {"state": state, "limit": limit, "cursor": cursor}
        return self._call(read(decoder(Deliveries), "webhooks", "deliveries", query=query))

    def retry(self, delivery_id: str | None = None) -> Retried:
        """Try a delivery, or all that wait, again now, and not only when their pause is over."""
        body = {"delivery_id": delivery_id}
        return self._call(change(decoder(Retried), "POST", "webhooks", "retry", body=body, key=NO_KEY))
