"""A TCP proxy in front of a server: it cuts connections, loses requests or their answers, delays, and goes silent."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from typing import TypeVar

from tests.support.ports import free_port

#: Seconds until the proxy's thread must have done what it is told.
PATIENCE = 10
CHUNK = 1 << 16

T = TypeVar("T")


class _Connection:
    """One client, and the server behind it."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client, self.server = client, server
        #: Whether the next answer is lost, and the connection with it.
        self.deaf = False
        #: The end of what the client has sent last: what is looked for may come in two parts.
        self.tail = b""

    def cut(self) -> None:
        for writer in (self.client, self.server):
            writer.transport.abort()


class Proxy:
    """In front of a port of 127.0.0.1, in a thread of its own; use it as a context manager."""

    def __init__(self, target: int) -> None:
        self.target, self.port = target, free_port()
        #: Seconds by which everything comes later, in both directions.
        self.delay = 0.0
        #: How many connections were cut, on the way to the server or on the way back.
        self.cuts = 0
        self._silent = self._refusing = False
        #: Requests with these bytes are lost, or (True) their answers; so many more.
        self._pattern, self._left, self._executed = b"", 0, True
        self._connections: set[_Connection] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        # asyncio's own backlog is short of what several workers open at once.
        listener = socket.create_server(("127.0.0.1", self.port), backlog=200)
        return await asyncio.start_server(self._serve, sock=listener)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        self._cut_all()
        # What is cut ends by itself.
        if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(tasks, timeout=PATIENCE / 2)

    def _run(self, work: Callable[[], T]) -> T:
        """Do something in the proxy's thread, where all else is done."""

        async def done() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(PATIENCE)

    # -- what tests do --------------------------------------------------------------------------------------------------

    def cut(self) -> int:
        """Cut all connections now; gives how many there were."""
        return self._run(self._cut_all)

    def refuse(self) -> None:
        """Cut all connections, and every new one at once."""
        self._refusing = True
        self.cut()

    def silence(self) -> None:
        """Keep connections open, take new ones, and let nothing through: neither side is told."""
        self._silent = True

    def lose(self, pattern: bytes, count: int = 1, executed: bool = True) -> None:
        """Cut the connections of the next requests that contain some bytes: after the server has done them, or before it gets them."""

        def work() -> None:
            self._pattern, self._left, self._executed = pattern, count, executed

        self._run(work)

    @property
    def left(self) -> int:
        """Requests that are still to be lost."""
        return self._left

    def mend(self) -> None:
        """Let everything through again. What stood still is cut: something may be missing in it."""

        def work() -> None:
            if self._silent:
                self._cut_all()
            self._silent = self._refusing = False
            self._left, self.delay = 0, 0.0

        self._run(work)

    # -- in the proxy's thread ------------------------------------------------------------------------------------------

    def _cut_all(self) -> int:
        found = list(self._connections)
        for connection in found:
            connection.cut()
        self.cuts += len(found)
        return len(found)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(writer, server)
        self._connections.add(connection)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, server, connection, self._sees))
                group.create_task(self._pump(answers, writer, connection, self._answers))
        finally:
            self._connections.discard(connection)
            connection.cut()

    async def _pump(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        connection: _Connection,
        passes: Callable[[_Connection, bytes], bool],
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK):
                if self.delay:
                    await asyncio.sleep(self.delay)
                if self._silent:
                    continue
                if not passes(connection, data):
                    self.cuts += 1
                    connection.cut()
                    return
                sink.write(data)
                await sink.drain()
            # The other side hears of the end when it has all that came before.
            sink.close()

    def _sees(self, connection: _Connection, data: bytes) -> bool:
        """Whether a request gets to the server."""
        seen = connection.tail + data
        # Less than all that is looked for, which would be found a second time.
        connection.tail = seen[max(0, len(seen) - len(self._pattern) + 1) :]
        if self._left and self._pattern in seen:
            self._left -= 1
            connection.deaf = True
            return self._executed
        return True

    def _answers(self, connection: _Connection, data: bytes) -> bool:
        """Whether an answer gets to the client."""
        return not connection.deaf
