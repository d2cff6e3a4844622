"""The way of a request to the service and back."""

from __future__ import annotations

import asyncio
from time import monotonic
from types import TracebackType
from typing import Protocol, Self, TypeVar

from keepscore.client.addresses import checked_key, checked_url, httpx, lost, signed, unreachable
from keepscore.client.calls import Call, HttpAnswer
from keepscore.client.outcomes import Patience, Pause, Tries
from keepscore.errors import AnswerLost, ServiceUnreachable

__all__ = ["Send", "Sender"]

#: Connections that are open at once.
MAX_CONNECTIONS = 100

T = TypeVar("T")


class Send(Protocol):
    """Sends one request, and again where that is safe."""

    async def __call__(self, call: Call[T], attempts: int | None = None) -> T:
        """Return the result, or raise the error that the service answers with."""


class Sender:
    """Sends requests over connections that it keeps, and again where that is safe."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        sign: bool = False,
        timeout: float = 10,
        deadline: float = 30,
        long_deadline: float = 600,
        attempts: int = 10,
    ) -> None:
        """Prepare to talk to the service at a URL. Times are in seconds.

        `key`, an API key or a player token, is sent with every request; with `sign`, requests are signed with an API key, which is not
        sent itself. One try takes `timeout` at most, and a call `deadline` with up to `attempts`
        tries; calls that read or rebuild whole boards take `long_deadline` at most.
        """
        self.url = checked_url(url)
        headers = {"user-agent": "keepscore-client", "accept": "application/json", "content-type": "application/json"}
        self._signing_key = checked_key(key) if key is not None and sign else None
        if key is not None and not sign:
            headers["authorization"] = f"Bearer {checked_key(key)}"
        self._patience = Patience(attempts, timeout, deadline, long_deadline)
        limits = httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS)
        # Without TLS there is nothing to verify, and to load the authorities takes longer than a request.
        verify = self.url.startswith("https:")
        self._http = httpx.AsyncClient(headers=headers, limits=limits, follow_redirects=False, verify=verify)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _call(self, call: Call[T], attempts: int | None = None) -> T:
        patience = self._patience if attempts is None else self._patience._replace(attempts=attempts)
        tries = Tries(call, patience, monotonic())
        while True:
            outcome = await self._try(call, tries.header_key, tries.timeout(monotonic()))
            result = tries.judge(outcome, monotonic())
            if not isinstance(result, Pause):
                return result
            await asyncio.sleep(result.seconds)

    async def _try(self, call: Call[T], header_key: str | None, timeout_s: float) -> HttpAnswer | ServiceUnreachable | AnswerLost:
        headers = {} if header_key is None else {"idempotency-key": header_key}
        if self._signing_key is not None:
            headers["authorization"] = signed(self._signing_key, call.method, call.target, call.body)
        until = monotonic() + timeout_s
        sending = self._http.stream(call.method, self.url + call.target, content=call.body, headers=headers, timeout=timeout_s)
        try:
            async with sending as answer:
                body = bytearray()
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if monotonic() > until:
                        raise httpx.ReadTimeout("")
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as exc:
            return unreachable(self.url, exc)
        except httpx.RequestError as exc:
            return lost(self.url, exc, timeout_s)
        return HttpAnswer(answer.status_code, answer.headers, bytes(body))
