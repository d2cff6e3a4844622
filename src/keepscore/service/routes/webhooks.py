"""The routes of `/v1` for webhooks: deliveries, and trying them again."""

from __future__ import annotations

from typing import Annotated

import msgspec

from keepscore.domain.results.webhooks import Deliveries, Retried
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.stated import PageLimit

__all__ = ["WebhookRoutes"]

StateName = Annotated[str | None, msgspec.Meta(extra_json_schema={"enum": ["pending", "delivered", None]})]


class DeliveriesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which deliveries."""

    state: StateName = None
    limit: PageLimit = 100
    cursor: str | None = None


class RetryBody(msgspec.Struct, forbid_unknown_fields=True):
    """Which delivery is tried again."""

    delivery_id: str | None = None


class WebhookRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "GET",
                "/v1/webhooks/deliveries",
                self.deliveries,
                "List webhook deliveries",
                scope="admin",
                query=DeliveriesQuery,
                answers={200: Deliveries},
                tag="Prizes",
                description="Returns the messages of the outbox, the newest first, how often each was tried, and why it failed.",
                example=Example({"limit": 10}),
            ),
            Route(
                "POST",
                "/v1/webhooks/retry",
                self.retry,
                "Try deliveries again",
                scope="admin",
                body=RetryBody,
                takes_no_body=True,
                answers={200: Retried},
                tag="Prizes",
                description="Tries one delivery, or all that wait, again within a second, whatever is left of their pause.",
                example=Example(body={}),
            ),
        ]

    async def deliveries(self, request: Request[DeliveriesQuery, NoBody]) -> Answer:
        """List deliveries."""
        query = request.query
        found = await self._lb.webhooks.deliveries(state=query.state, limit=query.limit, cursor=query.cursor)
        return Answer(found, headers=NO_STORE)

    async def retry(self, request: Request[NoQuery, RetryBody]) -> Answer:
        """Try deliveries again."""
        return Answer(await self._lb.webhooks.retry(request.body.delivery_id))
