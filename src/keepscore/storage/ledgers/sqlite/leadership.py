"""Who leads, where several processes of one machine share a ledger file: whoever holds a lock file beside it."""

from __future__ import annotations

from keepscore.errors import LedgerInUse
from keepscore.storage.ledgers.leadership import Leadership
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.lock_file import LockFile
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteLeadership"]


class SqliteLeadership(SqliteRole, Leadership):
    """The lock file of the leader. A process that has the ledger for itself leads without one."""

    def __init__(self, connections: SqliteConnections) -> None:
        super().__init__(connections)
        self._lock: LockFile | None = None

    async def lead(self) -> bool:
        if not self._connections.shared or self._connections.path == ":memory:":
            return True
        if self._lock is None:
            try:
                self._lock = LockFile(f"{self._connections.path}.keeper.lock", shared=False)
            except LedgerInUse:
                return False
        return True

    def release(self) -> None:
        """Let somebody else lead."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
