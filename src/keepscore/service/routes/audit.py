"""The routes of `/v1` for the audit: who did what, and whether that record is whole."""

from __future__ import annotations

import msgspec

from keepscore.domain.results.audit import AuditCheck, AuditPage
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.stated import PageLimit, TextField

__all__ = ["AuditRoutes"]


class AuditQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which entries."""

    board: TextField | None = None
    actor: TextField | None = None
    action: TextField | None = None
    cursor: str | None = None
    limit: PageLimit = 100


class AuditRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "GET",
                "/v1/audit",
                self.entries,
                "List who did what",
                scope="admin",
                query=AuditQuery,
                answers={200: AuditPage},
                tag="Audit",
                description="Returns what was done to boards, keys and players, with who did it, from where and why, the newest first.",
                example=Example({"limit": 10}),
            ),
            Route(
                "POST",
                "/v1/audit/verify",
                self.verify,
                "Check that the audit is whole",
                scope="admin",
                cost="heavy",
                answers={200: AuditCheck},
                tag="Audit",
                description="Follows the chain of hashes over all entries. `broken` names the first entry that was changed, removed, "
                "added or reordered, and is null where there is none.",
            ),
        ]

    async def entries(self, request: Request[AuditQuery, NoBody]) -> Answer:
        """List entries."""
        query = request.query
        page = await self._lb.audit.entries(
            board=query.board, actor=query.actor, action=query.action, cursor=query.cursor, limit=query.limit
        )
        return Answer(page, headers=NO_STORE)

    async def verify(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Check the chain."""
        return Answer(await self._lb.audit.verify(), headers=NO_STORE)
