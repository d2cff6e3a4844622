"""A thin ASGI layer: routes by the raw path, typed queries and bodies, problem+json, ETags.

Why no framework: the hottest routes have to be answered within a few microseconds of a constant answer, so they would need a router
of their own in front of a framework's, and player ids with an encoded slash (`a%2Fb`) are lost once a path is decoded as a whole.
One router for all routes is less than two. Paths are split before they are decoded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from keepscore.answers import encode
from keepscore.errors import BodyTooLarge, InvalidField, MalformedBody, MethodNotAllowed, UnknownBoard, UnknownRoute
from keepscore.web.problems import problem_of

__all__ = ["Answer", "AnyQuery", "App", "NoBody", "NoQuery", "Prepared", "Request", "Route", "Text", "decoded", "start_of"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: Bytes of a body, unless the route takes more.
MAX_BODY = 1 << 20
#: Ways through the tree of paths that are remembered.
MAX_WAYS = 4096

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

    __slots__ = ("body", "headers", "path", "query", "query_string")

    def __init__(self, path: list[str], headers: list[tuple[bytes, bytes]], query: Q, query_string: bytes) -> None:
        #: The decoded variable parts of the path, in order.
        self.path = path
        self.headers = headers
        self.query = query
        self.query_string = query_string
        self.body: B

    def header(self, name: bytes) -> str | None:
        """A header by its lower-case name."""
        for key, value in self.headers:
            if key == name:
                return value.decode("latin-1")
        return None


class Text(NamedTuple):
    """An answer that is encoded already."""

    body: bytes
    kind: bytes


class Answer(NamedTuple):
    """What a handler gives: a struct to encode (or Text, or None for an empty answer), a status, and headers."""

    content: Any
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Prepared(msgspec.Struct):
    """An answer in JSON as its ASGI messages, of which one or both were made before. With the tag, a client may know it."""

    etag: bytes
    start: dict[str, Any]
    body: dict[str, Any]


def start_of(etag: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> dict[str, Any]:
    """The message that begins a JSON answer with that tag."""
    return {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json"), *headers, (b"etag", etag)]}


class Route(NamedTuple):
    """One address and method of the service. `{name}` in the path stands for a variable part."""

    method: str
    path: str
    handler: Callable[[Any], Awaitable[Answer | Prepared]]
    summary: str
    query: type[msgspec.Struct] = NoQuery
    body: Any = NoBody
    #: Structs of the answers by status, for the API's description.
    answers: Mapping[int, Any] = MappingProxyType({})
    max_body: int = MAX_BODY


#: What is needed of a route to answer: handler, type of the query, the query of a request without one, the body's decoder (None: no
#: body is read), the body's limit in bytes.
Resolved = tuple[Callable[[Any], Awaitable[Any]], type[msgspec.Struct], msgspec.Struct, Any, int]


class _Node:
    """A place in the tree of paths."""

    __slots__ = ("parts", "routes", "variable")

    def __init__(self) -> None:
        self.parts: dict[str, _Node] = {}
        self.variable: _Node | None = None
        self.routes: dict[str, Resolved] = {}


#: A node, and the variable parts on the way to it.
_Way = tuple[_Node, tuple[str, ...]]


class App:
    """An ASGI application that answers the given routes."""

    def __init__(self, routes: list[Route], refresh: Callable[[], Awaitable[bool]] | None = None) -> None:
        #: Called when a board is unknown: others may have defined it.
        self._refresh = refresh
        self._root = _Node()
        self._ways: dict[str, list[_Way]] = {}
        for route in routes:
            node = self._root
            for part in route.path.split("/")[1:]:
                if part.startswith("{"):
                    node.variable = node = node.variable or _Node()
                else:
                    node = node.parts.setdefault(part, _Node())
            decoder = None if route.body is NoBody else msgspec.json.Decoder(route.body)
            node.routes[route.method] = route.handler, route.query, route.query(), decoder, route.max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = scope["headers"]
        try:
            (handler, kind, query, decoder, limit), variables = self._find(scope)
            query_string = scope["query_string"]
            request: Request[Any, Any] = Request(variables, headers, _query(kind, query_string) if query_string else query, query_string)
            if decoder is not None:
                request.body = decoded(decoder, await _read(receive, headers, limit))
            try:
                answer = await handler(request)
            except UnknownBoard:
                if self._refresh is None:
                    raise
                await self._refresh()
                answer = await handler(request)
            if type(answer) is Prepared and scope["method"] == "GET" and not _is_known(answer.etag, headers):
                # Nearly all reads.
                await send(answer.start)
                await send(answer.body)
                return
        except Exception as error:
            problem = problem_of(error)
            answer = Answer(Text(encode(problem), b"application/problem+json"), problem.status, _extra(error))
        await _send(answer, headers, scope["method"] == "HEAD", send)

    def _find(self, scope: Scope) -> tuple[Resolved, list[str]]:
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        text = raw.decode("latin-1")
        head, _, last = text.rpartition("/")
        method = scope["method"]
        # Most requests differ in the last part only, a player: the ways to it are remembered.
        ways = self._ways.get(head) or self._search(scope, head)
        for parent, variables in ways:
            node = parent.parts.get(last)
            found = None if node is None else node.routes.get(method)
            if found is not None:
                return found, list(variables)
            if last and parent.variable is not None:
                found = parent.variable.routes.get(method)
                if found is not None:
                    return found, [*variables, _unquoted(last)]
        if method == "HEAD":
            return self._find({**scope, "method": "GET"})
        nodes = [node for parent, _ in ways for node in (parent.parts.get(last), parent.variable if last else None) if node is not None]
        allowed = {other for node in nodes for other in node.routes}
        if not allowed:
            raise _unknown(scope)
        methods = ", ".join(sorted(allowed))
        raise MethodNotAllowed(f"{scope['path']} does not take {method}: it takes {methods}", methods)

    def _search(self, scope: Scope, head: str) -> list[_Way]:
        """The nodes of all but the last part of a path, and the variable parts on the way. A part may be a word, or a player's id."""
        ways: list[_Way] = [(self._root, ())]
        for part in head.split("/")[1:]:
            ways = [step for node, variables in ways for step in _steps(node, variables, part)]
        if not ways:
            raise _unknown(scope)
        if len(self._ways) >= MAX_WAYS:
            self._ways.clear()
        self._ways[head] = ways
        return ways


