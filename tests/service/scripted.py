"""A server that answers as a script says: well, badly, late, or not at all; and that can hand requests on to a real service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import NamedTuple
from urllib.parse import urlsplit

__all__ = ["Asked", "Scripted", "Step", "answer", "cut", "cut_after", "drip", "handed_on", "hang", "raw"]


class Asked(NamedTuple):
    """A request. Names of headers are lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    #: The request as it came.
    text: bytes
    #: Which connection it came over, the first being 1.
    connection: int
    writer: asyncio.StreamWriter


#: What a server does with a request: the bytes that it sends before it closes the connection or, where they are whole, keeps it.
Step = Callable[[Asked], Awaitable[bytes]]


def raw(text: bytes) -> Step:
    """These bytes."""

    async def step(asked: Asked) -> bytes:
        return text

    return step


def answer(status: int, body: bytes = b"", **headers: str) -> Step:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status} Whatever", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return raw("\r\n".join([*lines, "", ""]).encode() + body)


cut = raw(b"")


async def hang(asked: Asked) -> bytes:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError


async def drip(asked: Asked) -> bytes:
    """Begin to answer, and never come to an end."""
    asked.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
    while True:
        asked.writer.write(b" ")
        await asked.writer.drain()
        await asyncio.sleep(0.05)


def handed_on(url: str) -> Step:
    """The answer of a real service."""

    async def step(asked: Asked) -> bytes:
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(asked.text.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        try:
            return await reader.read()
        finally:
            writer.close()

    return step


def cut_after(url: str) -> Step:
    """A connection that breaks when the real service has answered."""

    async def step(asked: Asked) -> bytes:
        assert await handed_on(url)(asked)
        return b""

    return step


class Scripted:
    """A server whose requests meet one step after the other; the last one stays."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self._connections: set[asyncio.Task[None]] = set()
        self.asked: list[Asked] = []
        self._count = 0

    async def __aenter__(self) -> Scripted:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._count += 1
        connection = self._count
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").rstrip().split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                method, target, _ = first.split(" ")
                self.asked.append(Asked(method, target, headers, body, head + body, connection, writer))
                step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
                text = await step(self.asked[-1])
                writer.write(text)
                await writer.drain()
                start, _, content = text.partition(b"\r\n\r\n")
                if f"content-length: {len(content)}".encode() not in start or b"connection: close" in start.lower():
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
