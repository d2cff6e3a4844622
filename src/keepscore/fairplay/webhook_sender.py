"""Sends one webhook: to an address that was looked up, checked and kept, within one deadline.

The name is looked up once for each try, every address that it has must be a public one, and the connection goes to one of these: no other
answer of the name server counts between the check and the connection. Redirects are not followed. Of the answer, only the status is read.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import ip_address

from keepscore.domain.webhooks import WebhookTarget, is_public, signed_headers
from keepscore.storage.ledgers.outbox import Message

__all__ = ["Refused", "Resolve", "WebhookSender"]

#: Seconds for one try, from the look-up of the name to the status of the answer.
DEADLINE_S = 15.0
#: The most bytes of a line of the answer, and of all its headers.
MAX_LINE_BYTES, MAX_LINES = 8192, 100

#: Looks a host up: its addresses.
Resolve = Callable[[str, int], Awaitable[list[str]]]


class Refused(Exception):
    """A message was not acknowledged. The text says why, and holds no secret."""


async def looked_up(host: str, port: int) -> list[str]:
    """Return the addresses of a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class WebhookSender:
    """Sends messages to one target."""

    def __init__(self, target: WebhookTarget, resolve: Resolve = looked_up, deadline_s: float = DEADLINE_S) -> None:
        self._target = target
        self._resolve = resolve
        self._deadline_s = deadline_s

    async def send(self, message: Message, now: int) -> None:
        """Send a message; return when the receiver has acknowledged it, or raise Refused."""
        target = self._target
        body = message.body.encode()
        headers = signed_headers(message.id, now // 1000, body, target.secret)
        try:
            async with asyncio.timeout(self._deadline_s):
                status = await self._status(body, headers)
        except TimeoutError:
            raise Refused(f"{target.shown} did not answer within {self._deadline_s:g} s") from None
        except ssl.SSLError as exc:
            raise Refused(f"{target.shown} cannot be trusted: {exc.reason or 'TLS failed'}") from None
        except (OSError, EOFError, ValueError) as exc:
            raise Refused(f"{target.shown} cannot be reached, or did not answer: {type(exc).__name__}") from None
        if 300 <= status < 400:
            raise Refused(f"{target.shown} answered {status}: redirects are not followed")
        if not 200 <= status < 300:
            raise Refused(f"{target.shown} answered {status}")

    async def _address(self) -> str:
        """Return the address to connect to, after all that the host has were checked."""
        target = self._target
        found = await self._resolve(target.host, target.port)
        if not found:
            raise Refused(f"{target.host} has no address")
        for address in found if not target.is_allowed else ():
            if not is_public(ip_address(address)):
                raise Refused(f"{target.host} has the private address {address}: allow it by name (webhooks.allow), if it is meant")
        return found[0]

    async def _status(self, body: bytes, headers: dict[str, str]) -> int:
        target = self._target
        context = ssl.create_default_context() if target.is_encrypted else None
        reader, writer = await asyncio.open_connection(
            await self._address(),
            target.port,
            ssl=context,
            server_hostname=target.host if target.is_encrypted else None,
            limit=MAX_LINE_BYTES,
        )
        try:
            lines = [f"POST {target.path} HTTP/1.1", f"host: {target.authority}", "content-type: application/json"]
            lines += [f"content-length: {len(body)}", "user-agent: keepscore", "connection: close"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            writer.write("\r\n".join((*lines, "", "")).encode() + body)
            await writer.drain()
            return await _final_status(reader)
        finally:
            writer.close()
            with suppress(OSError, ssl.SSLError, TimeoutError):
                # Nobody waits long for the other side to say goodbye.
                await asyncio.wait_for(writer.wait_closed(), 1.0)


async def _final_status(reader: asyncio.StreamReader) -> int:
    """Return the status of an answer, past those that are only on the way."""
    for _ in range(MAX_LINES):
        version, _, rest = (await _line(reader)).partition(b" ")
        code = rest[:3]
        if not version.startswith(b"HTTP/1.") or not code.isdigit():
            raise ValueError("no HTTP")
        if int(code) >= 200:
            return int(code)
        while (await _line(reader)).strip():
            pass
    raise ValueError("no end of answers on the way")


async def _line(reader: asyncio.StreamReader) -> bytes:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line
