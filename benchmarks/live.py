"""`make bench-live`: subscribers of one board while scores arrive: how soon they know, what each costs, and what writers keep.

One service process with the embedded engine. Subscribers are in processes of their own, writers in this one, all on the same machine: they
compete for its cores with the service. So beside what is seen from outside, the table has the processor time of the service's event
loop, on which everything but sockets happens: a write without and with subscribers. What writers keep is shown by both.
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
from typing import NamedTuple

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

#: Updates that arrive in a second, seconds for which they do, and connections on which they are sent.
UPDATES, SECONDS, WRITERS = 1000, 10.0, 16
#: Processes of subscribers, and subscribers of each whose messages are timed; the others are read, too.
PROCESSES, TIMED = 2, 100
PLAYERS = 5000
#: Milliseconds for the slowest hundredth, by the number of subscribers; bytes of a connection; share of writes that is kept.
TARGETS_MS, TARGET_BYTES, TARGET_KEPT = {1000: 250, 10_000: 1000}, 30_000, 0.8

#: What is shown of each number of subscribers.
FIGURES = [
    "acknowledgement to message, P50",
    "acknowledgement to message, P99",
    "memory of a connection",
    "writes without subscribers",
    "writes beside them",
    "share of writes that is kept",
    "event loop's processor time for a write, without",
    "event loop's processor time for a write, beside",
    "share that is kept, by that",
]

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Pace(NamedTuple):
    """How many scores a second writers get in, and seconds of the event loop's processor time for each."""

    writes: float
    loop_s: float


async def submit(streams: Streams, n: int) -> int:
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
            f"[server]\nport = {self.port}\nmax_connections = 15000\nmax_connections_per_address = 0\n[live]\nmax_per_address = 1000000\n"
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

    def loop_s(self) -> float:
        """Return the seconds that its event loop, on the main thread, has had a processor."""
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    async def connections(self, count: int) -> list[Streams]:
        """Open connections to write on."""
        return [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(count)]

    async def at_most(self) -> Pace:
        """Return how many scores a second writers get in that wait for each answer."""
        streams, end, begun, loop_s = await self.connections(WRITERS), time.perf_counter() + SECONDS / 2, self.written, self.loop_s()

        async def write(own: Streams) -> None:
            while time.perf_counter() < end:
                self.written += 1
                await submit(own, self.written)
            own[1].close()

        await asyncio.gather(*map(write, streams))
        written = self.written - begun
        return Pace(written / (SECONDS / 2), (self.loop_s() - loop_s) / written)

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


class Subscribers:
    """Processes that follow the board."""

    def __init__(self, port: int, count: int) -> None:
        shares = [count // PROCESSES + (n < count % PROCESSES) for n in range(PROCESSES)]
        command = [sys.executable, "-m", "benchmarks.live_subscribers", str(port)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._processes = [subprocess.Popen([*command, str(share), str(TIMED)], **pipes, text=True) for share in shares]  # type: ignore[call-overload]
        for process in self._processes:
            assert process.stdout.readline() == "ready\n"

    def _tell(self, command: str) -> None:
        for process in self._processes:
            process.stdin.write(f"{command}\n")
            process.stdin.flush()

    def clear(self) -> None:
        """Forget what was seen."""
        self._tell("clear")

    def seen(self) -> list[list[tuple[int, float]]]:
        """Return the positions that each timed subscriber has seen, and when."""
        self._tell("report")
        return [own for process in self._processes for own in msgspec.json.decode(process.stdout.readline())]

    def close(self) -> None:
        """End them."""
        for process in self._processes:
            process.stdin.close()
            process.wait()


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


async def measure(count: int) -> tuple[list[str], bool]:
    """Return a row of the table, and whether the targets are met."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder))
        try:
            await service.ready()
            await service.at_most()
            alone = await service.at_most()
            memory = service.memory()
            subscribers = Subscribers(service.port, count)
            each = (service.memory() - memory) / count
            beside = await service.at_most()
            await asyncio.sleep(2)
            subscribers.clear()
            acknowledged = await service.steadily()
            await asyncio.sleep(2)
            waits = delays(acknowledged, subscribers.seen())
            subscribers.close()
            await asyncio.sleep(2)
            again = await service.at_most()
        finally:
            service.process.terminate()
            service.process.wait()
    half, most = (1000 * waits[int(len(waits) * share)] for share in (0.5, 0.99))
    writes, loop_s = (alone.writes + again.writes) / 2, (alone.loop_s + again.loop_s) / 2
    kept, kept_by_loop = beside.writes / writes, loop_s / beside.loop_s
    good = most < TARGETS_MS.get(count, 1000) and each < TARGET_BYTES and (count > 1000 or kept >= TARGET_KEPT)
    row = [f"{half:.0f} ms", f"{most:.0f} ms", f"{each / 1000:.1f} KB"]
    row += [f"{writes:,.0f}/s", f"{beside.writes:,.0f}/s", f"{kept:.2f}"]
    row += [f"{1e6 * loop_s:.0f} µs", f"{1e6 * beside.loop_s:.0f} µs", f"{kept_by_loop:.2f}"]
    return row, good


async def main() -> int:
    """Measure, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subscribers", type=int, nargs="*", default=[1000, 10_000])
    options = parser.parse_args()
    found = [await measure(count) for count in options.subscribers]
    table = Table("subscribers", *(f"{count:,}" for count in options.subscribers))
    for name, *figures in zip(FIGURES, *(row for row, _ in found), strict=True):
        table.add_row(name, *figures)
    Console().print(table)
    return 0 if all(good for _, good in found) else 1


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
