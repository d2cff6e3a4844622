"""The ledger in one SQLite file: WAL, `synchronous=FULL`, one thread that reads and one that writes, unless that is quick.

One process at a time has the ledger open; a lock file beside the database says which, and where its service is reached.
"""

from __future__ import annotations

from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.marks import PROBED
from keepscore.storage.ledgers.sqlite.addresses import SqliteAddresses
from keepscore.storage.ledgers.sqlite.appeals import SqliteAppeals
from keepscore.storage.ledgers.sqlite.archives import SqliteArchives
from keepscore.storage.ledgers.sqlite.attempts import SqliteAttempts
from keepscore.storage.ledgers.sqlite.audit import SqliteAudit
from keepscore.storage.ledgers.sqlite.boards import SqliteBoards
from keepscore.storage.ledgers.sqlite.checkpoints import SqliteCheckpoints
from keepscore.storage.ledgers.sqlite.claims import SqliteClaims
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.erasure import SqliteErasure
from keepscore.storage.ledgers.sqlite.events import SqliteEvents
from keepscore.storage.ledgers.sqlite.friends import SqliteFriends
from keepscore.storage.ledgers.sqlite.groups import SqliteGroups
from keepscore.storage.ledgers.sqlite.keys import SqliteKeys
from keepscore.storage.ledgers.sqlite.leadership import SqliteLeadership
from keepscore.storage.ledgers.sqlite.leagues import SqliteLeagues
from keepscore.storage.ledgers.sqlite.marks import SqliteMarks
from keepscore.storage.ledgers.sqlite.openings import SqliteOpenings
from keepscore.storage.ledgers.sqlite.outbox import SqliteOutbox
from keepscore.storage.ledgers.sqlite.players import SqlitePlayers
from keepscore.storage.ledgers.sqlite.prizes import SqlitePrizes
from keepscore.storage.ledgers.sqlite.queue import SqliteQueue
from keepscore.storage.ledgers.sqlite.retention import SqliteRetention
from keepscore.storage.ledgers.sqlite.writers import SqliteWriters

__all__ = ["SqliteLedger"]


class SqliteLedger(Ledger):
    """A ledger in the SQLite database at `path` (`:memory:` for one that is gone with the process).

    `shared`: several processes of this machine may have it open, as long as all of them say so. `connections` are made from the two
    unless they are given.
    """

    def __init__(self, path: str, shared: bool = False, connections: SqliteConnections | None = None) -> None:
        connections = connections or SqliteConnections(path, shared)
        claims = SqliteClaims(connections)
        audit = SqliteAudit(connections)
        events = SqliteEvents(connections, claims)
        leadership = SqliteLeadership(connections)
        self.identity = self._connections = connections
        self.events = self._events = events
        self.claims = claims
        self.boards = SqliteBoards(connections, claims, audit)
        self.checkpoints = SqliteCheckpoints(connections)
        self.archives = SqliteArchives(connections, claims)
        self.openings = SqliteOpenings(connections)
        self.retention = SqliteRetention(connections)
        self.players = SqlitePlayers(connections, claims)
        self.friends = SqliteFriends(connections)
        self.groups = SqliteGroups(connections, claims)
        self.leagues = SqliteLeagues(connections)
        self.keys = SqliteKeys(connections, audit)
        self.prizes = SqlitePrizes(connections, claims, audit)
        self.outbox = SqliteOutbox(connections)
        self.attempts = SqliteAttempts(connections)
        self.addresses = SqliteAddresses(connections)
        self.queue = SqliteQueue(connections, audit)
        self.appeals = SqliteAppeals(connections, audit)
        self.erasure = SqliteErasure(connections, events)
        self.audit = self._audit = audit
        self.marks = SqliteMarks(connections)
        self.writers = SqliteWriters(connections)
        self.leadership = self._leadership = leadership
        connections.when_exchanged.append(events.load)

    async def open(self, now: int) -> int:
        try:
            await self._connections.open()
            await self._events.load()
            self._audit.writer = await self.writers.enlist(now)
            return self._audit.writer
        except BaseException:
            await self.close()
            raise

    async def migrate(self) -> tuple[int, int]:
        try:
            return await self._connections.open()
        finally:
            await self.close()

    async def close(self) -> None:
        await self._events.close()
        await self._connections.close()
        self._leadership.release()

    async def announce(self, url: str) -> None:
        self._connections.announce(url)

    async def probe(self, now: int) -> None:
        await self.marks.put(PROBED, now)
