"""What was before the events that a ledger has: the states that dropped events have left, under the names that rankings have now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepscore.domain.durations import time_of
from keepscore.domain.scoring import Event, State
from keepscore.domain.windows import span_at
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.openings import OpenedRanking, Opening
from keepscore.storage.ledgers.slots import Slot

__all__ = ["PlayerPast", "expiry_in", "hiding", "names_in", "pasts_of", "player_past", "ranking_in", "said"]


class PlayerPast(NamedTuple):
    """All that the ledger has of a player on a board: states that dropped events have left, and the events since."""

    states: dict[Ranking, State]
    events: list[Event]
    #: When the player last scored in each ranking, as far as that was dropped, where losses for inactivity go by it.
    own: dict[Ranking, int]
    #: From which time on all events are there.
    at: int
    #: Whether nothing of it is ranked now.
    is_hidden: bool = False


async def player_past(ledger: Ledger, live: LiveBoard, player: str) -> PlayerPast:
    """Read all that the ledger has of a player on a board. O(events of the player)."""
    return (await pasts_of(ledger, live, [player]))[player]


async def pasts_of(ledger: Ledger, live: LiveBoard, players: Sequence[str]) -> dict[str, PlayerPast]:
    """Read all that the ledger has of some players on a board, in two queries. O(events of the players)."""
    # In this order: an opening that comes to count between the two covers some of the events, and these are known.
    events = await ledger.events.of_players(live.id, players)
    found = await ledger.openings.states_of(live.id, players)
    hides = await hiding(ledger, live)
    if found is None:
        return {player: PlayerPast({}, own, {}, 0, hides(player)) for player, own in events.items()}
    opening, rows = found
    pasts = {
        player: PlayerPast({}, [event for event in own if not opening.covers(event)], {}, opening.at, hides(player))
        for player, own in events.items()
    }
    for place, state in rows:
        ranking = ranking_in(live, place)
        if ranking is not None:
            past = pasts[state.player]
            past.states[ranking] = State(state.score, state.since)
            if state.own is not None:
                past.own[ranking] = state.own
    return pasts


async def hiding(ledger: Ledger, live: LiveBoard) -> Callable[[str], bool]:
    """Return a test of whether a player is not ranked on a board now."""
    if live.catalog is not None:
        await live.catalog.restrictions.refresh(ledger, live.catalog.clock())
    return live.hides


def ranking_in(live: LiveBoard, place: OpenedRanking) -> Ranking | None:
    """Return the name that a ranking of an opening has now; None where the board no longer ranks that."""
    if place.window not in live.board.periods or (place.segment and place.segment.partition(":")[0] not in live.board.slicing.labels):
        return None
    span = span_at(live.board, place.window, place.moment)
    return None if span is None else Ranking(live.id, place.window, span.id, place.segment)


def expiry_in(live: LiveBoard, opening: Opening, place: OpenedRanking) -> int:
    """Return when a ranking of an opening may be dropped, if nothing has come since (0: never)."""
    span = span_at(live.board, place.window, place.moment) if place.window in live.ttls else None
    # Where it was not limited before, nobody knows any more when the last event came: it was before the opening.
    return 0 if span is None else place.expiry or live.expiry(span, opening.received)


async def names_in(ledger: Ledger, live: LiveBoard, opening: Opening) -> dict[Slot, tuple[Ranking, OpenedRanking]]:
    """Return the rankings of an opening that a board still has, each with its name now. O(rankings)."""
    found = [(place, ranking_in(live, place)) for place in await ledger.openings.rankings(live.id, opening.number)]
    return {Slot(*place[:3]): (ranking, place) for place, ranking in found if ranking is not None}


def said(moment: int) -> str:
    """Format a moment for a sentence about openings."""
    return time_of(moment).isoformat(timespec="seconds")
