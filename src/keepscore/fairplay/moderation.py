"""`lb.moderation`: void events, undo that, remove, hide, shadow and restore players, and decide about scores in the queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import msgspec

from keepscore.domain.inputs import Number, Progress, no_progress
from keepscore.domain.results.back_testing import RuleTest
from keepscore.domain.results.moderation import Erasure, Merge, PlayerDecision, PlayerExport, RestrictedPlayer, Void, VoidReport
from keepscore.domain.results.review import Appeal, AppealPage, AppealState, QueueItem, QueuePage
from keepscore.domain.values import check_player, check_reason
from keepscore.errors import UnknownPlayer
from keepscore.fairplay.addresses import Addresses
from keepscore.fairplay.appeals import MAX_TEXT_BYTES, AppealRequest, Appeals
from keepscore.fairplay.back_testing import BackTests
from keepscore.fairplay.corrections import CorrectionRequest
from keepscore.fairplay.erasing import Erasing
from keepscore.fairplay.exporting import export_player
from keepscore.fairplay.merging import Merging
from keepscore.fairplay.recording import DECISIONS
from keepscore.fairplay.restricting import Restricting, RestrictionRequest, checked_request
from keepscore.fairplay.review import Review, ReviewRequest, Verb
from keepscore.fairplay.selection import Selection, SelectionRequest, checked_selection
from keepscore.fairplay.voids import Voids
from keepscore.projection.stores import Stores
from keepscore.storage.ledgers.claims import Claim
from keepscore.writing.idempotency import Claims, Keep, Replayable, claim_on

__all__ = ["Decisions", "Moderation"]

A = TypeVar("A", bound=Replayable)


class Decisions(NamedTuple):
    """What carries out each kind of decision."""

    voids: Voids
    review: Review
    restricting: Restricting
    erasing: Erasing


class Moderation:
    """What moderators decide. A decision is recorded, and can be undone; only an erasure is for good."""

    def __init__(self, decisions: Decisions, appeals: Appeals, addresses: Addresses, claims: Claims) -> None:
        self._voids, self._review, self._restricting, self._erasing = decisions
        self._appeals = appeals
        self._addresses = addresses
        self._merging = Merging(decisions.restricting)
        self._back_tests = BackTests(decisions.review.parts)
        self._claims = claims

    async def void(
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
        check_reason(reason)
        mark = None if address is None else self._addresses.mark(address)
        selection = checked_selection(SelectionRequest(player_id, game_id, event_ids, since, until, build, mark, match_id, mode))
        if dry_run:
            return await self._voids.rehearse(board, selection, cursor)
        request = "void", reason, msgspec.to_builtins(selection), revise
        return await self._once(board, idempotency_key, request, selection, reason, revise)

    async def remove(
        self, board: str, player_id: str, reason: str, *, dry_run: bool = False, idempotency_key: str | None = None
    ) -> VoidReport:
        """Remove a player from a board: all of their events there no longer count. `undo` brings the player back."""
        check_reason(reason)
        selection = Selection(player_id=check_player(player_id))
        if dry_run:
            report = await self._voids.rehearse(board, selection, None)
        else:
            report = await self._once(board, idempotency_key, ("remove", player_id, reason), selection, reason, False)
        if not report.events:
            raise UnknownPlayer(f"player {player_id!r} has nothing on board {board!r} that counts: there is nothing to remove")
        return report

    async def undo(self, void_id: str, reason: str, *, idempotency_key: str | None = None) -> Void:
        """Undo a void: what it was about counts again, with its own times, so that ties are as they were."""
        check_reason(reason)
        claim = claim_on("void", void_id, idempotency_key, ("undo", reason))
        return await self._decided(claim, Void, lambda: self._voids.undo(void_id, reason, idempotency_key))

    async def report(self, void_id: str, *, cursor: str | None = None) -> VoidReport:
        """Return what a void changed when it was recorded, a page of 1,000 changes at a time."""
        return await self._voids.report(void_id, cursor)

    async def voids(self, *, board: str | None = None) -> list[Void]:
        """Return all voids, or those of a board, the newest first."""
        return [note.shown() for note in await self._voids.notes() if board in (None, note.board)]

    async def queue(
        self,
        *,
        board: str | None = None,
        player_id: str | None = None,
        state: str = "open",
        cursor: str | None = None,
        limit: int = 50,
    ) -> QueuePage:
        """Return scores that are to be decided about, the oldest first, with what helps to decide; or those that were decided."""
        return await self._review.page(ReviewRequest(board, player_id, state, cursor, limit))

    async def approve(self, queue_id: str, reason: str, *, idempotency_key: str | None = None) -> QueueItem:
        """Approve a score in the queue: it counts, with its original time."""
        return await self._decide(queue_id, "approve", reason, idempotency_key)

    async def reject(self, queue_id: str, reason: str, *, idempotency_key: str | None = None) -> QueueItem:
        """Reject a score in the queue: it does not count."""
        return await self._decide(queue_id, "reject", reason, idempotency_key)

    async def _decide(self, queue_id: str, verb: Verb, reason: str, key: str | None) -> QueueItem:
        check_reason(reason)
        claim = claim_on("queue", queue_id, key, (verb, reason))
        return await self._decided(claim, QueueItem, lambda: self._review.decide(queue_id, verb, reason, key))

    async def correct(
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
        check_reason(reason)
        wanted = CorrectionRequest(player_id, score, windows, reason, dry_run)
        if dry_run:
            return await self._voids.correct(board, wanted, None)
        claim = claim_on("void", board, idempotency_key, ("correct", player_id, str(score), windows, reason))
        return await self._decided(claim, VoidReport, lambda: self._voids.correct(board, wanted, idempotency_key))

    async def merge(self, guest: str, into: str, reason: str, *, dry_run: bool = False, idempotency_key: str | None = None) -> Merge:
        """Merge a guest into an account: all events of the guest count as the account's, with their own times, on all boards."""
        check_reason(reason)
        who = check_player(guest), check_player(into)
        claim = None if dry_run else claim_on("merge", guest, idempotency_key, ("merge", into, reason))
        return await self._decided(claim, Merge, lambda: self._merging.merge(*who, reason, dry_run))

    async def split(self, guest: str, reason: str, *, idempotency_key: str | None = None) -> Merge:
        """Split a guest from the account that they were merged into: both are as if they had not been merged."""
        check_reason(reason)
        claim = claim_on("merge", check_player(guest), idempotency_key, ("split", reason))
        return await self._decided(claim, Merge, lambda: self._merging.split(guest, reason))

    async def export(self, player_id: str) -> PlayerExport:
        """Return everything that is stored about a player: profile, friends, groups, events, archived ranks and decisions."""
        parts = self._restricting.parts
        return await export_player(Stores(parts.catalog, parts.ledger, parts.engine, parts.clock), check_player(player_id))

    async def erase(self, player_id: str, reason: str, *, idempotency_key: str | None = None) -> Erasure:
        """Erase a player for good: profile, friends, groups, metadata, addresses and texts are gone, scores stay under a pseudonym.

        It cannot be undone. A later score under the id is that of a new player. The reason goes into the audit, which is never erased.
        """
        check_reason(reason)
        claim = claim_on("erase", "", idempotency_key, (check_player(player_id), reason))

        async def work() -> Erasure:
            erasure = await self._erasing.erase(player_id, reason)
            # What is kept for retries does not name the player.
            erasure.player_id = ""
            return erasure

        erasure = await self._decided(claim, Erasure, work)
        erasure.player_id = player_id
        return erasure

    async def hide(
        self,
        player_id: str,
        reason: str,
        *,
        boards: Sequence[str] | None = None,
        until: datetime | str | None = None,
        idempotency_key: str | None = None,
    ) -> PlayerDecision:
        """Hide a player: ranked for nobody on some `boards`, or on all, up to a moment; what they score is recorded."""
        wanted = checked_request(player_id, reason, boards, until, idempotency_key)
        return await self._restrict("hide", wanted, lambda: self._restricting.restrict("hide", wanted))

    async def shadow(
        self,
        player_id: str,
        reason: str,
        *,
        boards: Sequence[str] | None = None,
        until: datetime | str | None = None,
        idempotency_key: str | None = None,
    ) -> PlayerDecision:
        """Shadow a player: ranked for themselves, as before, and for nobody else."""
        wanted = checked_request(player_id, reason, boards, until, idempotency_key)
        return await self._restrict("shadow", wanted, lambda: self._restricting.restrict("shadow", wanted))

    async def restore(
        self, player_id: str, reason: str, *, boards: Sequence[str] | None = None, idempotency_key: str | None = None
    ) -> PlayerDecision:
        """Let a player who is hidden or shadowed be ranked again, with all that they have scored meanwhile."""
        wanted = checked_request(player_id, reason, boards, None, idempotency_key)
        return await self._restrict("restore", wanted, lambda: self._restricting.restore(wanted))

    async def restricted(self, *, player_id: str | None = None, board: str | None = None) -> list[RestrictedPlayer]:
        """Return who is hidden or shadowed now: all, a player, or those on a board."""
        return await self._restricting.listed(None if player_id is None else check_player(player_id), board)

    async def _restrict(self, action: str, wanted: RestrictionRequest, work: Callable[[], Awaitable[PlayerDecision]]) -> PlayerDecision:
        claim = claim_on("restriction", wanted.player, wanted.key, (action, *wanted[1:4]))
        return await self._decided(claim, PlayerDecision, work)

    async def appeal(self, decision_id: str, player_id: str, text: str, *, idempotency_key: str | None = None) -> Appeal:
        """Appeal for a player against a decision about a score of theirs: a void, or a score in the queue. Once for each decision."""
        claim = claim_on("appeal", decision_id[:MAX_TEXT_BYTES], idempotency_key, (player_id, text))
        return await self._claims.once(claim, Appeal, lambda keep: self._appeals.add(decision_id, player_id, text))

    async def appeals(
        self,
        *,
        board: str | None = None,
        player_id: str | None = None,
        state: AppealState = "open",
        cursor: str | None = None,
        limit: int = 50,
    ) -> AppealPage:
        """Return appeals, the oldest first: those that wait for a reply, or those that were `upheld` or `granted`."""
        return await self._appeals.page(AppealRequest(board, player_id, state, cursor, limit))

    async def appeal_of(self, appeal_id: str) -> Appeal:
        """Return an appeal, and what was replied."""
        return await self._appeals.get(appeal_id)

    async def reply(self, appeal_id: str, reply: str, *, grant: bool = False, idempotency_key: str | None = None) -> Appeal:
        """Reply to an appeal. Where it is granted, the decision is taken back: the score counts."""
        claim = claim_on("appeal", appeal_id[:MAX_TEXT_BYTES], idempotency_key, (reply, grant))
        return await self._decided(claim, Appeal, lambda: self._appeals.reply(appeal_id, reply, grant))

    async def test_rules(self, board: str, rules: Mapping[str, Any], *, progress: Progress = no_progress) -> RuleTest:
        """Return what rules would have caught of all that was sent to a board, and whose ranks would change. Nothing is changed.

        `progress` is called from time to time with the current step, how much of it is done, and how much there is.
        """
        return await self._back_tests.run(board, rules, progress)

    async def _once(self, board: str, key: str | None, request: object, selection: Selection, reason: str, revise: bool) -> VoidReport:
        claim = claim_on("void", board, key, request)
        return await self._decided(claim, VoidReport, lambda: self._voids.void(board, selection, reason, revise, key))

    async def _decided(self, claim: Claim | None, kind: type[A], work: Callable[[], Awaitable[A]]) -> A:
        """Carry a decision out once, and no other one meanwhile, in any process."""

        async def alone(keep: Keep) -> A:
            async with self._claims.alone(DECISIONS):
                return await work()

        return await self._claims.once(claim, kind, alone)
