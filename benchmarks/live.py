"""`make bench-live`: subscribers of one board while scores arrive: how soon they know, what each costs, and what writers keep.

One service process with the embedded engine; subscribers and writers are in this process, on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

#: Updates that arrive in a second, seconds for which they do, and connections on which they are sent.
UPDATES, SECONDS, WRITERS = 1000, 10.0, 16
#: Subscribers whose messages are timed; the others are read, too.
TIMED = 200
PLAYERS = 5000
#: Milliseconds for the slowest hundredth, by the number of subscribers; bytes of a connection; share of writes that is kept.
TARGETS_MS, TARGET_BYTES, TARGET_KEPT = {1000: 250, 10_000: 1000}, 30_000, 0.8

ID = re.compile(rb"id: \w+:(\d+)\n")


class Subscriber(asyncio.Protocol):
    """A stream of events: notes when each position came."""

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


async def submit(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], n: int) -> int:
    """Send a score that changes the ranking; return the seq of its position."""
    reader, writer = streams
    body = b'{"player_id":"p%d","score":%d}' % (n * 7919 % PLAYERS, n)
    head = b"POST /v1/boards/bench/scores HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    writer.write(head % len(body) + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", answer.lower())[1])  # type: ignore[index]
    receipt = msgspec.json.decode(await reader.readexactly(length))
    return int(receipt["position"].partition(":")[2])


class Service:
    """`keepscore serve` with a board of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        (folder / "keepscore.toml").write_text(
            f"[server]\nport = {self.port}\nmax_connections = 20000\nmax_connections_per_address = 0\n[live]\nmax_per_address = 1000000\n"
            f'[ledger]\nurl = "sqlite:///{folder}/bench.db"\n[[board]]\nname = "bench"\n'
        )
        command = [str(Path(sys.executable).parent / "keepscore"), "serve", "--config", str(folder / "keepscore.toml")]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.written = 0

    async def ready(self) -> None:
        """Wait until it answers."""
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return

    def memory(self) -> int:
        """Return the bytes that it uses."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()

    async def connections(self, count: int) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open connections to write on."""
        return [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(count)]

    async def subscribed(self, count: int, seen: list[list[tuple[int, float]]]) -> list[Subscriber]:
        """Open subscriptions, some at a time."""
        loop, found = asyncio.get_running_loop(), []
        for n in range(count):
            _, one = await loop.create_connection(lambda n=n: Subscriber(seen[n] if n < len(seen) else None), "127.0.0.1", self.port)
            found.append(one)
            if n % 100 == 99:
                await asyncio.gather(*(one.began for one in found[-100:]))
        await asyncio.gather(*(one.began for one in found))
        return found

    async def at_most(self) -> float:
        """Return how many scores a second writers get in that wait for each answer."""
        streams, end, begun = await self.connections(WRITERS), time.perf_counter() + SECONDS / 2, self.written

        async def write(own: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
            while time.perf_counter() < end:
                self.written += 1
                await submit(own, self.written)
            own[1].close()

        await asyncio.gather(*map(write, streams))
        return (self.written - begun) / (SECONDS / 2)

    async def steadily(self) -> dict[int, float]:
        """Send scores at a steady rate; return when each position was acknowledged."""
        streams, acknowledged, begun = await self.connections(WRITERS), dict[int, float](), time.perf_counter()

        async def write(number: int) -> None:
            for turn in range(int(UPDATES * SECONDS) // WRITERS):
                await asyncio.sleep(max(0.0, begun + (turn * WRITERS + number) / UPDATES - time.perf_counter()))
                self.written += 1
                seq = await submit(streams[number], self.written)
                acknowledged.setdefault(seq, time.perf_counter())
            streams[number][1].close()

        await asyncio.gather(*map(write, range(WRITERS)))
        return acknowledged


def delays(acknowledged: dict[int, float], seen: list[list[tuple[int, float]]]) -> list[float]:
    """Return the seconds from each acknowledgement to the message that includes it, for each subscriber."""
    found, order = [], sorted(acknowledged)
    for own in seen:
        at = 0
        for seq, moment in own:
            while at < len(order) and order[at] <= seq:
                found.append(max(0.0, moment - acknowledged[order[at]]))
                at += 1
    return sorted(found)


async def measure(subscribers: int) -> tuple[list[str], bool]:
    """Return a row of the table, and whether the targets are met."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder))
        try:
            await service.ready()
            await service.at_most()
            alone = await service.at_most()
            seen: list[list[tuple[int, float]]] = [[] for _ in range(min(TIMED, subscribers))]
            before = service.memory()
            held = await service.subscribed(subscribers, seen)
            each = (service.memory() - before) / subscribers
            beside = await service.at_most()
            await asyncio.sleep(2)
            for own in seen:
                own.clear()
            acknowledged = await service.steadily()
            await asyncio.sleep(2)
            waits = delays(acknowledged, seen)
            for one in held:
                one.transport.close()
        finally:
            service.process.terminate()
            service.process.wait()
    half, most = (1000 * waits[int(len(waits) * share)] for share in (0.5, 0.99))
    kept = beside / alone
    good = most < TARGETS_MS.get(subscribers, 1000) and each < TARGET_BYTES and (subscribers > 1000 or kept >= TARGET_KEPT)
    row = [f"{subscribers:,}", f"{half:.0f} ms", f"{most:.0f} ms", f"{each / 1000:.1f} KB"]
    row += [f"{alone:,.0f}/s", f"{beside:,.0f}/s", f"{kept:.2f}"]
    return row, good


async def main() -> int:
    """Measure, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subscribers", type=int, nargs="*", default=[1000, 10_000])
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 40_000), hard))
    table = Table("subscribers", "P50", "P99", "a connection", "writes alone", "beside", "kept")
    verdicts = []
    for count in options.subscribers:
        row, good = await measure(count)
        table.add_row(*row)
        verdicts.append(good)
    Console().print(table)
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
