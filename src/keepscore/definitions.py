"""Definitions of boards: taken up at the start, changed while running, and learned from other processes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from keepscore.applier import Applier
from keepscore.board_checks import brief
from keepscore.boards import Board
from keepscore.catalog import Catalog, LiveBoard, check_links, check_rollup
from keepscore.engines.base import InProcessEngine, RankingEngine
from keepscore.errors import BoardInUse, EngineUnavailable, EventsDropped, InvalidBoard, VersionConflict
from keepscore.jobs.closing import closed_windows
from keepscore.keeper import Keeper
from keepscore.ledgers.base import BoardRecord, Checkpoint, Ledger, check_version
from keepscore.loading import load_engine, load_from_events
from keepscore.openings import said
from keepscore.quiet import Quiet
from keepscore.reader import Reader
from keepscore.replay import Progress
from keepscore.windows import span_of

__all__ = ["Definitions", "in_effect"]

#: Milliseconds after which a process builds rankings itself that another one was to build.
PATIENCE = 30_000
#: How often a change is tried that those of other processes come before, and the seconds between two tries.
TRIES, PAUSE = 50, 0.1
#: What is noted of a roll-up one of whose boards means something else by now.
STALE = b"stale"

log = logging.getLogger(__name__)


class Definitions:
    """The definitions of one process. The ledger has them; the catalog holds those that are in effect here."""

    def __init__(
        self,
        catalog: Catalog,
        ledger: Ledger,
        engine: RankingEngine,
        applier: Applier,
        quiet: Quiet,
        keeper: Keeper,
        reader: Reader,
        clock: Callable[[], int],
    ) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._engine = engine
        self._applier = applier
        self._quiet = quiet
        self._keeper = keeper
        self._reader = reader
        self._clock = clock
        self._defining = keeper.defining
        #: Definitions whose rankings are not there yet, and since when.
        self._missing: dict[tuple[int, int], int] = {}

    async def learn_times(self) -> None:
        """Take up which times boards take scores of: from when on, and not those of windows that are closed."""
        self._catalog.taken_from = await self._ledger.taken_from()
        self._catalog.closed = await closed_windows(self._ledger)

    async def load(self, configured: Sequence[Board]) -> None:
        """Take up what the ledger knows and what was configured, and see that the engine has the rankings."""
        for record in await self._ledger.boards():
            self._catalog.put(record)
        await self.learn_times()
        boards = {board.name: board for board in configured}
        if len(boards) < len(configured):
            raise InvalidBoard(f"a board is defined twice: {', '.join(sorted(board.name for board in configured))}")
        for board in boards.values():
            old = self._catalog.get(board.name)
            mark, digest = _configured(board)
            if old is not None and await self._ledger.value(mark) == digest:
                # The file has not changed since it took effect: what was changed otherwise stays.
                continue
            board = _with_resets(board, old)
            await self._check(board, old, boards)
            if old is None or not old.board.same_definition(board):
                same = old is None or self._fits(old.board, board)
                if old is not None and not same:
                    await self._mark_rollups(old)
                self._catalog.put(await self._ledger.put_board(board, same, self._clock()))
            await self._ledger.put_value(mark, digest)
        for live in self._catalog:
            stale = live.board.rollup is not None and await self._ledger.value(_mark(live)) == STALE
            if not stale and await self._engine.adopt(live.id, live.board):
                await self._applier.catch_up(live)
            else:
                self._keeper.rests_on(live, await load_engine(self._ledger, self._engine, live))
                await self._engine.promote(live.id)
            if stale:
                await self._ledger.put_value(_mark(live), b"")
        await self._engine.expire(self._clock())

    async def put(self, board: Board, version: int | None) -> None:
        """Define a board, or change its definition; when this returns, its rankings are those of the new one."""
        await (self._put(board, version) if version is not None else self._again(lambda: self._put(board, None)))

    async def _put(self, board: Board, version: int | None) -> None:
        async with self._defining:
            old = self._catalog.get(board.name)
            check_version(None if old is None else old.record, board.name, version)
            board = _with_resets(board, old)
            await self._check(board, old, {board.name: board})
            if old is None:
                await self._activate(LiveBoard(await self._ledger.put_board(board, True, self._clock()), self._catalog))
            elif not old.board.same_definition(board):
                same = self._fits(old.board, board)
                if not same:
                    await self._mark_rollups(old)
                live = LiveBoard(await self._ledger.put_board(board, same, self._clock(), old.version), self._catalog)
                await (self._redefine(live) if same else self._activate(live))
                if not same:
                    await self._rebuild_rollups(live)

    async def rebuild(self, name: str, progress: Progress) -> tuple[int, int]:
        """Make a board's rankings anew from all of its events; answer how many events and players those are."""
        async with self._defining:
            live = self._catalog[name]
            events, players = await load_from_events(self._ledger, self._engine, live, self._clock(), progress)
            return events + await self._take_effect(live, None), players

    async def revise(self, name: str, edit: Callable[[LiveBoard], Awaitable[Board]], action: str) -> None:
        """Make another definition of the one that there is, of another meaning; when this returns, it is in effect."""
        await self._again(lambda: self._revise(name, edit, action))

    async def _revise(self, name: str, edit: Callable[[LiveBoard], Awaitable[Board]], action: str) -> None:
        async with self._defining:
            old = self._catalog[name]
            async with self._quiet:
                # Until the new rankings are there, no absolute score becomes the difference to one of before.
                token = await self._engine.hold(old.id)
                old.is_resetting = True
            try:
                board = await edit(old)
                await self._check(board, old, {name: board})
                await self._mark_rollups(old)
                live = LiveBoard(await self._ledger.put_board(board, False, self._clock(), old.version, action), self._catalog)
                await self._activate(live)
                await self._rebuild_rollups(live)
            finally:
                old.is_resetting = False
                with contextlib.suppress(EngineUnavailable):
                    await self._engine.release(old.id, token)

    async def _again(self, change: Callable[[], Awaitable[None]]) -> None:
        """Try a change again that another process came before, once its definition has arrived here."""
        for _ in range(TRIES):
            try:
                return await change()
            except VersionConflict:
                await asyncio.sleep(PAUSE)
                await self.refresh()
        return await change()

    async def refill(self, name: str) -> None:
        """Fill a board's rankings anew from the ledger's checkpoint, with everybody, those included whom the engine did not keep."""
        async with self._defining:
            await self._activate(self._catalog[name])

    async def delete(self, name: str) -> None:
        """Delete a board. Its events stay in the ledger."""
        async with self._defining, self._quiet:
            live = self._catalog[name]
            if users := [other.name for other in self._catalog.rollups(live)]:
                raise BoardInUse(f"board {name!r} cannot be deleted: {', '.join(users)} is made from it")
            await self._ledger.delete_board(name, self._clock())
            self._catalog.remove(name)
            await self._engine.forget(live.id)
            self._reader.forget()

    async def refresh(self) -> bool:
        """Take up what other processes have defined meanwhile; answer whether there was something. O(boards)."""
        if isinstance(self._engine, InProcessEngine):
            return False
        records = {record.id: record for record in await self._ledger.boards()}
        if {(live.id, live.version) for live in self._catalog} == {record[:2] for record in records.values()}:
            return False
        async with self._defining, self._quiet:
            return await self.adopt()

    async def adopt(self) -> bool:
        """The same for who holds the writer already."""
        records = {record.id: record for record in await self._ledger.boards()}
        changed = False
        for live in [live for live in self._catalog if live.id not in records]:
            self._catalog.remove(live.name)
            changed = True
        for record in records.values():
            known = self._catalog.get(record.board.name)
            if known is not None and (known.id, known.version) == record[:2]:
                continue
            since = self._missing.setdefault(record[:2], self._clock())
            if await self._engine.adopt(record.id, record.board):
                self._catalog.put(record)
                changed = True
            elif self._clock() - since > PATIENCE:
                log.warning("the rankings of board %r are built here: who defined them has not", record.board.name)
                live = LiveBoard(record, self._catalog)
                await load_engine(self._ledger, self._engine, live)
                await self._engine.promote(live.id)
                self._catalog.put(record)
                changed = True
            else:
                continue
            del self._missing[record[:2]]
        if changed:
            self._reader.forget()
        return changed

    def _fits(self, old: Board, new: Board) -> bool:
        """Whether rankings made for one definition are right for the other."""
        return old.same_meaning(new) and self._engine.fits(old, new)

    async def _check(self, board: Board, old: LiveBoard | None, changes: Mapping[str, Board]) -> None:
        """Refuse a definition that does not fit what is stored, or the boards that it is linked with, `changes` taken into account."""
        if old is not None and old.board.decimals != board.decimals:
            raise InvalidBoard(
                f"board {board.name!r}: decimals = {board.decimals} cannot be used; it has {old.board.decimals}, in which its scores "
                "are stored: make a new board"
            )
        if old is not None and (old.board.rollup is None) != (board.rollup is None):
            raise InvalidBoard(f"board {board.name!r}: rollup cannot be given to a board, or taken from it: make a new board")
        await self._check_dropped(board, old)
        boards = {live.name: live.board for live in self._catalog} | dict(changes)
        await self._engine.check(board, list(boards.values()))
        for other in boards.values():
            if other.name == board.name or board.name in other.also:
                check_links(other, boards)
            if other.rollup is not None and board.name in (other.name, *other.rollup.of):
                check_rollup(other, boards)

    async def _check_dropped(self, board: Board, old: LiveBoard | None) -> None:
        """Refuse a definition that would need events that are dropped, or about to be."""
        dropped = await self._ledger.taken_from()
        if old is not None and old.id in dropped and not old.board.same_states(board):
            raise EventsDropped(
                f"board {board.name!r} cannot mean something else any more: its events of before {said(dropped[old.id])} are folded and "
                "dropped (keep_events), and another operator, order, calendar or segmentation would need them: make a new board"
            )
        for name in board.rollup.of if board.rollup else ():
            part = self._catalog.get(name)
            if part is not None and part.id in dropped and board.rollup and board.rollup.window in part.ttls:
                raise EventsDropped(
                    f"board {board.name!r}: rollup cannot be used; the {board.rollup.window} rankings of board {name!r} expire, and its "
                    f"events of before {said(dropped[part.id])} are dropped (keep_events)"
                )

    async def _mark_rollups(self, live: LiveBoard) -> None:
        """Note that the roll-ups of a board have to be made anew, before it means something else."""
        for target in self._catalog.rollups(live):
            await self._ledger.put_value(_mark(target), STALE)

    async def _rebuild_rollups(self, live: LiveBoard) -> None:
        for target in self._catalog.rollups(live):
            record = await self._ledger.put_board(target.board, False, self._clock(), target.version, "roll_up")
            await self._activate(LiveBoard(record, self._catalog))
            await self._ledger.put_value(_mark(target), b"")

    async def _redefine(self, live: LiveBoard) -> None:
        async with self._quiet:
            spans = {ranking: span_of(live.board, *ranking[1:3]) for ranking in await self._engine.rankings(live.id)}
            expiries = {ranking: live.expiry(span, self._clock()) for ranking, span in spans.items()}
            await self._engine.redefine(live.id, live.board, expiries)
            self._catalog.put(live.record)
            self._reader.forget()

    async def _activate(self, live: LiveBoard) -> None:
        """Build a board's rankings beside those that are read, catch up with what is written meanwhile, and swap."""
        await self._take_effect(live, await load_engine(self._ledger, self._engine, live))

    async def _take_effect(self, live: LiveBoard, checkpoint: Checkpoint | None) -> int:
        """Catch up with what was written since a shadow was loaded, and let it take effect; answer how many events that were."""
        events = 0
        while more := await self._applier.catch_up(live, shadow=True):
            events += more
            if more <= 1000:
                break
        async with self._quiet:
            events += await self._applier.catch_up(live, shadow=True)
            await self._engine.promote(live.id)
            self._keeper.rests_on(live, checkpoint)
            self._catalog.put(live.record)
            self._reader.forget()
        return events


