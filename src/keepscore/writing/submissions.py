"""Submissions as callers make them: checked, written, and answered once for each idempotency key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from keepscore.domain.inputs import Entry
from keepscore.domain.results.standings import BatchReceipt, Receipt, Rejection
from keepscore.errors import InvalidField, KeepscoreError
from keepscore.storage.pace import Turns
from keepscore.writing.batches import EntryTerms, check_entry, check_size, merged_answer, told_by
from keepscore.writing.checks import SubmissionRequest, check_submission
from keepscore.writing.dry_run import DryRunTerms, dry_run
from keepscore.writing.groups import PendingRequest
from keepscore.writing.idempotency import Unanswered, submission_claim
from keepscore.writing.parts import WriteParts
from keepscore.writing.protocols import PlayReader, ProfileNotes
from keepscore.writing.writer import Writer

__all__ = ["Submissions"]


class Submissions:
    """Takes the submissions of one process."""

    def __init__(self, parts: WriteParts, writer: Writer, plays: PlayReader, notes: ProfileNotes) -> None:
        stores = self._stores = parts.stores
        self._catalog = stores.catalog
        self._clock = stores.clock
        self._writer = writer
        self._retries = parts.retries
        self._plays = plays
        self._notes = notes
        self._rules = parts.rules
        self._origins = parts.origins

    async def submit(self, board: str, given: SubmissionRequest, key: str | None) -> Receipt:
        """Submit a score or an increment. When this returns, it is durable and in the rankings."""
        live = self._catalog[board]
        claim = None if key is None else submission_claim(live.id, key, given.content())
        try:
            submission = check_submission(live, given, self._clock(), ranked=True)
            submission.address = self._origins.here()
            if given.play_token is not None:
                submission.play = self._plays.read(given.play_token, live.id, submission.player, submission.received)
        except KeepscoreError:
            # A retry of what was taken in time gets its answer, although it would be refused by now.
            first = None if claim is None else await self._retries.first_answer(claim, batch=False)
            if isinstance(first, Receipt):
                return first
            raise
        request = PendingRequest([(0, submission)], [], claim, True, False, self._writer.answer(), is_ruled=live.limits is not None)
        receipt: Receipt
        try:
            receipt = await self._writer.submit(request)
        except Unanswered:
            receipt = await (await self._again([request]))[0]
        if given.profile is not None and receipt.replayed is not True:
            await self._notes.note({submission.player: given.profile})
        return receipt

    async def _again(self, requests: list[PendingRequest]) -> list[asyncio.Future[Any]]:
        """Submit requests again that another process has recorded, when it has kept the answers, or had the time to."""
        claim = requests[-1].claim
        assert claim is not None
        await self._retries.wait_for_answer(claim)
        for request in requests:
            request.answer, request.patient = self._writer.answer(), False
        return [self._writer.submit(request) for request in requests]

    async def submit_many(
        self, board: str, entries: Sequence[Entry | KeepscoreError], results: bool, backfill: bool, key: str | None
    ) -> BatchReceipt:
        """Submit a batch; the bad entries are rejected one by one."""
        check_size(entries)
        if key is not None and any(isinstance(entry, Entry) and entry.idempotency_key is not None for entry in entries):
            raise InvalidField("give an idempotency key to the batch or to its entries, not to both")
        live = self._catalog[board]
        is_ruled = live.limits is not None
        # Ranks are worked out where somebody hears of them.
        terms = EntryTerms(self._clock(), backfill, results or self._writer.announcer.tells_ranks, self._plays)
        address = self._origins.here()
        whole = PendingRequest([], [], None, results, True, self._writer.answer(), is_ruled=is_ruled)
        requests = [whole]
        turns = Turns()
        for index, entry in enumerate(entries):
            if turns.is_over():
                await turns.pass_on()
            try:
                if isinstance(entry, KeepscoreError):
                    raise entry
                submission = check_entry(live, entry, terms)
                submission.address = address
                if entry.idempotency_key is None:
                    whole.submissions.append((index, submission))
                else:
                    claim = submission_claim(live.id, entry.idempotency_key, entry)
                    own = PendingRequest([(index, submission)], [], claim, results, True, self._writer.answer(), is_ruled=is_ruled)
                    requests.append(own)
            except KeepscoreError as exc:
                whole.rejected.append(Rejection(index, exc.type, exc.detail))
        if key is not None:
            good = [entry for entry in entries if isinstance(entry, Entry)]
            whole.claim = submission_claim(live.id, key, good)
            first = None if whole.submissions else await self._retries.first_answer(whole.claim, batch=True)
            if isinstance(first, BatchReceipt):
                return first
        await asyncio.gather(*[self._writer.submit(request) for request in requests], return_exceptions=True)
        if waiting := [request for request in requests if isinstance(request.answer.exception(), Unanswered)]:
            await asyncio.gather(*await self._again(waiting), return_exceptions=True)
        answer = merged_answer(requests, results)
        if answer.replayed is not True:
            await self._note(entries, {rejection.index for rejection in answer.rejected})
        return answer

    async def _note(self, entries: Sequence[Entry | KeepscoreError], rejected: set[int]) -> None:
        """Pass on what accepted entries tell about their players."""
        told: dict[str, dict[str, str]] = {}
        for index, entry in enumerate(entries):
            if isinstance(entry, Entry) and index not in rejected and (fields := told_by(entry)):
                told.setdefault(entry.player_id, {}).update(fields)
        if told:
            await self._notes.note(told)

    async def check_many(self, board: str, entries: Sequence[Entry | KeepscoreError], backfill: bool) -> BatchReceipt:
        """Return what `submit_many` would accept and reject. Nothing is recorded."""
        check_size(entries)
        return await dry_run(self._stores, self._catalog[board], entries, DryRunTerms(backfill, self._plays, rules=self._rules))
