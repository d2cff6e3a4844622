"""How the command line reaches a board: over HTTP, or in this process on the ledger and engine themselves.

Both speak the routes of the API, so that every command is written once.
"""

from __future__ import annotations

import asyncio
import http.client
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from decimal import Decimal
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from keepscore.answers import encode
from keepscore.config import Settings
from keepscore.errors import ConfigError, ServiceError
from keepscore.leaderboards import Leaderboards
from keepscore.replay import Progress
from keepscore.web.app import make_app

__all__ = ["LocalTransport", "ServiceTransport", "Transport"]

#: Seconds that a service may take: a verification or a rebuild reads the whole ledger.
TIMEOUT = 600


class Transport(ABC):
    """Carries requests to the routes of the API."""

    @abstractmethod
    def send(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        """The status and body of the answer."""

    def call(self, method: str, *path: str, query: dict[str, Any] | None = None, body: object = None) -> Any:
        """The decoded answer of `/v1/…`, or ServiceError with what the service says."""
        target = "/v1/" + "/".join(quote(part, safe="") for part in path)
        given = {key: value for key, value in (query or {}).items() if value is not None}
        if given:
            target += "?" + urlencode(given)
        status, text = self.send(method, target, None if body is None else encode(body))
        answer = _decoded(text)
        if status >= 400:
            if isinstance(answer, dict) and "detail" in answer:
                raise ServiceError(answer["detail"], answer.get("type"))
            raise ServiceError(f"the service answered {status}")
        return answer

    def rebuild(self, board: str, progress: Progress) -> Any:
        """The answer to a rebuild, which may tell how far it is."""
        return self.call("POST", "boards", board, "rebuild")

    def __enter__(self) -> Transport:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


class ServiceTransport(Transport):
    """A running service."""

    def __init__(self, url: str) -> None:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
            raise ConfigError(f"--url {url!r} is not the address of a service: write it as in http://127.0.0.1:8080")
        self._url = url.rstrip("/")

    def send(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        request = urllib.request.Request(self._url + target, body, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as exc:
            with exc:
                return exc.code, exc.read()
        except (OSError, http.client.HTTPException, ValueError) as exc:
            reason = getattr(exc, "reason", exc)
            raise ServiceError(f"the service at {self._url} does not answer: {reason}. Start it with 'keepscore serve'") from None


class LocalTransport(Transport):
    """The ledger and the engine that the settings name, in this process."""

    def __init__(self, settings: Settings) -> None:
        self._runner = asyncio.Runner()
        self._leaderboards = Leaderboards.open(
            settings.ledger, settings.engine, settings.boards, keep_keys=settings.keep_keys, keep_events=settings.keep_events
        )
        self._runner.run(self._leaderboards.__aenter__())
        self._app = make_app(self._leaderboards, settings.default_board)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._runner.run(self._leaderboards.__aexit__(kind, error, trace))
        self._runner.close()

    def send(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        return self._runner.run(self._send(method, target, body or b""))

    def rebuild(self, board: str, progress: Progress) -> Any:
        return msgspec.to_builtins(self._runner.run(self._leaderboards.rebuild(board, progress=progress)))

    async def _send(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        path, _, query = target.partition("?")
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [],
        }
        await self._app(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]


# Scores with decimals come as they were written.
_decoder = msgspec.json.Decoder(float_hook=Decimal)


def _decoded(text: bytes) -> Any:
    try:
        return _decoder.decode(text) if text else None
    except msgspec.DecodeError:
        raise ServiceError(f"the answer is not JSON: is that a Keepscore service? {text[:80]!r}") from None
