"""Erasing a player: scores and ranks stay under a pseudonym, and everything about the person is gone.

An erasure is noted before it begins, under a mark of the id. Each board is renamed in one transaction, which also says so in the note;
then the two ids are restated in the engine. Whatever is cut short is found by the note and finished. At the end the note lets go of
the id, too: what is left tells a later request for the same id what was done.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.durations import time_of
from keepscore.domain.erasure import ERASED, Renaming, named_in, person_mark
from keepscore.domain.inputs import no_progress
from keepscore.domain.results.moderation import Erasure
from keepscore.errors import RewardSettled
from keepscore.fairplay.recording import DECISIONS
from keepscore.lifecycle.archiving import bring_together
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.rebuild import Rebuilds
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import player_past
from keepscore.projection.rollups import roll_up_players
from keepscore.storage.engines.base import Ranking
from keepscore.storage.feeds.base import Feed
from keepscore.storage.ledgers.erasure import BoardErasure
from keepscore.storage.ledgers.marks import RESTRICTIONS_VERSION, Mark, erasure_note

__all__ = ["Erasing", "Memories"]


class ErasureNote(msgspec.Struct, omit_defaults=True):
    """An erasure as the ledger keeps it. The first fields stay; the others are there until it is done."""

    erase_id: str
    pseudonym: str
    #: Milliseconds.
    at: int
    #: The how-manieth erasure of the id it is: whoever comes after one is another player.
    life: int
    events: int = 0
    boards: int = 0
    archived: int = 0
    friends: int = 0
    groups: int = 0
    had_profile: bool = False
    player: str | None = None
    #: The accounts that the player was merged into.
    accounts: list[str] = msgspec.field(default_factory=list)
    #: The boards that are renamed, by number.
    done: list[int] = msgspec.field(default_factory=list)

    def shown(self, player: str) -> Erasure:
        """Return it as callers get it."""
        counts = self.events, self.boards, self.archived, self.friends, self.groups, self.had_profile
        return Erasure(self.erase_id, player, self.pseudonym, time_of(self.at), *counts)


class Memories(NamedTuple):
    """What lets this process forget a player: on a board, and as a person."""

    on_board: Sequence[Callable[[int, str], None]]
    person: Callable[[str], None]


class Erasing:
    """Erases players, and finishes what was cut short."""

    def __init__(self, parts: JobParts, rebuilds: Rebuilds, feed: Feed, secret: bytes, memories: Memories) -> None:
        self._parts = parts
        self._catalog, self._ledger, self._clock = parts.catalog, parts.ledger, parts.clock
        self._rebuilds = rebuilds
        self._feed = feed
        self._secret = secret
        self._memories = memories

    async def erase(self, player: str, reason: str) -> Erasure:
        """Erase a player; return once nothing names them. An id about which nothing is stored gets the answer of its last erasure."""
        mark = self._mark(player)
        known = await self._ledger.marks.get(mark)
        if known is not None and known.player is not None:
            # A request that was cut short.
            await self._finish(known)
        elif await self._is_there(player):
            known = await self._begun(player, reason, 1 if known is None else known.life + 1)
            await self._finish(known)
        return Erasure(None, player, None, time_of(self._clock())) if known is None else known.shown(player)

    async def finish_all(self) -> list[str]:
        """Finish all erasures that were cut short; return their ids."""
        found = [msgspec.json.decode(text, type=ErasureNote) for text in (await self._ledger.marks.all_of("erasure")).values()]
        if not any(note.player for note in found):
            return []
        async with self._parts.claims.alone(DECISIONS):
            done = []
            for player in [note.player for note in found if note.player is not None]:
                # Another request may have finished it meanwhile.
                note = await self._ledger.marks.get(self._mark(player))
                if note is not None and note.player is not None:
                    await self._finish(note)
                    done.append(note.erase_id)
            return done

    def _mark(self, player: str) -> Mark[ErasureNote]:
        return erasure_note(person_mark(self._secret, player), ErasureNote)

    async def _is_there(self, player: str) -> bool:
        """Return whether anything is stored about a player."""
        ledger = self._ledger
        await self._parts.writer.flush()
        if await ledger.erasure.knows(player) or any(player in (one.player, one.into) for one in await self._restrictions()):
            return True
        for board in await ledger.erasure.boards():
            if await ledger.events.of_player(board, player) or await ledger.erasure.has_archived(board, player):
                return True
        return False

    async def _restrictions(self) -> list[Any]:
        known = self._catalog.restrictions
        await known.refresh(self._ledger, self._clock(), at_once=True)
        return known.all()

    async def _begun(self, player: str, reason: str, life: int) -> ErasureNote:
        """Note an erasure, and what there is to erase."""
        ledger, now = self._ledger, self._clock()
        if due := await ledger.erasure.rewards_due(player):
            raise RewardSettled(
                f"player {player!r} has rewards on their way ({due}): erase the player when they are delivered, claimed or held back"
            )
        accounts = [one.into for one in await self._restrictions() if one.player == player and one.into is not None]
        pseudonym = Renaming.made(self._secret, player, life).pseudonym
        note = ErasureNote(f"e_{secrets.token_hex(8)}", pseudonym, now, life, player=player, accounts=accounts)
        note.had_profile = any(record.is_known for record in await ledger.players.find([player]))
        note.friends = len(await ledger.friends.of(player, True))
        note.groups = len(await ledger.groups.of(player))
        await ledger.audit.note("erase", "", {"erase": note.erase_id, "pseudonym": pseudonym}, now, reason)
        await ledger.marks.put(self._mark(player), note)
        return note

    async def _finish(self, note: ErasureNote) -> None:
        """Do what is left of an erasure."""
        assert note.player is not None, "an erasure that is done knows no id"
        who, ledger = Renaming(note.player, note.pseudonym), self._ledger
        for live in self._catalog:
            if not live.board.is_rollup:
                await self._parts.spool.drain_board(live)
        await self._parts.writer.flush()
        # Whoever is not ranked is not ranked under the pseudonym either.
        await self._rename_decisions(who)
        for board in await ledger.erasure.boards():
            if board not in note.done:
                await self._rename(board, who, note)
        for group, _ in await ledger.groups.of(who.player):
            await ledger.groups.leave(group.id, who.player)
        await ledger.erasure.forget(who)
        self._memories.person(who.player)
        for live in self._catalog:
            if not live.board.is_rollup:
                await self._restate(live, who)
        await self._tidy(who)
        mark = self._mark(who.player)
        note.player, note.accounts, note.done = None, [], []
        await ledger.marks.put(mark, note)

    async def _rename_decisions(self, who: Renaming) -> None:
        """Put the pseudonym into what is kept of voids and restrictions, and remove the reasons of those about the player."""
        changed: dict[str, bytes] = {}
        for name, text in (await self._ledger.marks.decisions()).items():
            told = msgspec.json.decode(text)
            new = who.renamed(told)
            if new == told:
                continue
            if isinstance(told, dict) and who.player in (told.get("player"), told.get("selection", {}).get("player_id")):
                new |= {field: ERASED for field in ("reason", "undo_reason") if told.get(field) is not None}
            changed[name] = msgspec.json.encode(new)
        if changed:
            await self._ledger.marks.write({**changed, RESTRICTIONS_VERSION.name: secrets.token_bytes(8)})
            await self._catalog.restrictions.refresh(self._ledger, self._clock(), at_once=True)

    async def _rename(self, board: int, who: Renaming, note: ErasureNote) -> None:
        events = await self._ledger.events.of_player(board, who.player)
        archived = len(await self._ledger.archives.of_player(board, who.player))
        note.events, note.archived = note.events + len(events), note.archived + archived
        note.boards += bool(events or archived)
        note.done.append(board)
        mark = self._mark(who.player)
        others = sorted({*named_in(events), *note.accounts} - set(who))
        await self._ledger.erasure.rename(BoardErasure(board, who, others, (mark.name, mark.encode(note))))
        for forget in self._memories.on_board:
            forget(board, who.player)

    async def _tidy(self, who: Renaming) -> None:
        """Look after what jobs have copied from the engine before it was restated. Who has come again meanwhile is somebody else."""
        ledger = self._ledger
        boards = await ledger.erasure.boards()
        again = {board for board in boards if await ledger.events.of_player(board, who.player)}
        rollups = {live.id for live in self._catalog if live.board.is_rollup} if again else set()
        for board in boards:
            if board not in again | rollups:
                await ledger.erasure.tidy(board, who)
        for name, sample in (await ledger.marks.all_of("histogram")).items():
            if who.player.encode() in sample:
                await ledger.marks.write({name: msgspec.msgpack.encode(who.renamed(msgspec.msgpack.decode(sample)))})
        for name, text in (await ledger.marks.all_of("keeper")).items():
            told = msgspec.json.decode(text)
            new = {field: who.within(value) if isinstance(value, str) else value for field, value in told.items()}
            if new != told:
                await ledger.marks.write({name: msgspec.json.encode(new)})

    async def _restate(self, live: LiveBoard, who: Renaming) -> None:
        """Let the engine show a board as the ledger has it now, for the two ids."""
        past = await player_past(self._ledger, live, who.pseudonym)
        if not past.events and not past.states:
            return
        # What was recorded before, and not applied yet, is applied under the id.
        await bring_together(self._parts, live)
        found = [*past.states, *(ranking for event in past.events for ranking in live.rankings_of(event))]
        await self._restate_in(live, who, found)
        for rollup in self._catalog.rollups(live):
            if rollup.board.teams_of is not None:
                await self._feed.publish(await self._parts.healing.rollups.teams.recount(rollup, found))
                continue
            rolled_up = await roll_up_players(self._ledger, rollup, [who.pseudonym], with_hidden=True)
            await self._restate_in(rollup, who, list(rolled_up[who.pseudonym]))
        if live.board.is_partial:
            # How many players are not kept is counted, not looked up.
            await self._rebuilds.rebuild(live.name, no_progress)

    async def _restate_in(self, live: LiveBoard, who: Renaming, rankings: list[Ranking]) -> None:
        kept = [ranking for ranking in dict.fromkeys(rankings) if not live.is_retired(ranking)]
        await self._parts.restater.restate(live, {ranking: list(who) for ranking in kept})
        await self._feed.publish(set(kept))
