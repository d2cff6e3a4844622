"""What helps moderators to decide about a score: the player's history, the board's distribution, and accounts from the same address."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.domain.durations import time_of
from keepscore.domain.ordering import Row
from keepscore.domain.results.review import AddressEvidence, BoardEvidence, Evidence, HistoryEvidence, PastScore
from keepscore.domain.scoring import Event, fold_all
from keepscore.domain.verdicts import event_id, that_count
from keepscore.fairplay.addresses import Addresses
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import PlayerPast
from keepscore.projection.stores import Stores
from keepscore.storage.ledgers.queue import Queued

__all__ = ["evidence_of"]

#: Earlier scores that are shown.
LATEST = 10
#: Other accounts that are named.
SHOWN_ACCOUNTS = 20


async def evidence_of(stores: Stores, addresses: Addresses, live: LiveBoard, item: Queued, past: PlayerPast) -> Evidence:
    """Return what is known about a score. A few round trips, and O(events of the player)."""
    own = {(writer, n) for board, writer, n in item.events if board == live.id}
    counting = [event for event in that_count(past.events) if event_id(event) not in own]
    doubted = [event for event in past.events if event_id(event) in own]
    distribution = await _distribution(stores, live, counting, doubted, past)
    mark = next((event.address for event in doubted if event.address is not None), None)
    others = [] if mark is None else [player for player in await addresses.accounts(live.id, mark) if player != item.player]
    return Evidence(_history(live, counting), distribution, AddressEvidence(mark, len(others), others[:SHOWN_ACCOUNTS]))


def _history(live: LiveBoard, events: Sequence[Event]) -> HistoryEvidence:
    board = live.board
    amounts = sorted(event.amount for event in events)
    latest = sorted(events, key=lambda event: (event.at, event.n), reverse=True)[:LATEST]
    best = None if not amounts else amounts[-1] if board.order == "desc" else amounts[0]
    return HistoryEvidence(
        len(events),
        None if best is None else board.shown(best),
        board.shown(amounts[len(amounts) // 2]) if amounts else None,
        [PastScore(time_of(event.at), board.shown(event.amount)) for event in latest],
    )


async def _distribution(
    stores: Stores, live: LiveBoard, counting: Sequence[Event], doubted: Sequence[Event], past: PlayerPast
) -> BoardEvidence:
    """Say where the player would stand in the first window of the score, among those who are there now."""
    ranking = next((one for event in doubted for one in live.rankings_of(event) if not one.segment), None)
    if ranking is None:
        return BoardEvidence(0, 0, None, None, None)
    engine, shown = stores.engine, live.shown_at(stores.clock())
    events = [event for event in (*counting, *doubted) if ranking in live.rankings_of(event)]
    state = fold_all(live.board, events, past.states.get(ranking))
    assert state is not None, "the doubted event counts there"
    player = doubted[0].player
    behind = await engine.page_after(ranking, Row(player, *state), 1)
    ahead = behind.first.unique - 1
    own = await engine.place(ranking, player)
    if own is not None and own.unique <= ahead:
        # Nobody is ahead of themselves.
        ahead -= 1
    places = (0, behind.total // 2, behind.total - 1) if behind.total else ()
    rows = [row for place in places for row in (await engine.page(ranking, place, 1)).rows]
    scores = [shown(row.score) for row in rows] if len(rows) == len(places) else []
    return BoardEvidence(behind.total, ahead, *(scores or (None, None, None)))
