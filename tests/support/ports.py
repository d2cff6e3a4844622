"""Free ports for servers, each given to one test process only."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

#: Below the ports that outgoing connections take by chance, and with room above for a cluster's bus.
PORTS = range(12_000, 22_000)
#: How far above its port a cluster's bus is.
BUS = 10_000

#: The locks of the ports that this process was given: it keeps them to its end, so that no other test process is given the same.
_given: dict[int, IO[str]] = {}


def free_port() -> int:
    """A port on which nobody listens, nor on the one of its bus, and which no other test process is given."""
    folder = Path(tempfile.gettempdir()) / f"keepscore-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for port in random.SystemRandom().sample(PORTS, k=1000):
        if port in _given:
            continue
        lock = (folder / str(port)).open("w")
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as other:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            one.bind(("127.0.0.1", port))
            other.bind(("127.0.0.1", port + BUS))
            _given[port] = lock
            return port
        lock.close()
    raise RuntimeError("no port is free")
