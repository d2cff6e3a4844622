"""Whole boards: definitions, resets, verification, repair, imports, and the keeper: `lb.admin`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from keepscore.domain.board_changes import merged
from keepscore.domain.boards import Board, board_from_dict
from keepscore.domain.imports import ImportReceipt, NewPart, Part
from keepscore.domain.inputs import Entry, Progress, no_progress
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.results.standings import (
    BatchReceipt,
    BoardInfo,
    Deleted,
    KeeperRun,
    KeeperStatus,
    Rebuild,
    Reset,
    Revision,
    Verification,
    WindowLayout,
    encode,
)
from keepscore.errors import KeepscoreError
from keepscore.lifecycle.definition_changes import Defined, DefinitionChange
from keepscore.lifecycle.definitions import Definitions
from keepscore.lifecycle.jobs.revising import RevisionRequest
from keepscore.lifecycle.keeper import Keeper
from keepscore.lifecycle.rebuild import Rebuilds
from keepscore.lifecycle.resets import Resets
from keepscore.projection.stores import Stores
from keepscore.writing.idempotency import Claims, Keep, claim_on
from keepscore.writing.imports import Imports

__all__ = ["Administration"]

A = TypeVar("A", Defined, Deleted, Reset, Revision)


class Administration:
    """Manages whole boards."""

    def __init__(
        self, stores: Stores, claims: Claims, definitions: Definitions, rebuilds: Rebuilds, keeper: Keeper, imports: Imports
    ) -> None:
        self._catalog = stores.catalog
        self._engine = stores.engine
        self._claims = claims
        self._definitions = definitions
        self._resets = Resets(definitions, stores.clock)
        self._rebuilds = rebuilds
        self._keeper = keeper
        self._imports = imports

    async def boards(self) -> list[BoardInfo]:
        """Return all boards, by name."""
        return [self._info(live.version, live.board) for live in self._catalog if live.board.teams_of is None]

    async def board(self, name: str) -> BoardInfo:
        """Return one board."""
        live = self._catalog[name]
        return self._info(live.version, live.board)

    def _info(self, version: int, board: Board) -> BoardInfo:
        layouts = {window: WindowLayout(layout, why) for window, (layout, why) in self._engine.layouts(board).items()}
        return BoardInfo(version, board, layouts)

    async def put_board(
        self, board: Board, *, version: int | None = None, confirm: bool = False, idempotency_key: str | None = None
    ) -> BoardInfo:
        """Define a board, or replace its definition. One that changes the meaning rebuilds the rankings from the ledger.

        Until the new rankings are complete, readers see the old ones; then this returns. A change that loses or rebuilds something
        raises ConfirmationNeeded, unless you `confirm` it or give the `version` that it is meant for. If another version came
        first, raises VersionConflict.
        """
        # As text: the order of windows is part of it.
        request = "put", encode(board.to_dict()).decode(), version
        change = DefinitionChange(board.name, lambda _: board, version, confirm, is_replaced=True)
        return await self._define(change, request, idempotency_key)

    async def change_board(
        self,
        name: str,
        fields: Mapping[str, Any],
        *,
        version: int | None = None,
        confirm: bool = False,
        idempotency_key: str | None = None,
    ) -> BoardInfo:
        """Change some fields of a board's definition, and keep the others; None sets a field back to its default.

        Confirmation and versions work as in `put_board`.
        """

        def make(old: Board | None) -> Board:
            return merged(self._catalog[name].board if old is None else old, fields)

        request = "change", name, encode(fields).decode(), version
        return await self._define(DefinitionChange(name, make, version, confirm, is_replaced=False), request, idempotency_key)

    async def _define(self, change: DefinitionChange, request: Any, key: str | None) -> BoardInfo:
        done = await self._once(change.name, key, request, Defined, lambda keep: self._definitions.put(change, keep))
        info = self._info(done.version, board_from_dict(done.definition))
        info.created, info.replayed = done.created, done.replayed
        return info

    async def delete_board(self, name: str, *, idempotency_key: str | None = None) -> Deleted:
        """Delete a board. Its events stay in the ledger; a new board of that name starts empty."""
        return await self._once(name, idempotency_key, ["delete"], Deleted, lambda keep: self._definitions.delete(name, keep))

    async def refresh(self) -> bool:
        """Take up definitions of other processes at once, which otherwise takes a second. Return whether there were any."""
        return await self._definitions.refresh()

    async def _once(self, board: str, key: str | None, request: Any, kind: type[A], work: Callable[[Keep], Awaitable[A]]) -> A:
        """Do something to a board, once for an idempotency key."""
        claim = claim_on("board", board, key, request)
        answer = await self._claims.once(claim, kind, work, lambda: self._definitions.recover(board))
        if answer.replayed is True:
            # Another process may have done it.
            await self._definitions.refresh()
        return answer

    async def reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """End a board's rankings as a numbered version, which stays readable by its window ids, and start empty ones."""
        await self._definitions.refresh()
        return await self._once(board, idempotency_key, ["reset"], Reset, lambda keep: self._resets.reset(board, keep))

    async def undo_reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """Undo the last reset of a board, within its grace: scores from before and after it are in one ranking again."""
        await self._definitions.refresh()
        return await self._once(board, idempotency_key, ["undo reset"], Reset, lambda keep: self._resets.undo(board, keep))

    async def verify(self, board: str, *, repair: bool = False) -> Verification:
        """Compare everything that a board shows with the fold of its events; with `repair`, fix what differs and compare again."""
        await self._definitions.refresh()
        return await self._rebuilds.verify(board, repair)

    async def rebuild(self, board: str, *, progress: Progress = no_progress) -> Rebuild:
        """Rebuild the rankings of a board from all of its events. Readers see the old ones until it finishes.

        `progress` is called from time to time with the current step, how much of it is done, and how much there is.
        """
        await self._definitions.refresh()
        return await self._rebuilds.rebuild(board, progress)

    async def revise(self, board: str, window: str, window_id: str, reason: str, *, idempotency_key: str | None = None) -> Revision:
        """Correct the final standings of a closed window: they are archived again, as the next revision, with a note in the audit."""
        await self._definitions.refresh()
        request = "revise", window, window_id, reason

        async def work(keep: Keep) -> Revision:
            return await self._keeper.revise(board, RevisionRequest(window, window_id, reason), keep)

        return await self._once(board, idempotency_key, request, Revision, work)

    async def keeper_status(self) -> KeeperStatus:
        """Return the jobs of the keeper: when each ran and runs next, and its result."""
        return await self._keeper.status()

    async def run_keeper(self, now: datetime | str | None = None) -> KeeperRun:
        """Run at once what is due by a past moment (default: now), and return the results."""
        return await self._keeper.run_once(now)

    async def import_scores(
        self,
        board: str,
        entries: Sequence[Entry | KeepscoreError],
        *,
        part: NewPart | None = None,
        keys: Sequence[str] = (),
        into: RankingPlace | None = None,
    ) -> ImportReceipt:
        """Import up to 10,000 entries: a part of a file, or entries with their own keys, which are never forgotten.

        With `into`, they are opening balances of that ranking, and count in no other.
        """
        return await self._imports.take(board, entries, part, keys, into)

    async def check_import(self, board: str, entries: Sequence[Entry | KeepscoreError], *, into: RankingPlace) -> BatchReceipt:
        """Return how many entries would be taken as opening balances of a ranking, and which not. Nothing is recorded."""
        return await self._imports.check(board, entries, into)

    async def imported_parts(self, board: str, *, after: str = "") -> list[Part]:
        """Return imported parts of files, by key, after a key; an empty list after the last."""
        return await self._imports.parts(board, after)
