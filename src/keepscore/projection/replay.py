"""From the ledger to states: the fold of everything that a board shows, or of some players."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from keepscore.domain.scoring import Event, State, fold_all
from keepscore.domain.verdicts import that_count
from keepscore.projection.fold import Positions
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import PlayerPast, pasts_of
from keepscore.projection.own_events import Folded, FoldRequest, fold_own_events
from keepscore.projection.player_states import state_in
from keepscore.projection.rollups import fold_rollup, roll_up_players
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.pace import Turns

__all__ = ["CHUNK_PLAYERS", "fold_ledger", "restated", "restated_all"]

#: Players whose events are read at a time.
CHUNK_PLAYERS = 500


async def restated(ledger: Ledger, live: LiveBoard, player: str, ranking: Ranking, upto: Positions) -> State | None:
    """Fold a player's state in one ranking from the events up to the given positions, and from all that were dropped."""
    return (await restated_all(ledger, live, {ranking: [player]}, upto))[ranking][player]


async def restated_all(
    ledger: Ledger, live: LiveBoard, wanted: Mapping[Ranking, Collection[str]], upto: Positions, with_hidden: bool = False
) -> dict[Ranking, dict[str, State | None]]:
    """Do the same for many players in several rankings, in a few queries. Those who are not ranked now have a state only `with_hidden`.

    O(events of the players), but O(events of the board) where rankings expire: what was before an expiry does not count.
    """
    found: dict[Ranking, dict[str, State | None]] = {ranking: {} for ranking in wanted}
    expiring = [ranking for ranking in wanted if ranking.window in live.ttls and wanted[ranking]]
    if expiring:
        states = (await fold_ledger(ledger, live, FoldRequest(upto, with_hidden=with_hidden))).states
        for ranking in expiring:
            found[ranking] = {player: states.get(ranking, {}).get(player) for player in wanted[ranking]}
    rankings_of: dict[str, list[Ranking]] = {}
    for ranking, players in wanted.items():
        for player in players if ranking not in expiring else ():
            rankings_of.setdefault(player, []).append(ranking)
    for players in _slices(list(rankings_of)):
        if live.board.is_rollup:
            rolled_up = await roll_up_players(ledger, live, players, with_hidden)
            for player in players:
                for ranking in rankings_of[player]:
                    found[ranking][player] = rolled_up[player].get(ranking)
            continue
        turns = Turns()
        for player, past in (await pasts_of(ledger, live, players)).items():
            if turns.is_over():
                await turns.pass_on()
            for ranking, state in _states_in(live, rankings_of[player], past, upto):
                found[ranking][player] = state if with_hidden or not past.is_hidden else None
    return found


def _states_in(live: LiveBoard, rankings: Sequence[Ranking], past: PlayerPast, upto: Positions) -> Iterator[tuple[Ranking, State | None]]:
    """Yield a player's states in some rankings."""
    if live.is_following:
        known = [event for event in past.events if event.n <= upto.get(event.writer, 0)]
        return ((ranking, state_in(live, ranking, known, past.states)) for ranking in rankings)
    events: dict[Ranking, list[Event]] = {ranking: [] for ranking in rankings}
    for event in that_count(event for event in past.events if event.n <= upto.get(event.writer, 0)):
        for ranking in live.rankings_of(event):
            if ranking in events:
                events[ranking].append(event)
    return ((ranking, fold_all(live.board, own, past.states.get(ranking))) for ranking, own in events.items())


def _slices(players: list[str]) -> Iterable[list[str]]:
    return (players[start : start + CHUNK_PLAYERS] for start in range(0, len(players), CHUNK_PLAYERS))


async def fold_ledger(ledger: Ledger, live: LiveBoard, request: FoldRequest) -> Folded:
    """Fold what a board shows: its own events or, of a roll-up, all events of the boards that it is made from."""
    if live.board.is_rollup:
        return await fold_rollup(ledger, live, request.upto)
    return await fold_own_events(ledger, live, request)
