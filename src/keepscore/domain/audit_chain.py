"""The chain of the audit: each entry carries a hash over itself and the hash before it. Pure.

    entry 1            entry 2                  entry 3
    hash of (zeros, 1) hash of (hash of 1, 2)   hash of (hash of 2, 3)   ← the head: 3 entries, the last is 3, its hash

Whoever changes an entry, takes one out, puts one in or exchanges two of them breaks the link there. The head, kept beside the entries,
shows that the last ones are gone. A hash is SHA-256 over a MessagePack array, which says where each field begins and of what type it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

import msgspec

__all__ = ["EMPTY_HEAD", "AuditEntry", "BrokenLink", "ChainCheck", "ChainHead", "chained", "first_broken_link", "link_hash"]

_encode = msgspec.msgpack.Encoder().encode


class AuditEntry(NamedTuple):
    """One thing that was done, at a moment in milliseconds. `detail` is JSON, byte for byte as it is kept; `board` may be empty."""

    id: int
    at: int
    actor: str
    address: str | None
    action: str
    board: str
    reason: str | None
    detail: str
    hash: bytes = b""


class ChainHead(NamedTuple):
    """Where a chain ends: how many entries it has, and the id and hash of the last."""

    entries: int
    last_id: int
    hash: bytes


#: The head of a chain without entries.
EMPTY_HEAD = ChainHead(0, 0, bytes(32))


class BrokenLink(NamedTuple):
    """Where a chain is broken first. `id` is None where the head alone is wrong."""

    id: int | None
    problem: str


def link_hash(before: bytes, entry: AuditEntry) -> bytes:
    """Return the hash of an entry behind the one with the hash `before`."""
    return sha256(_encode((before, *entry[:-1]))).digest()


def chained(head: ChainHead, entry: AuditEntry) -> tuple[AuditEntry, ChainHead]:
    """Return an entry with its hash, and the head that it becomes."""
    linked = entry._replace(hash=link_hash(head.hash, entry))
    return linked, ChainHead(head.entries + 1, entry.id, linked.hash)


class ChainCheck:
    """Follows a chain up to its head, some entries at a time, in the order of their ids."""

    def __init__(self, head: ChainHead | None) -> None:
        self._head = head
        #: How far it has come.
        self.at = EMPTY_HEAD
        #: The first link that is broken.
        self.broken: BrokenLink | None = None

    def follow(self, entries: Iterable[AuditEntry]) -> BrokenLink | None:
        """Follow the next entries; return the first broken link, if one was found by now."""
        count, last_id, before = self.at
        end = None if self._head is None else self._head.last_id
        for entry in entries:
            if self.broken is not None:
                break
            if (count and entry.id <= last_id) or entry.id < 1:
                self.broken = BrokenLink(entry.id, f"entry {entry.id} is out of order: it comes after entry {last_id}")
            elif end is not None and entry.id > end:
                self.broken = BrokenLink(entry.id, f"entry {entry.id} was added past the head, which ends with entry {end}")
            elif link_hash(before, entry) != entry.hash:
                self.broken = BrokenLink(entry.id, _mismatch(entry.id, last_id))
            else:
                count, last_id, before = count + 1, entry.id, entry.hash
        self.at = ChainHead(count, last_id, before)
        return self.broken

    def finish(self) -> BrokenLink | None:
        """Return the first broken link once all entries were followed."""
        if self.broken is None:
            self.broken = self._compared()
        return self.broken

    def _compared(self) -> BrokenLink | None:
        head, at = self._head, self.at
        if head is None:
            return BrokenLink(None, f"the head is gone: nothing shows whether entries after entry {at.last_id} were removed")
        if at.last_id < head.last_id:
            missing = at.last_id + 1
            named = f"entry {missing} is" if missing == head.last_id else f"entries {missing} to {head.last_id} are"
            return BrokenLink(missing, f"{named} missing: the head says that the chain ends with entry {head.last_id}")
        if at.hash != head.hash:
            return BrokenLink(at.last_id, f"the hash of entry {at.last_id} is not the one of the head: the chain was rewritten")
        if at != head:
            return BrokenLink(None, f"the head counts {head.entries} entries, and there are {at.entries}")
        return None


def first_broken_link(entries: Iterable[AuditEntry], head: ChainHead | None) -> BrokenLink | None:
    """Return where a chain is broken first; None: nothing was changed, removed, added or reordered. O(entries).

    >>> entry, head = chained(EMPTY_HEAD, AuditEntry(1, 0, "local", None, "put_board", "global", None, "{}"))
    >>> first_broken_link([entry], head), first_broken_link([entry._replace(board="other")], head)
    (None, BrokenLink(id=1, problem='entry 1 does not match its hash: it was changed, or put in the place of another'))
    """
    check = ChainCheck(head)
    check.follow(entries)
    return check.finish()


def _mismatch(entry_id: int, last_id: int) -> str:
    if entry_id > last_id + 1:
        missing = f"entry {last_id + 1}" if entry_id == last_id + 2 else f"what was between entries {last_id} and {entry_id}"
        return f"entry {entry_id} does not follow entry {last_id}: {missing} was removed, or entry {entry_id} was changed"
    return f"entry {entry_id} does not match its hash: it was changed, or put in the place of another"
