"""`client.audit`: who did what, over a service, blocking.

Made from `keepscore.client.audit` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from keepscore.client.calls import NO_KEY, change, decoder, read
from keepscore.client.sync_sending import SyncSend
from keepscore.domain.results.audit import AuditCheck, AuditPage

__all__ = ["SyncAudit"]


class SyncAudit:
    """The record of what was done to boards, keys and players."""

    def __init__(self, call: SyncSend) -> None:
        self._call = call

    def entries(
        self, *, board: str | None = None, actor: str | None = None, action: str | None = None, cursor: str | None = None, limit: int = 100
    ) -> AuditPage:
        """Return entries of the audit, the newest first: those of a board, of an `actor` (its whole text, or a key's id), of an action."""
        query = {"board": board, "actor": actor, "action": action, "cursor": cursor, "limit": limit}
        return self._call(read(decoder(AuditPage), "audit", query=query))

    def verify(self) -> AuditCheck:
        """Follow the chain of all entries; say whether one was changed, removed, added or reordered, and where first. O(entries)."""
        return self._call(change(decoder(AuditCheck), "POST", "audit", "verify", key=NO_KEY, is_long=True))
