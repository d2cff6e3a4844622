"""The namespaces of the blocking library.

Generated from the namespaces of `keepscore.leaderboards` by `tools/write_sync.py`: change those instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from keepscore.access.keys import DEFAULT_OVERLAP
from keepscore.access.player_tokens import DEFAULT_TTL
from keepscore.domain.boards import Board
from keepscore.domain.imports import ImportReceipt, NewPart, Part
from keepscore.domain.inputs import Entry, Progress, no_progress
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.results.access import ApiKey, NewKey, PlayerToken
from keepscore.domain.results.audit import AuditCheck, AuditPage
from keepscore.domain.results.moderation import Void, VoidReport
from keepscore.domain.results.standings import (
    BatchReceipt,
    BoardEvents,
    BoardInfo,
    Deleted,
    KeeperRun,
    KeeperStatus,
    PlayerEvents,
    PlayerHistory,
    Profile,
    Rebuild,
    Reset,
    Revision,
    Snapshot,
    Snapshots,
    Top,
    Verification,
    Windows,
)
from keepscore.errors import KeepscoreError

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Administration", "Audit", "History", "Keys", "Moderation", "Players"]


class History:
    """Look back: windows, snapshots, players' histories, standings at past moments, events."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def windows(self, board: str, *, window: str | None = None, limit: int = 100, offset: int = 0) -> Windows:
        """Return the windows of a board that have players, newest first."""
        return self._leaderboards._run(self._leaderboards._async.history.windows(board, window=window, limit=limit, offset=offset))

    def snapshots(
        self,
        board: str,
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Snapshots:
        """List the snapshots of a board, newest first; without a segment, those of everyone."""
        return self._leaderboards._run(
            self._leaderboards._async.history.snapshots(
                board, window=window, window_id=window_id, segment=segment, limit=limit, offset=offset
            )
        )

    def snapshot(
        self, board: str, snapshot_id: int, *, limit: int = 100, offset: int = 0, cursor: str | None = None, rank: str | None = None
    ) -> Snapshot:
        """Return a page of the standings of a snapshot: up to `limit` players, after `offset` or `cursor`."""
        return self._leaderboards._run(
            self._leaderboards._async.history.snapshot(board, snapshot_id, limit=limit, offset=offset, cursor=cursor, rank=rank)
        )

    def of(self, board: str, player_id: str, *, window: str | None = None, limit: int = 100) -> PlayerHistory:
        """Return a player's place in each window, and the best one ever."""
        return self._leaderboards._run(self._leaderboards._async.history.of(board, player_id, window=window, limit=limit))

    def as_of(
        self,
        board: str,
        at: datetime | str,
        *,
        limit: int = 100,
        window: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Top:
        """Return the top of a ranking at a past moment, from the events that had arrived by then. Reads all events of the board."""
        return self._leaderboards._run(
            self._leaderboards._async.history.as_of(board, at, limit=limit, window=window, segment=segment, rank=rank)
        )

    def events(self, board: str, player_id: str, limit: int = 100) -> PlayerEvents:
        """Return a player's recorded events on a board, newest first."""
        return self._leaderboards._run(self._leaderboards._async.history.events(board, player_id, limit))

    def all_events(self, board: str, *, cursor: str | None = None, limit: int = 1000) -> BoardEvents:
        """Return the recorded events of a board, up to 10,000 at a time, after a `cursor`."""
        return self._leaderboards._run(self._leaderboards._async.history.all_events(board, cursor=cursor, limit=limit))


class Players:
    """Sets and returns players' names."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def name(self, player_id: str, name: str | None, *, idempotency_key: str | None = None) -> Profile:
        """Give a player a name to show."""
        return self._leaderboards._run(self._leaderboards._async.players.name(player_id, name, idempotency_key=idempotency_key))

    def profile(self, player_id: str) -> Profile:
        """Return what is known about a player besides scores."""
        return self._leaderboards._run(self._leaderboards._async.players.profile(player_id))


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


class Keys:
    """The API keys of a ledger."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def create(
        self, name: str, scope: str = "read", *, boards: Sequence[str] | None = None, expires: datetime | str | None = None
    ) -> NewKey:
        """Create an API key. Its text is only in the answer, and stored nowhere.

        `scope` is `read`, `submit`, `moderate` or `admin`; each includes the ones before it. `boards` are patterns such as
        `season-*`, by default all boards; `expires` is a time, or a duration such as `90d`.
        """
        return self._leaderboards._run(self._leaderboards._async.keys.create(name, scope, boards=boards, expires=expires))

    def all(self) -> list[ApiKey]:
        """Return all API keys, without their secrets, oldest first."""
        return self._leaderboards._run(self._leaderboards._async.keys.all())

    def revoke(self, key_id: str) -> None:
        """End an API key, and all player tokens that it signed, within a second on every worker."""
        return self._leaderboards._run(self._leaderboards._async.keys.revoke(key_id))

    def rotate(self, key_id: str, *, overlap: str = DEFAULT_OVERLAP) -> NewKey:
        """Replace a key by a new one. The old one stays valid for the `overlap`."""
        return self._leaderboards._run(self._leaderboards._async.keys.rotate(key_id, overlap=overlap))

    def token(self, player_id: str, *, boards: Sequence[str] | None = None, ttl: str = DEFAULT_TTL) -> PlayerToken:
        """Return a token for a player, signed with the latest key that can submit."""
        return self._leaderboards._run(self._leaderboards._async.keys.token(player_id, boards=boards, ttl=ttl))

    def token_signed_by(
        self, key_id: str | None, player_id: str, *, boards: Sequence[str] | None = None, ttl: str = DEFAULT_TTL
    ) -> PlayerToken:
        """Return a token for a player, signed with a key; None: the latest that can submit."""
        return self._leaderboards._run(self._leaderboards._async.keys.token_signed_by(key_id, player_id, boards=boards, ttl=ttl))


class Moderation:
    """What moderators decide. Nothing is deleted: a decision is recorded, and can be undone."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def void(
        self,
        board: str,
        reason: str,
        *,
        player_id: str | None = None,
        game_id: str | None = None,
        event_ids: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        revise: bool = False,
        dry_run: bool = False,
        cursor: str | None = None,
        idempotency_key: str | None = None,
    ) -> VoidReport:
        """Let events no longer count: those of a player, a game or a time (from `since` up to `until`), or named as `writer-n`.

        Rankings of open windows are restated before this returns. Closed windows stay as they are, unless you `revise` them. A
        `dry_run` records nothing, and says what would change. An answer has up to 1,000 changes: `cursor` continues a dry run,
        `report` a void.
        """
        return self._leaderboards._run(
            self._leaderboards._async.moderation.void(
                board,
                reason,
                player_id=player_id,
                game_id=game_id,
                event_ids=event_ids,
                since=since,
                until=until,
                revise=revise,
                dry_run=dry_run,
                cursor=cursor,
                idempotency_key=idempotency_key,
            )
        )

    def remove(self, board: str, player_id: str, reason: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> VoidReport:
        """Remove a player from a board: all of their events there no longer count. `undo` brings the player back."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.remove(board, player_id, reason, dry_run=dry_run, idempotency_key=idempotency_key)
        )

    def undo(self, void_id: str, reason: str, *, idempotency_key: str | None = None) -> Void:
        """Undo a void: what it was about counts again, with its own times, so that ties are as they were."""
        return self._leaderboards._run(self._leaderboards._async.moderation.undo(void_id, reason, idempotency_key=idempotency_key))

    def report(self, void_id: str, *, cursor: str | None = None) -> VoidReport:
        """Return what a void changed when it was recorded, a page of 1,000 changes at a time."""
        return self._leaderboards._run(self._leaderboards._async.moderation.report(void_id, cursor=cursor))

    def voids(self, *, board: str | None = None) -> list[Void]:
        """Return all voids, or those of a board, the newest first."""
        return self._leaderboards._run(self._leaderboards._async.moderation.voids(board=board))


class Audit:
    """The record of what was done to boards, keys and players."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._leaderboards = leaderboards

    def entries(
        self, *, board: str | None = None, actor: str | None = None, action: str | None = None, cursor: str | None = None, limit: int = 100
    ) -> AuditPage:
        """Return entries of the audit, the newest first: those of a board, of an `actor` (its whole text, or a key's id), of an action."""
        return self._leaderboards._run(
            self._leaderboards._async.audit.entries(board=board, actor=actor, action=action, cursor=cursor, limit=limit)
        )

    def verify(self) -> AuditCheck:
        """Follow the chain of all entries; say whether one was changed, removed, added or reordered, and where first. O(entries)."""
        return self._leaderboards._run(self._leaderboards._async.audit.verify())
