"""Definitions of boards: taken up at the start, changed while running, and learned from other processes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from keepscore.domain.boards import Board
from keepscore.domain.inputs import Progress
from keepscore.domain.results.standings import Deleted
from keepscore.domain.teams import teams_board
from keepscore.domain.windows import span_of
from keepscore.errors import BoardInUse, EngineUnavailable, InvalidBoard, VersionConflict
from keepscore.lifecycle.configured import digest_of, host_of, note_configured, noted_of, with_resets
from keepscore.lifecycle.definition_changes import Defined, DefinitionChange, check_confirmed, consequences_with_rollups
from keepscore.lifecycle.definition_checks import check_definition
from keepscore.lifecycle.jobs.retiring import brings_back, learn_archived
from keepscore.lifecycle.team_boards import check_no_teams, teams_wanted
from keepscore.projection.adoption import Adoption
from keepscore.projection.changes import Changes
from keepscore.projection.checkpoint_bases import CheckpointBases
from keepscore.projection.homes import has_had, note_board, note_engine, promote
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.load import load_engine, load_from_events
from keepscore.storage.ledgers.boards import check_version
from keepscore.storage.ledgers.checkpoints import Checkpoint
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.marks import is_stale_rollup
from keepscore.writing.idempotency import Keep
from keepscore.writing.parts import WriteParts

__all__ = ["Definitions"]

#: How often a change is tried that those of other processes come before, and the seconds between two tries.
CHANGE_TRIES, CHANGE_RETRY_S = 50, 0.1

#: Makes of a board another definition, and what has to be kept with it.
Edit = Callable[[LiveBoard], tuple[Board, Effect | None]]

T = TypeVar("T")
log = logging.getLogger(__name__)


class Definitions:
    """The definitions of one process. The ledger has them; the catalog holds those that are in effect here."""

    def __init__(
        self, parts: WriteParts, adoption: Adoption, bases: CheckpointBases, changes: Changes, configured: Sequence[Board]
    ) -> None:
        self._catalog, self._ledger, self._engine, self._clock = parts.stores
        self._healing = parts.healing
        self._watch = parts.watch
        self._write_pause = parts.write_pause
        self._adoption = adoption
        self._bases = bases
        self._changes = changes
        self._configured = configured
        #: Held while a definition changes.
        self.defining = asyncio.Lock()
        self.announcer = parts.announcer
        #: Boards that could not be loaded at the start, by number, and why.
        self.unloaded: dict[int, EngineUnavailable] = {}

    async def learn_times(self) -> None:
        """Take up which times boards take scores of: from when on, and not those of windows that are closed."""
        self._catalog.accepts_from = await self._ledger.openings.accepts_from()
        self._catalog.closed = await self._ledger.marks.closed_windows()
        self._catalog.closed_early = await self._ledger.prizes.closed_early()
        await learn_archived(self._ledger, self._catalog)

    async def load(self) -> None:
        """Take up what the ledger knows and what was configured, and see that the engine has the rankings."""
        for record in await self._ledger.boards.current():
            self._catalog.put(record)
        await self.learn_times()
        await self._configure()
        await self._define_teams()
        for live in self._catalog:
            try:
                await self._load(live)
            except EngineUnavailable as exc:
                if not await has_had(self._ledger, self._engine, live):
                    raise
                # It is known, but for its rankings: it does what a board does whose engine is away.
                log.error("board %r is served without its rankings for now: %s", live.name, exc)
                self._engine.define(live.id, live.board)
                self.unloaded[live.id] = exc
        if not self.unloaded:
            await self._engine.expire(self._clock())
            await note_engine(self._ledger, self._engine)

    async def _load(self, live: LiveBoard) -> None:
        """See that the engine has the rankings of a board, and none that the ledger has lost."""
        stale = live.board.is_rollup and await self._ledger.marks.get(is_stale_rollup(live.id)) is True
        if not stale and await self._engine.adopt(live.id, live.board) and not await self._watch.compare(live):
            await self._healing.catch_up(live)
            await note_board(self._ledger, self._engine, live)
        else:
            self._bases.loaded(live, await load_engine(self._ledger, self._engine, live))
            await promote(self._ledger, self._engine, live)
            self._healing.quarantine.loaded(live)
            self._watch.trust(live)
        if stale:
            await self._ledger.marks.put(is_stale_rollup(live.id), False)
        with contextlib.suppress(EngineUnavailable):
            # What lies in the place of a ranking is found before a score is recorded. What else is wrong, readiness tells.
            await self._healing.prepare(live)

    async def _configure(self) -> None:
        """Let definitions of the configuration take effect that have changed since they did so last."""
        boards = {board.name: board for board in self._configured}
        if len(boards) < len(self._configured):
            raise InvalidBoard(f"a board is defined twice: {', '.join(sorted(board.name for board in self._configured))}")
        for board in boards.values():
            old, noted = self._catalog.get(board.name), await noted_of(self._ledger, board)
            shared = self._engine.is_shared
            takes_effect = old is None or noted.takes_effect(digest_of(board), host_of(shared))
            if takes_effect:
                await self._take_configured(with_resets(board, old), old, boards)
            elif noted.latest != digest_of(board):
                log.error(
                    "board %r keeps the definition of another host's configuration, which came later than this host's: "
                    "make the files equal, or apply one of them with 'keepscore boards apply'",
                    board.name,
                )
            await note_configured(self._ledger, board, noted, shared, takes_effect)

    async def _define_teams(self) -> None:
        """See that there is a board of teams beside each board that ranks some; whoever defined that may have been cut short."""
        new, gone = teams_wanted(self._catalog)
        for board in new:
            old = self._catalog.get(board.name)
            self._catalog.put(
                await self._ledger.boards.put(board, old is not None and self._fits(old, board), self._clock(), action="teams")
            )
        for live in gone:
            await self._forget(live, None)

    async def _follow_teams(self) -> None:
        """Do the same while running: when this returns, the rankings of the teams are there."""
        new, gone = teams_wanted(self._catalog)
        for board in new:
            old = self._catalog.get(board.name)
            same = old is not None and self._fits(old, board)
            live = LiveBoard(await self._ledger.boards.put(board, same, self._clock(), action="teams"), self._catalog)
            await (self._redefine(live) if same else self._activate(live))
        for live in gone:
            async with self._write_pause:
                await self._forget(live, None)

    async def _forget(self, live: LiveBoard, effect: Effect | None) -> None:
        """Delete a board. Only for who holds the writer."""
        await self._ledger.boards.delete(live.name, self._clock(), effect)
        self._catalog.remove(live.name)
        await self._engine.forget(live.id)
        self._changes.announce()

    async def _take_configured(self, board: Board, old: LiveBoard | None, boards: Mapping[str, Board]) -> None:
        """Let a definition of the configuration take effect."""
        await check_definition(self._catalog, self._ledger, self._engine, board, old, boards)
        if old is not None and old.board.same_definition(board):
            return
        same = old is None or self._fits(old, board)
        if old is not None:
            changes = consequences_with_rollups(self._catalog, old, board, same, is_replaced=True)
            log.log(
                logging.WARNING if changes else logging.INFO,
                "the configuration changes board %r: %s",
                board.name,
                "; ".join(changes) or "settings",
            )
        if old is not None and not same:
            await self._mark_rollups(old)
            await self._drop_baselines(old, board)
        self._catalog.put(await self._ledger.boards.put(board, same, self._clock()))

    async def relearn(self) -> bool:
        """Take up what a ledger knows that may be older than it was: boards may be gone, or be as they were. Only for who holds the writer.

        Return whether there was a difference.
        """
        before = {live.id: live for live in self._catalog}
        records = {record.id: record for record in await self._ledger.boards.current()}
        for live in before.values():
            if live.id not in records:
                log.error("the ledger came back older: it does not know board %r", live.name)
                self._catalog.remove(live.name)
                await self._engine.forget(live.id)
        for record in records.values():
            if record.id not in before or before[record.id].record != record:
                self._catalog.put(record)
        await self._configure()
        changed = bool(before.keys() - records.keys())
        for live in self._catalog:
            known = before.get(live.id)
            if known is not None and known.record == live.record:
                await self._checkpoint_all(live)
            elif known is not None or not await self._engine.adopt(live.id, live.board):
                await self._engine.disown(live.id)
                self._watch.distrust(live)
                changed = True
        await self.learn_times()
        return changed

    async def _checkpoint_all(self, live: LiveBoard) -> None:
        """Have the next checkpoint of a board hold everything: the ledger may have lost the last ones."""
        if self._engine.checkpoints is not None:
            await self._engine.checkpoints.touch(live.id)
            self._bases.loaded(live, None)

    async def load_rest(self) -> None:
        """Load the boards that could not be at the start, if there are some."""
        for board_id in list(self.unloaded):
            live = next((live for live in self._catalog if live.id == board_id), None)
            if live is not None:
                async with self.defining, self._write_pause:
                    await self._load(live)
                log.warning("board %r has its rankings", live.name)
            del self.unloaded[board_id]

    async def put(self, change: DefinitionChange, keep: Keep) -> Defined:
        """Define a board, or change its definition; when this returns, its rankings are those of the new one."""
        return await (self._put(change, keep) if change.version is not None else self._again(lambda: self._put(change, keep)))

    async def _put(self, change: DefinitionChange, keep: Keep) -> Defined:
        async with self.defining:
            old = self._catalog.get(change.name)
            check_version(None if old is None else old.record, change.name, change.version)
            board = with_resets(change.make(None if old is None else old.board), old)
            check_no_teams(board)
            await check_definition(self._catalog, self._ledger, self._engine, board, old, {board.name: board})
            if old is not None and old.board.same_definition(board):
                return Defined(board.to_dict(), old.version, created=False)
            before = 0 if old is None else old.version
            made = Defined(board.to_dict(), before + 1, created=old is None)
            same = old is None or self._fits(old, board)
            if old is not None:
                check_confirmed(change, old, consequences_with_rollups(self._catalog, old, board, same, change.is_replaced))
            if old is not None and not same:
                await self._mark_rollups(old)
                await self._drop_baselines(old, board)
            record = await self._ledger.boards.put(board, same, self._clock(), before, "put_board", keep(made))
            live = LiveBoard(record, self._catalog)
            await (self._redefine(live) if same and old is not None else self._activate(live))
            if not same:
                await self._rebuild_rollups(live)
            await self._follow_teams()
            return made

    async def rebuild(self, name: str, progress: Progress) -> tuple[int, int]:
        """Rebuild a board's rankings from all of its events; return how many events and players there are."""
        async with self.defining:
            live = self._catalog[name]
            events, players = await load_from_events(self._ledger, self._engine, live, self._clock(), progress)
            return events + await self._take_effect(live, None), players

    async def revise(self, name: str, edit: Edit, action: str) -> None:
        """Make another definition of the one that there is, of another meaning; when this returns, it is in effect."""
        await self._again(lambda: self._revise(name, edit, action))

    async def _revise(self, name: str, edit: Edit, action: str) -> None:
        async with self.defining:
            old = self._catalog[name]
            async with self._write_pause:
                # Until the new rankings are there, no absolute score becomes the difference to one of before.
                token = await self._engine.locks.hold(old.id)
                old.is_resetting = True
            try:
                board, effect = edit(old)
                await check_definition(self._catalog, self._ledger, self._engine, board, old, {name: board})
                await self._mark_rollups(old)
                await self._drop_baselines(old, board)
                record = await self._ledger.boards.put(board, False, self._clock(), old.version, action, effect)
                live = LiveBoard(record, self._catalog)
                await self._activate(live)
                await self._rebuild_rollups(live)
            finally:
                old.is_resetting = False
                with contextlib.suppress(EngineUnavailable):
                    await self._engine.locks.release(old.id, token)

    async def _again(self, change: Callable[[], Awaitable[T]]) -> T:
        """Try a change again that another process came before, once its definition has arrived here."""
        for _ in range(CHANGE_TRIES):
            try:
                return await change()
            except VersionConflict:
                await asyncio.sleep(CHANGE_RETRY_S)
                await self.refresh()
        return await change()

    async def refill(self, name: str) -> None:
        """Reload a board's rankings from the ledger's checkpoint, including the players whom the engine did not keep."""
        async with self.defining:
            await self._activate(self._catalog[name])

    async def delete(self, name: str, keep: Keep) -> Deleted:
        """Delete a board. Its events stay in the ledger."""
        deleted = Deleted(name)
        async with self.defining, self._write_pause:
            live = self._catalog[name]
            check_no_teams(live.board)
            made = self._catalog.rollups(live)
            if users := [other.name for other in made if other.board.teams_of is None]:
                raise BoardInUse(f"board {name!r} cannot be deleted: {', '.join(users)} is made from it")
            for teams in made:
                await self._forget(teams, None)
            await self._forget(live, keep(deleted))
        return deleted

    async def recover(self, name: str) -> None:
        """Bring a board into effect as the ledger has it: whoever changed it is gone."""
        async with self.defining:
            async with self._write_pause:
                await self._adoption.adopt(name)
            await self._follow_teams()

    async def refresh(self) -> bool:
        """Take up what other processes have defined meanwhile; return whether there was something. O(boards)."""
        if not self._engine.is_shared:
            return False
        records = {record.id: record for record in await self._ledger.boards.current()}
        if {(live.id, live.version) for live in self._catalog} == {record[:2] for record in records.values()}:
            return False
        async with self.defining, self._write_pause:
            return await self._adoption.adopt()

    def _fits(self, old: LiveBoard, new: Board) -> bool:
        """Return whether rankings made for one definition are right for the other, and all there."""
        return old.board.same_meaning(new) and self._engine.fits(old.board, new) and not brings_back(old, new)

    async def _mark_rollups(self, live: LiveBoard) -> None:
        """Note that the roll-ups of a board have to be rebuilt, before it means something else."""
        for target in self._catalog.rollups(live):
            await self._ledger.marks.put(is_stale_rollup(target.id), True)

    async def _drop_baselines(self, old: LiveBoard, board: Board) -> None:
        """Forget where players stood in rankings that mean something else from now on: nobody has moved against those."""
        if not old.board.same_meaning(board):
            for archive in await self._ledger.archives.find(old.id, kind="baseline"):
                await self._ledger.archives.drop(archive.id)

    async def _rebuild_rollups(self, live: LiveBoard) -> None:
        for target in self._catalog.rollups(live):
            board = target.board
            if board.teams_of is not None:
                if not live.board.ranks_teams:
                    continue
                board = teams_board(live.board)
            record = await self._ledger.boards.put(board, False, self._clock(), target.version, "roll_up")
            await self._activate(LiveBoard(record, self._catalog))
            await self._ledger.marks.put(is_stale_rollup(target.id), False)

    async def _redefine(self, live: LiveBoard) -> None:
        async with self._write_pause:
            spans = {ranking: span_of(live.board, *ranking[1:3]) for ranking in await self._engine.rankings(live.id)}
            expiries = {ranking: live.expiry(span, self._clock()) or live.retirement(ranking) for ranking, span in spans.items()}
            await self._engine.redefine(live.id, live.board, expiries)
            self._catalog.put(live.record)
            self._changes.announce()

    async def _activate(self, live: LiveBoard) -> None:
        """Build a board's rankings beside those that are read, catch up with what is written meanwhile, and swap."""
        await self._take_effect(live, await load_engine(self._ledger, self._engine, live))

    async def _take_effect(self, live: LiveBoard, checkpoint: Checkpoint | None) -> int:
        """Catch up with what was written since a shadow was loaded, and let it take effect; return how many events that were."""
        events = 0
        self._healing.quarantine.loaded(live)
        while more := await self._healing.catch_up(live, shadow=True):
            events += more
            if more <= 1000:
                break
        async with self._write_pause:
            events += await self._healing.catch_up(live, shadow=True)
            await promote(self._ledger, self._engine, live)
            self._bases.loaded(live, checkpoint)
            self._catalog.put(live.record)
            self._changes.announce()
        return events
