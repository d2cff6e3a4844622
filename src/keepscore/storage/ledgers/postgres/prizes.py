"""Prizes in PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.postgres.audit import PostgresAudit
from keepscore.storage.ledgers.postgres.claims import PostgresClaims
from keepscore.storage.ledgers.postgres.connections import LONG_CALL_DEADLINES, Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole
from keepscore.storage.ledgers.prizes import (
    REWARD_TOPIC,
    Granted,
    Hold,
    PrizeDecision,
    PrizePlace,
    PrizeStore,
    PrizeWindow,
    Released,
    prize_since,
    with_holds,
)

__all__ = ["PostgresPrizes"]


class PostgresPrizes(PostgresRole, PrizeStore):
    """One row for each window, hold and reward."""

    def __init__(self, connections: Connections, claims: PostgresClaims, audit: PostgresAudit) -> None:
        super().__init__(connections)
        self._claims = claims
        self._audit = audit

    async def closed_early(self) -> dict[int, dict[tuple[str, str], int]]:
        found: dict[int, dict[tuple[str, str], int]] = {}
        for board, window, window_id, at in await self._connections.read("closed_early"):
            found.setdefault(board, {})[window, window_id] = at
        return found

    async def window(self, place: PrizePlace) -> PrizeWindow | None:
        rows = await self._connections.read("prize_window", *place)
        return PrizeWindow(*rows[0]) if rows else None

    async def undecided(self, board_id: int) -> list[tuple[str, str, int]]:
        return [tuple(row) for row in await self._connections.read("undecided", board_id)]

    async def since(self, board_id: int) -> int | None:
        return prize_since(await self._connections.read("prize_versions", board_id))

    async def _transaction(self, work: Callable[[Any], Awaitable[bool]], patience: float = 1.0) -> bool:
        async def confirmed(connection: Any) -> bool:
            self._connections.check_confirmed()
            return await work(connection)

        return await self._connections.transaction(confirmed, patience)

    async def _noted(self, connection: Any, note: AuditNote, effect: Effect | None) -> None:
        await self._audit.write(connection, note)
        await self._claims.take_effect(connection, effect)

    async def close(self, place: PrizePlace, note: AuditNote, effect: Effect | None) -> bool:
        async def work(connection: Any) -> bool:
            if not await connection.fetch(self._queries["close_early"], *place, note.at, note.reason):
                return False
            await self._noted(connection, note, effect)
            return True

        return await self._transaction(work)

    async def decide(self, decision: PrizeDecision, note: AuditNote, effect: Effect | None) -> bool:
        place, at = decision.place, decision.at

        async def work(connection: Any) -> bool:
            await connection.execute(self._queries["lock_window"], place.board)
            if not await connection.fetch(self._queries["decide_window"], *place, at, decision.archive, decision.statement):
                return False
            held = {row[0] for row in await connection.fetch(self._queries["prize_holds"], *place)}
            rewards, sent = with_holds(decision, held)
            if rewards:
                await connection.execute(self._queries["add_rewards"], *place, *[list(column) for column in zip(*rewards, strict=True)])
            await self._send(connection, place.board, sent, at)
            await self._noted(connection, note, effect)
            return True

        return await self._transaction(work, LONG_CALL_DEADLINES)

    async def _send(self, connection: Any, board: int, messages: Sequence[tuple[str, str]], now: int) -> None:
        columns = [one for one, _ in messages], [message for _, message in messages]
        await connection.execute(self._queries["add_messages"], *columns, REWARD_TOPIC, board, now)

    async def holds(self, place: PrizePlace) -> dict[str, Hold]:
        return {row[0]: Hold(*row) for row in await self._connections.read("prize_holds", *place)}

    async def hold(self, place: PrizePlace, hold: Hold, note: AuditNote, effect: Effect | None) -> bool:
        async def work(connection: Any) -> bool:
            await connection.execute(self._queries["lock_window"], place.board)
            reward = await self._reward(connection, place, hold.player)
            if reward is not None:
                if not await self._withdrawn(connection, reward.id):
                    return False
                if not await connection.fetch(self._queries["hold_reward"], reward.id):
                    return False
            await connection.execute(self._queries["put_hold"], *place, *hold)
            await self._noted(connection, note, effect)
            return True

        return await self._transaction(work)

    async def release(self, place: PrizePlace, released: Released, note: AuditNote, effect: Effect | None) -> bool:
        async def work(connection: Any) -> bool:
            await connection.execute(self._queries["lock_window"], place.board)
            if not await connection.fetch(self._queries["drop_hold"], *place, released.player):
                return False
            reward = await self._reward(connection, place, released.player)
            if reward is not None and await connection.fetch(self._queries["release_reward"], reward.id):
                await self._send(connection, place.board, [(reward.id, released.message)], note.at)
            await self._noted(connection, note, effect)
            return True

        return await self._transaction(work)

    async def _reward(self, connection: Any, place: PrizePlace, player: str) -> Granted | None:
        row = await connection.fetchrow(self._queries["reward_of"], *place, player)
        return None if row is None else Granted(*row)

    async def _withdrawn(self, connection: Any, message_id: str) -> bool:
        """Take a message back that has never left; return whether there is none now. Its reward is locked first, as by whoever pays it."""
        await connection.execute(self._queries["lock_reward"], message_id)
        await connection.execute(self._queries["withdraw_message"], message_id)
        return not await connection.fetchval(self._queries["message_is_there"], message_id)

    async def rewards(self, place: PrizePlace, ranks: tuple[int, int]) -> list[Granted]:
        return [Granted(*row) for row in await self._connections.read("rewards", *place, *ranks)]

    async def reward_of(self, place: PrizePlace, player: str) -> Granted | None:
        rows = await self._connections.read("reward_of", *place, player)
        return Granted(*rows[0]) if rows else None

    async def claim(self, reward_id: str, note: AuditNote, effect: Effect | None) -> bool:
        async def work(connection: Any) -> bool:
            if not await self._withdrawn(connection, reward_id):
                return False
            if not await connection.fetch(self._queries["claim_reward"], note.at, reward_id):
                return False
            await self._noted(connection, note, effect)
            return True

        return await self._transaction(work)
