"""The namespace `moderation` of the blocking library.

Made from `keepscore.fairplay.moderation` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from keepscore.domain.inputs import Number, Progress, no_progress
from keepscore.domain.results.back_testing import RuleTest
from keepscore.domain.results.moderation import Erasure, Merge, PlayerDecision, PlayerExport, RestrictedPlayer, Void, VoidReport
from keepscore.domain.results.review import Appeal, AppealPage, AppealState, QueueItem, QueuePage

if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

__all__ = ["Moderation"]


class Moderation:
    """What moderators decide. A decision is recorded, and can be undone; only an erasure is for good."""

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
        build: str | None = None,
        address: str | None = None,
        match_id: str | None = None,
        mode: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        revise: bool = False,
        dry_run: bool = False,
        cursor: str | None = None,
        idempotency_key: str | None = None,
    ) -> VoidReport:
        """Let events no longer count: of a player, game, build, address or time (`since` up to `until`), or named as `writer-n`.

        Rankings of open windows are restated before this returns. Closed windows stay as they are, unless you `revise` them. A
        `dry_run` records nothing, and says what would change. An answer has up to 1,000 changes: `cursor` continues a dry run,
        `report` a void. Of a match, the `mode` "refund" takes its changes back, and "replay" rates later matches again.
        """
        return self._leaderboards._run(
            self._leaderboards._async.moderation.void(
                board,
                reason,
                player_id=player_id,
                game_id=game_id,
                event_ids=event_ids,
                build=build,
                address=address,
                match_id=match_id,
                mode=mode,
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

    def queue(
        self, *, board: str | None = None, player_id: str | None = None, state: str = "open", cursor: str | None = None, limit: int = 50
    ) -> QueuePage:
        """Return scores that are to be decided about, the oldest first, with what helps to decide; or those that were decided."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.queue(board=board, player_id=player_id, state=state, cursor=cursor, limit=limit)
        )

    def approve(self, queue_id: str, reason: str, *, idempotency_key: str | None = None) -> QueueItem:
        """Approve a score in the queue: it counts, with its original time."""
        return self._leaderboards._run(self._leaderboards._async.moderation.approve(queue_id, reason, idempotency_key=idempotency_key))

    def reject(self, queue_id: str, reason: str, *, idempotency_key: str | None = None) -> QueueItem:
        """Reject a score in the queue: it does not count."""
        return self._leaderboards._run(self._leaderboards._async.moderation.reject(queue_id, reason, idempotency_key=idempotency_key))

    def correct(
        self,
        board: str,
        player_id: str,
        score: Number,
        reason: str,
        *,
        windows: Sequence[str] | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> VoidReport:
        """Set a player's score in some `windows`, or in the board's first, whatever its operator: it may be lower than before.

        It is one decision, which `undo` takes back by its `void_id`.
        """
        return self._leaderboards._run(
            self._leaderboards._async.moderation.correct(
                board, player_id, score, reason, windows=windows, dry_run=dry_run, idempotency_key=idempotency_key
            )
        )

    def merge(self, guest: str, into: str, reason: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Merge:
        """Merge a guest into an account: all events of the guest count as the account's, with their own times, on all boards."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.merge(guest, into, reason, dry_run=dry_run, idempotency_key=idempotency_key)
        )

    def split(self, guest: str, reason: str, *, idempotency_key: str | None = None) -> Merge:
        """Split a guest from the account that they were merged into: both are as if they had not been merged."""
        return self._leaderboards._run(self._leaderboards._async.moderation.split(guest, reason, idempotency_key=idempotency_key))

    def export(self, player_id: str) -> PlayerExport:
        """Return everything that is stored about a player: profile, friends, groups, events, archived ranks and decisions."""
        return self._leaderboards._run(self._leaderboards._async.moderation.export(player_id))

    def erase(self, player_id: str, reason: str, *, idempotency_key: str | None = None) -> Erasure:
        """Erase a player for good: profile, friends, groups, metadata, addresses and texts are gone, scores stay under a pseudonym.

        It cannot be undone. A later score under the id is that of a new player. The reason goes into the audit, which is never erased.
        """
        return self._leaderboards._run(self._leaderboards._async.moderation.erase(player_id, reason, idempotency_key=idempotency_key))

    def hide(
        self,
        player_id: str,
        reason: str,
        *,
        boards: Sequence[str] | None = None,
        until: datetime | str | None = None,
        idempotency_key: str | None = None,
    ) -> PlayerDecision:
        """Hide a player: ranked for nobody on some `boards`, or on all, up to a moment; what they score is recorded."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.hide(player_id, reason, boards=boards, until=until, idempotency_key=idempotency_key)
        )

    def shadow(
        self,
        player_id: str,
        reason: str,
        *,
        boards: Sequence[str] | None = None,
        until: datetime | str | None = None,
        idempotency_key: str | None = None,
    ) -> PlayerDecision:
        """Shadow a player: ranked for themselves, as before, and for nobody else."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.shadow(player_id, reason, boards=boards, until=until, idempotency_key=idempotency_key)
        )

    def restore(
        self, player_id: str, reason: str, *, boards: Sequence[str] | None = None, idempotency_key: str | None = None
    ) -> PlayerDecision:
        """Let a player who is hidden or shadowed be ranked again, with all that they have scored meanwhile."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.restore(player_id, reason, boards=boards, idempotency_key=idempotency_key)
        )

    def restricted(self, *, player_id: str | None = None, board: str | None = None) -> list[RestrictedPlayer]:
        """Return who is hidden or shadowed now: all, a player, or those on a board."""
        return self._leaderboards._run(self._leaderboards._async.moderation.restricted(player_id=player_id, board=board))

    def appeal(self, decision_id: str, player_id: str, text: str, *, idempotency_key: str | None = None) -> Appeal:
        """Appeal for a player against a decision about a score of theirs: a void, or a score in the queue. Once for each decision."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.appeal(decision_id, player_id, text, idempotency_key=idempotency_key)
        )

    def appeals(
        self,
        *,
        board: str | None = None,
        player_id: str | None = None,
        state: AppealState = "open",
        cursor: str | None = None,
        limit: int = 50,
    ) -> AppealPage:
        """Return appeals, the oldest first: those that wait for a reply, or those that were `upheld` or `granted`."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.appeals(board=board, player_id=player_id, state=state, cursor=cursor, limit=limit)
        )

    def appeal_of(self, appeal_id: str) -> Appeal:
        """Return an appeal, and what was replied."""
        return self._leaderboards._run(self._leaderboards._async.moderation.appeal_of(appeal_id))

    def reply(self, appeal_id: str, reply: str, *, grant: bool = False, idempotency_key: str | None = None) -> Appeal:
        """Reply to an appeal. Where it is granted, the decision is taken back: the score counts."""
        return self._leaderboards._run(
            self._leaderboards._async.moderation.reply(appeal_id, reply, grant=grant, idempotency_key=idempotency_key)
        )

    def test_rules(self, board: str, rules: Mapping[str, Any], *, progress: Progress = no_progress) -> RuleTest:
        """Return what rules would have caught of all that was sent to a board, and whose ranks would change. Nothing is changed.

        `progress` is called from time to time with the current step, how much of it is done, and how much there is.
        """
        return self._leaderboards._run(self._leaderboards._async.moderation.test_rules(board, rules, progress=progress))
