"""The routes of `/v1/live`: what changes, as it changes."""

from __future__ import annotations

from typing import Any

import msgspec

from keepscore.domain.results import live as answers
from keepscore.domain.results.live import LiveMode
from keepscore.errors import InvalidField
from keepscore.reading.live.hub import LiveHub, LiveStart, positions_of
from keepscore.reading.live.specs import LiveRequest, specs_of
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route, Stream
from keepscore.service.http.sockets import WebSocket
from keepscore.service.live.guarding import LiveGuard
from keepscore.service.live.sockets import LiveSocket
from keepscore.service.live.streams import EventStream
from keepscore.service.routes.stated import LiveNeighbours, LiveRows, PlayerName, PositionText, RankName, SegmentName, WindowChoice

__all__ = ["LiveQuery", "LiveRoutes"]

#: A proxy must not collect events, nor keep them.
HEADERS = (*NO_STORE, (b"x-accel-buffering", b"no"))


class LiveQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to follow."""

    board: str | None = None
    window: WindowChoice = None
    segment: SegmentName = None
    rank: RankName = None
    top: LiveRows = None
    player_id: PlayerName = None
    around: LiveNeighbours = None
    friends_of: PlayerName = None
    group: str | None = None
    mode: LiveMode = "stream"
    resume_from: PositionText = None


class LiveRoutes:
    """Handlers of live subscriptions."""

    def __init__(self, hub: LiveHub, guard: LiveGuard) -> None:
        self._hub = hub
        self._guard = guard

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route(
                "GET",
                "/v1/live",
                self.stream,
                "Follow a ranking live",
                scope="read",
                players=True,
                about="visible",
                query=LiveQuery,
                answers={200: answers.LiveState},
                tag="Live",
                description="Sends server-sent events as the ranking changes: `state` first, then `change`, `overtaken`, `window` and "
                "`ping`, with the position as the id. A browser that was cut off resumes by itself, with `Last-Event-ID`. Follow the "
                "`top` rows, those `around` a `player_id`, a player's friends (`friends_of`), or a `group`; several boards on one stream, "
                "comma-separated.",
                example=Example({"board": "global", "top": 10}),
            ),
            Route(
                "WS",
                "/v1/live",
                self.socket,
                "Follow many rankings on one connection",
                scope="read",
                players=True,
                about="visible",
                query=NoQuery,
            ),
        ]

    async def stream(self, request: Request[LiveQuery, NoBody]) -> Answer:
        """Follow something as server-sent events."""
        query = request.query
        if not query.board:
            raise InvalidField("board is missing: name what to follow, such as ?board=global&top=10")
        view = query.window, query.segment, query.rank
        specs = specs_of(LiveRequest(query.board, *view, query.top, query.player_id, query.around, query.friends_of, query.group))
        for spec in specs:
            await self._guard.known(spec.board)
        specs = await self._guard.checked(request.principal, specs)
        # What the browser adds by itself is newer than the address.
        resume_from = positions_of(request.header(b"last-event-id"), "Last-Event-ID") or positions_of(query.resume_from, "resume_from")
        if request.scope["method"] == "HEAD":
            return Answer(None, headers=((b"content-type", b"text/event-stream"), *HEADERS))
        connection = self._guard.connection(request)
        with self._guard.entered(connection, specs):
            await self._hub.subscribe(connection.mailbox, 1, specs, LiveStart(resume_from, query.mode == "cache"))

        def close() -> None:
            if connection.mailbox in self._hub:
                self._hub.leave(connection.mailbox)
                self._guard.leave(connection, specs)

        events = EventStream(connection.mailbox, len(specs), close)
        return Answer(Stream(events, b"text/event-stream", events.attach), headers=HEADERS)

    async def socket(self, request: Request[NoQuery, Any]) -> Answer:
        """Follow many things over a WebSocket."""
        socket: WebSocket = request.body
        await socket.accept()
        await LiveSocket(socket, self._guard.connection(request), self._hub, self._guard).serve()
        return Answer(None)
