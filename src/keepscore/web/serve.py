"""Running the service until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable

import uvloop
from granian.constants import Interfaces
from granian.server.embed import Server

from keepscore.config import Settings
from keepscore.errors import ConfigError
from keepscore.leaderboards import Leaderboards
from keepscore.web.app import make_app
from keepscore.web.workers import run_workers

__all__ = ["check_server", "make_server", "run_service", "serve_alone"]


def check_server(settings: Settings) -> None:
    """Refuse a server that would be open to everybody by mistake, or could not start."""
    if not _is_loopback(settings.host) and not settings.insecure:
        raise ConfigError(
            f"server.host = {settings.host!r} would open the service to everybody who reaches this machine: there are no API keys. "
            "Listen on 127.0.0.1, or add --insecure if that is what you want"
        )
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


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def run_service(settings: Settings, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. `started` is called with the service's address once it answers."""
    check_server(settings)
    if settings.workers > 1:
        run_workers(settings, started)
    else:
        serve_alone(settings, started)


def serve_alone(settings: Settings, started: Callable[[str], None]) -> None:
    """Serve in this process."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    uvloop.run(_serve(settings, started))


async def _serve(settings: Settings, started: Callable[[str], None]) -> None:
    async with Leaderboards.open(
        settings.ledger, settings.engine, settings.boards, keep_keys=settings.keep_keys, keep_events=settings.keep_events
    ) as leaderboards:
        # What was loaded stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"http://{host}:{settings.port}"
        await leaderboards.ledger.announce(url)
        server = make_server(make_app(leaderboards, settings.default_board), settings.host, settings.port)
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signum, server.stop)
        loop.call_soon(started, url)
        await server.serve()


def make_server(app: object, host: str, port: int) -> Server:
    """The HTTP server in this process and event loop."""
    return Server(app, host, port, interface=Interfaces.ASGINL, websockets=False, backlog=1024, log_enabled=False)
