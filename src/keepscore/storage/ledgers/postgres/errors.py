"""What PostgreSQL and its driver say, as sentences that name the fix."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from keepscore.errors import KeepscoreError, LedgerAway, LedgerFull, LedgerUnavailable
from keepscore.storage.ledgers.claims import AppendRefused
from keepscore.telemetry.counters import LEDGER_ERRORS
from keepscore.telemetry.failures import log_once

__all__ = ["DRIVER_ERRORS", "translated", "unavailable"]

#: All that the driver raises when it cannot do something.
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)

NOBODY = "refuses connections: start PostgreSQL, or fix the URL"
#: What to do about an error, by the first class that it belongs to.
FIXES: list[tuple[type[Exception], str]] = [
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        "refuses the user or the password ({text}): write them as in postgresql://user:password@host/database, or see its pg_hba.conf",
    ),
    (asyncpg.InvalidCatalogNameError, "has no such database ({text}): create it with 'createdb', or name another"),
    (
        asyncpg.TooManyConnectionsError,
        "takes no more connections ({text}): use fewer workers, or raise its max_connections or the role's limit",
    ),
    (asyncpg.ReadOnlySQLTransactionError, "is read-only, as a standby is ({text}): name the primary"),
    (asyncpg.InsufficientPrivilegeError, "does not let the user do that ({text}): make the user the owner of the database"),
    (asyncpg.DuplicateTableError, "has a table of another program ({text}): name a database of its own for the ledger"),
    (asyncpg.UndefinedColumnError, "has tables of another program ({text}): name a database of its own for the ledger"),
    (asyncpg.DatatypeMismatchError, "has tables of another program ({text}): name a database of its own for the ledger"),
    (asyncpg.UndefinedTableError, "lacks a part of the ledger ({text}): run 'keepscore migrate', or restore a backup"),
    (asyncpg.NotNullViolationError, "has recorded other events of this writer in the meantime"),
    (asyncpg.CannotConnectNowError, "is starting or stopping ({text}): try again"),
    (ConnectionRefusedError, NOBODY),
    (FileNotFoundError, NOBODY),
    (socket.gaierror, "is on a host that cannot be found ({text}): fix the URL"),
    (TimeoutError, "does not answer in time: check whether it is up, reachable and not overloaded"),
]

#: The same for errors that have no class of their own.
WORDS = [
    # A host with several addresses.
    ("Connect call failed", NOBODY),
    ("SSL", "does not offer the encryption that is asked for ({text}): set it up there, or write another sslmode"),
    ("closed in the middle", "has closed the connection in the middle of a call"),
]


def unavailable(shown: str, error: BaseException) -> LedgerUnavailable:
    """Count an error of the driver, and return it as the ledger tells it. `shown` is the address without its secrets."""
    LEDGER_ERRORS.add("full" if isinstance(error, asyncpg.DiskFullError) else "unavailable")
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, asyncpg.DiskFullError):
        return LedgerFull(f"the disk of the ledger {shown} is full: make room; nothing was recorded")
    for kind, fix in FIXES:
        if isinstance(error, kind):
            # A server that takes nothing from anybody is as good as none.
            told = LedgerAway if kind is asyncpg.ReadOnlySQLTransactionError else LedgerUnavailable
            return told(f"the PostgreSQL at {shown} {fix.format(text=text)}")
    for words, fix in WORDS:
        if words in text:
            return LedgerUnavailable(f"the PostgreSQL at {shown} {fix.format(text=text)}")
    return LedgerUnavailable(f"the PostgreSQL at {shown} cannot be used: {text}")


@contextmanager
def translated(shown: str) -> Iterator[None]:
    """Turn whatever the driver raises into an error of the ledger: what became of the call is not known then."""
    try:
        yield
    except (KeepscoreError, AppendRefused):
        raise
    except Exception as exc:
        if not isinstance(exc, DRIVER_ERRORS):
            log_once(f"a call to the PostgreSQL at {shown} ended in an unexpected error", exc)
        raise unavailable(shown, exc) from exc
