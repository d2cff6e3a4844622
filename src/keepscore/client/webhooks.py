"""`client.webhooks`: deliveries of a service, and trying them again."""

from __future__ import annotations

from keepscore.client.calls import NO_KEY, change, decoder, read
from keepscore.client.sending import Send
from keepscore.domain.results.webhooks import Deliveries, Retried

__all__ = ["Webhooks"]


class Webhooks:
    """The outbox of the service: messages about rewards, each sent until its receiver acknowledges it."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def deliveries(self, *, state: str | None = None, limit: int = 100, cursor: str | None = None) -> Deliveries:
        """Return deliveries, the newest first: all, those that wait (`pending`), or those that are `delivered`."""
        query = {"state": state, "limit": limit, "cursor": cursor}
        return await self._call(read(decoder(Deliveries), "webhooks", "deliveries", query=query))

    async def retry(self, delivery_id: str | None = None) -> Retried:
        """Try a delivery, or all that wait, again now, and not only when their pause is over."""
        body = {"delivery_id": delivery_id}
        return await self._call(change(decoder(Retried), "POST", "webhooks", "retry", body=body, key=NO_KEY))
