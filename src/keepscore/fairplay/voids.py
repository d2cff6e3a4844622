"""Voids: decisions that some events no longer count, recorded as verdicts, and taken back the same way.

A void is noted before its first verdict is recorded, with what it is about and how far the ledger was. Whatever is cut short is found
by that note and finished: a verdict is recorded for every event that has none yet, and two for one event mean the same as one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from keepscore.domain.durations import time_of
from keepscore.domain.inputs import no_progress
from keepscore.domain.results.moderation import ScoreAndRank, Void, VoidChange, VoidReport, VoidState
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import event_id, named_event, that_count
from keepscore.errors import EventsDropped, InvalidPage, NothingToUndo, NotRated, RolledUp, UnknownVoid
from keepscore.fairplay.additions import record_added, take_back_added
from keepscore.fairplay.corrections import CorrectionRequest, checked_correction, replacement_for, told_beforehand
from keepscore.fairplay.effects import closed_windows, expected_changes, open_rankings
from keepscore.fairplay.recording import DECISIONS, record_differences, record_verdicts
from keepscore.fairplay.rerating import Replay, replay_with, replay_without
from keepscore.fairplay.selection import Selection, selected_events
from keepscore.lifecycle.archiving import bring_together
from keepscore.lifecycle.final_windows import check_not_final
from keepscore.lifecycle.jobs.revising import RevisionRequest, revise_window
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.rebuild import Rebuilds
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.marks import Mark, void_added, void_note, void_players

__all__ = ["PAGE_CHANGES", "VoidNote", "Voids"]

#: Changes that one answer tells.
PAGE_CHANGES = 1000
#: Players whose verdicts are read at a time.
CHUNK_PLAYERS = 500


class VoidNote(msgspec.Struct, omit_defaults=True):
    """A void as the ledger keeps it. Times are in milliseconds."""

    void_id: str
    board: str
    board_id: int
    reason: str
    selection: Selection
    #: How far each writer was: later events are not meant.
    upto: dict[int, int]
    at: int
    state: VoidState
    events: int
    players: int
    undo_reason: str | None = None
    undone_at: int | None = None
    undo_key: str | None = None
    #: How many events it adds: it sets a score.
    added: int = 0
    #: How far each writer was when it was taken back, where matches are rated again for that.
    undo_upto: dict[int, int] | None = None

    @property
    def is_unfinished(self) -> bool:
        """Whether some of its verdicts may not be recorded yet."""
        return self.state in ("applying", "undoing")

    def shown(self) -> Void:
        """Return it as callers get it."""
        given = msgspec.to_builtins(self.selection)
        times = {"start": "from", "end": "to"}
        selection = {times.get(name, name): _text(value) if name in times else value for name, value in given.items()}
        undone_at = None if self.undone_at is None else time_of(self.undone_at)
        told = (self.void_id, self.board, self.reason, selection, time_of(self.at), self.state, self.events, self.players)
        return Void(*told, self.undo_reason, undone_at, self.added)


def _text(moment: int) -> str:
    return time_of(moment).isoformat()


class Voids:
    """Records voids, takes them back, and finishes what was cut short."""

    def __init__(self, parts: JobParts, rebuilds: Rebuilds) -> None:
        self._parts = parts
        self._catalog, self._ledger, self._clock = parts.catalog, parts.ledger, parts.clock
        self._stores = Stores(parts.catalog, parts.ledger, parts.engine, parts.clock)
        self._rebuilds = rebuilds

    # -- doing it -------------------------------------------------------------------------------------------------------

    async def void(self, board: str, selection: Selection, reason: str, revise: bool, key: str | None) -> VoidReport:
        """Record that events no longer count; return once they do not."""
        live = self._board(board)
        void_id = _void_id(live.id, key)
        if key is not None and (known := await self._ledger.marks.get(_note(void_id))) is not None:
            # The same request, which was cut short, or whose answer was lost.
            await self.finish(known)
            return await self.report(void_id, None)
        upto = await bring_together(self._parts, live)
        events, rerated = await self._meant(live, selection, upto)
        if not events:
            return VoidReport(None, live.name, False, 0, 0, [], None)
        now = self._clock()
        reached = [*events, *rerated]
        closed = closed_windows(live, reached, now) if revise else []
        await check_not_final(self._ledger, live, closed)
        changes = await expected_changes(self._stores, live, events, now, rerated)
        players = list(dict.fromkeys(event.player for event in reached))
        note = VoidNote(void_id, live.name, live.id, reason, selection, dict(upto), now, "applying", len(events), len(players))
        await self._ledger.audit.note("void", live.name, {"void": void_id, "events": len(events)}, now, reason)
        await self._ledger.marks.put(void_players(void_id), msgspec.json.encode((players, changes)))
        await self._put(note)
        await self.finish(note)
        for ranking in closed:
            await self._revise(live, RevisionRequest(ranking.window, ranking.window_id, reason))
        told = await self._told(live, reached, changes)
        await self._ledger.marks.put(void_players(void_id), msgspec.json.encode((players, told)))
        report = _page(note, told, 0)
        report.revised = [f"{ranking.window} {ranking.window_id}" for ranking in closed]
        return report

    async def rehearse(self, board: str, selection: Selection, cursor: str | None) -> VoidReport:
        """Return what a void would change, and record nothing."""
        live = self._board(board)
        upto = await bring_together(self._parts, live)
        events, rerated = await self._meant(live, selection, upto)
        changes = await expected_changes(self._stores, live, events, self._clock(), rerated)
        first, players = _place(cursor), len({event.player for event in (*events, *rerated)})
        return VoidReport(None, live.name, True, len(events), players, *_slice(changes, first))

    async def _meant(self, live: LiveBoard, selection: Selection, upto: Mapping[int, int]) -> Replay:
        """Return the events that no longer count, and what becomes of matches that are rated again."""
        if selection.mode is not None and live.board.rating is None:
            raise NotRated(f"mode = {selection.mode!r} cannot be used: board {live.name!r} has no rating, and so no matches")
        if selection.mode == "replay":
            return await replay_without(self._ledger, live, selection, upto)
        return Replay(await selected_events(self._ledger, live, selection, upto), [])

    async def correct(self, board: str, wanted: CorrectionRequest, key: str | None) -> VoidReport:
        """Set a player's score in some windows; return once it is ranked. Where nothing would change, nothing is recorded."""
        live = self._board(board)
        void_id = _void_id(live.id, key)
        if not wanted.dry_run and key is not None and (known := await self._ledger.marks.get(_note(void_id))) is not None:
            # The same request, which was cut short, or whose answer was lost.
            await self.finish(known)
            return await self.report(void_id, None)
        now = self._clock()
        correction = checked_correction(live, wanted, now)
        upto = await bring_together(self._parts, live)
        done = await replacement_for(self._stores, live, correction, void_id, now)
        changes = await told_beforehand(self._stores, live, correction, done.targets, now)
        events, players = len(done.voided), [correction.player]
        if wanted.dry_run or not (done.voided or done.added):
            return VoidReport(None, live.name, wanted.dry_run, events, len(players), changes, None)
        selection = Selection(correction.player, event_ids=tuple(f"{event.writer}-{event.n}" for event in done.voided))
        numbers = events, len(players)
        note = VoidNote(void_id, live.name, live.id, wanted.reason, selection, dict(upto), now, "applying", *numbers, added=len(done.added))
        detail = {"void": void_id, "player_id": correction.player, "windows": list(correction.windows)}
        await self._ledger.audit.note("correct", live.name, detail, now, wanted.reason)
        await self._ledger.marks.put(void_players(void_id), msgspec.json.encode((players, changes)))
        await self._ledger.marks.put(void_added(void_id), msgspec.json.encode(done.added))
        await self._put(note)
        await self.finish(note)
        told = await self._told(live, [*done.voided, *done.added], changes)
        await self._ledger.marks.put(void_players(void_id), msgspec.json.encode((players, told)))
        return _page(note, told, 0)

    async def undo(self, void_id: str, reason: str, key: str | None) -> Void:
        """Take a void back: what it was about counts again, with its own times."""
        note = await self._note(void_id)
        if key is not None and note.undo_key == key:
            # The same request, which was cut short, or whose answer was lost.
            await self.finish(note)
            return note.shown()
        if note.state == "applying":
            await self.finish(note)
        if note.state == "undone":
            raise NothingToUndo(f"void {void_id} was undone already: nothing is left to take back")
        live = self._board_of(note)
        upto = await bring_together(self._parts, live)
        await self._check_kept(live, note)
        if note.selection.mode == "replay":
            # What cannot be replayed is refused before anything is noted.
            note.undo_upto = dict(upto)
            await replay_with(self._ledger, live, void_id, upto)
        note.state, note.undo_reason, note.undo_key = "undoing", reason, key
        await self._ledger.audit.note("undo_void", live.name, {"void": void_id}, self._clock(), reason)
        await self._put(note)
        await self.finish(note)
        return note.shown()

    async def finish(self, note: VoidNote) -> None:
        """Record the verdicts of a void that are not recorded yet."""
        if not note.is_unfinished:
            return
        live = self._board_of(note)
        if note.state == "applying":
            events, rerated = await self._meant(live, note.selection, note.upto)
            await self._record(live, "void", note.void_id, events)
            await record_differences(self._parts, live, note.void_id, rerated)
            if note.added:
                text = await self._ledger.marks.get(void_added(note.void_id))
                await record_added(self._parts, live, note.void_id, msgspec.json.decode(text or b"[]", type=list[Event]))
            note.state = "standing"
        elif note.undo_upto is not None:
            restored, rerated = await replay_with(self._ledger, live, note.void_id, note.undo_upto)
            await self._record(live, "restore", note.void_id, restored)
            await record_differences(self._parts, live, f"{note.void_id}:undo", rerated)
            note.state, note.undone_at = "undone", self._clock()
        else:
            if note.added and note.selection.player_id is not None:
                await take_back_added(self._parts, live, note.void_id, note.selection.player_id)
            await self._record(live, "restore", note.void_id, await self._restorable(live, note.void_id))
            note.state, note.undone_at = "undone", self._clock()
        if live.board.is_partial:
            # How many players are not kept is counted, not looked up.
            await self._rebuilds.rebuild(live.name, no_progress)
        await self._put(note)

    async def _revise(self, live: LiveBoard, wanted: RevisionRequest) -> None:
        async with self._ledger.identity.pinned():
            await revise_window(self._parts, live, wanted, self._clock(), lambda _: None)

    async def finish_all(self) -> list[str]:
        """Finish all voids that were cut short; return their ids."""
        if not await self._unfinished():
            return []
        # What is under way now is not cut short: it is done when it is this one's turn.
        async with self._parts.claims.alone(DECISIONS):
            found = await self._unfinished()
            for note in found:
                await self.finish(note)
        return [note.void_id for note in found]

    async def _unfinished(self) -> list[VoidNote]:
        return [note for note in await self.notes() if note.is_unfinished and self._catalog.get(note.board) is not None]

    async def _record(self, live: LiveBoard, kind: Literal["void", "restore"], void_id: str, events: Sequence[Event]) -> None:
        """Record verdicts on events, and wait until their players are restated."""
        await record_verdicts(self._parts, live, kind, void_id, events)

    async def _standing(self, live: LiveBoard, void_id: str) -> list[Event]:
        """Return the events that a void is about, where it was not taken back yet."""
        players, _ = await self._kept(void_id)
        found: list[Event] = []
        for first in range(0, len(players), CHUNK_PLAYERS):
            for past in (await pasts_of(self._ledger, live, players[first : first + CHUNK_PLAYERS])).values():
                own = [event for event in past.events if event.game_id == void_id]
                void = {named_event(event) for event in own if event.kind == "void"}
                void -= {named_event(event) for event in own if event.kind == "restore"}
                found += [event for event in past.events if event_id(event) in void]
        return found

    async def _restorable(self, live: LiveBoard, void_id: str) -> list[Event]:
        """Return the same without what ratings started from where the players have started over since."""
        found = await self._standing(live, void_id)
        if live.board.rating is None:
            return found
        players = list(dict.fromkeys(event.player for event in found if event.kind == "initial"))
        started: set[tuple[Ranking, str]] = set()
        for first in range(0, len(players), CHUNK_PLAYERS):
            for player, past in (await pasts_of(self._ledger, live, players[first : first + CHUNK_PLAYERS])).items():
                own = [event for event in that_count(past.events) if event.kind == "initial"]
                started |= {(ranking, player) for event in own for ranking in live.rankings_of(event)}
        return [e for e in found if e.kind != "initial" or started.isdisjoint((ranking, e.player) for ranking in live.rankings_of(e))]

    async def _check_kept(self, live: LiveBoard, note: VoidNote) -> None:
        if len(await self._standing(live, note.void_id)) < note.events:
            raise EventsDropped(
                f"void {note.void_id} cannot be undone any more: some of its {note.events} events are folded and dropped (keep_events)"
            )

    async def _told(self, live: LiveBoard, events: Sequence[Event], expected: list[VoidChange]) -> list[VoidChange]:
        """Return what has changed, as the engine has it now: with the ranks that the board numbers."""
        board, now = live.board, self._clock()
        known = {(change.player_id, change.window, change.window_id): change for change in expected}
        shown = live.shown_at(now)
        for ranking, players in open_rankings(live, events, now).items():
            for player, place in zip(players, await self._parts.engine.places(ranking, players, board.rank), strict=True):
                change = known.get((player, ranking.window, ranking.window_id))
                if change is not None:
                    change.after = None if place is None else ScoreAndRank(shown(place.score), getattr(place, board.rank))
        return expected

    # -- looking --------------------------------------------------------------------------------------------------------

    async def notes(self) -> list[VoidNote]:
        """Return all voids, the newest first. O(voids)."""
        found = [_note("").decode(text) for text in (await self._ledger.marks.all_of("void")).values()]
        return sorted(found, key=lambda note: (note.at, note.void_id), reverse=True)

    async def report(self, void_id: str, cursor: str | None) -> VoidReport:
        """Return what a void has changed when it was recorded, a page of it."""
        note = await self._note(void_id)
        _, changes = await self._kept(void_id)
        return _page(note, changes, _place(cursor))

    async def find(self, void_id: str) -> tuple[VoidNote, list[str]] | None:
        """Return a void and whom it reaches, if there is one."""
        note = await self._ledger.marks.get(_note(void_id))
        return None if note is None else (note, (await self._kept(void_id))[0])

    async def _note(self, void_id: str) -> VoidNote:
        note = await self._ledger.marks.get(_note(void_id))
        if note is None:
            raise UnknownVoid(f"there is no void {void_id[:40]!r}: 'keepscore voids' lists them")
        return note

    async def _put(self, note: VoidNote) -> None:
        await self._ledger.marks.put(_note(note.void_id), note)

    async def _kept(self, void_id: str) -> tuple[list[str], list[VoidChange]]:
        text = await self._ledger.marks.get(void_players(void_id))
        return msgspec.json.decode(text or b"[[],[]]", type=tuple[list[str], list[VoidChange]])

    def _board(self, name: str) -> LiveBoard:
        live = self._catalog[name]
        if live.board.is_rollup:
            raise RolledUp(f"board {name!r} is made from {', '.join(live.board.made_from)}: void events of those")
        return live

    def _board_of(self, note: VoidNote) -> LiveBoard:
        live = self._board(note.board)
        if live.id != note.board_id:
            raise NothingToUndo(f"void {note.void_id} was on a board {note.board!r} that is deleted")
        return live


def _note(void_id: str) -> Mark[VoidNote]:
    return void_note(void_id, VoidNote)


def _void_id(board_id: int, key: str | None) -> str:
    """Return the id of a new void: random, or that of the request's key, so that a retry finds it."""
    if key is None:
        return f"v_{secrets.token_hex(8)}"
    return f"v_{hashlib.blake2b(f'{board_id}:{key}'.encode(), digest_size=8).hexdigest()}"


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 9:
        raise InvalidPage(f"cursor = {cursor[:40]!r} is not one that this service gave: take next_cursor as it is")
    return int(cursor)


def _slice(changes: list[VoidChange], first: int) -> tuple[list[VoidChange], str | None]:
    end = first + PAGE_CHANGES
    return changes[first:end], str(end) if end < len(changes) else None


def _page(note: VoidNote, changes: list[VoidChange], first: int) -> VoidReport:
    some, more = _slice(changes, first)
    return VoidReport(note.void_id, note.board, False, note.events, note.players, some, more)
