"""Push through faults: every subscriber comes to show what a read says, and no stream shows a state older than one it has shown."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psutil

from tests.service.live.rig import Replica
from tests.service.running import Service
from tests.support.live_connections import RealEvents, RealSocket
from tests.support.postgres_servers import shared_postgres
from tests.support.redis_servers import RedisServer, single

#: Seconds in which all is as it should be after a fault, and rows that are followed.
RECOVERY_S, ROWS = 40.0, 5
QUERY = f"board=global&top={ROWS}"


class Follower:
    """A subscriber that comes back whenever it is cut off, with the position of what it shows."""

    def __init__(self, service: Service, kind: str) -> None:
        self._service, self._kind = service, kind
        self.replica = Replica()
        self.cuts = 0
        self.task = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        while True:
            with contextlib.suppress(OSError, AssertionError, asyncio.IncompleteReadError):
                await self._read(await self._opened())
            self.cuts += 1
            await asyncio.sleep(0.1)

    async def _opened(self) -> RealEvents | RealSocket:
        epoch, seq = self.replica.position
        if self._kind == "events":
            return await RealEvents().open(self._service.port, QUERY, f"last-event-id: {epoch}:{seq}\r\n" if epoch else "")
        socket = await RealSocket().open(self._service.port)
        resume = {"resume_from": f"{epoch}:{seq}"} if epoch else {}
        await socket.say({"id": 1, "subscribe": {"board": "global", "top": ROWS, **resume}})
        return socket

    async def _read(self, connection: RealEvents | RealSocket) -> None:
        try:
            is_first = True
            while (message := await connection.next())[0] not in ("end", "closed", "error"):
                if is_first and message[0] != "state":
                    raise Broken(f"{self._kind}: a subscription begins with the state, and not with {message}")
                is_first = False
                try:
                    self.replica.take(*message)
                except (AssertionError, KeyError) as exc:
                    raise Broken(f"{self._kind}: {exc!r} after {self.replica.position}: {message}") from exc
        finally:
            connection.close()


class Broken(Exception):
    """A stream has shown what it must not."""


class Watched:
    """Two workers on Redis and PostgreSQL, a writer, and followers of one board."""

    def __init__(self, service: Service, server: RedisServer, followers: list[Follower]) -> None:
        self.service, self.server, self.followers = service, server, followers
        self._written = 0

    async def write(self, count: int) -> None:
        """Send scores until each is taken, whatever is down meanwhile."""
        async with httpx.AsyncClient(base_url=self.service.url, timeout=5) as client:
            for _ in range(count):
                self._written += 1
                body = {"player_id": f"p{self._written * 7 % 11}", "score": self._written, "idempotency_key": f"k{self._written}"}
                deadline = time.monotonic() + RECOVERY_S
                while True:
                    with contextlib.suppress(httpx.TransportError):
                        if (await client.post("/v1/boards/global/scores", json=body)).status_code in (200, 202):
                            break
                    assert time.monotonic() < deadline, "scores are taken again after a fault"
                    await asyncio.sleep(0.05)

    async def converges(self) -> None:
        """Every subscriber shows what a read says."""
        deadline, expected = time.monotonic() + RECOVERY_S, list[tuple[int, str, int]]()
        async with httpx.AsyncClient(base_url=self.service.url, timeout=5) as client:
            while True:
                for one in self.followers:
                    if one.task.done():
                        one.task.result()
                shown = [one.replica.shown() for one in self.followers]
                with contextlib.suppress(httpx.TransportError):
                    top = (await client.get("/v1/boards/global/top", params={"limit": ROWS})).json()
                    expected = [(row["rank"], row["player_id"], row["score"]) for row in top.get("standings", ())]
                    if expected and expected[0][2] == self._written and shown == [expected] * len(shown):
                        return
                assert time.monotonic() < deadline, f"{shown} and not {expected}"
                await asyncio.sleep(0.05)

    def kill_worker(self) -> None:
        """End one of the processes that serve; another takes its place."""
        children = psutil.Process(self.service.process.pid).children(recursive=True)
        dying = next(child for child in children if "spawn_main" in " ".join(child.cmdline()))
        dying.kill()
        dying.wait(10)


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[Watched]:
    with single() as server:
        config = f'[server]\nworkers = 2\n[engine]\nurl = "{server.url}?deadline=0.5"\n[[board]]\nname = "global"\n'
        service = Service(folder, config, ledger=shared_postgres().new_database())
        followers = [Follower(service, kind) for kind in ("events", "sockets") for _ in range(4)]
        try:
            yield Watched(service, server, followers)
        finally:
            for one in followers:
                one.task.cancel()
            await asyncio.gather(*(one.task for one in followers), return_exceptions=True)
            service.stop()


async def test_subscribers_converge_after_every_fault(tmp_path: Path):
    async with watched(tmp_path) as rig:
        await rig.write(10)
        await rig.converges()

        # Notices are lost: nobody hears of the first ones after it.
        rig.server.ask("CLIENT", "KILL", "TYPE", "pubsub")
        await rig.write(5)
        await rig.converges()

        # A worker dies under load, with the connections that it has.
        before = sum(one.cuts for one in rig.followers)
        writing = asyncio.ensure_future(rig.write(20))
        await asyncio.to_thread(rig.kill_worker)
        await writing
        await rig.converges()
        assert sum(one.cuts for one in rig.followers) > before

        # Redis comes back empty, under load.
        writing = asyncio.ensure_future(rig.write(20))
        await asyncio.to_thread(rig.server.restart)
        await writing
        await rig.converges()
        assert "Traceback" not in rig.service.log.read_text()
