"""The table of routes: what each declares, and how a path finds its route.

Paths are split before they are decoded: a player id may hold an encoded slash (`a%2Fb`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args
from urllib.parse import unquote_to_bytes

import msgspec

from keepscore.caches import ByteCache
from keepscore.errors import InvalidField, MethodNotAllowed, UnknownRoute
from keepscore.service.http.messages import Answer, AsgiScope, NoBody, NoQuery, Prepared

__all__ = ["COSTS", "SAFE", "SCOPES", "UNROUTED", "Access", "Cost", "Endpoint", "Example", "Route", "Table", "check_route"]

#: What a client must be allowed to do to use a route; `open` is for everybody (health checks and pages).
Access = Literal["open", "read", "submit", "moderate", "admin"]
#: How much work a request is, for rate limits: an index lookup, a page or a write, a walk over many events.
Cost = Literal["light", "normal", "heavy"]
#: Which board a route is about whose path names none: the default board, those that the client may see, or all of them.
About = Literal["default", "visible", "all"]
SCOPES: tuple[str, ...] = get_args(Access)
COSTS: tuple[str, ...] = get_args(Cost)
#: Methods that change nothing. What a page of another origin reads with them, the browser does not show to it.
SAFE = ("GET", "HEAD", "OPTIONS")

#: The most bytes of a body, unless a route takes more.
MAX_BODY_BYTES = 1 << 20
#: Paths that are remembered, in bytes; and about what each takes beside its text.
WAYS_BYTES, WAY_BYTES = 4 << 20, 400

Endpoint = Callable[[Any], Awaitable[Answer | Prepared]]
T = TypeVar("T")


class Example(NamedTuple):
    """A request that the service accepts as it is. Variables of the path that are left out have their usual example."""

    parameters: Mapping[str, Any] = MappingProxyType({})
    body: Any = None


class Route(NamedTuple):
    """One address and method of the service. `{name}` in the path stands for a variable part; method `WS` is a WebSocket."""

    method: str
    path: str
    handler: Endpoint
    summary: str
    #: Every route must declare one; the default is refused at start.
    scope: Access | None = None
    cost: Cost = "normal"
    #: Whether player tokens may use it, each for its own player. Unless a route says so, they may not.
    players: bool = False
    #: Whether it settles rewards: players may use it on any board, as it is no score.
    of_rewards: bool = False
    about: About = "all"
    #: Whether it takes an Idempotency-Key header.
    keyed: bool = False
    #: Whether it takes an If-Match header with the version that a change is meant for.
    versioned: bool = False
    query: type[msgspec.Struct] = NoQuery
    body: Any = NoBody
    #: Whether the body may be left out: then it has its defaults.
    takes_no_body: bool = False
    #: Structs of the answers by status, for the API's description.
    answers: Mapping[int, Any] = MappingProxyType({})
    max_body: int = MAX_BODY_BYTES
    #: For the API's description. A route without a tag is not part of the API.
    tag: str = ""
    description: str = ""
    example: Example = Example()


async def _nothing(request: Any) -> Answer:
    return Answer(None, 404)


#: Stands for the route of a request that has none, wherever a link wants to know the route.
UNROUTED = Route("*", "unknown", _nothing, "An unknown address", scope="open", cost="light")


def check_route(route: Route) -> None:
    """Refuse a route that does not declare who may use it: it would be open to everybody by mistake."""
    if route.scope not in SCOPES or route.cost not in COSTS:
        raise TypeError(
            f"{route.method} {route.path} has scope {route.scope!r} and cost {route.cost!r}: "
            f"declare a scope ({', '.join(SCOPES)}) and a cost ({', '.join(COSTS)})"
        )


class _Node(Generic[T]):
    """A place in the tree of paths."""

    __slots__ = ("found", "parts", "variable")

    def __init__(self) -> None:
        self.parts: dict[str, _Node[T]] = {}
        self.variable: _Node[T] | None = None
        #: What there is at this place, by method.
        self.found: dict[str, T] = {}


class Table(Generic[T]):
    """Finds what belongs to a request by its method and raw path."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()
        #: The nodes of all but the last part of a path, each with the variable parts on the way to it.
        self._ways: ByteCache[str, list[tuple[_Node[T], tuple[str, ...]]]] = ByteCache(WAYS_BYTES)

    def add(self, method: str, path: str, found: T) -> None:
        """Put something at a method and path."""
        node = self._root
        for part in path.split("/")[1:]:
            if part.startswith("{"):
                node.variable = node = node.variable or _Node()
            else:
                node = node.parts.setdefault(part, _Node())
        node.found[method] = found

    def find(self, scope: AsgiScope, method: str) -> tuple[T, list[str]]:
        """Return what belongs to a request, and the decoded variable parts of its path."""
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        text = raw.decode("latin-1")
        head, _, last = text.rpartition("/")
        # Most requests differ in the last part only, a player: the ways to it are remembered.
        ways = self._ways.get(head) or self._search(scope, head)
        for parent, variables in ways:
            node = parent.parts.get(last)
            found = None if node is None else node.found.get(method)
            if found is not None:
                return found, list(variables)
            if last and parent.variable is not None:
                found = parent.variable.found.get(method)
                if found is not None:
                    return found, [*variables, _unquoted(last)]
        if method == "HEAD":
            return self.find(scope, "GET")
        nodes = [node for parent, _ in ways for node in (parent.parts.get(last), parent.variable if last else None) if node is not None]
        allowed = {other for node in nodes for other in node.found} - {"WS"}
        if not allowed or method == "WS":
            raise _unknown(scope)
        methods = ", ".join(sorted(allowed))
        raise MethodNotAllowed(f"{scope['path']} does not take {method}: it takes {methods}", methods)

    def _search(self, scope: AsgiScope, head: str) -> list[tuple[_Node[T], tuple[str, ...]]]:
        """Return the nodes of all but the last part of a path. A part may be a word, or a player's id."""
        ways: list[tuple[_Node[T], tuple[str, ...]]] = [(self._root, ())]
        for part in head.split("/")[1:]:
            ways = [step for node, variables in ways for step in _steps(node, variables, part)]
        if not ways:
            raise _unknown(scope)
        return self._ways.put(head, ways, WAY_BYTES * len(ways) + len(head))


def _steps(node: _Node[T], variables: tuple[str, ...], part: str) -> Iterator[tuple[_Node[T], tuple[str, ...]]]:
    if part in node.parts:
        yield node.parts[part], variables
    if node.variable is not None and part:
        yield node.variable, (*variables, _unquoted(part))


def _unknown(scope: AsgiScope) -> UnknownRoute:
    return UnknownRoute(f"{scope['path']} is not an address of this service: /docs lists them all")


def _unquoted(part: str) -> str:
    if "%" not in part and part.isascii():
        return part
    try:
        return unquote_to_bytes(part.encode("latin-1")).decode()
    except UnicodeDecodeError:
        raise InvalidField(f"{part!r} in the address is not percent-encoded UTF-8") from None
