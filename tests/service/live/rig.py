"""Live connections to an application in this process: server-sent events and WebSockets, as a server would bring them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from keepscore import Board, Leaderboards
from keepscore.config import load_settings
from keepscore.domain.caps import LiveCaps
from keepscore.leaderboards import now_ms
from keepscore.reading.live.hub import LiveTimes
from keepscore.service.app import EdgeOptions, make_app
from keepscore.service.guards import Guards
from keepscore.service.http.layer import App

#: Seconds for which a test waits for a message.
PATIENCE_S = 20.0
QUICK = LiveTimes(interval_s=0.01, heartbeat_s=15.0, check_s=0.05)


@asynccontextmanager
async def opened(
    *boards: Board,
    ledger: str = "sqlite:///:memory:",
    engine: str = "embedded://",
    clock: Callable[[], int] = now_ms,
    times: LiveTimes = QUICK,
) -> AsyncIterator[Leaderboards]:
    """Leaderboards whose subscribers hear of changes quickly."""
    settings = load_settings(None, {"ledger.url": ledger, "engine.url": engine}, {})
    async with Leaderboards.configured(settings, boards, clock) as lb:
        lb.runtime.live.times = times
        yield lb


def app_of(lb: Leaderboards, guards: Guards | None = None, caps: LiveCaps | None = None, origins: tuple[str, ...] = ()) -> App:
    options = EdgeOptions(live_caps=caps or LiveCaps(), cors_origins=origins)
    return make_app(lb, "global", options, guards=guards)


def _scope(kind: str, query: str, headers: dict[str, str], method: str = "GET") -> dict[str, Any]:
    return {
        "type": kind,
        "method": method,
        "path": "/v1/live",
        "raw_path": b"/v1/live",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 4000),
    }


class Events:
    """A stream of server-sent events."""

    def __init__(self, app: App, query: str, headers: dict[str, str], is_awaited: bool = False) -> None:
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._text = ""
        self.retry = 0
        #: Set to let the reader stop reading.
        self.is_reading = asyncio.Event()
        self.is_reading.set()
        self._task = asyncio.ensure_future(app(_scope("http", query, headers), self._receive, self._send if is_awaited else self._take))

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.is_reading.wait()
        await self._sent.put(message)

    def _take(self, message: Any) -> Awaitable[None]:
        """Take a message at once, as servers do that do not wait to be awaited."""
        if not self.is_reading.is_set():
            return asyncio.ensure_future(self._send(message))
        self._sent.put_nowait(message)
        taken = asyncio.get_running_loop().create_future()
        taken.set_result(None)
        return taken

    async def started(self) -> int:
        """The status."""
        message = await asyncio.wait_for(self._sent.get(), PATIENCE_S)
        return int(message["status"])

    async def problem(self) -> dict[str, Any]:
        """The answer to a request that was refused."""
        found: dict[str, Any] = json.loads((await asyncio.wait_for(self._sent.get(), PATIENCE_S))["body"])
        return found

    async def next(self, *names: str) -> tuple[str, dict[str, Any], str | None]:
        """The next event, or the next of some names: its name, data and id."""
        while True:
            name, data, number = await asyncio.wait_for(self._event(), PATIENCE_S)
            if not names or name in names:
                return name, data, number

    async def _event(self) -> tuple[str, dict[str, Any], str | None]:
        while True:
            while "\n\n" not in self._text:
                message = await self._sent.get()
                if not message.get("more_body"):
                    return "end", {}, None
                self._text += message["body"].decode()
            text, _, self._text = self._text.partition("\n\n")
            fields = dict(line.split(": ", 1) for line in text.splitlines())
            if "retry" in fields:
                self.retry = int(fields["retry"])
            else:
                return fields["event"], json.loads(fields["data"]), fields.get("id")

    async def close(self) -> None:
        """Go away."""
        self.is_reading.set()
        self._gone.set()
        await asyncio.wait_for(self._task, PATIENCE_S)


@asynccontextmanager
async def following(app: App, query: str, is_awaited: bool = False, **headers: str) -> AsyncIterator[Events]:
    """A stream that was begun."""
    events = Events(app, query, {name.replace("_", "-"): value for name, value in headers.items()}, is_awaited)
    assert await events.started() == 200
    try:
        yield events
    finally:
        await events.close()


async def refusal(app: App, query: str, **headers: str) -> tuple[int, dict[str, Any]]:
    """The answer to a request for a stream that is refused."""
    events = Events(app, query, {name.replace("_", "-"): value for name, value in headers.items()})
    status = await events.started()
    problem = await events.problem()
    await events.close()
    return status, problem


class Socket:
    """A WebSocket."""

    def __init__(self, app: App, headers: dict[str, str]) -> None:
        self._to: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._to.put_nowait({"type": "websocket.connect"})
        self.closed: tuple[int, str] | None = None
        self._task = asyncio.ensure_future(app(_scope("websocket", "", headers), self._to.get, self._from.put))

    async def accepted(self) -> bool:
        """Whether the service has taken the connection."""
        message = await asyncio.wait_for(self._from.get(), PATIENCE_S)
        if message["type"] == "websocket.close":
            self.closed = message["code"], message["reason"]
        return bool(message["type"] == "websocket.accept")

    async def say(self, frame: Any) -> None:
        """Send a frame: text as it is, other things as JSON."""
        await self._to.put({"type": "websocket.receive", "text": frame if isinstance(frame, str) else json.dumps(frame)})

    async def hear(self) -> dict[str, Any]:
        """The next message; {} when the connection is closed."""
        message = await asyncio.wait_for(self._from.get(), PATIENCE_S)
        if message["type"] == "websocket.close":
            self.closed = message["code"], message["reason"]
            return {}
        found: dict[str, Any] = json.loads(message["text"])
        return found

    async def close(self) -> None:
        """Go away."""
        await self._to.put({"type": "websocket.disconnect"})
        await asyncio.wait_for(self._task, PATIENCE_S)


@asynccontextmanager
async def connected(app: App, **headers: str) -> AsyncIterator[Socket]:
    """A WebSocket that was taken."""
    socket = Socket(app, {name.replace("_", "-"): value for name, value in headers.items()})
    assert await socket.accepted()
    try:
        yield socket
    finally:
        await socket.close()


def rows(standings: list[dict[str, Any]]) -> list[tuple[int, str, Any]]:
    """Rank, player and score of each row."""
    return [(one["rank"], one["player_id"], one["score"]) for one in standings]


class Replica:
    """What a subscriber makes of messages: it shows the state, and puts each change into it."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.total = 0
        self.position = ("", -1)

    def take(self, name: str, data: dict[str, Any]) -> None:
        """Take a message; nothing may be older than what was shown."""
        if name not in ("state", "change"):
            return
        epoch, _, seq = data["position"].partition(":")
        assert epoch != self.position[0] or int(seq) >= self.position[1], "a state that is older than one that was shown"
        assert name == "state" or epoch == self.position[0], "another epoch begins with a state"
        self.position = epoch, int(seq)
        if name == "state":
            self.rows = {}
        for player in data.get("removed", ()):
            del self.rows[player]
        self.rows |= {one["player_id"]: one for one in data["standings"]}
        self.total = data["total_players"]

    def shown(self) -> list[tuple[int, str, Any]]:
        """The rows in rank order."""
        return rows(sorted(self.rows.values(), key=lambda one: one["rank"]))
