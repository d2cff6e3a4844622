"""The routes of `/v1` that look back: windows, histories, standings of past moments, events."""

from __future__ import annotations

from keepscore import answers
from keepscore.leaderboards import Leaderboards
from keepscore.web.bodies import AsOfQuery, BoardEventsQuery, EventsQuery, HistoryQuery, WindowsQuery
from keepscore.web.http import Answer, NoBody, Request, Route
from keepscore.web.routes import NO_STORE

__all__ = ["PastApi"]


class PastApi:
    """Handlers of one service. Answers may change with every score, and are not kept."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """All routes that look back."""
        board = "/v1/boards/{board}"
        return [
            Route(
                "GET",
                board + "/windows",
                self.windows,
                "The windows that have players, the latest start first; without window, those of all kinds",
                query=WindowsQuery,
                answers={200: answers.Windows},
            ),
            Route(
                "GET",
                board + "/history/{player_id}",
                self.history,
                "Where a player stood, window by window, and the best place ever",
                query=HistoryQuery,
                answers={200: answers.PlayerHistory},
            ),
            Route(
                "GET",
                board + "/as-of",
                self.as_of,
                "The top as it stood at a past moment, by what had come by then; reads all events of the board, one question at a time",
                query=AsOfQuery,
                answers={200: answers.Top},
            ),
            Route(
                "GET",
                board + "/players/{player_id}/events",
                self.player_events,
                "What is recorded of a player, the newest first",
                query=EventsQuery,
                answers={200: answers.PlayerEvents},
            ),
            Route(
                "GET",
                board + "/events",
                self.events,
                "What is recorded on a board, by writer and number, up to 10,000 events at a time",
                query=BoardEventsQuery,
                answers={200: answers.BoardEvents},
            ),
        ]

    async def windows(self, request: Request[WindowsQuery, NoBody]) -> Answer:
        """The windows of a board."""
        query = request.query
        found = await self._lb.windows(request.path[0], window=query.window, limit=query.limit, offset=query.offset)
        return Answer(found, headers=NO_STORE)

    async def history(self, request: Request[HistoryQuery, NoBody]) -> Answer:
        """A player's places."""
        (board, player), query = request.path, request.query
        return Answer(await self._lb.history(board, player, window=query.window, limit=query.limit), headers=NO_STORE)

    async def as_of(self, request: Request[AsOfQuery, NoBody]) -> Answer:
        """The top as it stood."""
        query = request.query
        found = await self._lb.as_of(
            request.path[0], query.at, limit=query.limit, window=query.window, segment=query.segment, rank=query.rank
        )
        return Answer(found, headers=NO_STORE)

    async def player_events(self, request: Request[EventsQuery, NoBody]) -> Answer:
        """A player's events."""
        board, player = request.path
        return Answer(await self._lb.events(board, player, request.query.limit), headers=NO_STORE)

    async def events(self, request: Request[BoardEventsQuery, NoBody]) -> Answer:
        """A board's events."""
        query = request.query
        return Answer(await self._lb.all_events(request.path[0], cursor=query.cursor, limit=query.limit), headers=NO_STORE)
