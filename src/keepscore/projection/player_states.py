"""The state of one player in one ranking, from all that the ledger has of the player.

A slice that follows the profile is not a fold of its own: it has the whole's state of those who are in it. In which slices a player is, in
a window, is what the last event in it says that was recorded before the window ended, a score or a move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from keepscore.domain.scoring import Event, State, fold_all
from keepscore.domain.verdicts import VERDICTS, that_count
from keepscore.domain.windows import Span, span_of
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking

__all__ = ["last_values", "state_in"]


def state_in(
    live: LiveBoard,
    ranking: Ranking,
    events: Sequence[Event],
    opened: Mapping[Ranking, State],
    only: Callable[[Event], bool] | None = None,
) -> State | None:
    """Return a player's state, of events and verdicts in any order, or of `only` some; `opened` is what dropped events have left."""
    slicing = live.board.slicing
    followed = slicing.followed(ranking.segment)
    counted = [event for event in that_count(events) if only is None or only(event)]
    if not followed:
        own = [event for event in counted if ranking in live.rankings_of(event)]
        return fold_all(live.board, own, opened.get(ranking))
    span = span_of(live.board, ranking.window, ranking.window_id)
    last = last_values([event for event in events if only is None or only(event)], span)
    is_in = ranking in opened if last is None else all(last.get(name) == value for name, value in followed.items())
    if not is_in:
        return None
    rest = {name: value for name, value in slicing.conditions(ranking.segment).items() if name not in followed}
    whole = ranking._replace(segment="")
    own = [
        event
        for event in counted
        if whole in live.rankings_of(event) and all((event.segments or {}).get(name) == value for name, value in rest.items())
    ]
    return fold_all(live.board, own, opened.get(ranking if rest else whole))


def last_values(events: Sequence[Event], span: Span) -> Mapping[str, str] | None:
    """Return the values of a player in a window, as the last event says; None: there is no event."""
    within = [event for event in events if span.start <= event.at < span.end and event.kind not in VERDICTS]
    in_time = [event for event in within if event.received < span.end] or within
    # What is not numbered yet was recorded last.
    last = max(in_time, key=lambda event: (event.seq is None, event.seq or 0, event.writer, event.n), default=None)
    return None if last is None else last.segments or {}
