"""Who has a ledger file open."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from keepscore.errors import LedgerInUse, LedgerUnavailable

__all__ = ["LockFile"]

#: What else helps where only one process may use a ledger.
ALONE = ". Rankings in the process (embedded://) are for one; with an engine on Redis, several processes can share the ledger"


class LockFile:
    """A file that one process at a time holds, or several that share it. The system lets go of it when a process ends, however."""

    def __init__(self, path: str, shared: bool) -> None:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as exc:
            raise LedgerUnavailable(f"the ledger's folder cannot be written: {exc.strerror}: {path}") from exc
        try:
            fcntl.flock(self._file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            url = os.read(self._file, 1000).decode() or None
            os.close(self._file)
            user = f"the service at {url}: name it with --url" if url else f"another process: stop it first{'' if shared else ALONE}"
            raise LedgerInUse(f"the ledger {path.removesuffix('.lock')} is in use by {user}", url) from None
        self.write("")

    def write(self, text: str) -> None:
        """Leave a text for those who find the file locked."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, text.encode(), 0)

    def release(self) -> None:
        """Let go, for forked children that still have the file open, too."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)

    def leave(self) -> None:
        """Leave the file, in a forked child, to the parent: it stays locked as long as the parent lives, and no longer."""
        os.close(self._file)
