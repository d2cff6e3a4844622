"""What the roles of the ledger in PostgreSQL have in common."""

from __future__ import annotations

from keepscore.storage.ledgers.postgres.connections import Connections

__all__ = ["PostgresRole"]


class PostgresRole:
    """A role over the connections that all roles of one ledger share."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._queries = connections.queries
