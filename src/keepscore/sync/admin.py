"""The namespace `admin` of the blocking library.

Made from `keepscore.lifecycle.administration` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from keepscore.domain.boards import Board
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
)
from keepscore.errors import KeepscoreError

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Administration"]


class Administration:
    """Manages whole boards."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def boards(self) -> list[BoardInfo]:
        """Return all boards, by name."""
        return self._leaderboards._run(self._leaderboards._async.admin.boards())

    def board(self, name: str) -> BoardInfo:
        """Return one board."""
        return self._leaderboards._run(self._leaderboards._async.admin.board(name))

    def put_board(
        self, board: Board, *, version: int | None = None, confirm: bool = False, idempotency_key: str | None = None
    ) -> BoardInfo:
        """Define a board, or replace its definition. One that changes the meaning rebuilds the rankings from the ledger.

        Until the new rankings are complete, readers see the old ones; then this returns. A change that loses or rebuilds something
        raises ConfirmationNeeded, unless you `confirm` it or give the `version` that it is meant for. If another version came
        first, raises VersionConflict.
        """
        return self._leaderboards._run(
            self._leaderboards._async.admin.put_board(board, version=version, confirm=confirm, idempotency_key=idempotency_key)
        )

    def change_board(
        self, name: str, fields: Mapping[str, Any], *, version: int | None = None, confirm: bool = False, idempotency_key: str | None = None
    ) -> BoardInfo:
        """Change some fields of a board's definition, and keep the others; None sets a field back to its default.

        Confirmation and versions work as in `put_board`.
        """
        return self._leaderboards._run(
            self._leaderboards._async.admin.change_board(name, fields, version=version, confirm=confirm, idempotency_key=idempotency_key)
        )

    def delete_board(self, name: str, *, idempotency_key: str | None = None) -> Deleted:
        """Delete a board. Its events stay in the ledger; a new board of that name starts empty."""
        return self._leaderboards._run(self._leaderboards._async.admin.delete_board(name, idempotency_key=idempotency_key))

    def refresh(self) -> bool:
        """Take up definitions of other processes at once, which otherwise takes a second. Return whether there were any."""
        return self._leaderboards._run(self._leaderboards._async.admin.refresh())

    def reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """End a board's rankings as a numbered version, which stays readable by its window ids, and start empty ones."""
        return self._leaderboards._run(self._leaderboards._async.admin.reset(board, idempotency_key=idempotency_key))

    def undo_reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """Undo the last reset of a board, within its grace: scores from before and after it are in one ranking again."""
        return self._leaderboards._run(self._leaderboards._async.admin.undo_reset(board, idempotency_key=idempotency_key))

    def verify(self, board: str, *, repair: bool = False) -> Verification:
        """Compare everything that a board shows with the fold of its events; with `repair`, fix what differs and compare again."""
        return self._leaderboards._run(self._leaderboards._async.admin.verify(board, repair=repair))

    def rebuild(self, board: str, *, progress: Progress = no_progress) -> Rebuild:
        """Rebuild the rankings of a board from all of its events. Readers see the old ones until it finishes.

        `progress` is called from time to time with the current step, how much of it is done, and how much there is.
        """
        return self._leaderboards._run(self._leaderboards._async.admin.rebuild(board, progress=progress))

    def revise(self, board: str, window: str, window_id: str, reason: str, *, idempotency_key: str | None = None) -> Revision:
        """Correct the final standings of a closed window: they are archived again, as the next revision, with a note in the audit."""
        return self._leaderboards._run(
            self._leaderboards._async.admin.revise(board, window, window_id, reason, idempotency_key=idempotency_key)
        )

    def keeper_status(self) -> KeeperStatus:
        """Return the jobs of the keeper: when each ran and runs next, and its result."""
        return self._leaderboards._run(self._leaderboards._async.admin.keeper_status())

    def run_keeper(self, now: datetime | str | None = None) -> KeeperRun:
        """Run at once what is due by a past moment (default: now), and return the results."""
        return self._leaderboards._run(self._leaderboards._async.admin.run_keeper(now))

    def import_scores(
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
        return self._leaderboards._run(self._leaderboards._async.admin.import_scores(board, entries, part=part, keys=keys, into=into))

    def check_import(self, board: str, entries: Sequence[Entry | KeepscoreError], *, into: RankingPlace) -> BatchReceipt:
        """Return how many entries would be taken as opening balances of a ranking, and which not. Nothing is recorded."""
        return self._leaderboards._run(self._leaderboards._async.admin.check_import(board, entries, into=into))

    def imported_parts(self, board: str, *, after: str = "") -> list[Part]:
        """Return imported parts of files, by key, after a key; an empty list after the last."""
        return self._leaderboards._run(self._leaderboards._async.admin.imported_parts(board, after=after))
