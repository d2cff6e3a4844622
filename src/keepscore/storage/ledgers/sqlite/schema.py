"""The tables of the ledger in SQLite: numbered migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from keepscore.domain.audit_chain import EMPTY_HEAD, chained
from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.audit import CHAINS_AUDIT, entry_of
from keepscore.storage.ledgers.queries import migrations, named_queries

__all__ = ["check_own", "migrate"]


def check_own(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a database of another program. Nothing is changed.

    The version and the tables are read in one transaction, as a migration writes them in one: a process that makes the first tables
    between the two reads would otherwise look like another program.
    """
    connection.execute("BEGIN")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        foreign = version == 0 and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    finally:
        connection.execute("ROLLBACK")
    if foreign:
        raise LedgerUnavailable(f"{path} is a database of another program: name another file as the ledger")


def migrate(connection: sqlite3.Connection, path: str) -> tuple[int, int]:
    """Bring the schema up to date: the versions before and after."""
    steps = migrations("sqlite")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(steps):
        raise LedgerUnavailable(
            f"the ledger {path} has schema version {version}, and this Keepscore knows {len(steps)}: use a newer Keepscore"
        )
    for number, step in enumerate(steps[version:], version + 1):
        # One transaction a migration, so that one that is cut short leaves nothing; another process may have done it meanwhile.
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] < number:
            for statement in _statements(step):
                connection.execute(statement)
            if CHAINS_AUDIT in step:
                _chain_audit(connection)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    return version, len(steps)


def _chain_audit(connection: sqlite3.Connection) -> None:
    """Chain all entries that there are, within the migration that gives them hashes."""
    queries, head = named_queries("sqlite"), EMPTY_HEAD
    for row in connection.execute(queries["all_audit"]).fetchall():
        entry, head = chained(head, entry_of(row))
        connection.execute(queries["put_audit_hash"], (entry.hash, entry.id))
    connection.execute(queries["put_audit_head"], head)


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, one by one."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
