"""Subscribers of one board, in a process of their own: opens them, times the messages of some, and reports when it is asked to.

It takes commands as lines: `clear` forgets what was seen, `report` prints it. It ends when there are no more.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import resource
import sys
import time
from typing import cast

import msgspec
import uvloop

#: Connections that are opened at a time.
AT_ONCE = 100
ID = re.compile(rb"id: \w+:(\d+)\n")


class Subscriber(asyncio.Protocol):
    """A stream of events. With `seen`, it notes when each position came."""

    def __init__(self, seen: list[tuple[int, float]] | None) -> None:
        self._seen = seen
        self.began = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the board."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(b"GET /v1/live?board=bench&top=10 HTTP/1.1\r\nhost: localhost\r\n\r\n")

    def data_received(self, data: bytes) -> None:
        """Take what comes."""
        if not self.began.done() and b"event: state" in data:
            self.began.set_result(None)
        if self._seen is not None and (found := ID.findall(data)):
            self._seen.append((int(found[-1]), time.perf_counter()))


async def main() -> None:
    """Open subscriptions, and do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("timed", type=int)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    loop = asyncio.get_running_loop()
    seen: list[list[tuple[int, float]]] = [[] for _ in range(min(options.timed, options.count))]
    held: list[Subscriber] = []
    for n in range(options.count):
        _, one = await loop.create_connection(lambda n=n: Subscriber(seen[n] if n < len(seen) else None), "127.0.0.1", options.port)
        held.append(one)
        if n % AT_ONCE == AT_ONCE - 1:
            await asyncio.gather(*(one.began for one in held[-AT_ONCE:]))
    await asyncio.gather(*(one.began for one in held))
    print("ready", flush=True)
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while command := await commands.readline():
        if command == b"clear\n":
            for own in seen:
                own.clear()
        else:
            print(msgspec.json.encode(seen).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
