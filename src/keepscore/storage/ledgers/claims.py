"""The role of a ledger that holds idempotency keys: who claimed one, and what was answered.

A claim is identified by its scope, a kind and a target, and the key. Submissions claim in the transaction of their events. Whatever takes
more than one transaction claims first, works, and keeps its answer in the transaction that makes the effect (`Effect`): so an answer is
there if and only if the effect is. Until the claim is finished it has an owner, the writer number of a process, which counts `beats` while
it lives. Who waits for a claim whose beats stop takes it over, and from then on the earlier owner can have no effect any more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepscore.errors import InProgress

__all__ = ["IMPORT", "MATCH", "SUBMISSION", "Answered", "AppendRefused", "Claim", "ClaimStore", "DuplicateKeys", "Effect", "taken_over"]

#: The kind of the keys of submissions and batches; their target is the number of the board.
SUBMISSION = "submission"
#: The kind of what imports have brought, which is never forgotten; the target is the number of the board.
IMPORT = "import"
#: The kind of the ids of matches, which are never forgotten; the target is the number of the board.
MATCH = "match"


class Claim(NamedTuple):
    """An idempotency key that one request claims, and what identifies that request."""

    kind: str
    target: str
    key: str
    fingerprint: bytes


class Answered(NamedTuple):
    """What is known of a claim that was made before.

    Without an owner it is finished; `answer` is None then where a process stopped between recording a submission and answering it. With
    an owner, an answer says that the effect is recorded.
    """

    fingerprint: bytes
    answer: bytes | None
    owner: int | None = None
    beats: int = 0


class Effect(NamedTuple):
    """The answer to keep in the transaction that makes the effect of a claim, if the claim is still this owner's."""

    claim: Claim
    owner: int
    answer: bytes


class AppendRefused(Exception):
    """Events were not recorded, for a reason that whoever sent them can do something about."""


class DuplicateKeys(AppendRefused):
    """Some claims of an append were made before. Nothing was recorded."""

    def __init__(self, answered: Mapping[Claim, Answered]) -> None:
        super().__init__(f"{len(answered)} idempotency keys were claimed before")
        self.answered = answered


def taken_over(claim: Claim) -> InProgress:
    """Return the error of an owner that was so slow that another process does its work."""
    return InProgress(
        f"the request with idempotency key {claim.key!r} continues in another process, because this one was too slow: send it again"
    )


class ClaimStore(ABC):
    """Idempotency keys, durable."""

    @abstractmethod
    async def make(self, claim: Claim, owner: int, now: int) -> Answered | None:
        """Claim a key for an owner; return None, or what is known where the key was claimed before."""

    @abstractmethod
    async def find(self, claim: Claim) -> Answered | None:
        """Return what is known of a claim's key, if it was claimed before."""

    @abstractmethod
    async def take_over(self, claim: Claim, owner: int, known: Answered) -> bool:
        """Make another the owner of a claim, unless something has happened to it since it was `known` so."""

    @abstractmethod
    async def beat(self, claims: Sequence[Claim], owner: int) -> None:
        """Count one beat of each claim that is still the owner's."""

    @abstractmethod
    async def finish(self, claim: Claim, owner: int, answer: bytes) -> None:
        """Finish a claim with its answer; raise InProgress where it is not the owner's any more."""

    @abstractmethod
    async def give_up(self, claim: Claim, owner: int) -> None:
        """Let go of a claim without an effect, so that its key may be used again; one with an effect stays."""

    @abstractmethod
    async def save_answers(self, answers: Mapping[Claim, bytes]) -> None:
        """Record the answers of submissions, for retries."""

    @abstractmethod
    async def imported(self, board_id: int, after: str, limit: int) -> list[tuple[str, bytes]]:
        """Return the keys of a board's imports behind a key, in their order, and the answers."""

    @abstractmethod
    async def forget(self, before: int, limit: int) -> int:
        """Forget up to `limit` keys that were claimed before a moment, but none of imports and matches; return how many."""
