"""The link that turns a request into a principal and denies what the principal may not do; and the checks that need the body."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from keepscore.access.gate import BoardAccess, Demand, Gate, check_access
from keepscore.access.keyring import SignedRequest
from keepscore.access.principals import ANONYMOUS, Principal
from keepscore.access.rate_limits import RateLimits
from keepscore.access.sessions import session_in
from keepscore.domain.actors import acting
from keepscore.domain.signatures import SCHEME
from keepscore.errors import Unauthenticated
from keepscore.projection.live_boards import Catalog
from keepscore.service.http.deadlines import Deadlines
from keepscore.service.http.decoding import read_body
from keepscore.service.http.layer import Answer, Link, NoBody, Prepared, Request, Route
from keepscore.service.http.messages import AsgiReceive
from keepscore.service.http.table import Endpoint
from keepscore.service.routes.bodies import BatchBody, LookupBody

__all__ = ["AccessParts", "AccessRules", "access_link", "with_body_checks"]

_SIGNED = SCHEME.encode()
#: The scopes of routes whose audit, or events, say who made the request and from where.
_KNOWN = ("submit", "moderate", "admin")
#: The header of writes with a session.
CONSOLE_HEADER = b"x-keepscore-console"


class AccessRules:
    """What the definitions of boards say of who may use them."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def about(self, name: str) -> BoardAccess | None:
        """Return who may use a board; None where this process does not know it."""
        live = self._catalog.get(name)
        if live is None:
            return None
        board = live.board
        takes_players = board.takes_players
        if board.also:
            # What is sent on to a prize board counts there: a player's score must not come in that way.
            takes_players = takes_players and all(linked.board.takes_players for linked in self._catalog.links(live))
        return BoardAccess(board.read == "public", takes_players)

    def is_public(self, name: str) -> bool:
        """Return whether everybody may read a board."""
        live = self._catalog.get(name)
        return live is not None and live.board.read == "public"

    @property
    def has_public(self) -> bool:
        """Whether everybody may read some board."""
        return any(live.board.read == "public" for live in self._catalog)


class AccessParts(NamedTuple):
    """What the access link works with."""

    gate: Gate
    limits: RateLimits
    rules: AccessRules
    default_board: str
    #: Takes up boards that other processes have defined.
    refresh: Callable[[], Awaitable[object]]
    #: Bounds how long the body of a signed request may take.
    deadlines: Deadlines

    def is_private(self, board: str) -> bool:
        """Return whether not everybody may read a board."""
        return not self.gate.is_open and not self.rules.is_public(board)


def access_link(parts: AccessParts) -> Link:
    """Return the link."""
    gate, limits, rules = parts.gate, parts.limits, parts.rules

    def link(route: Route, endpoint: Endpoint) -> Endpoint:
        if route.scope in _KNOWN:
            endpoint = _as_principal(endpoint)
        variables = re.findall(r"{(\w+)}", route.path)
        board_at = variables.index("board") if "board" in variables else None
        player_at = variables.index("player_id") if "player_id" in variables else None
        default = parts.default_board if route.about == "default" else None
        demand = Demand(str(route.scope), route.about == "visible", route.players, route.of_rewards)
        units = limits.units[route.cost]
        limits_keys, limits_boards = limits.limits("key"), limits.limits("board")

        async def guarded(request: Request[Any, Any]) -> Answer | Prepared:
            presented = session = None
            for name, value in request.headers:
                if name == b"authorization":
                    presented = value
                    break
                if name == b"cookie":
                    session = session_in(value)
            try:
                if presented is None and session is not None and not gate.is_open:
                    principal = await with_session(request, session)
                else:
                    principal = gate.quick(presented) or await identified(request, presented or b"")
            except Unauthenticated:
                await limits.charge("address", _address(request), units)
                raise
            request.principal = principal
            if gate.is_trusting:
                return await endpoint(request)
            board = request.path[board_at] if board_at is not None else default
            about = None if board is None else rules.about(board)
            if principal.key_id is None or principal.player is not None:
                await limits.charge("address", _address(request), units)
                if principal.player is not None:
                    await limits.charge("player", principal.player, units)
                    if about is None and board is not None:
                        # Nobody may write to a board before it is known whether it takes players' scores.
                        await parts.refresh()
                        about = rules.about(board)
                    if player_at is not None:
                        principal.check_player(request.path[player_at])
            elif limits_keys:
                await limits.charge("key", principal.key_id, units)
            if limits_boards and about is not None and board is not None:
                await limits.charge("board", board, units)
            if principal is ANONYMOUS and demand.filters:
                # Of public boards, everybody sees the list; what has an address of its own, such as a player or a group, is somebody's.
                about = BoardAccess(rules.has_public and "{" not in route.path, False)
            check_access(demand, principal, board, about)
            return await endpoint(request)

        async def identified(request: Request[Any, Any], presented: bytes) -> Principal:
            if not presented.startswith(_SIGNED):
                return await gate.keyring.principal_of(presented)
            # A request without a body, such as a read, is signed, too. What a route wants of its body, it asks for itself.
            body = await read_body(request.receive, request.headers, route.max_body, parts.deadlines, is_json=False)
            request.receive = _again(body)
            signed = SignedRequest(str(request.scope.get("method", route.method)), _target(request), body)
            return await gate.keyring.signer_of(presented.decode("latin-1"), signed)

        async def with_session(request: Request[Any, Any], session: bytes) -> Principal:
            # Another site can make a browser send the cookie, but not the header.
            if route.method != "GET" and request.header(CONSOLE_HEADER) is None:
                raise Unauthenticated(f"a write with a session of the console needs the header '{CONSOLE_HEADER.decode()}: 1'")
            return await gate.keyring.session_principal(session)

        async def open_to_all(request: Request[Any, Any]) -> Answer | Prepared:
            if not gate.is_trusting:
                await limits.charge("address", _address(request), units)
            return await endpoint(request)

        return open_to_all if route.scope == "open" else guarded

    return link


