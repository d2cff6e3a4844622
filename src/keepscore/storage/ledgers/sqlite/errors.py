"""What SQLite and its driver say, as sentences that name the fix."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from keepscore.errors import KeepscoreError, LedgerFull, LedgerUnavailable
from keepscore.storage.ledgers.claims import AppendRefused
from keepscore.telemetry.counters import LEDGER_ERRORS
from keepscore.telemetry.failures import log_once

__all__ = ["translated"]


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn whatever the driver raises into an error of the ledger: what became of the call is not known then."""
    try:
        yield
    except (KeepscoreError, AppendRefused):
        raise
    except Exception as exc:
        if not isinstance(exc, sqlite3.Error):
            log_once(f"a call to the ledger {path} ended in an unexpected error", exc)
        raise _unavailable(path, exc) from exc


def _unavailable(path: str, error: Exception) -> LedgerUnavailable:
    # Errors of the driver itself have no code.
    code = getattr(error, "sqlite_errorcode", None)
    LEDGER_ERRORS.add("full" if code == sqlite3.SQLITE_FULL else "unavailable")
    if code == sqlite3.SQLITE_FULL:
        return LedgerFull(f"the disk of the ledger {path} is full: make room; nothing was recorded")
    if code == sqlite3.SQLITE_NOTADB:
        return LedgerUnavailable(f"{path} is not an SQLite database: name another file as the ledger")
    return LedgerUnavailable(f"the ledger {path} cannot be used: {error}")
