"""Which file lies at the path of a ledger: it may be exchanged, or deleted, while the ledger is open."""

from __future__ import annotations

import os
from contextlib import suppress

from keepscore.errors import LedgerAway, LedgerInUse

__all__ = ["DatabaseFile"]

#: Files that a parent process had open when this one was forked. SQLite, in this process, takes the parent's locks on them for its own.
_inherited: set[tuple[int, int]] = set()


class DatabaseFile:
    """The file that connections are open to. SQLite itself goes on with a file that was removed, and all is lost at the end."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._in_memory = path == ":memory:"
        #: What tells the file, and its write-ahead log, from all others.
        self._identity: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None

    def opened(self) -> None:
        """Remember the file that is there: connections to it have just been made."""
        if not self._in_memory:
            self._identity, self._log = _identity(self._path), _identity(f"{self._path}-wal")

    def is_same(self) -> bool:
        """Return whether the file that was opened is still there, by one system call. Raises LedgerAway where none is."""
        if self._in_memory:
            return True
        found = _identity(self._path)
        if found is None:
            raise LedgerAway(f"the ledger {self._path} was deleted or moved away: put it back, or restore a backup")
        return found == self._identity

    def inherited(self) -> None:
        """Remember, in a forked child, that the parent has the file open."""
        if self._identity is not None:
            _inherited.add(self._identity)

    def check_not_inherited(self) -> None:
        """Raise LedgerInUse where a parent process had the file open when this one was forked."""
        if _inherited and _identity(self._path) in _inherited:
            raise LedgerInUse(
                f"the ledger {self._path} was open when this process was forked, and an SQLite file cannot be used on both sides of a "
                "fork: make the first call after the fork, or keep rankings in Redis and the ledger in PostgreSQL"
            )

    def drop_leftovers(self) -> None:
        """Remove the write-ahead log of the file before, if it is still there: to the new one it would bring pages of the old."""
        if self._log is not None and _identity(f"{self._path}-wal") == self._log:
            for suffix in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.unlink(f"{self._path}{suffix}")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
