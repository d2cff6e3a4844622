"""Run the service until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from typing import NamedTuple, cast

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from keepscore.config import Settings
from keepscore.domain.durations import duration_ms
from keepscore.errors import ConfigError
from keepscore.leaderboards import Leaderboards
from keepscore.service.app import EdgeOptions, make_app
from keepscore.service.connections import ConnectionWatch, connections_allowed
from keepscore.service.guards import has_keys, opened_guards
from keepscore.service.http.origins import is_loopback
from keepscore.service.interpreter import share_time
from keepscore.service.logs import set_up_log
from keepscore.service.routes.pages import PageMode, PageOptions
from keepscore.service.shares import Shares, WorkerPlace
from keepscore.service.workers import run_workers

__all__ = ["Limits", "check_server", "make_server", "run_service", "serve_alone"]

#: Connections that wait to be taken; the system may allow fewer.
BACKLOG = 4096
#: Of the time that stopping may take, what is left for closing connections and files.
CLOSING_SECONDS = 1.0
#: The command that creates the first key.
CREATE_KEY = "keepscore keys create NAME --scope admin"

log = logging.getLogger(__name__)


def check_server(settings: Settings) -> None:
    """Refuse a server that would be open to everybody by mistake, or could not start."""
    if not is_loopback(settings.host) and not settings.insecure:
        _check_closed(settings)
    if settings.workers > 1 and (settings.engine == "embedded://" or ":memory:" in settings.ledger):
        part = f"engine {settings.engine!r}" if settings.engine == "embedded://" else f"ledger {settings.ledger!r}"
        raise ConfigError(
            f"server.workers = {settings.workers} cannot be used with the {part}, which is for one process: use workers = 1, or an "
            "engine on Redis (--engine redis://127.0.0.1:6379/0) and a ledger in a file or in PostgreSQL"
        )
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as exc:
            raise ConfigError(
                f"the service cannot listen on {settings.host} port {settings.port}: {exc.strerror}. Choose another with --port"
            ) from None


def _check_closed(settings: Settings) -> None:
    """Refuse to listen on other addresses than this machine's own where everybody could do everything."""
    opens = f"server.host = {settings.host!r} would open the service to anyone who can reach this machine"
    if settings.auth == "off":
        raise ConfigError(
            f"{opens}: server.auth = 'off' asks for no API keys. Set it to 'required', listen on 127.0.0.1, or add --insecure if that is "
            "what you want"
        )
    if not asyncio.run(has_keys(settings)):
        raise ConfigError(
            f"{opens}: there are no API keys. Create one with '{CREATE_KEY}', listen on 127.0.0.1, or add --insecure if that is what you "
            "want"
        )


def run_service(settings: Settings, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. `started` is called with the service's address once it answers."""
    check_server(settings)
    if settings.workers > 1:
        run_workers(settings, started)
    else:
        serve_alone(settings, started)


def serve_alone(settings: Settings, started: Callable[[str], None], place: WorkerPlace | None = None) -> None:
    """Serve in this process; as one of several workers, at its place among them."""
    set_up_log(settings.log_level, settings.log_format)
    uvloop.run(_serve(settings, started, Shares(place)))


async def _serve(settings: Settings, started: Callable[[str], None], shares: Shares) -> None:
    async with Leaderboards.configured(settings) as leaderboards, opened_guards(settings, leaderboards) as guards:
        if settings.auth == "required" and not guards.gate.keyring.has_keys:
            log.warning("server.auth = 'required', and there are no API keys: stop the service, and create one with '%s'", CREATE_KEY)
        collector = share_time()
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"http://{host}:{settings.port}"
        await leaderboards.runtime.ledger.announce(url)
        app = make_app(leaderboards, settings.default_board, _options(settings), shares, guards)
        idle_seconds = duration_ms(settings.idle_timeout) / 1000
        limits = Limits(settings.max_connections, idle_seconds)
        server = make_server(app, settings.host, settings.port, limits, websockets=app.has_sockets)
        connections = ConnectionWatch(settings.port, settings.max_connections_per_address, idle_seconds)
        loop = asyncio.get_running_loop()
        stopping = asyncio.Event()
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signum, stopping.set)
        loop.call_soon(started, url)
        watching = [
            loop.create_task(shares.watch(), name="keepscore-metrics"),
            loop.create_task(connections.watch(), name="keepscore-connections"),
            loop.create_task(collector.watch(), name="keepscore-collector"),
        ]
        serving = asyncio.ensure_future(server.serve())
        told = asyncio.ensure_future(stopping.wait())
        await asyncio.wait((serving, told), return_when=asyncio.FIRST_COMPLETED)
        for task in watching:
            task.cancel()
        told.cancel()
        deadline = loop.time() + duration_ms(settings.stop_timeout) / 1000
        leaderboards.runtime.live.stop()
        await _drain(server, serving, (deadline - loop.time()) / 2)
        leaderboards.stop_seconds = max(0.0, deadline - loop.time() - CLOSING_SECONDS)


async def _drain(server: Server, serving: asyncio.Future[None], seconds: float) -> None:
    """Let running requests finish, take no new ones, and tell clients to close their connections."""
    if not serving.done():
        asyncio.get_running_loop().call_soon(server.stop)
        await asyncio.wait((serving,), timeout=seconds)
    if not serving.done():
        log.warning("requests were still running %g s after the service was stopped: they are not answered", seconds)
        serving.cancel()
    await asyncio.gather(serving, return_exceptions=serving.cancelled())


class Limits(NamedTuple):
    """How many connections the server takes, and the seconds that they may do nothing."""

    max_connections: int = 10_000
    idle_seconds: float = 30.0


DEFAULT_LIMITS = Limits()


def make_server(app: object, host: str, port: int, limits: Limits = DEFAULT_LIMITS, websockets: bool = False) -> Server:
    """Make the HTTP server in this process and event loop.

    HTTP/1 only: while the server waits to see which version a client speaks, it has no deadline.
    """
    return Server(
        app,
        host,
        port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=websockets,
        backlog=BACKLOG,
        backpressure=connections_allowed(limits.max_connections),
        http1_settings=HTTP1Settings(header_read_timeout=round(limits.idle_seconds * 1000)),
        log_enabled=False,
    )


def _options(settings: Settings) -> EdgeOptions:
    return EdgeOptions(
        access_log=settings.access_log,
        host=settings.host,
        allowed_hosts=settings.allowed_hosts,
        cors_origins=settings.cors_origins,
        body_seconds=duration_ms(settings.body_timeout) / 1000,
        cache_bytes=settings.cache_bytes,
        pages=PageOptions(cast("PageMode", settings.page), settings.embed_origins),
        live_caps=settings.live_caps,
    )
