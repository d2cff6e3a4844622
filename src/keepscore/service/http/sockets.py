"""WebSockets, as handlers of `WS` routes use them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from keepscore.service.http.direct import AsgiSend, DirectSender, direct_sender
from keepscore.service.http.messages import AsgiReceive

__all__ = ["FAILED", "POLICY", "WebSocket", "as_frame"]

#: Close codes (RFC 6455): the client broke a rule, and the service failed.
POLICY, FAILED = 1008, 1011
#: Characters of a reason: a close frame holds 123 bytes.
MAX_REASON = 40


class WebSocket:
    """One connection, from the request to its end."""

    def __init__(self, receive: AsgiReceive, send: AsgiSend) -> None:
        self._receive = receive
        self._send = send

    async def accept(self) -> None:
        """Answer the request. Until then the handler may still refuse it with an error."""
        await self._send({"type": "websocket.accept"})

    async def receive(self) -> str | bytes | None:
        """Return the next message, or None when the client has gone."""
        message = await self._receive()
        if message["type"] != "websocket.receive":
            return None
        text: str | None = message.get("text")
        return message["bytes"] if text is None else text

    async def send(self, message: str | bytes) -> None:
        """Send a message."""
        await self._send(as_frame(message))

    def direct(self) -> DirectSender | None:
        """Return what sends messages without waiting, if the server can do that."""
        return direct_sender(self._send)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End the connection; before `accept`, refuse the request. Does nothing where the client has gone."""
        with suppress(OSError, RuntimeError):
            await self._send({"type": "websocket.close", "code": code, "reason": reason[:MAX_REASON]})


def as_frame(message: str | bytes) -> dict[str, Any]:
    """Return a message as servers take it."""
    return {"type": "websocket.send", "text" if isinstance(message, str) else "bytes": message}
