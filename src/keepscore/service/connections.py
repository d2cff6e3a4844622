"""Connections of the service: how many there may be, how many of one address, and how long they may do nothing.

The server closes connections that are idle or send the head of a request too slowly, and holds at most `server.max_connections`. What it
cannot do is done here, with the sockets themselves: the system gives up connections whose clients do not read (`TCP_USER_TIMEOUT`), and
a look at all open sockets, every half second, finds addresses that have too many and shuts down the latest of them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import stat
import sys
import time
from collections.abc import Iterator
from ipaddress import IPv6Address
from itertools import islice

from keepscore.storage.pace import Turns

__all__ = ["ConnectionWatch", "client_network", "connections_allowed", "give_up_unread"]

#: Files that a process needs beside its connections: databases, the log, connections to other servers.
OTHER_FILES = 200
#: Seconds between two looks at the open sockets, and at most; how many times as long as a look took (10 µs a socket) the rest is.
LOOK_EVERY_S, LONGEST_REST_S, REST = 0.5, 2.0, 20
#: Seconds between two looks at whether the port is open.
START_EVERY_S = 0.02
#: Seconds between two lines of the log about addresses that have too many connections.
TELL_EVERY_S = 60.0
#: Seconds after which the system asks whether a silent client is still there, and between two such questions; how many it asks.
PROBE_AFTER_S, PROBE_EVERY_S, PROBES = 60, 15, 4
#: The open files of this process, on all systems that have such a thing.
OPEN_FILES = "/dev/fd"

log = logging.getLogger(__name__)


def connections_allowed(wanted: int) -> int:
    """Let this process open as many files as that many connections need. Return how many connections it may have, and log it if fewer."""
    needed = wanted + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    limit = soft
    # The second is allowed to everybody.
    for new in ((needed, hard if hard == resource.RLIM_INFINITY else max(needed, hard)), (hard, hard)):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, new)
        except (OSError, ValueError):
            continue
        limit = new[0]
        break
    if limit >= needed:
        return wanted
    allowed = max(1, limit - OTHER_FILES)
    log.warning(
        "server.max_connections = %d needs %d open files, and this process may have %d: it takes %d connections. "
        "Raise the limit (ulimit -Hn, LimitNOFILE= of systemd, --ulimit nofile= of docker), or lower server.max_connections",
        *(wanted, needed, limit, allowed),
    )
    return allowed


def give_up_unread(port: int, seconds: float) -> bool:
    """Make the system close connections to a port whose clients leave what was sent unread for some seconds, or are gone.

    Connections take these options over from the socket that listens; return whether there is one. A system that does not know an option
    goes without it.
    """
    options = {
        "TCP_USER_TIMEOUT": round(seconds * 1000),
        "TCP_KEEPIDLE": PROBE_AFTER_S,
        "TCP_KEEPINTVL": PROBE_EVERY_S,
        "TCP_KEEPCNT": PROBES,
    }
    is_found = False
    for number in _open_files():
        with _OwnSocket(number) as one:
            if one is not None and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and one.getsockname()[1] == port:
                is_found = True
                one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for name, value in options.items():
                    if hasattr(socket, name):
                        one.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return is_found


class ConnectionWatch:
    """Keeps each address to at most `most` connections to a port of this process; 0: to none in particular."""

    def __init__(self, port: int, most: int, idle_seconds: float) -> None:
        self._port = port
        self._most = most
        self._idle_seconds = idle_seconds
        self._told_at = -TELL_EVERY_S

    async def watch(self) -> None:
        """Wait until the port is open, then look again and again, until it is cancelled."""
        is_open, pause = False, LOOK_EVERY_S
        while self._most or not is_open:
            # The server opens it in a thread of its own, and does not tell when.
            is_open = is_open or give_up_unread(self._port, self._idle_seconds)
            await asyncio.sleep(pause if is_open else START_EVERY_S)
            # While there are not more files than that, no address has too many connections.
            if self._most and _count_open_files() > self._most:
                began = time.process_time()
                await self.look()
                pause = min(LONGEST_REST_S, max(LOOK_EVERY_S, REST * (time.process_time() - began)))

    async def look(self) -> int:
        """Shut down what addresses have too many of, and return how many those were. O(open files)."""
        numbers: dict[str, list[int]] = {}
        turns = Turns()
        for number in _open_files():
            if turns.is_over():
                await turns.pass_on()
            with _OwnSocket(number) as one:
                network = self._network(one)
                if network is not None:
                    numbers.setdefault(network, []).append(number)
        closed = 0
        for network, found in numbers.items():
            # The system gives the lowest free number to a new connection: the highest ones are the latest, by and large.
            for number in islice(sorted(found), self._most, None):
                if turns.is_over():
                    await turns.pass_on()
                closed += self._shut_down(number, network)
        if closed:
            self._tell(closed, max(numbers, key=lambda network: len(numbers[network])))
        return closed

    def _network(self, one: socket.socket | None) -> str | None:
        """Return whose connection to the port a socket is; None: it is something else."""
        if one is None:
            return None
        try:
            return client_network(one.getpeername()[0]) if one.getsockname()[1] == self._port else None
        except OSError:
            # It listens, or its client has gone.
            return None

    def _shut_down(self, number: int, network: str) -> bool:
        with _OwnSocket(number) as one:
            # It may have been closed meanwhile, and its number given to another.
            if one is None or self._network(one) != network:
                return False
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                return False
            return True

    def _tell(self, closed: int, network: str) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._told_at + TELL_EVERY_S:
            self._told_at = now
            log.warning(
                "%s has more than %d connections (server.max_connections_per_address): %d were closed. Where a proxy brings all "
                "clients, raise the limit, or turn it off with 0",
                *(network, self._most, closed),
            )


def client_network(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or an IPv6 network of 64 bits.

    >>> client_network("192.0.2.7"), client_network("::ffff:192.0.2.7"), client_network("2001:db8::1:2")
    ('192.0.2.7', '192.0.2.7', '2001:db8::/64')
    """
    if ":" not in address:
        return address
    whole = IPv6Address(address.partition("%")[0])
    if whole.ipv4_mapped is not None:
        return str(whole.ipv4_mapped)
    return f"{IPv6Address(whole.packed[:8] + bytes(8))}/64"


class _OwnSocket:
    """A socket of this process by its number, as long as the block lasts; None where the number is of something else.

    It is a duplicate: whoever owns the number may close it meanwhile. Only sockets are duplicated. To close a duplicate of a file would
    take away all locks that this process has on the file, those of SQLite among them.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._socket: socket.socket | None = None

    def __enter__(self) -> socket.socket | None:
        try:
            if not _is_socket(self._number):
                return None
            duplicate = os.dup(self._number)
        except OSError:
            return None
        if not _is_socket(duplicate):
            # Within these microseconds the number was given to a file. The duplicate stays open, for the sake of the file's locks.
            return None
        self._socket = socket.socket(fileno=duplicate)
        if self._socket.family not in (socket.AF_INET, socket.AF_INET6) or self._socket.type != socket.SOCK_STREAM:
            self._socket.close()
            self._socket = None
        return self._socket

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._socket.close()


def _is_socket(number: int) -> bool:
    return stat.S_ISSOCK(os.fstat(number).st_mode)


def _open_files() -> Iterator[int]:
    return (int(name) for name in os.listdir(OPEN_FILES))


def _count_open_files() -> int:
    # Linux tells it at once, since 6.2.
    told = os.stat(OPEN_FILES).st_size if sys.platform == "linux" else 0
    return told or len(os.listdir(OPEN_FILES))
