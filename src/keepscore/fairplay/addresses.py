"""Where submissions come from, for the write path (`writing/protocols.py`): marks of addresses, and who has used which.

The address itself is not kept. Who has sent scores from it is noted beside the write path, a second later at most: it is evidence, and
no score waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.actors import current_actor
from keepscore.domain.addresses import address_mark
from keepscore.domain.scoring import Event
from keepscore.errors import InvalidField
from keepscore.storage.ledgers.addresses import SeenAddress
from keepscore.storage.ledgers.base import Ledger

__all__ = ["MAX_ACCOUNTS", "Addresses"]

#: Accounts of one address on a board that are known: where there are more, it is a server or a proxy, and says nothing.
MAX_ACCOUNTS = 1000
#: Bytes for remembering the marks of addresses, and who was noted today.
MARKS_BYTES, NOTED_BYTES = 2 << 20, 8 << 20
#: Those that wait to be noted at most.
MAX_WAITING = 50_000
#: How often a player is noted again, in milliseconds: once a day.
NOTED_AGAIN_MS = 86_400_000


class Addresses:
    """Marks the addresses of one process, and notes who sends scores from them."""

    def __init__(self, ledger: Ledger, secret: bytes) -> None:
        self._ledger = ledger
        self._secret = secret
        self._marks: ByteCache[str, str] = ByteCache(MARKS_BYTES)
        self._noted: ByteCache[tuple[int, str, str], int] = ByteCache(NOTED_BYTES)
        #: How many accounts were noted of each board and address.
        self._accounts: ByteCache[tuple[int, str], int] = ByteCache(MARKS_BYTES)
        self._waiting: dict[tuple[int, str, str], int] = {}

    def here(self) -> str | None:
        """Return the mark of the address that the running request comes from, where it is known."""
        actor = current_actor()
        if actor is None or actor.address is None:
            return None
        mark = self._marks.get(actor.address)
        if mark is None:
            try:
                mark = address_mark(self._secret, actor.address)
            except ValueError:
                # A request by way of a local socket has no address.
                mark = ""
            self._marks.put(actor.address, mark, bytes_of(actor.address) + bytes_of(mark))
        return mark or None

    def mark(self, address: str) -> str:
        """Return the mark of an address that somebody asks about."""
        try:
            return address_mark(self._secret, address)
        except ValueError:
            raise InvalidField(f"address = {address[:60]!r} is not an IP address, such as 192.0.2.7 or 2001:db8::7") from None

    def recorded(self, events: Iterable[Event]) -> None:
        """Take note of where recorded events came from."""
        for event in events:
            if event.address is None:
                continue
            seen = event.board, event.address, event.player
            if self._noted.get(seen) != (day := event.received // NOTED_AGAIN_MS):
                self._noted.put(seen, day, bytes_of(seen))
                accounts = (self._accounts.get(seen[:2]) or 0) + 1
                if accounts <= MAX_ACCOUNTS and len(self._waiting) < MAX_WAITING:
                    self._accounts.put(seen[:2], accounts, bytes_of(seen[:2]))
                    self._waiting[seen] = event.received

    def forget(self, board_id: int, player: str) -> None:
        """Do not note a player of a board who waits to be noted: nothing of that player is to be kept."""
        self._waiting = {seen: last for seen, last in self._waiting.items() if (seen[0], seen[2]) != (board_id, player)}

    async def flush(self) -> int:
        """Note who waits to be noted; return how many."""
        waiting, self._waiting = self._waiting, {}
        try:
            await self._ledger.addresses.add([SeenAddress(*seen, last) for seen, last in waiting.items()] if waiting else [])
        except BaseException:
            self._waiting = waiting | self._waiting
            raise
        return len(waiting)

    async def accounts(self, board_id: int, address: str) -> list[str]:
        """Return the players who have sent scores to a board from an address, by its mark; up to `MAX_ACCOUNTS`."""
        await self.flush()
        return await self._ledger.addresses.players(board_id, address, MAX_ACCOUNTS)
