"""Processes under load on this machine, and wrk to load them."""

from __future__ import annotations

import re
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

CONNECTIONS = 32


class Load(NamedTuple):
    """What one run of wrk saw. Latencies are in milliseconds."""

    requests: float
    p99: float
    errors: int


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], url: str) -> Iterator[float]:
    """Run a process until the end of the block; yield the seconds that it took to answer."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except OSError:
                if process.poll() is not None or time.perf_counter() - begun > 300:
                    raise
                time.sleep(0.05)
        yield time.perf_counter() - begun
    finally:
        process.terminate()
        process.wait(60)


def wrk(url: str, seconds: int, lua: str = "", headers: Mapping[str, str] = MappingProxyType({})) -> Load:
    """Load a URL with 32 connections for some seconds."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "requests.lua"
        script.write_text(lua or "request = function() return wrk.format() end")
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(script)]
        command += [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")] + [url]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    requests = re.search(r"Requests/sec:\s+([\d.]+)", out)
    assert requests is not None, out
    errors = sum(int(n) for n in re.findall(r"Non-2xx or 3xx responses: (\d+)", out))
    return Load(float(requests[1]), _latency(out, "99%"), errors)


def _latency(out: str, share: str) -> float:
    found = re.search(rf"{share}\s+([\d.]+)(us|ms|s)\s*\n", out)
    assert found is not None, out
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]
