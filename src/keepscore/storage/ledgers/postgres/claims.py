"""Idempotency keys in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keepscore.storage.ledgers.claims import Answered, Claim, ClaimStore, Effect, taken_over
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresClaims", "answer_columns"]


class PostgresClaims(PostgresRole, ClaimStore):
    """One row for each key. Other roles keep answers in their own transactions, with `take_effect`."""

    async def make(self, claim: Claim, owner: int, now: int) -> Answered | None:
        async def work(connection: Any) -> Answered | None:
            # It may have been given up between the two.
            while not await connection.fetchval(self._queries["claim_first"], *claim, now, owner):
                if rows := await connection.fetch(self._queries["claimed_key"], *claim[:3]):
                    return Answered(*rows[0])
            return None

        return await self._connections.write(work)

    async def find(self, claim: Claim) -> Answered | None:
        rows = await self._connections.read("claimed_key", *claim[:3])
        return Answered(*rows[0]) if rows else None

    async def take_over(self, claim: Claim, owner: int, known: Answered) -> bool:
        values = (owner, *claim[:3], known.owner, known.beats)
        return bool(await self._connections.write(lambda connection: connection.fetchval(self._queries["take_over"], *values)))

    async def beat(self, claims: Sequence[Claim], owner: int) -> None:
        columns = _columns(claims)
        await self._connections.write(lambda connection: connection.execute(self._queries["beat"], *columns, owner))

    async def finish(self, claim: Claim, owner: int, answer: bytes) -> None:
        effect = Effect(claim, owner, answer)
        await self._connections.write(lambda connection: self._answer(connection, "finish_claim", effect))

    async def give_up(self, claim: Claim, owner: int) -> None:
        await self._connections.write(lambda connection: connection.execute(self._queries["give_up"], *claim[:3], owner))

    async def take_effect(self, connection: Any, effect: Effect | None) -> None:
        """Keep the answer of a claim within the transaction that makes its effect."""
        if effect is not None:
            await self._answer(connection, "take_effect", effect)

    async def _answer(self, connection: Any, query: str, effect: Effect) -> None:
        if not await connection.fetchval(self._queries[query], effect.answer, *effect.claim[:3], effect.owner):
            raise taken_over(effect.claim)

    async def save_answers(self, answers: Mapping[Claim, bytes]) -> None:
        columns = answer_columns(answers)
        await self._connections.write(lambda connection: connection.execute(self._queries["save_answers"], *columns))

    async def imported(self, board_id: int, after: str, limit: int) -> list[tuple[str, bytes]]:
        return [(key, bytes(answer)) for key, answer in await self._connections.read("imported", str(board_id), after, limit)]

    async def forget(self, before: int, limit: int) -> int:
        return len(await self._connections.write(lambda connection: connection.fetch(self._queries["forget_keys"], before, limit)))


def _columns(claims: Iterable[Claim]) -> list[list[Any]]:
    """Return kinds, targets and keys."""
    return [list(column) for column in zip(*[claim[:3] for claim in claims], strict=True)] or [[], [], []]


def answer_columns(answers: Mapping[Claim, bytes]) -> list[list[Any]]:
    """Return kinds, targets, keys and answers."""
    return [*_columns(answers), list(answers.values())]
