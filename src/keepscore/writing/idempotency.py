"""Idempotency keys: a request that comes again, while the first one runs or later, has one effect and gets one answer.

Submissions claim their key in the transaction of their events (`Retries`). Everything else claims first (`Claims.once`), works in a task of
its own, which goes on when the client is gone, and keeps its answer in the transaction that makes the effect. Who comes meanwhile waits. If
the owner of a claim dies, whoever waits, or comes later, finds out by the answer whether there was an effect: if so, the request is
done, and else it is done now.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from keepscore.domain.results.standings import BatchReceipt, Receipt, encode
from keepscore.domain.values import check_key
from keepscore.errors import IdempotencyKeyReused, InProgress, KeepscoreError, LedgerUnavailable
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.claims import IMPORT, SUBMISSION, Answered, Claim, Effect

__all__ = ["Claims", "Keep", "Replayable", "Retries", "Unanswered", "claim_on", "fingerprint", "submission_claim"]

#: Seconds that a request waits for another one with its key.
WAIT_S = 30.0
#: Seconds between two beats of an owner, and those without a beat after which its claims are taken over.
BEAT_S, STALL_S = 2.0, 10.0
#: Seconds between two looks at a claim of another process.
POLL_S = 0.05
#: Seconds that a process has to finish its work when it stops.
STOP_S = 30.0
#: Seconds in which another process that has recorded a submission keeps the answer, unless it has died.
ANSWER_S = 2.0
#: Bytes of an answer that are kept for retries; of a larger one only the counts are.
MAX_ANSWER_BYTES = 1 << 20
#: Bytes of answers that wait to be recorded; beyond, a retry gets where the player stands.
MAX_UNSAVED_BYTES = 16 << 20
#: The kind of claims that are held while something is done alone.
TURN = "turn"

log = logging.getLogger(__name__)


class Replayable(Protocol):
    """An answer that says whether it was given before."""

    replayed: bool | msgspec.UnsetType


A = TypeVar("A", bound=Replayable)

#: Makes of an answer what the transaction that makes the effect has to keep; None for requests without a key.
Keep = Callable[[object], Effect | None]


def claim_on(kind: str, target: str, key: str | None, request: object) -> Claim | None:
    """Return what a request claims: its scope, its key, and what tells it from others."""
    if check_key(key) is None:
        return None
    return Claim(kind, target, key or "", fingerprint(request))


def submission_claim(board_id: int, key: str, request: object) -> Claim:
    """Return what a submission or a batch with an idempotency key claims."""
    return Claim(SUBMISSION, str(board_id), check_key(key) or "", fingerprint(request))


def fingerprint(request: object) -> bytes:
    """Return what tells a request from others."""
    return hashlib.blake2b(msgspec.json.encode(request, order="sorted"), digest_size=16).digest()


def _check_same(claim: Claim, known: bytes) -> None:
    if known != claim.fingerprint and claim.kind == IMPORT:
        raise IdempotencyKeyReused("this row was imported before with different content: it counts as it was")
    if known != claim.fingerprint:
        where = "on this board" if claim.kind == SUBMISSION else f"for {claim.kind} {claim.target!r}"
        raise IdempotencyKeyReused(f"idempotency key {claim.key!r} was used {where} for another request: give each request its own")


def _in_progress(claim: Claim) -> InProgress:
    if claim.kind == TURN:
        return InProgress(f"{claim.target} of others are still being carried out: send it again in a moment")
    return InProgress(f"the request with idempotency key {claim.key!r} is still running: send it again in a moment")


async def _nothing() -> None:
    return None


def _keep_nothing(_: object) -> Effect | None:
    return None


class _Running(NamedTuple):
    """A request of this process that is being worked on, or waited for."""

    claim: Claim
    #: Becomes the answer, and whether it was given before.
    task: asyncio.Task[tuple[bytes, bool]]


class Claims:
    """Does the requests of one process that are no submissions. `shared`: other processes may have claims in the ledger, too.

    `owner` is a writer number that the process got when it started. It stays the owner when the process goes on as another writer.
    """

    def __init__(self, ledger: Ledger, owner: int, shared: bool, clock: Callable[[], int]) -> None:
        self._ledger = ledger
        self._owner = owner
        self._shared = shared
        self._clock = clock
        self._running: dict[tuple[str, str, str], _Running] = {}
        self._beating: asyncio.Task[None] | None = None
        #: Who is alone in this process, and the turns that it has among all processes.
        self._locks: dict[str, asyncio.Lock] = {}
        self._turns: set[Claim] = set()

    async def stop(self, deadline: float | None = None) -> None:
        """Let work under way come to an end, by a `deadline` of the loop's clock; what does not is left to whoever asks again."""
        tasks = [running.task for running in self._running.values()]
        if tasks:
            left_s = STOP_S if deadline is None else min(STOP_S, max(0.0, deadline - asyncio.get_running_loop().time()))
            _, needs_restate = await asyncio.wait(tasks, timeout=left_s)
            for task in needs_restate:
                task.cancel()
            await asyncio.gather(*needs_restate, return_exceptions=True)
        if self._beating is not None:
            self._beating.cancel()

    async def once(
        self,
        claim: Claim | None,
        kind: type[A],
        work: Callable[[Keep], Awaitable[A]],
        recover: Callable[[], Awaitable[None]] = _nothing,
    ) -> A:
        """Return the answer of `work`, which is done once for a claim, however often and wherever this is called.

        `recover` does what is left to do where the effect is recorded, and whoever worked on it is gone. Without a claim, the work
        is just done.
        """
        if claim is None:
            return await work(_keep_nothing)
        running = self._running.get(claim[:3])
        if running is None:
            task = asyncio.create_task(self._done(claim, work, recover))
            self._running[claim[:3]] = _Running(claim, task)
            task.add_done_callback(lambda _: self._ended(claim))
            self._begin_to_beat()
            text, replayed = await asyncio.shield(task)
        else:
            _check_same(claim, running.claim.fingerprint)
            try:
                text, _ = await asyncio.wait_for(asyncio.shield(running.task), WAIT_S)
            except TimeoutError:
                raise _in_progress(claim) from None
            replayed = True
        answer = msgspec.json.decode(text, type=kind)
        if replayed:
            answer.replayed = True
        return answer

    @asynccontextmanager
    async def alone(self, what: str) -> AsyncIterator[None]:
        """Be the only one who does something, among all processes. Whoever comes meanwhile waits; a dead process loses its turn."""
        async with self._locks.setdefault(what, asyncio.Lock()):
            if not self._shared:
                yield
                return
            turn = Claim(TURN, what, "", fingerprint(what))
            await self._own(turn)
            self._turns.add(turn)
            self._begin_to_beat()
            try:
                yield
            except GeneratorExit:
                # Nothing can be awaited any more. Whoever misses the beats takes the turn.
                self._turns.discard(turn)
                raise
            except BaseException:
                await self._end(turn)
                raise
            await self._end(turn)

    async def _end(self, turn: Claim) -> None:
        self._turns.discard(turn)
        with suppress(LedgerUnavailable):
            await self._ledger.claims.give_up(turn, self._owner)

    def _begin_to_beat(self) -> None:
        if self._shared and (self._beating is None or self._beating.done()):
            self._beating = asyncio.create_task(self._beat())

    def _ended(self, claim: Claim) -> None:
        task = self._running.pop(claim[:3]).task
        if not task.cancelled() and (error := task.exception()) and not isinstance(error, KeepscoreError):
            # Whoever asked may be gone.
            log.warning("the request with idempotency key %r failed: %r", claim.key, error)

    async def _done(self, claim: Claim, work: Callable[[Keep], Awaitable[A]], recover: Callable[[], Awaitable[None]]) -> tuple[bytes, bool]:
        known = await self._own(claim)
        if known is None:
            return await self._work(claim, work), False
        assert known.answer is not None
        if known.owner is not None:
            await recover()
            await self._finish(claim, known.answer)
        return known.answer, True

    async def _own(self, claim: Claim) -> Answered | None:
        """Become the owner of a claim that has no answer, which is None; or wait for the answer, or for what has become of its owner."""
        time = asyncio.get_running_loop().time
        begun = changed = time()
        seen: Answered | None = None
        while (
            known := await self._ledger.claims.make(claim, self._owner, self._clock())
            if seen is None
            else await self._ledger.claims.find(claim)
        ):
            _check_same(claim, known.fingerprint)
            if known.owner is None:
                return known
            if seen is None or known[2:] != seen[2:]:
                changed = time()
            seen = known
            is_free = known.owner == self._owner or not self._shared or time() - changed >= STALL_S
            if is_free and await self._ledger.claims.take_over(claim, self._owner, known):
                return None if known.answer is None else known
            if time() - begun >= WAIT_S:
                raise _in_progress(claim)
            await asyncio.sleep(POLL_S)
        # Where it was seen, it has been given up meanwhile.
        return None if seen is None else await self._own(claim)

    async def _work(self, claim: Claim, work: Callable[[Keep], Awaitable[A]]) -> bytes:
        try:
            answer = encode(await work(lambda answer: Effect(claim, self._owner, encode(answer))))
        except Exception:
            # One that was refused does not use its key up. Where this fails, or there was an effect, the next one finds out.
            with suppress(LedgerUnavailable):
                await self._ledger.claims.give_up(claim, self._owner)
            raise
        await self._finish(claim, answer)
        return answer

    async def _finish(self, claim: Claim, answer: bytes) -> None:
        try:
            await self._ledger.claims.finish(claim, self._owner, answer)
        except (LedgerUnavailable, InProgress) as exc:
            # The effect is there, and its answer with it; whoever asks again finishes the claim.
            log.warning("the request with idempotency key %r is done, and not finished in the ledger: %s", claim.key, exc)

    async def _beat(self) -> None:
        """Show that this process lives as long as it works on something."""
        while self._running or self._turns:
            await asyncio.sleep(BEAT_S)
            if claims := [*(running.claim for running in self._running.values()), *self._turns]:
                with suppress(LedgerUnavailable):
                    await self._ledger.claims.beat(claims, self._owner)


