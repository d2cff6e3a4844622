"""Who may follow what, how much at a time, and for how long: a key that has ended ends what was opened with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from keepscore.access.gate import Demand, check_access
from keepscore.access.principals import ANONYMOUS, OPEN, Principal
from keepscore.domain.caps import LiveCaps
from keepscore.errors import Forbidden, KeepscoreError, TooManySubscriptions, Unauthenticated
from keepscore.reading.live.hub import LiveHub
from keepscore.reading.live.mailboxes import Mailbox
from keepscore.reading.live.messages import end_message
from keepscore.reading.live.specs import LiveSpec
from keepscore.service.access import AccessParts
from keepscore.service.http.layer import Request

__all__ = ["Connection", "LiveGuard"]

_READ = Demand("read", False, True)


class Connection(NamedTuple):
    """Somebody who follows something: the principal, where from, and the mailbox."""

    principal: Principal
    address: str
    mailbox: Mailbox


class LiveGuard:
    """Guards the live connections of one service."""

    def __init__(self, access: AccessParts, hub: LiveHub, caps: LiveCaps) -> None:
        self._access = access
        self._hub = hub
        self.caps = caps
        #: How many subscriptions each key and address has.
        self._counts: Counter[tuple[str, str]] = Counter()
        #: What is followed, by who follows it, the board and the group: looked at once for all connections of a key.
        self._followed: dict[tuple[Principal, str, str], Counter[Mailbox]] = {}
        hub.each_check(self.check)

    async def known(self, board: str) -> None:
        """Take up a board that another process has defined."""
        if self._access.rules.about(board) is None:
            await self._access.refresh()

    def connection(self, request: Request[Any, Any]) -> Connection:
        """Return who has opened a connection."""
        client = request.scope.get("client")
        return Connection(request.principal, str(client[0]) if client else "unknown", Mailbox())

    async def checked(self, principal: Principal, specs: Iterable[LiveSpec]) -> list[LiveSpec]:
        """Return what a principal follows, as that player sees it, or refuse what the principal may not read."""
        viewer = self._hub.viewer_of(principal.player)
        for spec in specs:
            self._check_board(principal, spec.board)
            if spec.friends_of and principal is ANONYMOUS:
                raise Unauthenticated("friends_of needs a key, or the player's token: send it as 'Authorization: Bearer …'")
            if spec.group and principal is ANONYMOUS:
                raise Unauthenticated("a group is private: send a key, or a member's token, as 'Authorization: Bearer …'")
            if spec.group and principal.player is not None and principal.player not in await self._hub.circles.members(spec.group):
                raise _no_member(principal.player)
            for player in (spec.player, spec.friends_of):
                if player:
                    principal.check_player(player)
        return [spec._replace(viewer=viewer) for spec in specs]

    def _check_board(self, principal: Principal, board: str) -> None:
        gate = self._access.gate
        if gate.is_open:
            return
        gate.keyring.check_still(ANONYMOUS if principal is OPEN else principal)
        check_access(_READ, ANONYMOUS if principal is OPEN else principal, board, self._access.rules.about(board))

    @contextmanager
    def entered(self, connection: Connection, specs: Iterable[LiveSpec]) -> Iterator[None]:
        """Count a subscription, and give it back where it does not come about."""
        self.enter(connection, specs)
        try:
            yield
        except BaseException:
            self.leave(connection, specs)
            raise

    def enter(self, connection: Connection, specs: Iterable[LiveSpec]) -> None:
        """Count a subscription, or refuse one more than there may be."""
        principal, _, mailbox = connection
        for kind, name, most in self._limited(connection):
            if self._counts[kind, name] >= most:
                raise TooManySubscriptions(
                    f"this {kind} has {most} live subscriptions in this process, the most that live.max_per_{kind} allows: end some first"
                )
        for kind, name, _ in self._limited(connection):
            self._counts[kind, name] += 1
        for spec in specs:
            self._followed.setdefault((principal, spec.board, spec.group), Counter())[mailbox] += 1

    def leave(self, connection: Connection, specs: Iterable[LiveSpec]) -> None:
        """Count a subscription that has ended."""
        principal, _, mailbox = connection
        for kind, name, _ in self._limited(connection):
            self._counts[kind, name] -= 1
            if not self._counts[kind, name]:
                del self._counts[kind, name]
        for spec in specs:
            followers = self._followed.get((principal, spec.board, spec.group), Counter())
            followers[mailbox] -= 1
            if followers[mailbox] <= 0:
                del followers[mailbox]
            if not followers:
                self._followed.pop((principal, spec.board, spec.group), None)

    def _limited(self, connection: Connection) -> list[tuple[str, str, int]]:
        limited = [("address", connection.address, self.caps.per_address)]
        if connection.principal.key_id is not None:
            limited.append(("key", connection.principal.key_id, self.caps.per_key))
        return limited

    def check(self) -> None:
        """End what may not be followed any more: a key or token that has ended, a board that is not public any more, or a group left."""
        for (principal, board, group), followers in list(self._followed.items()):
            try:
                self._check_board(principal, board)
                if group and principal.player is not None and not self._hub.is_member(principal.player, group):
                    raise _no_member(principal.player)
            except KeepscoreError as exc:
                message = end_message(exc.type, exc.detail)
                for mailbox in list(followers):
                    mailbox.end(message)


def _no_member(player: str) -> Forbidden:
    return Forbidden(f"player {player!r} is not a member of this group: join it first")
