"""Which recorded events a decision is about: those of a player, of a game, of a time, or named one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, cast, get_args

import msgspec

from keepscore.domain.ratings.matches import match_of
from keepscore.domain.scoring import Event
from keepscore.domain.values import check_player, check_text, moment_of
from keepscore.domain.verdicts import event_id, that_count
from keepscore.domain.windows import FOREVER_MS
from keepscore.errors import EventsDropped, InvalidField, InvalidTime
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import PlayerPast, pasts_of, said
from keepscore.projection.sequence import events_of
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.pace import Turns

__all__ = ["MAX_EVENTS", "Mode", "Selection", "SelectionRequest", "checked_selection", "selected_events"]

#: The most events of one decision, and the most that are named one by one.
MAX_EVENTS, MAX_NAMED = 100_000, 1000
#: Players whose events are read at a time.
CHUNK_PLAYERS = 500

_event_id = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")


#: What becomes of later matches where one is void: they stay, or are rated again.
Mode = Literal["refund", "replay"]


class Selection(msgspec.Struct, frozen=True, omit_defaults=True):
    """What events have in common that a decision is about. Times are in milliseconds; `end` is not included."""

    player_id: str | None = None
    game_id: str | None = None
    event_ids: tuple[str, ...] | None = None
    start: int = 0
    end: int = FOREVER_MS
    build: str | None = None
    #: The mark of an address.
    address: str | None = None
    #: Of matches, whether later ones stay as they are (`refund`, as without it), or are rated again (`replay`).
    mode: Mode | None = None

    @property
    def is_of_player(self) -> bool:
        """Whether it is everything that one player has."""
        return self == Selection(player_id=self.player_id)

    def has(self, event: Event) -> bool:
        """Return whether an event is one of those."""
        return (
            self.start <= event.at < self.end
            # What a rating starts from goes only with all of a player's events.
            and (event.kind != "initial" or self.is_of_player)
            and self.player_id in (None, event.player)
            and self.game_id in (None, event.game_id, match_of(event))
            and self.build in (None, event.build)
            and self.address in (None, event.address)
            and (self.event_ids is None or f"{event.writer}-{event.n}" in self.event_ids)
        )


class SelectionRequest(msgspec.Struct):
    """Which events a caller asks for, unchecked. An address is its mark already."""

    player_id: str | None = None
    game_id: str | None = None
    event_ids: Sequence[str] | None = None
    since: datetime | str | None = None
    until: datetime | str | None = None
    build: str | None = None
    address: str | None = None
    match_id: str | None = None
    mode: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        return all(getattr(self, name) is None for name in self.__struct_fields__ if name != "mode")


def checked_selection(given: SelectionRequest) -> Selection:
    """Return what a caller has asked for, or raise the error that says what is wrong with it."""
    if given.is_empty:
        raise InvalidField("nothing says which events to void: give player_id, game_id, match_id, event_ids, build, address, from or to")
    event_ids = given.event_ids
    if event_ids is not None:
        if not 1 <= len(event_ids) <= MAX_NAMED:
            raise InvalidField(f"event_ids has {len(event_ids)} entries: give 1 to {MAX_NAMED}, or name what they have in common")
        for text in event_ids:
            if not isinstance(text, str) or not _event_id.fullmatch(text):
                raise InvalidField(f"event_ids: {str(text)[:40]!r} is not an event: write 'writer-n', as in '217043-12'")
    if given.mode is not None and given.mode not in get_args(Mode):
        raise InvalidField(f"mode = {given.mode[:40]!r} is none: allowed are {', '.join(get_args(Mode))}")
    if None not in (given.game_id, given.match_id):
        raise InvalidField("game_id and match_id name the same: give one of them")
    game, game_field = (given.game_id, "game_id") if given.match_id is None else (given.match_id, "match_id")
    start = 0 if given.since is None else moment_of(given.since, "from")
    end = FOREVER_MS if given.until is None else moment_of(given.until, "to")
    if start >= end:
        raise InvalidTime(f"from = {str(given.since)!r} is not before to = {str(given.until)!r}: no event lies between them")
    return Selection(
        None if given.player_id is None else check_player(given.player_id),
        None if game is None else check_text(game_field, game, InvalidField),
        None if event_ids is None else tuple(dict.fromkeys(event_ids)),
        start,
        end,
        None if given.build is None else check_text("build", given.build, InvalidField),
        given.address,
        cast("Mode | None", given.mode),
    )


async def selected_events(ledger: Ledger, live: LiveBoard, selection: Selection, upto: Mapping[int, int]) -> list[Event]:
    """Return the events of a selection that count, up to some positions, ordered by player.

    O(events of the player) where one is named, else O(events of the board).
    """
    players = [selection.player_id] if selection.player_id is not None else await _players_of(ledger, live, selection)
    found: list[Event] = []
    turns = Turns()
    for first in range(0, len(players), CHUNK_PLAYERS):
        pasts = await pasts_of(ledger, live, players[first : first + CHUNK_PLAYERS])
        for past in pasts.values():
            if selection.is_of_player:
                _check_whole(live, past)
            known = {event_id(event) for event in that_count(past.events)}
            found += [e for e in past.events if event_id(e) in known and e.n <= upto.get(e.writer, 0) and selection.has(e)]
            if len(found) > MAX_EVENTS:
                raise _too_many(len(found))
            if turns.is_over():
                await turns.pass_on()
    return found


async def _players_of(ledger: Ledger, live: LiveBoard, selection: Selection) -> list[str]:
    found: dict[str, None] = {}
    count = 0
    async for events in events_of(ledger, live, {}):
        own = [event for event in events if selection.has(event)]
        count += len(own)
        if count > 2 * MAX_EVENTS:
            raise _too_many(count)
        found.update(dict.fromkeys(event.player for event in own))
    return sorted(found)


def _check_whole(live: LiveBoard, past: PlayerPast) -> None:
    if past.states:
        raise EventsDropped(
            f"events of board {live.name!r} of before {said(past.at)} are folded and dropped (keep_events), and cannot be made void: give "
            "from, to void what came later"
        )


def _too_many(count: int) -> InvalidField:
    return InvalidField(f"the selection has {count} events and more: void at most {MAX_EVENTS} at once, by player, game or time")
