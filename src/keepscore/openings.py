"""What was before the events that a ledger has: the states that dropped events have left, under the names that rankings have now."""

from __future__ import annotations

from typing import NamedTuple

from keepscore.catalog import LiveBoard
from keepscore.durations import time_of
from keepscore.engines.base import Ranking
from keepscore.ledgers.base import Ledger, Slot
from keepscore.ledgers.openings import OpenedRanking, Opening
from keepscore.rollups import mark_of
from keepscore.scoring import Event, State
from keepscore.windows import span_at

__all__ = ["PlayerPast", "dropped_positions", "expiry_in", "names_in", "player_past", "ranking_in", "said"]


class PlayerPast(NamedTuple):
    """All that the ledger has of a player on a board: states that dropped events have left, and the events since."""

    states: dict[Ranking, State]
    events: list[Event]
    #: When the player last scored in each ranking, as far as that was dropped, where losses for inactivity go by it.
    own: dict[Ranking, int]
    #: From which time on all events are there.
    at: int


async def player_past(ledger: Ledger, live: LiveBoard, player: str) -> PlayerPast:
    """All that the ledger has of a player on a board. O(events of the player)."""
    # In this order: an opening that comes to count between the two covers some of the events, and these are known.
    events = await ledger.player_events(live.id, player)
    found = await ledger.opened_states_of(live.id, player)
    if found is None:
        return PlayerPast({}, events, {}, 0)
    opening, rows = found
    states, own = {}, {}
    for place, state in rows:
        ranking = ranking_in(live, place)
        if ranking is not None:
            states[ranking] = State(state.score, state.since)
            if state.own is not None:
                own[ranking] = state.own
    return PlayerPast(states, [event for event in events if not opening.covers(event)], own, opening.at)


def ranking_in(live: LiveBoard, place: OpenedRanking) -> Ranking | None:
    """The name that a ranking of an opening has now; None where the board does not rank that any more."""
    if place.window not in live.board.periods or (place.segment and place.segment.partition(":")[0] not in live.board.segments):
        return None
    span = span_at(live.board, place.window, place.moment)
    return None if span is None else Ranking(live.id, place.window, span.id, place.segment)


def expiry_in(live: LiveBoard, opening: Opening, place: OpenedRanking) -> int:
    """When a ranking of an opening may be dropped, if nothing has come since (0: never)."""
    span = span_at(live.board, place.window, place.moment) if place.window in live.ttls else None
    # Where it was not limited before, nobody knows any more when the last event came: it was before the opening.
    return 0 if span is None else place.expiry or live.expiry(span, opening.received)


async def names_in(ledger: Ledger, live: LiveBoard, opening: Opening) -> dict[Slot, tuple[Ranking, OpenedRanking]]:
    """The rankings of an opening that a board has still, each with its name now. O(rankings)."""
    found = [(place, ranking_in(live, place)) for place in await ledger.opened_rankings(live.id, opening.number)]
    return {Slot(*place[:3]): (ranking, place) for place, ranking in found if ranking is not None}


async def dropped_positions(ledger: Ledger, live: LiveBoard) -> dict[int, int]:
    """The last dropped event of each writer, under the names that watermarks of the board have: what only openings tell."""
    if live.board.rollup is None:
        opening = await ledger.opening(live.id)
        return {} if opening is None else opening.positions
    found = [(part, await ledger.opening(part.id)) for part in live.parts]
    return {mark_of(part.id, writer): n for part, opening in found if opening for writer, n in opening.positions.items()}


def said(moment: int) -> str:
    """A moment as sentences about openings have it."""
    return time_of(moment).isoformat(timespec="seconds")
