"""`client.moderation`: what moderators decide, over a service, blocking.

Made from `keepscore.client.moderation` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from keepscore.client.calls import RequestKey, change, decoder, read, restricted_of, voids_of
from keepscore.client.sync_sending import SyncSend
from keepscore.domain.inputs import Number, Progress, no_progress
from keepscore.domain.results.back_testing import RuleTest
from keepscore.domain.results.moderation import Erasure, Merge, PlayerDecision, PlayerExport, RestrictedPlayer, Void, VoidReport
from keepscore.domain.results.review import Appeal, AppealPage, AppealState, QueueItem, QueuePage

__all__ = ["SyncModeration"]


class SyncModeration:
    """What moderators decide. A decision is recorded, and can be undone; only an erasure is for good."""

    def __init__(self, call: SyncSend) -> None:
        self._call = call

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
        body: dict[str, Any] = {
            "board": board,
            "reason": reason,
            "player_id": player_id,
            "game_id": game_id,
            "event_ids": event_ids,
            "from": since,
        }
        more = {"build": build, "address": address, "match_id": match_id, "mode": mode}
        body |= {name: value for name, value in more.items() if value is not None}
        body |= {"to": until, "revise": revise, "dry_run": dry_run, "cursor": cursor}
        return self._call(
            change(decoder(VoidReport), "POST", "moderation", "void", body=body, key=RequestKey(idempotency_key), is_long=True)
        )

    def remove(self, board: str, player_id: str, reason: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> VoidReport:
        """Remove a player from a board: all of their events there no longer count. `undo` brings the player back."""
        query = {"reason": reason, "dry_run": dry_run}
        return self._call(
            change(
                decoder(VoidReport),
                "DELETE",
                "boards",
                board,
                "players",
                player_id,
                query=query,
                key=RequestKey(idempotency_key),
                is_long=True,
            )
        )

    def undo(self, void_id: str, reason: str, *, idempotency_key: str | None = None) -> Void:
        """Undo a void: what it was about counts again, with its own times, so that ties are as they were."""
        body = {"reason": reason}
        return self._call(
            change(decoder(Void), "POST", "moderation", "void", void_id, "undo", body=body, key=RequestKey(idempotency_key), is_long=True)
        )

    def report(self, void_id: str, *, cursor: str | None = None) -> VoidReport:
        """Return what a void changed when it was recorded, a page of 1,000 changes at a time."""
        return self._call(read(decoder(VoidReport), "moderation", "void", void_id, query={"cursor": cursor}))

    def voids(self, *, board: str | None = None) -> list[Void]:
        """Return all voids, or those of a board, the newest first."""
        return self._call(read(voids_of, "moderation", "voids", query={"board": board}))

    def queue(
        self,
        *,
        board: str | None = None,
        player_id: str | None = None,
        state: str = "open",
        cursor: str | None = None,
        limit: int = 50,
    ) -> QueuePage:
        """Return scores that are to be decided about, the oldest first, with what helps to decide; or those that were decided."""
        query = {"board": board, "player_id": player_id, "state": state, "cursor": cursor, "limit": limit}
        return self._call(read(decoder(QueuePage), "moderation", "queue", query=query))

    def approve(self, queue_id: str, reason: str, *, idempotency_key: str | None = None) -> QueueItem:
        """Approve a score in the queue: it counts, with its original time."""
        return self._decide(queue_id, "approve", reason, idempotency_key)

    def reject(self, queue_id: str, reason: str, *, idempotency_key: str | None = None) -> QueueItem:
        """Reject a score in the queue: it does not count."""
        return self._decide(queue_id, "reject", reason, idempotency_key)

    def _decide(self, queue_id: str, verb: str, reason: str, key: str | None) -> QueueItem:
        path, body = ("moderation", "queue", queue_id, verb), {"reason": reason}
        return self._call(change(decoder(QueueItem), "POST", *path, body=body, key=RequestKey(key), is_long=True))

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
        body = {"board": board, "player_id": player_id, "score": score, "reason": reason, "windows": windows, "dry_run": dry_run}
        return self._call(
            change(decoder(VoidReport), "POST", "moderation", "correct", body=body, key=RequestKey(idempotency_key), is_long=True)
        )

    def merge(self, guest: str, into: str, reason: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Merge:
        """Merge a guest into an account: all events of the guest count as the account's, with their own times, on all boards."""
        body = {"from": guest, "into": into, "reason": reason, "dry_run": dry_run}
        return self._call(change(decoder(Merge), "POST", "moderation", "merge", body=body, key=RequestKey(idempotency_key), is_long=True))

    def split(self, guest: str, reason: str, *, idempotency_key: str | None = None) -> Merge:
        """Split a guest from the account that they were merged into: both are as if they had not been merged."""
        body = {"from": guest, "reason": reason}
        return self._call(change(decoder(Merge), "POST", "moderation", "split", body=body, key=RequestKey(idempotency_key), is_long=True))

    def export(self, player_id: str) -> PlayerExport:
        """Return everything that is stored about a player: profile, friends, groups, events, archived ranks and decisions."""
        return self._call(read(decoder(PlayerExport), "players", player_id, "export"))

    def erase(self, player_id: str, reason: str, *, idempotency_key: str | None = None) -> Erasure:
        """Erase a player for good: profile, friends, groups, metadata, addresses and texts are gone, scores stay under a pseudonym.

        It cannot be undone. A later score under the id is that of a new player. The reason goes into the audit, which is never erased.
        """
        body = {"player_id": player_id, "reason": reason}
        return self._call(change(decoder(Erasure), "POST", "moderation", "erase", body=body, key=RequestKey(idempotency_key), is_long=True))

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
        body = {"player_id": player_id, "reason": reason, "boards": boards, "until": until}
        return self._restrict("hide", body, idempotency_key)

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
        body = {"player_id": player_id, "reason": reason, "boards": boards, "until": until}
        return self._restrict("shadow", body, idempotency_key)

    def restore(
        self, player_id: str, reason: str, *, boards: Sequence[str] | None = None, idempotency_key: str | None = None
    ) -> PlayerDecision:
        """Let a player who is hidden or shadowed be ranked again, with all that they have scored meanwhile."""
        return self._restrict("restore", {"player_id": player_id, "reason": reason, "boards": boards}, idempotency_key)

    def _restrict(self, action: str, body: dict[str, Any], key: str | None) -> PlayerDecision:
        return self._call(change(decoder(PlayerDecision), "POST", "moderation", action, body=body, key=RequestKey(key), is_long=True))

    def restricted(self, *, player_id: str | None = None, board: str | None = None) -> list[RestrictedPlayer]:
        """Return who is hidden or shadowed now: all, a player, or those on a board."""
        query = {"player_id": player_id, "board": board}
        return self._call(read(restricted_of, "moderation", "restricted", query=query))

    def appeal(self, decision_id: str, player_id: str, text: str, *, idempotency_key: str | None = None) -> Appeal:
        """Appeal for a player against a decision about a score of theirs: a void, or a score in the queue. Once for each decision."""
        body = {"decision_id": decision_id, "player_id": player_id, "text": text}
        return self._call(change(decoder(Appeal), "POST", "appeals", body=body, key=RequestKey(idempotency_key)))

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
        query = {"board": board, "player_id": player_id, "state": state, "cursor": cursor, "limit": limit}
        return self._call(read(decoder(AppealPage), "appeals", query=query))

    def appeal_of(self, appeal_id: str) -> Appeal:
        """Return an appeal, and what was replied."""
        return self._call(read(decoder(Appeal), "appeals", appeal_id))

    def reply(self, appeal_id: str, reply: str, *, grant: bool = False, idempotency_key: str | None = None) -> Appeal:
        """Reply to an appeal. Where it is granted, the decision is taken back: the score counts."""
        path, body = ("appeals", appeal_id, "reply"), {"reply": reply, "grant": grant}
        return self._call(change(decoder(Appeal), "POST", *path, body=body, key=RequestKey(idempotency_key), is_long=True))

    def test_rules(self, board: str, rules: Mapping[str, Any], *, progress: Progress = no_progress) -> RuleTest:
        """Return what rules would have caught of all that was sent to a board, and whose ranks would change. Nothing is changed.

        The service does not tell how far it is: `progress` is not called.
        """
        path = "boards", board, "rules", "test"
        return self._call(change(decoder(RuleTest), "POST", *path, body={"rules": dict(rules)}, is_long=True))
