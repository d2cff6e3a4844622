"""The namespace `audit` of the blocking library.

Made from `keepscore.fairplay.audit` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keepscore.domain.results.audit import AuditCheck, AuditPage

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Audit"]


class Audit:
    """The record of what was done to boards, keys and players."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def entries(
        self, *, board: str | None = None, actor: str | None = None, action: str | None = None, cursor: str | None = None, limit: int = 100
    ) -> AuditPage:
        """Return entries of the audit, the newest first: those of a board, of an `actor` (its whole text, or a key's id), of an action."""
        return self._leaderboards._run(
            self._leaderboards._async.audit.entries(board=board, actor=actor, action=action, cursor=cursor, limit=limit)
        )

    def verify(self) -> AuditCheck:
        """Follow the chain of all entries; say whether one was changed, removed, added or reordered, and where first. O(entries)."""
        return self._leaderboards._run(self._leaderboards._async.audit.verify())
