"""Live connections to a real service, over plain sockets: what a client sees, byte by byte, and as slowly as it likes to read."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import struct
from typing import Any

#: Seconds for which a test waits for a message.
PATIENCE_S = 30.0
#: The largest frame whose length fits into seven bits, and the marks of longer ones: RFC 6455.
SHORT, MIDDLE, LONG = 125, 126, 127
TEXT, CLOSE = 1, 8

Message = tuple[str, dict[str, Any]]


async def _connection(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection with a small window, so that a service soon notices a slow reader."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
    raw.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
    except BaseException:
        raw.close()
        raise
    return await asyncio.open_connection(sock=raw, limit=16 << 10)


async def _begun(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: str, status: bytes) -> None:
    """Send a request; fail unless it is answered with a status."""
    reader, writer = streams
    writer.write(request.encode())
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        assert status in head.splitlines()[0], head
    except BaseException:
        writer.close()
        raise


class RealEvents:
    """A stream of server-sent events."""

    async def open(self, port: int, query: str, headers: str = "") -> RealEvents:
        """Ask for it."""
        streams = self._reader, self._writer = await _connection(port)
        await _begun(streams, f"GET /v1/live?{query} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n", b" 200 ")
        self._text = b""
        return self

    async def next(self) -> Message:
        """The next event; ("end", {}) where the stream ends."""
        while True:
            while b"\n\n" not in self._text:
                try:
                    size = int(await asyncio.wait_for(self._reader.readuntil(b"\r\n"), PATIENCE_S), 16)
                    if not size:
                        return "end", {}
                    self._text += (await asyncio.wait_for(self._reader.readexactly(size + 2), PATIENCE_S))[:-2]
                except (asyncio.IncompleteReadError, OSError):
                    return "end", {}
            text, _, self._text = self._text.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in text.decode().splitlines())
            if "event" in fields:
                return fields["event"], json.loads(fields["data"])

    def close(self) -> None:
        """Go away."""
        self._writer.close()


class RealSocket:
    """A WebSocket."""

    async def open(self, port: int, headers: str = "") -> RealSocket:
        """Connect."""
        streams = self._reader, self._writer = await _connection(port)
        key = base64.b64encode(os.urandom(16)).decode()
        upgrade = f"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n"
        await _begun(streams, f"GET /v1/live HTTP/1.1\r\nhost: localhost\r\n{upgrade}{headers}\r\n", b" 101 ")
        return self

    async def say(self, frame: Any) -> None:
        """Send something as JSON, in a masked frame."""
        body, mask = json.dumps(frame).encode(), os.urandom(4)
        size = bytes([0x80 | len(body)]) if len(body) <= SHORT else bytes([0x80 | MIDDLE]) + struct.pack("!H", len(body))
        self._writer.write(bytes([0x80 | TEXT]) + size + mask + bytes(one ^ mask[n % 4] for n, one in enumerate(body)))

    async def hear(self) -> dict[str, Any]:
        """The next message; {"closed": code} when the service closes the connection."""
        while True:
            first, size = await asyncio.wait_for(self._reader.readexactly(2), PATIENCE_S)
            if size == MIDDLE:
                (size,) = struct.unpack("!H", await self._reader.readexactly(2))
            elif size == LONG:
                (size,) = struct.unpack("!Q", await self._reader.readexactly(8))
            body = await asyncio.wait_for(self._reader.readexactly(size), PATIENCE_S)
            if first & 15 == CLOSE:
                return {"closed": struct.unpack("!H", body[:2])[0]}
            if first & 15 == TEXT:
                found: dict[str, Any] = json.loads(body)
                return found

    async def next(self) -> Message:
        """The next message of a subscription: its kind and what it tells."""
        while True:
            message = await self.hear()
            for kind in ("state", "change", "overtaken", "window", "error", "closed"):
                if kind in message:
                    return kind, message[kind]

    def close(self) -> None:
        """Go away."""
        self._writer.close()
