"""The ledger in PostgreSQL, for one process or many, on one host or several."""

from __future__ import annotations

from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.marks import PROBED, SERVICE_URL
from keepscore.storage.ledgers.postgres.addresses import PostgresAddresses
from keepscore.storage.ledgers.postgres.appeals import PostgresAppeals
from keepscore.storage.ledgers.postgres.archives import PostgresArchives
from keepscore.storage.ledgers.postgres.attempts import PostgresAttempts
from keepscore.storage.ledgers.postgres.audit import PostgresAudit
from keepscore.storage.ledgers.postgres.boards import PostgresBoards
from keepscore.storage.ledgers.postgres.checkpoints import PostgresCheckpoints
from keepscore.storage.ledgers.postgres.claims import PostgresClaims
from keepscore.storage.ledgers.postgres.connections import LONG_CALL_DEADLINES, OLDEST_VERSION, Connections
from keepscore.storage.ledgers.postgres.erasure import PostgresErasure
from keepscore.storage.ledgers.postgres.events import PostgresEvents
from keepscore.storage.ledgers.postgres.friends import PostgresFriends
from keepscore.storage.ledgers.postgres.groups import PostgresGroups
from keepscore.storage.ledgers.postgres.keys import PostgresKeys
from keepscore.storage.ledgers.postgres.leadership import PostgresLeadership
from keepscore.storage.ledgers.postgres.leagues import PostgresLeagues
from keepscore.storage.ledgers.postgres.marks import PostgresMarks
from keepscore.storage.ledgers.postgres.openings import PostgresOpenings
from keepscore.storage.ledgers.postgres.outbox import PostgresOutbox
from keepscore.storage.ledgers.postgres.players import PostgresPlayers
from keepscore.storage.ledgers.postgres.prizes import PostgresPrizes
from keepscore.storage.ledgers.postgres.queue import PostgresQueue
from keepscore.storage.ledgers.postgres.retention import PostgresRetention
from keepscore.storage.ledgers.postgres.schema import migrate
from keepscore.storage.ledgers.postgres.url import PostgresAddress
from keepscore.storage.ledgers.postgres.writers import PostgresWriters

__all__ = ["PostgresLedger"]


class PostgresLedger(Ledger):
    """A ledger in the PostgreSQL database at an address.

    `shared`: several processes may have it open, as long as all of them say so.
    """

    def __init__(self, address: PostgresAddress, shared: bool = False, oldest: int = OLDEST_VERSION) -> None:
        connections = Connections(address, shared, oldest)
        claims = PostgresClaims(connections)
        audit = PostgresAudit(connections)
        self.identity = self._connections = connections
        self.events = PostgresEvents(connections)
        self.claims = claims
        self.boards = PostgresBoards(connections, claims, audit)
        self.checkpoints = PostgresCheckpoints(connections)
        self.archives = PostgresArchives(connections, claims)
        self.openings = PostgresOpenings(connections)
        self.retention = PostgresRetention(connections)
        self.players = PostgresPlayers(connections, claims)
        self.friends = PostgresFriends(connections)
        self.groups = PostgresGroups(connections, claims)
        self.leagues = PostgresLeagues(connections)
        self.keys = PostgresKeys(connections, audit)
        self.prizes = PostgresPrizes(connections, claims, audit)
        self.outbox = PostgresOutbox(connections)
        self.attempts = PostgresAttempts(connections)
        self.addresses = PostgresAddresses(connections)
        self.queue = PostgresQueue(connections, audit)
        self.appeals = PostgresAppeals(connections, audit)
        self.erasure = PostgresErasure(connections)
        self.audit = self._audit = audit
        self.marks = PostgresMarks(connections)
        self.writers = PostgresWriters(connections)
        self.leadership = PostgresLeadership(connections)

    async def open(self, now: int) -> int:
        try:
            await self._migrated()
            await self._connections.open_readers()
            await self.events.prepare(now)
            if not self._connections.shared:
                # Whoever had it before is no longer there.
                await self.announce("")
            self._audit.writer = await self.writers.enlist(now)
            self._connections.confirmed = self._connections.incarnation
            return self._audit.writer
        except BaseException:
            await self.close()
            raise

    async def _migrated(self) -> tuple[int, int]:
        """Connect, and bring the schema up to date; return the versions before and after."""
        await self._connections.open()
        queries, shown = self._connections.queries, self._connections.address.shown
        return await self._connections.transaction(lambda connection: migrate(connection, queries, shown), LONG_CALL_DEADLINES)

    async def migrate(self) -> tuple[int, int]:
        try:
            return await self._migrated()
        finally:
            await self.close()

    async def close(self) -> None:
        await self._connections.close()

    async def announce(self, url: str) -> None:
        await self.marks.put(SERVICE_URL, url)

    async def probe(self, now: int) -> None:
        await self.marks.put(PROBED, now)
