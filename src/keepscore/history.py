"""What the ledger has recorded of a player: the audit trail."""

from __future__ import annotations

from datetime import UTC, datetime

from keepscore.answers import PlayerEvents, RecordedEvent
from keepscore.catalog import LiveBoard
from keepscore.errors import InvalidPage
from keepscore.guard import check_player
from keepscore.ledgers.base import Ledger
from keepscore.scoring import Event

__all__ = ["MAX_EVENTS", "player_events"]

#: Events of one answer.
MAX_EVENTS = 1000


async def player_events(ledger: Ledger, live: LiveBoard, player: str, limit: int) -> PlayerEvents:
    """A player's events on a board as they came in, the newest first. O(all events of the player)."""
    check_player(player)
    if not 1 <= limit <= MAX_EVENTS:
        raise InvalidPage(f"limit = {limit} cannot be used: give 1 to {MAX_EVENTS}")
    found = await ledger.player_events(live.id, player)
    found.sort(key=lambda event: (event.received, event.writer, event.n), reverse=True)
    return PlayerEvents(live.name, player, len(found), [_recorded(live, event) for event in found[:limit]])


def _recorded(live: LiveBoard, event: Event) -> RecordedEvent:
    _, writer, n, _, kind, amount, at, received, segments, game_id, metadata = event
    return RecordedEvent(kind, live.board.shown(amount), _time(at), _time(received), segments, game_id, metadata, writer, n)


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
