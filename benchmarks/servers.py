"""The Redis of a run, as people run it: with jemalloc, which the one from PyPI lacks, and with huge pages, as it saves nothing."""

from __future__ import annotations

import ctypes.util
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.redis_servers import RedisServer, single

from benchmarks.others import CACHE

LIBRARY = "libjemalloc.so.2"


def jemalloc() -> str | None:
    """Return where the allocator is: installed, or from Debian's package. None where there is neither."""
    if found := ctypes.util.find_library("jemalloc"):
        return found
    folder = CACHE / "jemalloc"
    if not list(folder.rglob(LIBRARY)):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run(["apt-get", "download", "--quiet", "libjemalloc2"], cwd=folder, capture_output=True, check=True)
            (package,) = folder.glob("libjemalloc2_*.deb")
            subprocess.run(["dpkg", "-x", package, folder], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError, ValueError):
            return None
    return str(next(folder.rglob(LIBRARY)))


@contextmanager
def tuned_redis() -> Iterator[tuple[RedisServer, str]]:
    """Run a server until the end of the block; yield it and its description."""
    library = jemalloc()
    environment = {"LD_PRELOAD": library, "MALLOC_CONF": "thp:always"} if library else {}
    with single(arguments=["--disable-thp", "no"], environment=environment) as server:
        version = server.ask("INFO", "server")["redis_version"]
        yield server, f"Redis {version}, {'jemalloc with huge pages' if library else 'without jemalloc: apt-get install libjemalloc2'}"
