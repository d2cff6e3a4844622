"""A sorted list of keys that knows the position of each key, and of its group.

A key is bytes; keys that share their first `GROUP` bytes are a group (players with equal scores).

Why not ``sortedcontainers.SortedList``: an update of a ranking needs the position before, a removal, an insertion and the
position after. That is four searches there and two here, and on a million players the searches are nearly all of the cost; and a
second list of the distinct scores, for dense ranks, would need as many again (`benchmarks/ladder.py` prints both).

The structure. Keys lie in sorted *buckets* of fewer than `2 × LOAD`; `_maxes` holds the last key of each bucket, `_sizes` how
many keys each holds, and `_strides` the sums of `_sizes` over `STRIDE` buckets at a time, so that the number of keys
before a bucket is two short sums that run in C. `_heads` holds, for each bucket, those of its keys that are the first of their
group, with sums of their own, so that the number of groups up to a key takes no search among all. While nothing is written,
`_offsets` has the sums ready:

    buckets   [a1 a2] [a3 b1 c1] [c2] [d1 d2]        STRIDE = 2, groups are letters
    _maxes     a2      c1         c2   d2
    _sizes     2       3          1    2
    _strides   5                  3                  position of "d1" = 5 + 1 + 0 = 6
    _heads    [a1]    [b1 c1]    []   [d1]
    _head_sizes 1      2          0    1
    _head_strides  3              1                  groups up to "d1" = 3 + 0 + 1 = 4
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import accumulate, compress, pairwise
from operator import ne

__all__ = ["GROUP", "Ladder", "Rung"]

#: Leading bytes of a key that make its group.
GROUP = 8
#: Keys in a bucket when it is made; a bucket that reaches twice this is split.
LOAD = 512
#: Buckets summed up by one entry of `_strides`.
STRIDE = 32
#: Reads without a write between them after which `_offsets` are worth making.
PATIENCE = 8


#: Where a key is: how many keys are smaller, how many groups there are up to its own, and the neighbours.
Rung = tuple[int, int, bytes | None, bytes | None]


class Ladder:
    """Distinct keys in ascending order. Search, insertion and removal cost O(log N) comparisons and O(LOAD) moved pointers."""

    __slots__ = (
        "_buckets",
        "_head_offsets",
        "_head_sizes",
        "_head_strides",
        "_heads",
        "_len",
        "_maxes",
        "_offsets",
        "_reads",
        "_sizes",
        "_strides",
        "groups",
    )

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        """Make one from keys in any order, in O(N log N)."""
        ordered = sorted(keys)
        self._len = len(ordered)
        self._buckets = [ordered[i : i + LOAD] for i in range(0, len(ordered), LOAD)]
        self._heads: list[list[bytes]] = []
        last = b""
        for bucket in self._buckets:
            groups = [key[:GROUP] for key in bucket]
            self._heads.append(list(compress(bucket, map(ne, groups, [last, *groups]))))
            last = groups[-1]
        #: How many groups there are.
        self.groups = sum(map(len, self._heads))
        self._index()

    def _index(self) -> None:
        """Sum up anew, after buckets have come or gone. O(buckets)."""
        self._maxes = [bucket[-1] for bucket in self._buckets]
        self._sizes = [len(bucket) for bucket in self._buckets]
        self._strides = [sum(self._sizes[i : i + STRIDE]) for i in range(0, len(self._sizes), STRIDE)]
        self._head_sizes = [len(firsts) for firsts in self._heads]
        self._head_strides = [sum(self._head_sizes[i : i + STRIDE]) for i in range(0, len(self._head_sizes), STRIDE)]
        self._written()

    def _written(self) -> None:
        self._reads = 0
        #: Keys and heads before each bucket, or nothing since the last write.
        self._offsets: list[int] = []
        self._head_offsets: list[int] = []

    def __len__(self) -> int:
        return self._len

    def __iter__(self) -> Iterator[bytes]:
        for bucket in self._buckets:
            yield from bucket

    def position(self, key: bytes) -> int:
        """How many keys are smaller than `key`, which need not be present."""
        at = bisect_left(self._maxes, key)
        if at == len(self._maxes):
            return self._len
        return self._before(at)[0] + bisect_left(self._buckets[at], key)

    def groups_upto(self, key: bytes) -> int:
        """How many groups begin at or before `key`, which need not be present."""
        at = bisect_left(self._maxes, key)
        if at == len(self._maxes):
            return self.groups
        return self._before(at)[1] + bisect_right(self._heads[at], key)

    def _before(self, at: int) -> tuple[int, int]:
        """How many keys, and how many heads, are in the buckets before one."""
        if self._offsets:
            return self._offsets[at], self._head_offsets[at]
        self._reads += 1
        if self._reads > PATIENCE:
            self._offsets = [0, *accumulate(self._sizes)]
            self._head_offsets = [0, *accumulate(self._head_sizes)]
        stride = at // STRIDE
        first = stride * STRIDE
        return (
            sum(self._strides[:stride]) + sum(self._sizes[first:at]),
            sum(self._head_strides[:stride]) + sum(self._head_sizes[first:at]),
        )

    def rung(self, key: bytes) -> Rung:
        """Where a key that is present is. The hottest read: written out, without calls."""
        maxes, buckets = self._maxes, self._buckets
        at = bisect_left(maxes, key)
        bucket = buckets[at]
        inside = bisect_left(bucket, key)
        keys, heads = (self._offsets[at], self._head_offsets[at]) if self._offsets else self._before(at)
        if 0 < inside < len(bucket) - 1:
            before, after = bucket[inside - 1], bucket[inside + 1]
        else:
            before, after = self._neighbours(at, inside)  # type: ignore[assignment]
        return keys + inside, heads + bisect_right(self._heads[at], key), before, after

    def _neighbours(self, at: int, inside: int) -> tuple[bytes | None, bytes | None]:
        bucket = self._buckets[at]
        before = bucket[inside - 1] if inside else (self._maxes[at - 1] if at else None)
        if inside + 1 < len(bucket):
            return before, bucket[inside + 1]
        return before, self._buckets[at + 1][0] if at + 1 < len(self._buckets) else None

    def add(self, key: bytes) -> int:
        """Insert a key that is not present; answer its position."""
        maxes = self._maxes
        at = bisect_left(maxes, key)
        if at < len(maxes):
            bucket = self._buckets[at]
            inside = bisect_left(bucket, key)
            bucket.insert(inside, key)
        elif maxes:
            at -= 1
            bucket = self._buckets[at]
            inside = len(bucket)
            bucket.append(key)
            maxes[at] = key
        else:
            inside, bucket = 0, [key]
            self._buckets.append(bucket)
            self._heads.append([])
            self._index()
            self._sizes[0] = self._strides[0] = 0
        stride = at // STRIDE
        position = sum(self._strides[:stride]) + sum(self._sizes[stride * STRIDE : at]) + inside
        self._len += 1
        self._sizes[at] += 1
        self._strides[stride] += 1
        if self._reads:
            self._written()
        before, after = self._neighbours(at, inside)
        group = key[:GROUP]
        if before is None or not before.startswith(group):
            self._add_head(at, key)
            if after is not None and after.startswith(group):
                self._remove_head(at if inside + 1 < len(bucket) else at + 1, after)
        if len(bucket) >= 2 * LOAD:
            self._split(at)
        return position

    def remove(self, key: bytes) -> int:
        """Take out a key, KeyError where it is not present; answer the position that it had."""
        at = bisect_left(self._maxes, key)
        if at == len(self._maxes):
            raise KeyError(key)
        bucket = self._buckets[at]
        inside = bisect_left(bucket, key)
        if bucket[inside] != key:
            raise KeyError(key)
        stride = at // STRIDE
        position = sum(self._strides[:stride]) + sum(self._sizes[stride * STRIDE : at]) + inside
        before, after = self._neighbours(at, inside)
        group = key[:GROUP]
        if before is None or not before.startswith(group):
            self._remove_head(at, key)
            if after is not None and after.startswith(group):
                self._add_head(at if inside + 1 < len(bucket) else at + 1, after)
        del bucket[inside]
        self._len -= 1
        self._sizes[at] -= 1
        self._strides[stride] -= 1
        if self._reads:
            self._written()
        if not bucket:
            del self._buckets[at], self._heads[at]
            self._index()
        elif inside == len(bucket):
            self._maxes[at] = bucket[-1]
        return position

    def _add_head(self, at: int, key: bytes) -> None:
        insort(self._heads[at], key)
        self._head_sizes[at] += 1
        self._head_strides[at // STRIDE] += 1
        self.groups += 1

    def _remove_head(self, at: int, key: bytes) -> None:
        heads = self._heads[at]
        del heads[bisect_left(heads, key)]
        self._head_sizes[at] -= 1
        self._head_strides[at // STRIDE] -= 1
        self.groups -= 1

    def _split(self, at: int) -> None:
        bucket, heads = self._buckets[at], self._heads[at]
        middle = bisect_left(heads, bucket[LOAD])
        self._buckets[at : at + 1] = [bucket[:LOAD], bucket[LOAD:]]
        self._heads[at : at + 1] = [heads[:middle], heads[middle:]]
        self._index()

    def slice(self, start: int, stop: int) -> list[bytes]:
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
        assert all(a < b for a, b in pairwise(keys)), "keys ascend and are distinct"
        assert len(keys) == self._len
        assert all(0 < len(bucket) < 2 * LOAD for bucket in self._buckets), "no bucket is empty or overfull"
        fresh = Ladder(keys)
        assert [key for heads in self._heads for key in heads] == [key for heads in fresh._heads for key in heads]
        for bucket, heads in zip(self._buckets, self._heads, strict=True):
            assert set(heads) <= set(bucket), "heads lie with their buckets"
        assert self.groups == fresh.groups
        offsets, head_offsets = self._offsets, self._head_offsets
        assert not offsets or offsets == [0, *accumulate(self._sizes)], "offsets are of now"
        assert not head_offsets or head_offsets == [0, *accumulate(self._head_sizes)], "offsets are of now"
        summed = (self._maxes, self._sizes, self._strides, self._head_sizes, self._head_strides)
        self._index()
        assert summed == (self._maxes, self._sizes, self._strides, self._head_sizes, self._head_strides), "sums are right"
