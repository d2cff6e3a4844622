"""Live subscriptions over a WebSocket: many on one connection.

→ {"id": 1, "subscribe": {"board": "global", "top": 10, "resume_from": "5f0c77a1:42"}}
← {"id": 1, "state": {…}}   {"id": 1, "change": {…}}   {"id": 1, "overtaken": {…}}   {"id": 1, "window": {…}}   {"ping": {}}
→ {"id": 1, "unsubscribe": true}
← {"id": 1, "unsubscribed": true}
← {"id": 1, "error": {"type": "urn:keepscore:unknown-board", "detail": "…"}}
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any

import msgspec

from keepscore.domain.results.standings import encode
from keepscore.errors import InvalidField, KeepscoreError, MalformedBody, TooManySubscriptions
from keepscore.reading.live.hub import LiveHub, LiveStart, positions_of
from keepscore.reading.live.mailboxes import Number
from keepscore.reading.live.messages import LiveNotice
from keepscore.reading.live.specs import MODES, LiveRequest, LiveSpec, specs_of
from keepscore.service.http.direct import DirectSender
from keepscore.service.http.layer import decoded
from keepscore.service.http.sockets import POLICY, WebSocket, as_frame
from keepscore.service.live.guarding import Connection, LiveGuard

__all__ = ["LiveSocket", "SubscribeFields"]

#: Bytes of one frame, and bad frames after which the connection is closed.
MAX_FRAME_BYTES, MAX_BAD_FRAMES = 16 << 10, 100
#: Close codes (RFC 6455): the service stops, and a message is too big.
GOING_AWAY, TOO_BIG = 1001, 1009


class SubscribeFields(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to follow: the same fields as the parameters of `GET /v1/live`, and where to resume."""

    board: str
    window: str | None = None
    segment: str | None = None
    rank: str | None = None
    top: int | None = None
    player_id: str | None = None
    around: int | None = None
    friends_of: str | None = None
    group: str | None = None
    mode: str = "stream"
    resume_from: str | None = None

    def request(self) -> LiveRequest:
        """Return what is asked for."""
        rows = self.top, self.player_id, self.around, self.friends_of, self.group
        return LiveRequest(self.board, self.window, self.segment, self.rank, *rows)


class Frame(msgspec.Struct, forbid_unknown_fields=True):
    """What a client sends."""

    id: int | Annotated[str, msgspec.Meta(max_length=64)]
    subscribe: SubscribeFields | None = None
    unsubscribe: bool = False


_frame = msgspec.json.Decoder(Frame)


class LiveSocket:
    """One connection and its subscriptions."""

    def __init__(self, socket: WebSocket, connection: Connection, hub: LiveHub, guard: LiveGuard) -> None:
        self._socket = socket
        self._connection = connection
        self._mailbox = connection.mailbox
        self._hub = hub
        self._guard = guard
        self._followed: dict[Number, list[LiveSpec]] = {}
        self._bad_frames = 0
        direct = socket.direct()
        if direct is not None:
            self._mailbox.line = SocketLine(direct)

    async def serve(self) -> None:
        """Take frames and send messages until either side ends it."""
        tasks = [asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._send())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for number in list(self._followed):
                self._unsubscribe(number)

    async def _receive(self) -> None:
        while (text := await self._socket.receive()) is not None:
            if len(text if isinstance(text, bytes) else text.encode()) > MAX_FRAME_BYTES:
                await self._tell_error(None, MalformedBody(f"the frame is larger than {MAX_FRAME_BYTES} bytes, the most that is taken"))
                await self._socket.close(TOO_BIG, "the frame is too large")
                return
            try:
                await self._take(text)
            except KeepscoreError as exc:
                self._bad_frames += 1
                await self._tell_error(_id_in(text), exc)
                if self._bad_frames >= MAX_BAD_FRAMES:
                    await self._socket.close(POLICY, "too many bad frames")
                    return

    async def _take(self, text: str | bytes) -> None:
        frame: Frame = decoded(_frame, text.encode() if isinstance(text, str) else text)
        if (frame.subscribe is None) != frame.unsubscribe:
            raise InvalidField("a frame has either subscribe, with what to follow, or unsubscribe: true")
        if frame.subscribe is not None:
            await self._subscribe(frame.id, frame.subscribe)
        elif frame.id not in self._followed:
            raise InvalidField(f"id = {frame.id!r} is not a subscription of this connection")
        else:
            self._unsubscribe(frame.id)
            await self._socket.send(encode({"id": frame.id, "unsubscribed": True}).decode())

    async def _subscribe(self, number: Number, fields: SubscribeFields) -> None:
        most = self._guard.caps.per_connection
        if number in self._followed:
            raise InvalidField(f"id = {number!r} is in use on this connection: unsubscribe first, or take another")
        if len(self._followed) >= most:
            raise TooManySubscriptions(
                f"this connection has {most} subscriptions, the most that live.max_per_connection allows: end some first"
            )
        if fields.mode not in MODES:
            raise InvalidField(f"subscribe.mode = {fields.mode[:40]!r} cannot be used: allowed are {', '.join(MODES)}")
        specs = specs_of(fields.request())
        for spec in specs:
            await self._guard.known(spec.board)
        specs = await self._guard.checked(self._connection.principal, specs)
        start = LiveStart(positions_of(fields.resume_from, "resume_from"), fields.mode == "cache")
        with self._guard.entered(self._connection, specs):
            await self._hub.subscribe(self._mailbox, number, specs, start)
        self._followed[number] = specs

    def _unsubscribe(self, number: Number) -> None:
        self._hub.unsubscribe(self._mailbox, number)
        self._guard.leave(self._connection, self._followed.pop(number))

    async def _send(self) -> None:
        while True:
            number, message = await self._mailbox.get()
            if message.name == "stopping":
                await self._socket.close(GOING_AWAY, "the service stops")
                return
            await self._socket.send(_framed(number, message))
            if message.name == "error":
                if number not in self._followed:
                    await self._socket.close(POLICY, message.told.detail)  # type: ignore[union-attr]
                    return
                self._unsubscribe(number)

    async def _tell_error(self, number: Any, error: KeepscoreError) -> None:
        with suppress(OSError, RuntimeError):
            await self._socket.send(encode({"id": number, "error": {"type": error.type, "detail": error.detail}}).decode())


class SocketLine:
    """Sends messages to a WebSocket at once, as long as the client reads fast enough."""

    __slots__ = ("_direct", "drain")

    def __init__(self, direct: DirectSender) -> None:
        self._direct = direct
        self.drain = direct.drain

    @property
    def is_free(self) -> bool:
        """Whether the server has taken all that was sent."""
        return self._direct.is_free

    def send(self, number: Number, message: LiveNotice) -> None:
        """Send a message at once."""
        known, ready = message.prepared.get("frame", (None, None))
        if ready is None or known != number:
            # Most clients count from the same number.
            ready = as_frame(_framed(number, message))
            message.prepared["frame"] = number, ready
        self._direct.send(ready)


def _framed(number: Number, message: LiveNotice) -> str:
    head = "{" if message.name == "ping" else f'{{"id":{encode(number).decode()},'
    return f'{head}"{message.name}":{message.body.decode()}}}'


def _id_in(text: str | bytes) -> Any:
    """Return the id of a frame that cannot be used, if it has one."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    number = found.get("id") if isinstance(found, dict) else None
    return number if isinstance(number, (int, str)) and not isinstance(number, bool) else None
