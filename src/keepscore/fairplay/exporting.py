"""Everything that is stored about one player, for the player."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from keepscore.domain.durations import time_of
from keepscore.domain.results.moderation import (
    ArchivedRank,
    BoardExport,
    ExportedEvent,
    PlayerExport,
    StoredAppeal,
    StoredRestriction,
    StoredReward,
    StoredScore,
    StoredSeason,
)
from keepscore.domain.results.review import AppealState
from keepscore.domain.scoring import Event
from keepscore.errors import InvalidField
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.storage.ledgers.appeals import AppealFilter
from keepscore.storage.ledgers.prizes import PrizePlace
from keepscore.storage.ledgers.queue import ItemState, QueueFilter

__all__ = ["export_player"]

#: Events of one export, appeals in each state, and scores in the queue.
MAX_EVENTS, MAX_APPEALS, MAX_ITEMS = 100_000, 1000, 10_000
#: Seasons of one league.
MAX_SEASONS = 10_000
STATES: tuple[AppealState, ...] = get_args(AppealState)


async def export_player(stores: Stores, player: str) -> PlayerExport:
    """Return everything that the ledger has about a player. O(events and archived ranks of the player)."""
    catalog, ledger, _, clock = stores
    boards, count = [], 0
    for live in catalog:
        events = [] if live.board.is_rollup else await ledger.events.of_player(live.id, player)
        count += len(events)
        if count > MAX_EVENTS:
            raise InvalidField(
                f"player {player!r} has more than {MAX_EVENTS} events: export boards one by one (GET /v1/boards/{{board}}/events)"
            )
        archived = [
            ArchivedRank(archive.slot.window, archive.slot.window_id, archive.slot.segment or None, row.rank, live.board.shown(row.score))
            for archive, row in await ledger.archives.of_player(live.id, player)
        ]
        if events or archived:
            boards.append(BoardExport(live.name, [_exported(live, event) for event in events], archived))
    await catalog.restrictions.refresh(ledger, clock(), at_once=True)
    restrictions = [StoredRestriction(one.kind, one.reason, time_of(one.since), one.into) for one in catalog.restrictions.of(player)]
    wanted = [AppealFilter([live.id for live in catalog], state, player) for state in STATES]
    appeals = [one for state in wanted for one in await ledger.appeals.page(state, (0, ""), MAX_APPEALS)]
    records = await ledger.players.find([player])
    return PlayerExport(
        player,
        time_of(clock()),
        _profile(records[0].name, records[0].profile) if records else {},
        await ledger.friends.of(player, False),
        [group.name for group, _ in await ledger.groups.of(player)],
        boards,
        restrictions,
        [StoredAppeal(one.id, one.text, time_of(one.at), one.state, one.reply) for one in appeals],
        await _rewards(stores, player, boards),
        await _queued(stores, player),
        await _seasons(stores, player),
    )


async def _rewards(stores: Stores, player: str, boards: list[BoardExport]) -> list[StoredReward]:
    found = []
    for board in boards:
        live = stores.catalog[board.board]
        for window, window_id in dict.fromkeys((one.window, one.window_id) for one in board.archived if one.segment is None):
            won = await stores.ledger.prizes.reward_of(PrizePlace(live.id, window, window_id), player)
            if won is not None:
                found.append(StoredReward(live.name, window, window_id, won.rank, won.give, won.state))
    return found


async def _queued(stores: Stores, player: str) -> list[StoredScore]:
    boards = {live.id: live for live in stores.catalog}
    items = await stores.ledger.queue.page(QueueFilter(list(boards), get_args(ItemState), player), (-1, ""), MAX_ITEMS)
    return [
        StoredScore(one.id, boards[one.board].name, boards[one.board].board.shown(one.amount), time_of(one.at), one.state, one.reason)
        for one in items
    ]


async def _seasons(stores: Stores, player: str) -> list[StoredSeason]:
    found = []
    for live in stores.catalog:
        for season, member in await stores.ledger.leagues.of_player(live.id, player, MAX_SEASONS):
            cohort = None if member.cohort is None else member.cohort.label
            place = live.name, season.key.window, time_of(season.key.starts)
            found.append(StoredSeason(*place, member.tier, cohort, member.rank, member.result))
    return found


def _profile(name: str | None, text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {} if text is None else msgspec.json.decode(text)
    return {"name": name, **found} if name is not None else found


def _exported(live: LiveBoard, event: Event) -> ExportedEvent:
    told = event.kind, live.board.shown(event.amount), time_of(event.at), time_of(event.received)
    return ExportedEvent(*told, event.segments, event.game_id, event.metadata, event.build, event.address)
