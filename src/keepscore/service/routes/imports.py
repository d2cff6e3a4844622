"""The routes by which scores are imported."""

from __future__ import annotations

import msgspec

from keepscore.domain.imports import ImportReceipt, Part
from keepscore.errors import InvalidField
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, Request, Route
from keepscore.service.routes.boards import entries_of, replay_headers, status_of
from keepscore.service.routes.bodies import ImportBody, ImportQuery, ImportsQuery
from keepscore.service.routes.declarations import BOARD
from keepscore.service.routes.ranking_table import MAX_BATCH_BODY_BYTES

__all__ = ["ImportRoutes"]


class ImportedParts(msgspec.Struct):
    """Parts of files that were imported, by their keys."""

    parts: list[Part]


class ImportRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Declare the routes that list imported parts, and import more."""
        imports = BOARD + "/imports"
        return [
            Route(
                "GET",
                imports,
                self.imported,
                "List imported parts of files",
                scope="read",
                query=ImportsQuery,
                answers={200: ImportedParts},
                tag="Scores",
                description="Returns up to 1,000 parts, by their keys; none after the last. "
                "`keepscore import` uses them to find what is new.",
            ),
            Route(
                "POST",
                imports,
                self.import_scores,
                "Import a part of a file",
                scope="submit",
                cost="heavy",
                query=ImportQuery,
                body=ImportBody,
                answers={200: ImportReceipt, 202: ImportReceipt},
                max_body=MAX_BATCH_BODY_BYTES,
                tag="Scores",
                description="`keepscore import` uses it. A part is recognized by its content, and each of `keys` on its own: sent again, "
                "they count once, for as long as the ledger exists. Scores count in closed windows, too. With `into`, they are opening "
                "balances: the scores that another system has in one ranking, which count in no other and on no linked board.",
                example=Example(body={"scores": [{"player_id": "ada", "score": 1500}], "keys": ["6a1e4c0b52d94f7fa3c8d07be4519c22"]}),
            ),
        ]

    async def imported(self, request: Request[ImportsQuery, NoBody]) -> Answer:
        """List what was imported."""
        return Answer(ImportedParts(await self._lb.admin.imported_parts(request.path[0], after=request.query.after)), headers=NO_STORE)

    async def import_scores(self, request: Request[ImportQuery, ImportBody]) -> Answer:
        """Import a part of a file."""
        body, board = request.body, request.path[0]
        entries = await entries_of(body.scores)
        if request.query.dry_run:
            if body.into is None:
                raise InvalidField("dry_run is for opening balances here: give into, or check scores with POST …/scores/batch?dry_run=true")
            return Answer(await self._lb.admin.check_import(board, entries, into=body.into), headers=NO_STORE)
        answer = await self._lb.admin.import_scores(board, entries, part=body.part, keys=body.keys, into=body.into)
        return Answer(answer, status_of(answer), replay_headers(answer))
