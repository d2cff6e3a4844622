"""`lb.audit`: who did what, when, from where and why, and the proof that nobody has changed that."""

from __future__ import annotations

from typing import Any

import msgspec

from keepscore.domain.audit_chain import AuditEntry, ChainCheck
from keepscore.domain.durations import time_of
from keepscore.domain.results.audit import AuditCheck, AuditPage, AuditRecord, BrokenRecord
from keepscore.domain.values import check_text
from keepscore.errors import InvalidField, InvalidPage
from keepscore.reading.view import check_limit
from keepscore.storage.ledgers.audit import AuditFilter, AuditLog

__all__ = ["Audit"]

#: Entries that are checked at a time: a few milliseconds, in which nobody else gets a turn.
CHUNK_ENTRIES = 2000
#: Below and above every id.
FIRST_ID, LAST_ID = -(1 << 63), (1 << 63) - 1
#: The last moment that can be shown: the end of the year 9999.
LAST_MS = 253_402_300_799_999


class Audit:
    """The record of what was done to boards, keys and players."""

    def __init__(self, log: AuditLog) -> None:
        self._log = log

    async def entries(
        self, *, board: str | None = None, actor: str | None = None, action: str | None = None, cursor: str | None = None, limit: int = 100
    ) -> AuditPage:
        """Return entries of the audit, the newest first: those of a board, of an `actor` (its whole text, or a key's id), of an action."""
        check_limit(limit)
        before = LAST_ID if cursor is None else _place(cursor)
        wanted = AuditFilter(_checked("board", board), _checked("actor", actor), _checked("action", action))
        found = await self._log.page(wanted, before, limit + 1)
        page = found[:limit]
        return AuditPage([_shown(entry) for entry in page], str(page[-1].id) if len(found) > limit else None)

    async def verify(self) -> AuditCheck:
        """Follow the chain of all entries; say whether one was changed, removed, added or reordered, and where first. O(entries)."""
        # Entries that are added meanwhile are behind the head that was read, and not looked at.
        head, last = await self._log.head()
        check, first = ChainCheck(head), FIRST_ID
        while entries := await self._log.chunk(first, last, CHUNK_ENTRIES):
            if check.follow(entries):
                break
            first = entries[-1].id + 1
        broken = check.finish()
        link = None if broken is None else BrokenRecord(*broken)
        return AuditCheck(check.at.entries, broken is None, None if head is None else head.hash.hex(), link)


def _shown(entry: AuditEntry) -> AuditRecord:
    told = entry.actor, entry.address, entry.action, entry.board or None, entry.reason
    return AuditRecord(entry.id, time_of(min(max(entry.at, 0), LAST_MS)), *told, _detail(entry.detail), entry.hash.hex())


def _detail(text: str) -> dict[str, Any]:
    """Read the JSON of an entry; what somebody has written over it is shown as it is."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {"unreadable": text}


def _checked(what: str, text: str | None) -> str | None:
    return None if text is None else check_text(what, text, InvalidField)


def _place(cursor: str) -> int:
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 18:
        raise InvalidPage(f"cursor = {cursor[:40]!r} is not one that this service gave: take next_cursor as it is")
    return int(cursor)
