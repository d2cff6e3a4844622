"""What the roles of the ledger in SQLite have in common."""

from __future__ import annotations

from keepscore.storage.ledgers.sqlite.connections import SqliteConnections

__all__ = ["SqliteRole"]


class SqliteRole:
    """A role over the connections that all roles of one ledger share."""

    def __init__(self, connections: SqliteConnections) -> None:
        self._connections = connections
        self._queries = connections.queries
