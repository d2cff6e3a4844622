"""Opening balances: the scores that a ranking of another system has, as the first events of one ranking here."""

from __future__ import annotations

from msgspec.structs import replace

from keepscore.domain.durations import time_of
from keepscore.domain.inputs import Entry
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.scoring import Scope
from keepscore.domain.values import moment_of
from keepscore.domain.windows import span_of
from keepscore.errors import InvalidTime
from keepscore.projection.live_boards import LiveBoard
from keepscore.writing.batches import EntryTerms, check_entry
from keepscore.writing.scopes import Submission

__all__ = ["OpeningBalances"]


class OpeningBalances:
    """The one ranking that some entries open."""

    def __init__(self, live: LiveBoard, into: RankingPlace, now: int) -> None:
        # The names are checked as those of a reader are.
        ranking = live.ranking(into.window, into.window_id, into.segment or None, now)
        self._live, self._now = live, now
        self._terms = EntryTerms(now, backfill=True, opening=Scope((ranking.window,), ranking.segment))
        self._span = span_of(live.board, ranking.window, ranking.window_id)
        if self._span.start > now:
            raise InvalidTime(f"the {into.window} window {into.window_id} has not begun: import into one that has")

    def check(self, entry: Entry) -> Submission:
        """Return the submission that an entry makes. Without a time of its own it has that of now, or of the window's last moment."""
        start, end = self._span.start, self._span.end
        if entry.at is None:
            entry = replace(entry, at=time_of(min(self._now, end - 1)))
        elif not start <= moment_of(entry.at) < end:
            raise InvalidTime(
                f"at = {str(entry.at)!r} lies outside the {self._span.window} window {self._span.id}: give a time within it, or none"
            )
        return check_entry(self._live, entry, self._terms)
