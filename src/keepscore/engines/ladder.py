"""A sorted list that knows the position of everything in it.

Why not ``sortedcontainers.SortedList``: an update of a ranking needs the position before, a removal, an insertion and the
position after. That is four searches there and two here, and on a million players the searches are nearly all of the cost
(`benchmarks/ladder.py` prints both).

The structure. Keys lie in sorted *buckets* of at most `2 × LOAD`; `_maxes` holds the last key of each bucket, `_sizes` how
many keys each holds, and `_strides` the sums of `_sizes` over `STRIDE` buckets at a time, so that the number of keys
before a bucket is two short sums that run in C:

    buckets   [a c] [f g h] [k] [m n]        STRIDE = 2
    _maxes     c     h       k   n
    _sizes     2     3       1   2
    _strides   5             3               position of "m" = 5 + 1 + 0 = 6
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

__all__ = ["Ladder"]

#: Keys in a bucket when it is made; a bucket that reaches twice this is split.
LOAD = 512
#: Buckets summed up by one entry of `_strides`.
STRIDE = 32

K = TypeVar("K", bytes, int)


class Ladder(Generic[K]):
    """Distinct keys in ascending order. Search, insertion and removal cost O(log N) comparisons and O(LOAD) moved pointers."""

    __slots__ = ("_buckets", "_len", "_maxes", "_sizes", "_strides")

    def __init__(self, keys: Iterable[K] = ()) -> None:
        """Make one from keys in any order, in O(N log N)."""
        ordered = sorted(keys)
        self._buckets: list[list[K]] = [ordered[i : i + LOAD] for i in range(0, len(ordered), LOAD)]
        self._len = len(ordered)
        self._index()

    def _index(self) -> None:
        self._maxes: list[K] = [bucket[-1] for bucket in self._buckets]
        self._sizes = [len(bucket) for bucket in self._buckets]
        self._strides = [sum(self._sizes[i : i + STRIDE]) for i in range(0, len(self._sizes), STRIDE)]

    def __len__(self) -> int:
        return self._len

    def __iter__(self) -> Iterator[K]:
        for bucket in self._buckets:
            yield from bucket

    def position(self, key: K) -> int:
        """How many keys are smaller than `key`, which need not be present."""
        at = bisect_left(self._maxes, key)
        if at == len(self._maxes):
            return self._len
        stride = at // STRIDE
        return sum(self._strides[:stride]) + sum(self._sizes[stride * STRIDE : at]) + bisect_left(self._buckets[at], key)

    def add(self, key: K) -> tuple[int, K | None, K | None]:
        """Insert a key that is not present; answer its position and its two neighbours."""
        maxes = self._maxes
        at = bisect_left(maxes, key)
        if at == len(maxes):
            if not maxes:
                self._buckets.append([key])
                self._len = 1
                self._index()
                return 0, None, None
            at -= 1
            bucket = self._buckets[at]
            inside = len(bucket)
            bucket.append(key)
            maxes[at] = key
        else:
            bucket = self._buckets[at]
            inside = bisect_left(bucket, key)
            bucket.insert(inside, key)
        stride = at // STRIDE
        position = sum(self._strides[:stride]) + sum(self._sizes[stride * STRIDE : at]) + inside
        before = bucket[inside - 1] if inside else (maxes[at - 1] if at else None)
        after = bucket[inside + 1] if inside + 1 < len(bucket) else self._first_of(at + 1)
        self._len += 1
        self._sizes[at] += 1
        self._strides[stride] += 1
        if len(bucket) >= 2 * LOAD:
            self._buckets[at : at + 1] = [bucket[:LOAD], bucket[LOAD:]]
            self._index()
        return position, before, after

    def remove(self, key: K) -> tuple[int, K | None, K | None]:
        """Take out a key that is present; answer the position that it had and its two former neighbours."""
        at = bisect_left(self._maxes, key)
        bucket = self._buckets[at]
        inside = bisect_left(bucket, key)
        if bucket[inside] != key:
            raise KeyError(key)
        stride = at // STRIDE
        position = sum(self._strides[:stride]) + sum(self._sizes[stride * STRIDE : at]) + inside
        before = bucket[inside - 1] if inside else (self._maxes[at - 1] if at else None)
        after = bucket[inside + 1] if inside + 1 < len(bucket) else self._first_of(at + 1)
        del bucket[inside]
        self._len -= 1
        if bucket:
            if inside == len(bucket):
                self._maxes[at] = bucket[-1]
            self._sizes[at] -= 1
            self._strides[stride] -= 1
        else:
            del self._buckets[at]
            self._index()
        return position, before, after

    def _first_of(self, at: int) -> K | None:
        return self._buckets[at][0] if at < len(self._buckets) else None

    def slice(self, start: int, stop: int) -> list[K]:
        """The keys at positions `start` to `stop` (not included), ascending. O(log N + stop − start)."""
        start, stop = max(0, start), min(stop, self._len)
        if start >= stop:
            return []
        stride, skipped = 0, 0
        while skipped + self._strides[stride] <= start:
            skipped += self._strides[stride]
            stride += 1
        at = stride * STRIDE
        while skipped + self._sizes[at] <= start:
            skipped += self._sizes[at]
            at += 1
        wanted = stop - start
        found = self._buckets[at][start - skipped : start - skipped + wanted]
        while len(found) < wanted:
            at += 1
            found += self._buckets[at][: wanted - len(found)]
        return found

    def _check(self) -> None:
        """Verify every invariant. For tests."""
        keys = list(self)
        assert all(a < b for a, b in zip(keys, keys[1:], strict=False)), "keys ascend and are distinct"
        assert len(keys) == self._len
        assert all(0 < len(bucket) < 2 * LOAD for bucket in self._buckets), "no bucket is empty or overfull"
        assert self._maxes == [bucket[-1] for bucket in self._buckets]
        assert self._sizes == [len(bucket) for bucket in self._buckets]
        assert self._strides == [sum(self._sizes[i : i + STRIDE]) for i in range(0, len(self._sizes), STRIDE)]
