"""Definitions of boards: taken up at the start, changed while running, and learned from other processes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from keepscore.applier import Applier
from keepscore.boards import Board
from keepscore.catalog import Catalog, LiveBoard, check_links
from keepscore.engines.base import InProcessEngine, RankingEngine
from keepscore.errors import InvalidBoard, VersionConflict
from keepscore.keeper import Keeper
from keepscore.ledgers.base import Checkpoint, Ledger
from keepscore.quiet import Quiet
from keepscore.reader import Reader
from keepscore.replay import Progress, load_engine, load_from_events
from keepscore.windows import span_of

__all__ = ["Definitions"]

#: Milliseconds after which a process builds rankings itself that another one was to build.
PATIENCE = 30_000

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
        self._defining = asyncio.Lock()
        #: Definitions whose rankings are not there yet, and since when.
        self._missing: dict[tuple[int, int], int] = {}

    async def load(self, configured: Sequence[Board]) -> None:
        """Take up what the ledger knows and what was configured, and see that the engine has the rankings."""
        for record in await self._ledger.boards():
            self._catalog.put(record)
        boards = {board.name: board for board in configured}
        if len(boards) < len(configured):
            raise InvalidBoard(f"a board is defined twice: {', '.join(sorted(board.name for board in configured))}")
        for board in boards.values():
            old = self._catalog.get(board.name)
            mark = f"configured:{board.name}"
            digest = hashlib.sha256(msgspec.json.encode(board.to_dict())).digest()
            if old is not None and await self._ledger.value(mark) == digest:
                # The file has not changed since it took effect: what was changed otherwise stays.
                continue
            await self._check(board, old, boards)
            if old is None or not old.board.same_definition(board):
                same = old is None or self._fits(old.board, board)
                self._catalog.put(await self._ledger.put_board(board, same, self._clock()))
            await self._ledger.put_value(mark, digest)
        for live in self._catalog:
            if await self._engine.adopt(live.id, live.board):
                await self._applier.catch_up(live)
            else:
                self._keeper.rests_on(live, await load_engine(self._ledger, self._engine, live))
                await self._engine.promote(live.id)
        await self._engine.expire(self._clock())

    async def put(self, board: Board, version: int | None) -> None:
        """Define a board, or change its definition; when this returns, its rankings are those of the new one."""
        async with self._defining:
            old = self._catalog.get(board.name)
            if version is not None and version != (old.version if old else 0):
                raise VersionConflict(f"board {board.name!r} is at version {old.version if old else 0}, not {version}: read it again")
            await self._check(board, old, {board.name: board})
            if old is None:
                await self._activate(LiveBoard(await self._ledger.put_board(board, True, self._clock())))
            elif not old.board.same_definition(board):
                same = self._fits(old.board, board)
                live = LiveBoard(await self._ledger.put_board(board, same, self._clock()))
                await (self._redefine(live) if same else self._activate(live))

    async def rebuild(self, name: str, progress: Progress) -> tuple[int, int]:
        """Make a board's rankings anew from all of its events; answer how many events and players those are."""
        async with self._defining:
            live = self._catalog[name]
            events, players = await load_from_events(self._ledger, self._engine, live, self._clock(), progress)
            return events + await self._take_effect(live, None), players

    async def refill(self, name: str) -> None:
        """Fill a board's rankings anew from the ledger's checkpoint, with everybody, those included whom the engine did not keep."""
        async with self._defining:
            await self._activate(self._catalog[name])

    async def delete(self, name: str) -> None:
        """Delete a board. Its events stay in the ledger."""
        async with self._defining, self._quiet:
            live = self._catalog[name]
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
                live = LiveBoard(record)
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
        boards = {live.name: live.board for live in self._catalog} | dict(changes)
        await self._engine.check(board, list(boards.values()))
        for other in boards.values():
            if other.name == board.name or board.name in other.also:
                check_links(other, boards)

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
