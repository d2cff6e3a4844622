"""Private groups in SQLite."""

from __future__ import annotations

import sqlite3

from keepscore.domain.groups import GroupCaps, TryLimit
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.groups import GroupRecord, GroupStore, full_group, no_group, too_many_groups, too_many_tries
from keepscore.storage.ledgers.sqlite.claims import SqliteClaims
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteGroups"]


class SqliteGroups(SqliteRole, GroupStore):
    """One row for each group, and for each member."""

    def __init__(self, connections: SqliteConnections, claims: SqliteClaims) -> None:
        super().__init__(connections)
        self._claims = claims

    async def add(self, group: GroupRecord, caps: GroupCaps, effect: Effect | None = None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if self._value(connection, "group_count") >= caps.groups:
                raise too_many_groups(caps.groups)
            self._check_player(connection, group.owner, caps)
            connection.execute(self._queries["add_group"], group)
            connection.execute(self._queries["join_group"], (group.id, group.owner, group.created))
            self._claims.take_effect(connection, effect)

        await self._connections.write(work)

    def _value(self, connection: sqlite3.Connection, query: str, *values: object) -> int:
        return int(connection.execute(self._queries[query], values).fetchone()[0])

    def _check_player(self, connection: sqlite3.Connection, player: str, caps: GroupCaps) -> None:
        if self._value(connection, "groups_of_player_count", player) >= caps.of_player:
            raise too_many_groups(caps.of_player, player)

    async def find(self, group_id: str) -> GroupRecord | None:
        rows = await self._connections.read("group_by_id", group_id)
        return GroupRecord(*rows[0]) if rows else None

    async def find_by_code(self, code: str, player: str, limit: TryLimit, now: int) -> GroupRecord | None:
        def work(connection: sqlite3.Connection) -> GroupRecord | None:
            connection.execute(self._queries["forget_invite_tries"], (player, now - limit.within_ms))
            tries, first = connection.execute(self._queries["invite_tries"], (player,)).fetchone()
            if tries >= limit.most:
                raise too_many_tries(player, limit, first + limit.within_ms - now)
            row = connection.execute(self._queries["group_by_code"], (code,)).fetchone()
            if row is None:
                connection.execute(self._queries["add_invite_try"], (player, now))
                return None
            return GroupRecord(*row)

        return await self._connections.write(work)

    async def members(self, group_id: str) -> list[str]:
        return [player for (player,) in await self._connections.read("group_members", group_id)]

    async def of(self, player: str) -> list[tuple[GroupRecord, int]]:
        return [(GroupRecord(*row[:-1]), row[-1]) for row in await self._connections.read("groups_of_player", player)]

    async def join(self, group_id: str, player: str, caps: GroupCaps, now: int) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if connection.execute(self._queries["group_by_id"], (group_id,)).fetchone() is None:
                raise no_group(group_id)
            if connection.execute(self._queries["group_member"], (group_id, player)).fetchone() is not None:
                return
            if self._value(connection, "group_size", group_id) >= caps.members:
                raise full_group(caps.members)
            self._check_player(connection, player, caps)
            connection.execute(self._queries["join_group"], (group_id, player, now))

        await self._connections.write(work)

    async def leave(self, group_id: str, player: str) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            row = connection.execute(self._queries["group_by_id"], (group_id,)).fetchone()
            if row is None or not connection.execute(self._queries["leave_group"], (group_id, player)).rowcount:
                return False
            next_owner = connection.execute(self._queries["group_members"], (group_id,)).fetchone()
            if next_owner is None:
                connection.execute(self._queries["drop_group"], (group_id,))
            elif GroupRecord(*row).owner == player:
                connection.execute(self._queries["set_group_owner"], (next_owner[0], group_id))
            return True

        return await self._connections.write(work)

    async def set_code(self, group_id: str, code: str) -> None:
        await self._connections.write(lambda connection: connection.execute(self._queries["set_group_code"], (code, group_id)))

    async def drop(self, group_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self._queries["drop_group_members"], (group_id,))
            connection.execute(self._queries["drop_group"], (group_id,))

        await self._connections.write(work)
