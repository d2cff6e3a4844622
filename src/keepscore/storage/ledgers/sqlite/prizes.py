"""Prizes in SQLite."""

from __future__ import annotations

import sqlite3

from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.claims import Effect
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
from keepscore.storage.ledgers.sqlite.audit import SqliteAudit
from keepscore.storage.ledgers.sqlite.claims import SqliteClaims
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.inserts import insert
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqlitePrizes"]


class SqlitePrizes(SqliteRole, PrizeStore):
    """One row for each window, hold and reward."""

    def __init__(self, connections: SqliteConnections, claims: SqliteClaims, audit: SqliteAudit) -> None:
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

    async def close(self, place: PrizePlace, note: AuditNote, effect: Effect | None) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            row = *place, note.at, note.reason
            if not connection.execute(self._queries["close_early"], row).rowcount:
                return False
            self._noted(connection, note, effect)
            return True

        return await self._connections.write_confirmed(work)

    def _noted(self, connection: sqlite3.Connection, note: AuditNote, effect: Effect | None) -> None:
        self._audit.write(connection, note)
        self._claims.take_effect(connection, effect)

    async def decide(self, decision: PrizeDecision, note: AuditNote, effect: Effect | None) -> bool:
        place = decision.place

        def work(connection: sqlite3.Connection) -> bool:
            row = *place, decision.at, decision.archive, decision.statement
            if not connection.execute(self._queries["decide_window"], row).rowcount:
                return False
            held = {player for player, *_ in connection.execute(self._queries["prize_holds"], place)}
            rewards, sent = with_holds(decision, held)
            insert(connection, self._queries["add_reward"], [(*place, *reward) for reward in rewards])
            self._send(connection, place.board, sent, decision.at)
            self._noted(connection, note, effect)
            return True

        return await self._connections.write_confirmed(work)

    def _send(self, connection: sqlite3.Connection, board: int, messages: list[tuple[str, str]], now: int) -> None:
        insert(connection, self._queries["add_message"], [(one, REWARD_TOPIC, board, message, now, now) for one, message in messages])

    async def holds(self, place: PrizePlace) -> dict[str, Hold]:
        return {row[0]: Hold(*row) for row in await self._connections.read("prize_holds", *place)}

    async def hold(self, place: PrizePlace, hold: Hold, note: AuditNote, effect: Effect | None) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            reward = self._reward(connection, place, hold.player)
            if reward is not None:
                if not self._withdrawn(connection, reward.id):
                    return False
                if not connection.execute(self._queries["hold_reward"], (reward.id,)).rowcount:
                    return False
            connection.execute(self._queries["put_hold"], (*place, *hold))
            self._noted(connection, note, effect)
            return True

        return await self._connections.write_confirmed(work)

    async def release(self, place: PrizePlace, released: Released, note: AuditNote, effect: Effect | None) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if not connection.execute(self._queries["drop_hold"], (*place, released.player)).rowcount:
                return False
            reward = self._reward(connection, place, released.player)
            if reward is not None and connection.execute(self._queries["release_reward"], (reward.id,)).rowcount:
                self._send(connection, place.board, [(reward.id, released.message)], note.at)
            self._noted(connection, note, effect)
            return True

        return await self._connections.write_confirmed(work)

    def _reward(self, connection: sqlite3.Connection, place: PrizePlace, player: str) -> Granted | None:
        row = connection.execute(self._queries["reward_of"], (*place, player)).fetchone()
        return None if row is None else Granted(*row)

    def _withdrawn(self, connection: sqlite3.Connection, message_id: str) -> bool:
        """Take a message back that has never left; return whether there is none now."""
        connection.execute(self._queries["withdraw_message"], (message_id,))
        return not connection.execute(self._queries["message_is_there"], (message_id,)).fetchone()[0]

    async def rewards(self, place: PrizePlace, ranks: tuple[int, int]) -> list[Granted]:
        return [Granted(*row) for row in await self._connections.read("rewards", *place, *ranks)]

    async def reward_of(self, place: PrizePlace, player: str) -> Granted | None:
        rows = await self._connections.read("reward_of", *place, player)
        return Granted(*rows[0]) if rows else None

    async def claim(self, reward_id: str, note: AuditNote, effect: Effect | None) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if not self._withdrawn(connection, reward_id):
                return False
            if not connection.execute(self._queries["claim_reward"], (note.at, reward_id)).rowcount:
                return False
            self._noted(connection, note, effect)
            return True

        return await self._connections.write_confirmed(work)
