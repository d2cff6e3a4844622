"""How many values a segment may have in a window of a board: each is a ranking, and clients choose them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from sys import getsizeof

from keepscore.caches import ByteCache
from keepscore.domain.caps import DEFAULT_CAPS
from keepscore.errors import CapReached, EngineUnavailable, InvalidSegment
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Ranking
from keepscore.storage.pace import Turns
from keepscore.writing.scopes import Submission

__all__ = ["SegmentCap"]

#: Milliseconds between two looks into the engine for the values of a board.
LOOK_AGAIN_MS = 1000
#: Of what is allowed, the share of new values after which the engine is asked which there are: others may have brought some, too.
SHARE_UNSEEN = 100
#: Bytes for the values that are remembered, of all boards, at least; and what a value takes at most, with its place in the set.
KNOWN_BYTES, VALUE_BYTES = 64 << 20, 256

#: Board, window, window id and the name of a segment.
SegmentSlot = tuple[int, str, str, str]


class _Values:
    """The values of a slot that a process knows, and what they take."""

    __slots__ = ("_value_bytes", "values")

    def __init__(self) -> None:
        self.values: set[str] = set()
        self._value_bytes = 0

    def add(self, value: str) -> None:
        if value not in self.values:
            self.values.add(value)
            self._value_bytes += getsizeof(value)

    @property
    def bytes(self) -> int:
        return getsizeof(self) + getsizeof(self.values) + self._value_bytes


class _Look:
    """When the values of a board were learned from the engine, and how many are new since."""

    def __init__(self) -> None:
        self.at_ms: int | None = None
        self.new = 0


class SegmentCap:
    """Refuses values that would be too many. Nearly all are known: the engine is asked when many new ones have come.

    So a process may go over the cap by a hundredth of it, or by what comes within a second in a slot that it has forgotten.
    """

    def __init__(self, stores: Stores, most: int = DEFAULT_CAPS.segment_values) -> None:
        self._catalog, _, self._engine, self._clock = stores
        self._most = most
        #: There is room for a slot with as many values as are allowed, and for another.
        self.known: ByteCache[SegmentSlot, _Values] = ByteCache(max(KNOWN_BYTES, 2 * most * VALUE_BYTES))
        #: There are only so many boards.
        self._looks: dict[int, _Look] = {}

    async def prepare(self, submissions: Iterable[Submission]) -> None:
        """Learn the values of boards that get many new ones."""
        coming: dict[int, tuple[LiveBoard, set[Ranking]]] = {}
        turns = Turns()
        for submission in (side for one in submissions for side in one.sides):
            if submission.segments is None:
                continue
            if turns.is_over():
                await turns.pass_on()
            # A value that cannot be used is refused when its submission is planned.
            with suppress(InvalidSegment):
                for live, ranking in self._rankings(submission):
                    slot, value = _place(ranking)
                    known = self.known.get(slot)
                    if known is None or value not in known.values:
                        coming.setdefault(live.id, (live, set()))[1].add(ranking)
        for live, rankings in coming.values():
            look, now = self._look(live), self._clock()
            is_old = look.at_ms is None or abs(now - look.at_ms) >= LOOK_AGAIN_MS
            if is_old and look.new + len(rankings) > self._most // SHARE_UNSEEN:
                await self._learn(live, look, now)

    async def _learn(self, live: LiveBoard, look: _Look, now: int) -> None:
        try:
            rankings = await self._engine.rankings(live.id)
        except EngineUnavailable:
            # What is known will do.
            return
        found: dict[SegmentSlot, _Values] = {}
        turns = Turns()
        for ranking in rankings:
            if ranking.segment:
                slot, value = _place(ranking)
                found.setdefault(slot, _Values()).add(value)
            if turns.is_over():
                await turns.pass_on()
        for slot in [slot for slot in self.known if slot[0] == live.id]:
            self.known.pop(slot)
        for slot, values in found.items():
            self.known.put(slot, values, values.bytes)
        look.at_ms, look.new = now, 0

    def check(self, submission: Submission) -> None:
        """Refuse a submission with a value that would be one too many."""
        if submission.by_player is not None:
            for side in submission.sides:
                self.check(side)
        if submission.segments is None:
            return
        for live, ranking in self._rankings(submission):
            slot, value = _place(ranking)
            known = self.known.get(slot) or _Values()
            if value in known.values:
                continue
            if len(known.values) >= self._most:
                raise CapReached(
                    f"segment {slot[3]} = {value!r} would be one more value than limits.segment_values = {self._most} allows in the "
                    f"{ranking.window} window {ranking.window_id} of board {live.name!r}"
                )
            known.add(value)
            self.known.put(slot, known, known.bytes)
            self._look(live).new += 1

    def _look(self, live: LiveBoard) -> _Look:
        return self._looks.setdefault(live.id, _Look())

    def _rankings(self, submission: Submission) -> Iterator[tuple[LiveBoard, Ranking]]:
        own = submission.live
        # It may count in some windows only, and some may have left the engine.
        yield from ((own, ranking) for ranking in submission.update.rankings if ranking.segment)
        for live in self._catalog.links(own):
            yield from ((live, ranking) for ranking in live.route(submission.at, submission.segments).rankings if ranking.segment)


def _place(ranking: Ranking) -> tuple[SegmentSlot, str]:
    name, _, value = ranking.segment.partition(":")
    return (ranking.board, ranking.window, ranking.window_id, name), value