async def in_effect(ledger: Ledger, configured: Sequence[Board]) -> list[BoardRecord]:
    """The boards that there are once a ledger is opened with these beside its own. Nothing is recorded: new ones have no number yet."""
    records = {record.board.name: record for record in await ledger.boards()}
    for place, board in enumerate(configured, 1):
        old = records.get(board.name)
        mark, digest = _configured(board)
        if old is None:
            records[board.name] = BoardRecord(-place, 0, board, 0)
        elif await ledger.value(mark) != digest:
            records[board.name] = old._replace(board=_with_resets(board, old))
    return list(records.values())


def _configured(board: Board) -> tuple[str, bytes]:
    """Where the ledger notes which definition of a file took effect, and what it notes of this one."""
    return f"configured:{board.name}", hashlib.sha256(msgspec.json.encode(board.to_dict())).digest()


def _with_resets(board: Board, old: LiveBoard | BoardRecord | None) -> Board:
    """A definition with the resets that the board had, which no definition sets."""
    known = [] if old is None else old.board.resets
    if board.resets and board.resets != known:
        raise InvalidBoard(
            f"board {board.name!r}: resets = {brief(board.resets)} cannot be set; they are {brief(known)}: leave them out, and reset a "
            "board with POST /v1/boards/{board}/reset"
        )
    return replace(board, resets=known) if known else board


def _mark(live: LiveBoard) -> str:
    return f"rollup:{live.id}"