class Unanswered(Exception):
    """A submission was recorded by another process, which has not kept its answer yet."""


class Retries:
    """The answers to submissions of one process. Each is recorded with the next transaction, as its ranks are known only after its own."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        #: Answers that the next transaction records, and how many bytes they are.
        self._unsaved: dict[Claim, bytes] = {}
        self._unsaved_bytes = 0

    def unsaved(self) -> dict[Claim, bytes]:
        """Return the answers that a transaction is to record."""
        return dict(self._unsaved)

    def saved(self, answers: dict[Claim, bytes]) -> None:
        """Forget answers that a transaction has recorded."""
        for claim, text in answers.items():
            if self._unsaved.get(claim) is text:
                self._drop(claim)

    def _drop(self, claim: Claim) -> None:
        self._unsaved_bytes -= len(self._unsaved.pop(claim, b""))

    def forget(self) -> None:
        """Forget what is not recorded: the ledger came back older, and may know nothing of the requests."""
        self._unsaved.clear()
        self._unsaved_bytes = 0

    async def save(self) -> None:
        """Record what no transaction has recorded yet."""
        if answers := self.unsaved():
            try:
                await self._ledger.claims.save_answers(answers)
            except Exception as exc:
                # A retry then gets where the player stands by then, not the first answer.
                log.warning("answers for retries were not kept: %s", exc)
            self.saved(answers)

    def keep(self, claim: Claim, answer: object) -> None:
        """Remember the answer of a request."""
        text = encode(answer)
        if len(text) > MAX_ANSWER_BYTES and isinstance(answer, BatchReceipt):
            text = encode(BatchReceipt(answer.accepted, answer.rejected))
        self._drop(claim)
        if self._unsaved_bytes + len(text) <= MAX_UNSAVED_BYTES:
            self._unsaved[claim] = text
            self._unsaved_bytes += len(text)

    def is_answered(self, claim: Claim, known: Answered) -> bool:
        """Return whether the answer to a request is known, or it is clear that it gets none."""
        return known.answer is not None or claim in self._unsaved or known.fingerprint != claim.fingerprint

    async def wait_for_answer(self, claim: Claim) -> None:
        """Wait until another process has kept the answer of a claim, or has had the time to."""
        time = asyncio.get_running_loop().time
        begun = time()
        while time() - begun < ANSWER_S:
            known = await self._ledger.claims.find(claim)
            if known is None or known.answer is not None:
                return
            await asyncio.sleep(POLL_S)

    def answer(self, claim: Claim, known: Answered, batch: bool) -> Receipt | BatchReceipt | None:
        """Return the first answer to a request whose key was claimed before, unless the process stopped before it answered."""
        _check_same(claim, known.fingerprint)
        text = known.answer or self._unsaved.get(claim)
        if text is None:
            return None
        answer: Receipt | BatchReceipt
        answer = msgspec.json.decode(text, type=BatchReceipt) if batch else msgspec.json.decode(text, type=Receipt)
        answer.replayed = True
        return answer

    async def first_answer(self, claim: Claim, batch: bool) -> Receipt | BatchReceipt | None:
        """Return the answer that a request with this key got before, if it did."""
        # Before the ledger is asked: it may be saved, and forgotten here, while the ledger answers.
        unsaved = self._unsaved.get(claim)
        known = await self._ledger.claims.find(claim)
        if known is None or known.fingerprint != claim.fingerprint:
            return None
        return self.answer(claim, known._replace(answer=known.answer or unsaved), batch)
