"""Idempotency keys in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from keepscore.storage.ledgers.claims import Answered, Claim, ClaimStore, DuplicateKeys, Effect, taken_over
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteClaims"]


class SqliteClaims(SqliteRole, ClaimStore):
    """One row for each key. Other roles keep answers in their own transactions, with `take_effect`, `claim_all` and `save`."""

    async def make(self, claim: Claim, owner: int, now: int) -> Answered | None:
        def work(connection: sqlite3.Connection) -> Answered | None:
            if connection.execute(self._queries["claim_first"], (*claim, now, owner)).rowcount:
                return None
            return self._known(connection, claim)

        return await self._connections.write(work)

    async def find(self, claim: Claim) -> Answered | None:
        rows = await self._connections.read("claimed_key", *claim[:3])
        return Answered(*rows[0]) if rows else None

    def _known(self, connection: sqlite3.Connection, claim: Claim) -> Answered | None:
        row = connection.execute(self._queries["claimed_key"], claim[:3]).fetchone()
        return row and Answered(*row)

    async def take_over(self, claim: Claim, owner: int, known: Answered) -> bool:
        values = (owner, *claim[:3], known.owner, known.beats)
        return bool(await self._connections.write(lambda connection: connection.execute(self._queries["take_over"], values).rowcount))

    async def beat(self, claims: Sequence[Claim], owner: int) -> None:
        values = [(*claim[:3], owner) for claim in claims]
        await self._connections.write(lambda connection: connection.executemany(self._queries["beat"], values))

    async def finish(self, claim: Claim, owner: int, answer: bytes) -> None:
        await self._connections.write(lambda connection: self._answer(connection, "finish_claim", Effect(claim, owner, answer)))

    async def give_up(self, claim: Claim, owner: int) -> None:
        await self._connections.write(lambda connection: connection.execute(self._queries["give_up"], (*claim[:3], owner)))

    def take_effect(self, connection: sqlite3.Connection, effect: Effect | None) -> None:
        """Keep the answer of a claim within the transaction that makes its effect."""
        if effect is not None:
            self._answer(connection, "take_effect", effect)

    def _answer(self, connection: sqlite3.Connection, query: str, effect: Effect) -> None:
        values = (effect.answer, *effect.claim[:3], effect.owner)
        if not connection.execute(self._queries[query], values).rowcount:
            raise taken_over(effect.claim)

    def claim_all(self, connection: sqlite3.Connection, claims: Sequence[Claim], created: int) -> None:
        """Claim keys within the transaction of their events."""
        answered = {}
        for claim in claims:
            if not connection.execute(self._queries["claim_key"], (*claim, created)).rowcount:
                known = self._known(connection, claim)
                assert known is not None
                answered[claim] = known
        if answered:
            raise DuplicateKeys(answered)

    async def save_answers(self, answers: Mapping[Claim, bytes]) -> None:
        await self._connections.write(lambda connection: self.save(connection, answers))

    def save(self, connection: sqlite3.Connection, answers: Mapping[Claim, bytes]) -> None:
        """Keep answers within the caller's transaction."""
        rows = [(answer, *claim[:3]) for claim, answer in answers.items()]
        connection.executemany(self._queries["save_answer"], rows)

    async def imported(self, board_id: int, after: str, limit: int) -> list[tuple[str, bytes]]:
        return [(key, bytes(answer)) for key, answer in await self._connections.read("imported", str(board_id), after, limit)]

    async def forget(self, before: int, limit: int) -> int:
        sql = self._queries["forget_keys"]
        return await self._connections.write(lambda connection: connection.execute(sql, (before, limit)).rowcount)