def _as_principal(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that lets audit and events know who makes the request, and from where."""

    async def acted(request: Request[Any, Any]) -> Answer | Prepared:
        with acting(request.principal.actor, _address(request)):
            return await endpoint(request)

    return acted


def _address(request: Request[Any, Any]) -> str:
    client = request.scope.get("client")
    return str(client[0]) if client else "unknown"


def _target(request: Request[Any, Any]) -> str:
    path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    return (path + (b"?" + request.query_string if request.query_string else b"")).decode("latin-1")


def _again(body: bytes) -> AsgiReceive:
    """Return what gives a body that was read already."""

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


# -- bodies -----------------------------------------------------------------------------------------------------------------


class _Named(msgspec.Struct):
    player_id: str


_named = msgspec.json.Decoder(_Named)


def with_body_checks(route: Route) -> Route:
    """Return a route that refuses a body which names a player or a board that is not the principal's own."""
    if route.body == dict[str, Any]:
        return route._replace(handler=_with_board_check(route.handler))
    # Whose the path says was checked with the credentials.
    if not route.players or route.body in (NoBody, LookupBody) or "{player_id}" in route.path:
        return route
    if "{player_id}" in route.path and "player_id" not in route.body.__struct_fields__:
        # The path names the player, and is checked.
        return route
    handler, find = route.handler, _players_in(route)

    async def checked(request: Request[Any, Any]) -> Answer | Prepared:
        if request.principal.player is not None:
            for player in find(request.body):
                request.principal.check_player(player)
        return await handler(request)

    return route._replace(handler=checked)


def _with_board_check(handler: Endpoint) -> Endpoint:
    """Return the handler of a definition that refuses one which would send scores to boards of others, or bring theirs."""

    async def checked(request: Request[Any, Any]) -> Answer | Prepared:
        if request.principal.is_limited:
            for board in boards_named(request.body):
                request.principal.check_board(board)
        return await handler(request)

    return checked


def boards_named(definition: dict[str, Any]) -> list[str]:
    """Return the other boards that a definition names: scores go to them, or come from them."""
    rollup = definition.get("rollup")
    named = definition.get("also"), rollup.get("of") if isinstance(rollup, dict) else None
    return [board for boards in named if isinstance(boards, list) for board in boards if isinstance(board, str)]


def _players_in(route: Route) -> Callable[[Any], Iterator[str]]:
    if route.body is BatchBody:
        return _players_of_batch
    fields = getattr(route.body, "__struct_fields__", ())
    if "owner" in fields:
        return lambda body: iter((str(body.owner),))
    if "player_id" not in fields:
        raise TypeError(
            f"{route.method} {route.path} is for player tokens, and its body names no player_id: say in service/access.py whose it is"
        )
    return lambda body: iter((str(body.player_id),))


def _players_of_batch(body: BatchBody) -> Iterator[str]:
    for raw in body.scores:
        try:
            yield _named.decode(raw).player_id
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # It is rejected as an entry.
            continue