def _steps(node: _Node, variables: tuple[str, ...], part: str) -> Iterator[_Way]:
    if part in node.parts:
        yield node.parts[part], variables
    if node.variable is not None and part:
        yield node.variable, (*variables, _unquoted(part))


def _extra(error: Exception) -> tuple[tuple[bytes, bytes], ...]:
    if isinstance(error, MethodNotAllowed):
        return ((b"allow", error.allowed.encode()),)
    # What is left of the body is not read: the connection cannot be used for another request.
    return ((b"connection", b"close"),) if isinstance(error, BodyTooLarge) else ()


def _unknown(scope: Scope) -> UnknownRoute:
    return UnknownRoute(f"{scope['path']} is not an address of this service: /docs lists them all")


def _unquoted(part: str) -> str:
    if "%" not in part and part.isascii():
        return part
    try:
        return unquote_to_bytes(part.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InvalidField(f"{part!r} in the address is not percent-encoded UTF-8") from None


def _is_known(etag: bytes, headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether the client has what the tag stands for."""
    for name, value in headers:
        if name == b"if-none-match":
            return etag in value or value == b"*"
    return False


async def _send(answer: Answer | Prepared, headers: list[tuple[bytes, bytes]], head: bool, send: Send) -> None:
    if isinstance(answer, Prepared):
        size = (b"content-length", b"%d" % len(answer.body["body"]))
        known = _is_known(answer.etag, headers)
        kept = answer.start["headers"][1:] if known else [*answer.start["headers"], size]
        await send({"type": "http.response.start", "status": 304 if known else 200, "headers": kept})
        await send({"type": "http.response.body", "body": b"" if known or head else answer.body["body"]})
        return
    content, status, extra = answer
    if type(content) is Text:
        body, kind = content
    elif content is None:
        body, kind = b"", b"text/plain"
    else:
        body, kind = encode(content), b"application/json"
    start = [(b"content-type", kind), *extra]
    if head:
        # The server tells the length of a body by itself, but here there is none.
        start.append((b"content-length", b"%d" % len(body)))
        body = b""
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


@lru_cache(maxsize=4096)
def _query(kind: type[msgspec.Struct], text: bytes) -> Any:
    """A typed query. Clients ask the same again and again: parsed ones are remembered, and nobody changes them."""
    try:
        pairs = dict(parse_qsl(text.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=20))
        return msgspec.convert(pairs, kind, strict=False)
    except msgspec.ValidationError as exc:
        known = ", ".join(kind.__struct_fields__) or "none"
        raise InvalidField(f"{_explained(exc, pairs, kind)}; this address takes the parameters: {known}") from None
    except ValueError:
        raise InvalidField(f"{text.decode('latin-1')!r} is not a list of parameters: write name=value&name=value") from None


async def _read(receive: Receive, headers: list[tuple[bytes, bytes]], limit: int) -> bytes:
    # A server may tell only with one more, empty message that a body is whole. Whoever knows its length need not wait for that.
    length = -1
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            length = int(value)
            break
    if length > limit:
        raise _too_large(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if len(body) != length and message.get("more_body"):
        chunks = [body]
        size = len(body)
        while size != length and message.get("more_body"):
            message = await receive()
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > limit:
                raise _too_large(limit)
        body = b"".join(chunks)
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is larger than {limit} bytes, the most that this address takes")


def decoded(decoder: msgspec.json.Decoder[Any], body: bytes | msgspec.Raw) -> Any:
    """A typed body, or the error that names the field and the value that are wrong."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as exc:
        # A wrong type may come before the place where the text stops being JSON.
        raise InvalidField(_explained(exc, _plain(body), decoder.type)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _plain(body)
        raise


def _plain(body: bytes | msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise MalformedBody(f"the body is not JSON: {exc}") from None
    except RecursionError:
        raise MalformedBody("the body is nested too deeply") from None


def _explained(exc: msgspec.ValidationError, data: object, kind: Any) -> str:
    """A validation error with the field's name and value."""
    problem, _, path = str(exc).partition(" - at `")
    path = path.rstrip("`")
    value = data
    for part in path.replace("[", ".[").split(".")[1:]:
        try:
            value = value[int(part[1:-1])] if part.startswith("[") else value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError, ValueError):
            break
    where = "" if path in ("", "$") else f" in {path.removeprefix('$.')}"
    if "missing required" in problem:
        return problem + where
    if "unknown field" in problem:
        field = problem.split("`")[1]
        return f"{problem}{where}: {field} = {_short(value.get(field)) if isinstance(value, dict) else '?'}"
    field = path.removeprefix("$.") or "body"
    if "enum" in problem:
        problem = f"allowed are {', '.join(get_args(get_type_hints(kind)[field]))}"
    return f"{field} = {_short(value)} cannot be used: {problem}"


def _short(value: object) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
