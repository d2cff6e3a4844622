"""A sorted list of keys that knows the position of each key, and how many distinct scores there are up to it.

A key is bytes whose order is the order of the ranking; its score, a number, comes first in that order.

Why not ``sortedcontainers.SortedList``: an update of a ranking needs the position before, a removal, an insertion and the
position after. That is four searches there and two here; a second list of the distinct scores, for dense ranks, would need as many
again. And with a million players nearly all of the cost is waiting for memory: keys lie all over it, so they are looked at only where
scores are equal. Scores lie side by side (`benchmarks/ladder.py` compares).

The structure. Keys lie in sorted *buckets* of fewer than `2 × LOAD`. A bucket has their scores, and its *followers*: the scores of
those keys that are not the first with their score (in the whole ladder), in order. `_maxes` holds the last score of each bucket,
`_sizes` how many keys each holds, and `_strides` the sums of `_sizes` over `STRIDE` buckets at a time, so that the number of keys
before a bucket is two short sums that run in C. `_followers` and `_follower_strides` are the same for followers:

    keys       [a1 a2] [a3 b1 c1] [c2] [d1 d2]       letters stand for scores; STRIDE = 2
    followers  [a]     [a]        [c]  [d]
    _sizes      2       3          1    2
    _strides    5                  3                 position of "d2" = 5 + 1 + 1 = 7
    _followers  1       1          1    1            distinct scores up to "d2" = first position of d − followers before + 1
    _follower_strides  2           2                                            = 6 − (2 + 1) + 1 = 4
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, pairwise
from math import nan

__all__ = ["Ladder", "Rung"]

#: Keys in a bucket when it is made; a bucket that reaches twice this is split. Sizes below 257 are numbers that Python has ready.
LOAD = 128
#: Buckets summed up by one entry of `_strides`.
STRIDE = 48
#: Reads without a write between them after which the offsets of all buckets are worth making.
READS_BEFORE_OFFSETS = 8

#: Where a key is: how many keys are smaller, how many distinct scores there are up to its own, and whether the key before and the
#: key after have the same score.
Rung = tuple[int, int, bool, bool]


class Bucket:
    """Some consecutive keys: their scores, and the scores of those that are not the first with theirs."""

    __slots__ = ("followers", "keys", "scores")

    def __init__(self, keys: list[bytes], scores: array[float], previous: float | None) -> None:
        self.keys = keys
        self.scores = scores
        self.followers = array("d", [score for last, score in pairwise([nan if previous is None else previous, *scores]) if last == score])

    def copy(self) -> Bucket:
        """Return another bucket with the same keys."""
        other = Bucket(self.keys[:], self.scores[:], None)
        other.followers = self.followers[:]
        return other

    def index(self, key: bytes, score: float) -> int:
        """Count the keys that are smaller than a key with that score."""
        first = bisect_left(self.scores, score)
        if first == len(self.scores) or self.scores[first] != score:
            return first
        return bisect_left(self.keys, key, first, bisect_right(self.scores, score, first))


class Ladder:
    """Distinct keys in ascending order. Search, insertion and removal cost O(log N) comparisons and O(LOAD) moved numbers."""

    __slots__ = (
        "_buckets",
        "_follower_offsets",
        "_follower_strides",
        "_followers",
        "_max_keys",
        "_maxes",
        "_offsets",
        "_reads",
        "_sizes",
        "_strides",
        "groups",
        "size",
    )

    def __init__(self, keys: Iterable[bytes], score_of: Callable[[bytes], float]) -> None:
        """Make one from keys in any order, in O(N log N)."""
        #: How many keys, and how many distinct scores, there are.
        self.size = self.groups = 0
        self._buckets: list[Bucket] = []
        self._index()
        self.extend(sorted(keys), score_of)

    def extend(self, keys: list[bytes], score_of: Callable[[bytes], float]) -> None:
        """Take up keys in order, all of them behind those that there are. O(keys)."""
        first = len(self._buckets)
        last = self._maxes[-1] if self._maxes else None
        for i in range(0, len(keys), LOAD):
            part = keys[i : i + LOAD]
            bucket = Bucket(part, array("d", map(score_of, part)), last)
            last = bucket.scores[-1]
            self._buckets.append(bucket)
            self._maxes.append(last)
            self._max_keys.append(part[-1])
            self._sizes.append(len(part))
            self._followers.append(len(bucket.followers))
            self.size += len(part)
            self.groups += len(part) - len(bucket.followers)
        self._sum_up(first)

    def copy(self) -> Ladder:
        """Return another ladder with the same keys. O(N), with no key looked at."""
        other = Ladder((), _no_score)
        other._buckets = [bucket.copy() for bucket in self._buckets]
        other.size, other.groups = self.size, self.groups
        other._index()
        return other

    def _index(self) -> None:
        """Recompute what is known about the buckets. O(buckets)."""
        self._maxes = array("d", [bucket.scores[-1] for bucket in self._buckets])
        self._max_keys = [bucket.keys[-1] for bucket in self._buckets]
        self._sizes = [len(bucket.scores) for bucket in self._buckets]
        self._followers = [len(bucket.followers) for bucket in self._buckets]
        self._strides: list[int] = []
        self._follower_strides: list[int] = []
        self._sum_up(0)

    def _sum_up(self, at: int) -> None:
        """Sum up again from a bucket on, before which nothing has changed. O(buckets), but in C."""
        stride = at // STRIDE
        starts = range(stride * STRIDE, len(self._sizes), STRIDE)
        self._strides[stride:] = [sum(self._sizes[i : i + STRIDE]) for i in starts]
        self._follower_strides[stride:] = [sum(self._followers[i : i + STRIDE]) for i in starts]
        self._written()

    def _written(self) -> None:
        self._reads = 0
        #: Keys and followers before each bucket, or nothing since the last write.
        self._offsets: list[int] = []
        self._follower_offsets: list[int] = []

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[bytes]:
        for bucket in self._buckets:
            yield from bucket.keys

    # -- search ---------------------------------------------------------------------------------------------------------

    def _find(self, key: bytes, score: float) -> int:
        """Find the first bucket whose last key is not smaller than a key; behind the last bucket where there is none."""
        at = bisect_left(self._maxes, score)
        if at < len(self._maxes) and self._maxes[at] == score:
            # The score goes on to the end of the bucket, maybe further.
            return bisect_left(self._max_keys, key, at)
        return at

    def _before(self, at: int) -> tuple[int, int]:
        """Count the keys, and the followers, in the buckets before one."""
        if self._offsets:
            return self._offsets[at], self._follower_offsets[at]
        self._reads += 1
        if self._reads > READS_BEFORE_OFFSETS:
            self._offsets = [0, *accumulate(self._sizes)]
            self._follower_offsets = [0, *accumulate(self._followers)]
        stride = at // STRIDE
        first = stride * STRIDE
        return (
            sum(self._strides[:stride]) + sum(self._sizes[first:at]),
            sum(self._follower_strides[:stride]) + sum(self._followers[first:at]),
        )

    def position(self, key: bytes, score: float) -> int:
        """Count the keys that are smaller than a key, which need not be present."""
        at = self._find(key, score)
        return self.size if at == len(self._buckets) else self._before(at)[0] + self._buckets[at].index(key, score)

    def below(self, score: float) -> int:
        """Count the keys that have a lower score."""
        at = bisect_left(self._maxes, score)
        return self.size if at == len(self._buckets) else self._before(at)[0] + bisect_left(self._buckets[at].scores, score)

    def upto(self, score: float) -> int:
        """Count the keys that have that score or a lower one."""
        at = bisect_right(self._maxes, score)
        return self.size if at == len(self._buckets) else self._before(at)[0] + bisect_right(self._buckets[at].scores, score)

    def rung(self, key: bytes, score: float) -> Rung:
        """Return where a key that is present is. The hottest read: written out, with as few calls as can be."""
        maxes = self._maxes
        at = bisect_left(maxes, score)
        bucket = self._buckets[at]
        scores = bucket.scores
        first = bisect_left(scores, score)
        keys, followers = (self._offsets[at], self._follower_offsets[at]) if self._offsets else self._before(at)
        groups = keys + first - followers - bisect_left(bucket.followers, score) + 1
        if first + 1 < len(scores) and scores[first + 1] != score:
            # Nearly always: nobody else has that score.
            return keys + first, groups, False, False
        return self._rung_among_equals(at, keys + first, groups, key, score)

    def _rung_among_equals(self, at: int, first: int, groups: int, key: bytes, score: float) -> Rung:
        """Return where a key is whose score others may have: `at` is the bucket of the first of them, and `first` its position."""
        position = self.position(key, score)
        return position, groups, position > first, position + 1 < self.upto(score)

    # -- change ---------------------------------------------------------------------------------------------------------

    def add(self, key: bytes, score: float, wanted: bool = True) -> int:
        """Insert a key that is not present; answer its position, or 0 where it is not wanted, which saves a third of the time."""
        at = bisect_left(self._maxes, score)
        if at < len(self._maxes):
            bucket = self._buckets[at]
            inside = bisect_left(bucket.scores, score)
            if bucket.scores[inside] != score:
                # Nearly always: nobody has that score, and no key has to be looked at.
                self.groups += 1
                return self._insert(at, inside, key, score, wanted)
        return self._add_among_equals(key, score)

    def _add_among_equals(self, key: bytes, score: float) -> int:
        at = self._find(key, score)
        if at == len(self._buckets):
            if not at:
                self._buckets.append(Bucket([key], array("d", [score]), None))
                self.size = self.groups = 1
                self._index()
                return 0
            at -= 1
            self._maxes[at] = score
            self._max_keys[at] = key
        inside = self._buckets[at].index(key, score)
        self._count_follower(at, inside - 1, inside, score, 1)
        return self._insert(at, inside, key, score, True)

    def _insert(self, at: int, inside: int, key: bytes, score: float, wanted: bool) -> int:
        bucket = self._buckets[at]
        bucket.keys.insert(inside, key)
        bucket.scores.insert(inside, score)
        position = self._resize(at, inside, 1, wanted)
        if len(bucket.keys) >= 2 * LOAD:
            self._split(at)
        return position

    def remove(self, key: bytes, score: float, wanted: bool = True) -> int:
        """Take out a key, KeyError where it is not present; answer the position that it had, or 0 where it is not wanted."""
        at = bisect_left(self._maxes, score)
        if at < len(self._maxes):
            bucket = self._buckets[at]
            scores = bucket.scores
            inside = bisect_left(scores, score)
            # Nearly always: nobody else has that score. The last of a bucket is left to the other way, which minds the maximum.
            if inside + 1 < len(scores) and scores[inside + 1] != score and bucket.keys[inside] is key:
                self.groups -= 1
                del bucket.keys[inside], scores[inside]
                return self._resize(at, inside, -1, wanted)
        return self._remove_among_equals(key, score)

    def move(self, key: bytes, score: float, to_key: bytes, to_score: float) -> tuple[int, int]:
        """Replace a key by another: `remove` and `add`. Answer both positions. The hottest write: written out for scores of one key."""
        maxes, sizes, strides = self._maxes, self._sizes, self._strides
        at, to = bisect_left(maxes, score), bisect_left(maxes, to_score)
        if at == len(maxes) or to == len(maxes):
            return self.remove(key, score), self.add(to_key, to_score)
        bucket, to_bucket = self._buckets[at], self._buckets[to]
        scores, to_scores = bucket.scores, to_bucket.scores
        inside, to_inside = bisect_left(scores, score), bisect_left(to_scores, to_score)
        alone = inside + 1 < len(scores) and scores[inside + 1] != score and bucket.keys[inside] is key
        if not alone or to_scores[to_inside] == to_score or len(to_bucket.keys) + 1 >= 2 * LOAD:
            return self.remove(key, score), self.add(to_key, to_score)
        del bucket.keys[inside], scores[inside]
        if to == at and to_inside > inside:
            to_inside -= 1
        to_bucket.keys.insert(to_inside, to_key)
        to_scores.insert(to_inside, to_score)
        stride, to_stride = at // STRIDE, to // STRIDE
        before = sum(strides[:stride]) + sum(sizes[stride * STRIDE : at]) + inside
        if at != to:
            sizes[at] -= 1
            strides[stride] -= 1
            sizes[to] += 1
            strides[to_stride] += 1
        if self._reads:
            self._written()
        return before, sum(strides[:to_stride]) + sum(sizes[to_stride * STRIDE : to]) + to_inside

    def _remove_among_equals(self, key: bytes, score: float) -> int:
        at = self._find(key, score)
        if at == len(self._buckets):
            raise KeyError(key)
        bucket = self._buckets[at]
        inside = bucket.index(key, score)
        if bucket.keys[inside] != key:
            raise KeyError(key)
        self._count_follower(at, inside - 1, inside + 1, score, -1)
        del bucket.keys[inside], bucket.scores[inside]
        position = self._resize(at, inside, -1, True)
        if not bucket.keys:
            del self._buckets[at], self._maxes[at], self._max_keys[at], self._sizes[at], self._followers[at]
            self._sum_up(at)
        elif inside == len(bucket.keys):
            self._maxes[at] = bucket.scores[-1]
            self._max_keys[at] = bucket.keys[-1]
        return position

    def _resize(self, at: int, inside: int, by: int, wanted: bool) -> int:
        """Note that a bucket has one key more or less; return the position of the place within it."""
        stride = at // STRIDE
        position = sum(self._strides[:stride]) + sum(self._sizes[stride * STRIDE : at]) + inside if wanted else 0
        self.size += by
        self._sizes[at] += by
        self._strides[stride] += by
        if self._reads:
            self._written()
        return position

    def _count_follower(self, at: int, before: int, after: int, score: float, by: int) -> None:
        """Count a key that comes (`by` 1) or goes (−1) between two places of a bucket: so does a follower, or a group.

        If others have the score, one of them follows the first; which one does not matter, but in which bucket.
        """
        scores = self._buckets[at].scores
        previous = scores[before] if before >= 0 else self._maxes[at - 1] if at else None
        if previous == score or (after < len(scores) and scores[after] == score):
            holder = at
        elif after >= len(scores) and at + 1 < len(self._buckets) and self._buckets[at + 1].scores[0] == score:
            holder = at + 1
        else:
            self.groups += by
            return
        followers = self._buckets[holder].followers
        if by > 0:
            insort(followers, score)
        else:
            del followers[bisect_left(followers, score)]
        self._followers[holder] += by
        self._follower_strides[holder // STRIDE] += by

    def _split(self, at: int) -> None:
        bucket = self._buckets[at]
        keys, scores = bucket.keys, bucket.scores
        previous = self._maxes[at - 1] if at else None
        left = Bucket(keys[:LOAD], scores[:LOAD], previous)
        right = Bucket(keys[LOAD:], scores[LOAD:], left.scores[-1])
        self._buckets[at : at + 1] = [left, right]
        self._maxes.insert(at, left.scores[-1])
        self._max_keys.insert(at, left.keys[-1])
        self._sizes[at : at + 1] = [len(left.scores), len(right.scores)]
        self._followers[at : at + 1] = [len(left.followers), len(right.followers)]
        self._sum_up(at)

    # -- slices ---------------------------------------------------------------------------------------------------------

    def slice(self, start: int, stop: int) -> list[bytes]:
        """Return the keys at positions `start` to `stop` (not included), ascending. O(log N + stop − start)."""
        start, stop = max(0, start), min(stop, self.size)
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
        found = self._buckets[at].keys[start - skipped : start - skipped + wanted]
        while len(found) < wanted:
            at += 1
            found += self._buckets[at].keys[: wanted - len(found)]
        return found

    def check_invariants(self) -> None:
        """Verify every invariant. For tests."""
        keys = list(self)
        scores = [score for bucket in self._buckets for score in bucket.scores]
        assert all(a < b for a, b in pairwise(keys)), "keys ascend and are distinct"
        assert all(a <= b for a, b in pairwise(scores)), "scores ascend with the keys"
        assert len(keys) == len(scores) == self.size
        assert self.groups == len(set(scores))
        last: float | None = None
        for bucket in self._buckets:
            assert 0 < len(bucket.keys) == len(bucket.scores) < 2 * LOAD, "no bucket is empty or overfull"
            assert bucket.followers == Bucket(bucket.keys, bucket.scores, last).followers
            last = bucket.scores[-1]
        assert not self._offsets or self._offsets == [0, *accumulate(self._sizes)], "offsets are of now"
        assert not self._offsets or self._follower_offsets == [0, *accumulate(self._followers)], "offsets are of now"
        summed = (self._maxes, self._max_keys, self._sizes, self._followers, self._strides, self._follower_strides)
        self._index()
        fresh = (self._maxes, self._max_keys, self._sizes, self._followers, self._strides, self._follower_strides)
        assert summed == fresh, "sums are right"


def _no_score(key: bytes) -> float:
    raise LookupError(key)
