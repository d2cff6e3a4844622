"""Which ranking of a board a key belongs to: the templates of a board, read backwards. Pure.

A template may hold any format of a date, so none is parsed: the keys of past windows are written, and compared. The key of a slice is
known by what its template has before and behind the segment's value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from keepscore.domain.boards import Board
from keepscore.domain.keys import key_of, live_key_of
from keepscore.domain.windows import FOREVER_MS, Span, span_at

__all__ = ["KeyPlaces", "RankingPlace"]

#: How many windows are looked back, the present one included: ten years, and as many seasons as days.
_LOOKED_BACK = {"daily": 3660, "weekly": 530, "monthly": 121, "yearly": 30, "all_time": 1, "season": 400}
#: Stands for a segment's value. No value has it: they are printable.
_VALUE = "\x00"


class RankingPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ranking of some board: a window by its name and id, and a segment (`region:eu`) or the whole (``)."""

    window: str
    window_id: str
    segment: str = ""

    def __str__(self) -> str:
        named = self.window if self.window == self.window_id else f"{self.window} {self.window_id}"
        return f"{named} {self.segment}".rstrip()


class _SliceForm(NamedTuple):
    """What the keys of one segment's slices begin and end with, in one window."""

    before: str
    behind: str
    span: Span
    name: str


class KeyPlaces:
    """The keys of a board's rankings, as of some moment.

    >>> from keepscore.domain.board_parts import Window
    >>> board = Board("xp", windows={"weekly": Window(key="lb:weekly:{start:%G-W%V}")})
    >>> [str(place) for place in KeyPlaces(board, 1_700_000_000_000).find("lb:weekly:2023-W45")]
    ['weekly 2023-W45']
    """

    def __init__(self, board: Board, now: int) -> None:
        # The system that a board follows has the keys of the templates.
        self._board = board = replace(board, following=False)
        self._wholes: dict[str, list[RankingPlace]] = {}
        self._slices: list[_SliceForm] = []
        for window in board.periods:
            for age, span in enumerate(_spans(board, window, now)):
                self._add(span, is_live=age == 0)

    def _add(self, span: Span, is_live: bool) -> None:
        board = self._board
        for key in (key_of(board, span, ""), live_key_of(board, span.window, "") if is_live else None):
            if key is not None:
                self._wholes.setdefault(key, []).append(RankingPlace(span.window, span.id))
        for name in board.slicing.labels:
            slice_ = f"{name}:{_VALUE}"
            for key in (key_of(board, span, slice_), live_key_of(board, span.window, slice_) if is_live else None):
                if key is not None:
                    before, _, behind = key.partition(_VALUE)
                    self._slices.append(_SliceForm(before, behind, span, name))

    def find(self, key: str) -> list[RankingPlace]:
        """Return the rankings that have a key: none, one, or several where a segment's value can be read in two ways. O(windows)."""
        if key in self._wholes:
            return self._wholes[key]
        found = []
        for before, behind, span, name in self._slices:
            value = key[len(before) : len(key) - len(behind)]
            if key.startswith(before) and key.endswith(behind) and value and before + value + behind == key:
                place = RankingPlace(span.window, span.id, f"{name}:{value}")
                if place not in found and key in self.keys_of(place, span):
                    found.append(place)
        # A value that holds a separator is read so only where there is no simpler way: `lb:2025-02-22:country:BR`.
        values = [len(place.segment.partition(":")[2]) for place in found]
        return [place for place, length in zip(found, values, strict=True) if length == min(values)]

    def keys_of(self, place: RankingPlace, span: Span) -> list[str]:
        """Return the keys that a ranking may have: its own, and the one that it has while its window is live."""
        live = live_key_of(self._board, place.window, place.segment)
        return [key_of(self._board, span, place.segment), *([live] if live is not None else [])]


def _spans(board: Board, window: str, now: int) -> Iterator[Span]:
    """Yield the windows up to a moment, the present one first."""
    moment = now
    for _ in range(_LOOKED_BACK[window]):
        span = span_at(board, window, moment)
        if span is None:
            return
        yield span
        if span.end >= FOREVER_MS or span.start <= 0:
            return
        moment = span.start - 1
