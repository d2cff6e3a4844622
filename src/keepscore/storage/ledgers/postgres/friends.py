"""Who is whose friend, in PostgreSQL."""

from __future__ import annotations

from typing import Any

from keepscore.domain.friends import FriendChange, FriendRules
from keepscore.storage.ledgers.friends import FriendStore, too_many_friends
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresFriends"]


class PostgresFriends(PostgresRole, FriendStore):
    """One row for each friend on a list."""

    async def of(self, player: str, is_mutual: bool) -> list[str]:
        return [friend for (friend,) in await self._connections.read(_query(is_mutual), player)]

    async def change(self, change: FriendChange, rules: FriendRules, now: int) -> list[str]:
        async def work(connection: Any) -> list[str]:
            await connection.execute(self._queries["hold_friends"], change.player)
            found = await connection.fetch(self._queries[_query(rules.is_mutual)], change.player)
            before = {friend for (friend,) in found}
            after = change.applied(before)
            new, gone = sorted(after - before), sorted(before - after)
            if new and len(after) > rules.most:
                raise too_many_friends(change.player, rules.most)
            if gone:
                query = "drop_mutual_friends" if rules.is_mutual else "drop_friends"
                await connection.execute(self._queries[query], change.player, gone)
            if new:
                await connection.execute(self._queries["add_friends"], change.player, new, now)
            if new and rules.is_mutual:
                full = await connection.fetchval(self._queries["befriended_most"], new, rules.most)
                if full is not None:
                    raise too_many_friends(full, rules.most)
            return sorted(after)

        return await self._connections.transaction(work)


def _query(is_mutual: bool) -> str:
    return "mutual_friends_of" if is_mutual else "friends_of"
