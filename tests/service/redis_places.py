"""Redis servers that tests of the service share: each starts with the first test that needs it and ends with the process."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache

from tests.service.running import Service, run
from tests.support.redis_servers import Cluster, RedisServer, Sentinels, cluster, sentinels, single

#: A password with signs that mean something in an address.
PASSWORD = "s3cr3t/@:?#%"

_started = ExitStack()
atexit.register(_started.close)


@cache
def open_redis() -> RedisServer:
    """A server without a password."""
    return _started.enter_context(single())


@cache
def locked_redis() -> RedisServer:
    """A server with a password."""
    return _started.enter_context(single(password=PASSWORD))


@cache
def shared_cluster() -> Cluster:
    """A Cluster of which no node is harmed."""
    return _started.enter_context(cluster())


@cache
def shared_sentinels() -> Sentinels:
    """Sentinels over servers none of which is harmed."""
    return _started.enter_context(sentinels(password=PASSWORD))


def on(url: str, boards: str = "") -> str:
    """The part of a configuration that names an engine, and boards."""
    return f'[engine]\nurl = "{url}"\n{boards}'


def until(condition: Callable[[], object], seconds: float = 10.0) -> float:
    """Wait until it holds, at most so many seconds; gives how many that were."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, f"not within {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - start


def verified(service: Service, beside: bool = False) -> None:
    """`keepscore verify` finds nothing: asked of the service, or as a process beside it."""
    reach = ["--config", str(service.config)] if beside else ["--url", service.url]
    done = run("verify", *reach, cwd=service.directory)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stdout + done.stderr
