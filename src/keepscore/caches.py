"""A cache that is bounded in bytes. Whatever a process remembers of what clients ask for is kept in one of these.

A bound on the number of entries is none: ten thousand pages of a thousand players are more than a gigabyte.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from sys import getsizeof
from typing import Generic, TypeVar

__all__ = ["ENTRY_BYTES", "ByteCache", "bytes_of"]

#: What an entry costs beside its key and value: its place in the table and its links, in bytes.
ENTRY_BYTES = 250

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def bytes_of(value: object) -> int:
    """Return the memory of a value, with the parts of tuples. Parts that are shared with others count each time.

    >>> bytes_of("a" * 1000) > 1000, bytes_of(("a" * 1000, b"b" * 1000)) > 2000
    (True, True)
    """
    size = getsizeof(value)
    return size + sum(map(bytes_of, value)) if isinstance(value, tuple) else size


class ByteCache(Generic[K, V]):
    """Up to `max_bytes` of entries. The least recently used ones go first. A value cannot be None.

    >>> cache: ByteCache[str, bytes] = ByteCache(2000)
    >>> for name in "abc":
    ...     _ = cache.put(name, bytes(500), 533), cache.get("a")
    >>> list(cache)
    ['c', 'a']
    """

    __slots__ = ("_entries", "max_bytes", "used_bytes")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        """Go over the keys, the least recently used first."""
        return iter(self._entries)

    def get(self, key: K) -> V | None:
        """Return what is kept under a key, and take note that it was used. O(1)."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, value_bytes: int) -> V:
        """Keep a value of some size, and return it. One that is larger than everything that may be kept is not kept."""
        size = ENTRY_BYTES + bytes_of(key) + value_bytes
        self.pop(key)
        if size <= self.max_bytes:
            self._entries[key] = value, size
            self.used_bytes += size
            while self.used_bytes > self.max_bytes:
                self.used_bytes -= self._entries.popitem(last=False)[1][1]
        return value

    def pop(self, key: K) -> None:
        """Forget a key."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.used_bytes -= entry[1]

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.used_bytes = 0
