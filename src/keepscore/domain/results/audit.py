"""What callers get from the audit: who did what, and whether the record is whole."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from keepscore.domain.results.plain import Result

__all__ = ["AuditCheck", "AuditPage", "AuditRecord", "BrokenRecord"]


class AuditRecord(Result):
    """One thing that was done."""

    id: int
    at: datetime
    #: A key with its id and name, a player, somebody without a key, or the process itself.
    actor: str
    #: Where the request came from.
    address: str | None
    action: str
    board: str | None
    reason: str | None
    detail: dict[str, Any]
    #: SHA-256 over the hash before and this entry, in hexadecimal.
    hash: str


class AuditPage(Result):
    """Some entries of the audit, the newest first."""

    entries: list[AuditRecord]
    next_cursor: str | None


class BrokenRecord(Result):
    """Where the chain is broken first; `id` is null where its head alone is wrong."""

    id: int | None
    problem: str


class AuditCheck(Result):
    """Whether anything in the audit was changed, removed or reordered."""

    #: How many entries follow each other from the first one on.
    entries: int
    ok: bool
    #: The hash of the last entry, as the head has it; null where the head is gone.
    head: str | None
    broken: BrokenRecord | None
