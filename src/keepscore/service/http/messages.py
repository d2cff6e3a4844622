"""What handlers get and what they give back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from keepscore.access.principals import ANONYMOUS
from keepscore.service.http.direct import AsgiSend, DirectSender

__all__ = [
    "NO_STORE",
    "Answer",
    "AnyQuery",
    "AsgiReceive",
    "AsgiScope",
    "AsgiSend",
    "NoBody",
    "NoQuery",
    "Prepared",
    "Request",
    "Stream",
    "Text",
    "start_of",
    "with_headers",
]

#: Headers of answers that no cache may keep.
NO_STORE: tuple[tuple[bytes, bytes], ...] = (b"cache-control", b"no-store"), (b"surrogate-control", b"no-store")

AsgiScope = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[MutableMapping[str, Any]]]

Q = TypeVar("Q", bound=msgspec.Struct)
B = TypeVar("B")


class NoQuery(msgspec.Struct, forbid_unknown_fields=True):
    """A route without parameters."""


class AnyQuery(msgspec.Struct):
    """A page, to which links may add what they like."""


class NoBody(msgspec.Struct):
    """A route without a body."""


class Request(Generic[Q, B]):
    """What a handler gets."""

    __slots__ = ("body", "headers", "path", "principal", "query", "query_string", "receive", "scope")

    def __init__(self, path: list[str], scope: AsgiScope, receive: AsgiReceive) -> None:
        #: The decoded variable parts of the path, in order.
        self.path = path
        self.scope = scope
        self.receive = receive
        self.headers: list[tuple[bytes, bytes]] = scope["headers"]
        self.query_string: bytes = scope["query_string"]
        #: Who makes it; the access link finds out.
        self.principal = ANONYMOUS
        # Set just before the handler is called: whatever wraps it sees bad ones fail.
        self.query: Q
        self.body: B

    def header(self, name: bytes) -> str | None:
        """Return a header by its lower-case name."""
        for key, value in self.headers:
            if key == name:
                return value.decode("latin-1")
        return None


class Text(NamedTuple):
    """Content that is encoded already."""

    body: bytes
    kind: bytes


class Parts(Protocol):
    """Parts of an answer, one after the other, that somebody may not want to the end."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    def aclose(self) -> Awaitable[None]:
        """End it."""


class Stream(NamedTuple):
    """Content that is sent part by part, such as server-sent events. It is closed when the client goes away."""

    parts: Parts
    kind: bytes
    #: Takes what sends parts without waiting, beside those that are asked for: only while one is waited for.
    attach: Callable[[DirectSender], None] | None = None


class Answer(NamedTuple):
    """What a handler gives: a struct to encode (or Text, a Stream, or None for an empty answer), a status, and headers."""

    content: Any
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Prepared(msgspec.Struct):
    """A JSON answer as its ASGI messages, made in advance. Its tag lets a client that has it already get 304."""

    etag: bytes
    start: dict[str, Any]
    body: dict[str, Any]


def start_of(etag: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> dict[str, Any]:
    """Return the message that begins a JSON answer with that tag."""
    return {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json"), *headers, (b"etag", etag)]}


def with_headers(answer: Answer | Prepared, headers: tuple[tuple[bytes, bytes], ...]) -> Answer | Prepared:
    """Return an answer with more headers."""
    if isinstance(answer, Answer):
        return answer._replace(headers=(*answer.headers, *headers))
    # The start is shared with other answers.
    return msgspec.structs.replace(answer, start={**answer.start, "headers": [*answer.start["headers"], *headers]})
