"""The routes of `/v1` that look back: windows, histories, standings of past moments, events."""

from __future__ import annotations

from keepscore.domain.results import standings as answers
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, Prepared, Request, Route
from keepscore.service.routes.boards import viewer_of, whole_number
from keepscore.service.routes.bodies import (
    AsOfQuery,
    BoardEventsQuery,
    EventsQuery,
    HistoryQuery,
    SnapshotQuery,
    SnapshotsQuery,
    WindowsQuery,
)
from keepscore.service.routes.declarations import BOARD, board_read
from keepscore.service.routes.own_reads import reached, tagged

__all__ = ["PastApi"]


class PastApi:
    """Handlers of one service. Answers may change with every score, and are not kept."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Declare all routes that look back."""
        return [
            board_read(
                BOARD + "/windows",
                self.windows,
                "List the windows of a board",
                query=WindowsQuery,
                answers={200: answers.Windows},
                tag="History",
                description="Returns the windows that have players, newest first, with their totals.",
                example=Example({"limit": 10}),
            ),
            board_read(
                BOARD + "/snapshots",
                self.snapshots,
                "List the snapshots of a board",
                query=SnapshotsQuery,
                answers={200: answers.Snapshots},
                tag="History",
                description="Returns the standings that were archived while windows were open (`snapshot` of a window), newest first; "
                "without `segment`, those of everyone.",
                example=Example({"limit": 10}),
            ),
            board_read(
                BOARD + "/snapshots/{id}",
                self.snapshot,
                "Get the standings of a snapshot",
                query=SnapshotQuery,
                answers={200: answers.Snapshot},
                tag="History",
                description="Returns a page of the standings at the moment of the snapshot. Continue with `next_cursor`.",
                example=Example({"id": 1, "limit": 10}),
            ),
            board_read(
                BOARD + "/history/{player_id}",
                self.history,
                "Get a player's places, window by window",
                query=HistoryQuery,
                answers={200: answers.PlayerHistory},
                tag="History",
                description="Returns where a player stood at the end of each window, and the best place ever.",
                example=Example({"limit": 10}),
            ),
            Route(
                "GET",
                BOARD + "/as-of",
                self.as_of,
                "Get the top as it stood at a past moment",
                scope="read",
                cost="heavy",
                query=AsOfQuery,
                answers={200: answers.Top},
                tag="History",
                description="Computes the ranking from the events that had arrived by then. Reads all events of the board, one request at "
                "a time.",
                example=Example({"at": "2026-11-01T00:00:00Z", "limit": 10}),
            ),
            Route(
                "GET",
                BOARD + "/players/{player_id}/events",
                self.player_events,
                "List a player's events",
                scope="moderate",
                query=EventsQuery,
                answers={200: answers.PlayerEvents},
                tag="History",
                description="Returns the recorded events of a player, newest first.",
                example=Example({"limit": 10}),
            ),
            Route(
                "GET",
                BOARD + "/events",
                self.events,
                "List all events of a board",
                scope="admin",
                cost="heavy",
                query=BoardEventsQuery,
                answers={200: answers.BoardEvents},
                tag="History",
                description="Returns up to 10,000 events at a time, by writer and number, for exports. Continue with `next_cursor`.",
                example=Example({"limit": 1000}),
            ),
        ]

    async def windows(self, request: Request[WindowsQuery, NoBody]) -> Answer:
        """List the windows of a board."""
        query = request.query
        found = await self._lb.history.windows(request.path[0], window=query.window, limit=query.limit, offset=query.offset)
        return Answer(found, headers=NO_STORE)

    async def snapshots(self, request: Request[SnapshotsQuery, NoBody]) -> Answer:
        """List the snapshots of a board."""
        query = request.query
        found = await self._lb.history.snapshots(
            request.path[0],
            window=query.window,
            window_id=query.window_id,
            segment=query.segment,
            limit=query.limit,
            offset=query.offset,
        )
        return Answer(found, headers=NO_STORE)

    async def snapshot(self, request: Request[SnapshotQuery, NoBody]) -> Answer:
        """Return a page of a snapshot."""
        (board, number), query = request.path, request.query
        found = await self._lb.history.snapshot(
            board, whole_number("id", number), limit=query.limit, offset=query.offset, cursor=query.cursor, rank=query.rank
        )
        return Answer(found, headers=NO_STORE)

    async def history(self, request: Request[HistoryQuery, NoBody]) -> Answer | Prepared:
        """Return a player's places."""
        (board, player), query = request.path, request.query
        viewer = viewer_of(request)
        await reached(self._lb, request, [query.window] if query.window else [*self._lb.runtime.catalog[board].board.periods])
        return tagged(await self._lb.history.of(board, player, window=query.window, limit=query.limit, viewer=viewer))

    async def as_of(self, request: Request[AsOfQuery, NoBody]) -> Answer | Prepared:
        """Return the top as it stood."""
        query = request.query
        await reached(self._lb, request)
        found = await self._lb.history.as_of(
            request.path[0], query.at, limit=query.limit, window=query.window, segment=query.segment, rank=query.rank
        )
        return tagged(found)

    async def player_events(self, request: Request[EventsQuery, NoBody]) -> Answer:
        """List a player's events."""
        board, player = request.path
        return Answer(await self._lb.history.events(board, player, request.query.limit), headers=NO_STORE)

    async def events(self, request: Request[BoardEventsQuery, NoBody]) -> Answer:
        """List a board's events."""
        query = request.query
        return Answer(await self._lb.history.all_events(request.path[0], cursor=query.cursor, limit=query.limit), headers=NO_STORE)
