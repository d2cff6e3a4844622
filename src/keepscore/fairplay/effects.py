"""What a decision changes: scores and ranks of the players whom it reaches, before and after.

Ranks after it are worked out without doing it. Of the players whom it does not reach, the engine says how many are ahead of a state; the
others are compared with each other.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from keepscore.domain.ordering import KeyCodec, Row
from keepscore.domain.results.moderation import ScoreAndRank, VoidChange
from keepscore.domain.scoring import Event, State, fold_all
from keepscore.domain.verdicts import EventId, event_id, that_count
from keepscore.domain.windows import span_of
from keepscore.lifecycle.jobs.closing import closes_at
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Ranking
from keepscore.storage.pace import Turns

__all__ = ["closed_windows", "expected_changes", "open_rankings"]

#: Players who are looked at at a time, and those whose places are asked for together.
CHUNK_PLAYERS, TOGETHER = 500, 50


class _Moved(NamedTuple):
    """A player's state in a ranking, before and after."""

    player: str
    before: State | None
    after: State | None


def open_rankings(live: LiveBoard, events: Iterable[Event], now: int) -> dict[Ranking, list[str]]:
    """Return the players of some events by ranking: of the whole rankings of windows that are not closed."""
    found: dict[Ranking, dict[str, None]] = {}
    for event in events:
        for ranking in live.rankings_of(event):
            if not ranking.segment and not _is_closed(live, ranking, now):
                found.setdefault(ranking, {})[event.player] = None
    return {ranking: list(players) for ranking, players in found.items()}


def closed_windows(live: LiveBoard, events: Iterable[Event], now: int) -> list[Ranking]:
    """Return the whole rankings of closed windows in which some events count."""
    found = dict.fromkeys(ranking for event in events for ranking in live.rankings_of(event) if not ranking.segment)
    return [ranking for ranking in found if _is_closed(live, ranking, now)]


def _is_closed(live: LiveBoard, ranking: Ranking, now: int) -> bool:
    span = span_of(live.board, ranking.window, ranking.window_id)
    return now >= closes_at(live, span) or span.end <= live.closed.get(ranking.window, 0)


async def expected_changes(
    stores: Stores, live: LiveBoard, events: Sequence[Event], now: int, added: Sequence[Event] = ()
) -> list[VoidChange]:
    """Return what it changes if these events no longer count, and some are added. A few round trips for each ranking."""
    changes: list[VoidChange] = []
    void = {event_id(event) for event in events}
    for ranking, players in open_rankings(live, [*events, *added], now).items():
        moved: list[_Moved] = []
        for first in range(0, len(players), CHUNK_PLAYERS):
            moved += await _moved(stores, live, ranking, players[first : first + CHUNK_PLAYERS], void, added)
        changes += await _ranked(stores, live, ranking, moved, now)
    return [change for change in changes if change.before != change.after]


async def _moved(
    stores: Stores, live: LiveBoard, ranking: Ranking, players: list[str], void: Set[EventId], added: Sequence[Event]
) -> list[_Moved]:
    found = []
    new: dict[str, list[Event]] = {}
    for event in added:
        new.setdefault(event.player, []).append(event)
    turns = Turns()
    for player, past in (await pasts_of(stores.ledger, live, players)).items():
        if turns.is_over():
            await turns.pass_on()
        if past.is_hidden:
            continue
        counting = [event for event in that_count(past.events) if ranking in live.rankings_of(event)]
        opened = past.states.get(ranking)
        left = [event for event in counting if event_id(event) not in void]
        left += [event for event in new.get(player, ()) if ranking in live.rankings_of(event)]
        found.append(_Moved(player, fold_all(live.board, counting, opened), fold_all(live.board, left, opened)))
    return found


async def _ranked(stores: Stores, live: LiveBoard, ranking: Ranking, moved: list[_Moved], now: int) -> list[VoidChange]:
    engine, board, shown = stores.engine, live.board, live.shown_at(now)
    places = await engine.places(ranking, [one.player for one in moved], board.rank)
    codec, sign = KeyCodec(board), -1 if board.order == "desc" else 1

    async def ahead(player: str, state: State) -> int:
        """Count the rows that are not behind a state, as they are now."""
        return (await engine.page_after(ranking, Row(player, *state), 1)).first.unique - 1

    after = [one for one in moved if one.after is not None]
    counts: list[int] = []
    for first in range(0, len(after), TOGETHER):
        some = after[first : first + TOGETHER]
        counts += await asyncio.gather(*(ahead(one.player, one.after) for one in some if one.after is not None))
    old = _Order([codec.encode(one.player, *one.before) for one in moved if one.before is not None], sign)
    new = _Order([codec.encode(one.player, *one.after) for one in after if one.after is not None], sign)
    ranks: dict[str, int | None] = {}
    for one, count in zip(after, counts, strict=True):
        assert one.after is not None, "only those are left"
        key = codec.encode(one.player, *one.after)
        ranks[one.player] = count - old.not_behind(key) + new.ahead_of(key) + 1
    if board.rank != "unique":
        # Those with equal scores share a rank, which depends on all of them.
        ranks = dict.fromkeys(ranks)
    changes = []
    for one, place in zip(moved, places, strict=True):
        before = None if place is None else ScoreAndRank(shown(place.score), getattr(place, board.rank))
        then = None if one.after is None else ScoreAndRank(shown(one.after.score), ranks[one.player])
        changes.append(VoidChange(one.player, ranking.window, ranking.window_id, before, then))
    return changes


class _Order:
    """Order keys of some players, the first one being ahead of all others."""

    def __init__(self, keys: list[bytes], sign: int) -> None:
        self._keys = sorted(keys)
        self._sign = sign

    def not_behind(self, key: bytes) -> int:
        """Count the keys that are ahead of a key, or equal."""
        return bisect_right(self._keys, key) if self._sign > 0 else len(self._keys) - bisect_left(self._keys, key)

    def ahead_of(self, key: bytes) -> int:
        """Count the keys that are ahead of a key."""
        return bisect_left(self._keys, key) if self._sign > 0 else len(self._keys) - bisect_right(self._keys, key)
