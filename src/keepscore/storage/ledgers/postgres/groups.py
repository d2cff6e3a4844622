"""Private groups in PostgreSQL."""

from __future__ import annotations

from typing import Any

from keepscore.domain.groups import GroupCaps, TryLimit
from keepscore.storage.ledgers.claims import Effect
from keepscore.storage.ledgers.groups import GroupRecord, GroupStore, full_group, no_group, too_many_groups, too_many_tries
from keepscore.storage.ledgers.postgres.claims import PostgresClaims
from keepscore.storage.ledgers.postgres.connections import Connections
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresGroups"]


class PostgresGroups(PostgresRole, GroupStore):
    """One row for each group, and for each member. Changes wait for each other: caps count what others add, too."""

    def __init__(self, connections: Connections, claims: PostgresClaims) -> None:
        super().__init__(connections)
        self._claims = claims

    async def add(self, group: GroupRecord, caps: GroupCaps, effect: Effect | None = None) -> None:
        async def work(connection: Any) -> None:
            await connection.execute(self._queries["hold_groups"])
            if await connection.fetchval(self._queries["group_count"]) >= caps.groups:
                raise too_many_groups(caps.groups)
            await self._check_player(connection, group.owner, caps)
            await connection.execute(self._queries["add_group"], *group)
            await connection.execute(self._queries["join_group"], group.id, group.owner, group.created)
            await self._claims.take_effect(connection, effect)

        await self._connections.transaction(work)

    async def _check_player(self, connection: Any, player: str, caps: GroupCaps) -> None:
        if await connection.fetchval(self._queries["groups_of_player_count"], player) >= caps.of_player:
            raise too_many_groups(caps.of_player, player)

    async def find(self, group_id: str) -> GroupRecord | None:
        rows = await self._connections.read("group_by_id", group_id)
        return GroupRecord(*rows[0]) if rows else None

    async def find_by_code(self, code: str, player: str, limit: TryLimit, now: int) -> GroupRecord | None:
        async def work(connection: Any) -> GroupRecord | None:
            await connection.execute(self._queries["hold_groups"])
            await connection.execute(self._queries["forget_invite_tries"], player, now - limit.within_ms)
            tries, first = await connection.fetchrow(self._queries["invite_tries"], player)
            if tries >= limit.most:
                raise too_many_tries(player, limit, first + limit.within_ms - now)
            row = await connection.fetchrow(self._queries["group_by_code"], code)
            if row is None:
                await connection.execute(self._queries["add_invite_try"], player, now)
                return None
            return GroupRecord(*row)

        return await self._connections.transaction(work)

    async def members(self, group_id: str) -> list[str]:
        return [player for (player,) in await self._connections.read("group_members", group_id)]

    async def of(self, player: str) -> list[tuple[GroupRecord, int]]:
        return [(GroupRecord(*row[:-1]), row[-1]) for row in map(tuple, await self._connections.read("groups_of_player", player))]

    async def join(self, group_id: str, player: str, caps: GroupCaps, now: int) -> None:
        async def work(connection: Any) -> None:
            await connection.execute(self._queries["hold_groups"])
            if await connection.fetchrow(self._queries["group_by_id"], group_id) is None:
                raise no_group(group_id)
            if await connection.fetchrow(self._queries["group_member"], group_id, player) is not None:
                return
            if await connection.fetchval(self._queries["group_size"], group_id) >= caps.members:
                raise full_group(caps.members)
            await self._check_player(connection, player, caps)
            await connection.execute(self._queries["join_group"], group_id, player, now)

        await self._connections.transaction(work)

    async def leave(self, group_id: str, player: str) -> bool:
        async def work(connection: Any) -> bool:
            await connection.execute(self._queries["hold_groups"])
            row = await connection.fetchrow(self._queries["group_by_id"], group_id)
            if row is None or await connection.execute(self._queries["leave_group"], group_id, player) == "DELETE 0":
                return False
            next_owner = await connection.fetchval(self._queries["group_members"], group_id)
            if next_owner is None:
                await connection.execute(self._queries["drop_group"], group_id)
            elif GroupRecord(*row).owner == player:
                await connection.execute(self._queries["set_group_owner"], next_owner, group_id)
            return True

        return await self._connections.transaction(work)

    async def set_code(self, group_id: str, code: str) -> None:
        await self._connections.write(lambda connection: connection.execute(self._queries["set_group_code"], code, group_id))

    async def drop(self, group_id: str) -> None:
        async def work(connection: Any) -> None:
            await connection.execute(self._queries["hold_groups"])
            await connection.execute(self._queries["drop_group_members"], group_id)
            await connection.execute(self._queries["drop_group"], group_id)

        await self._connections.transaction(work)
