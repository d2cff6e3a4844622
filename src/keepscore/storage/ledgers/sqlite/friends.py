"""Who is whose friend, in SQLite."""

from __future__ import annotations

import sqlite3

from keepscore.domain.friends import FriendChange, FriendRules
from keepscore.storage.ledgers.friends import FriendStore, too_many_friends
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteFriends"]


class SqliteFriends(SqliteRole, FriendStore):
    """One row for each friend on a list."""

    async def of(self, player: str, is_mutual: bool) -> list[str]:
        return await self._connections.on_reader(lambda connection: self._of(connection, player, is_mutual))

    def _of(self, connection: sqlite3.Connection, player: str, is_mutual: bool) -> list[str]:
        query = "mutual_friends_of" if is_mutual else "friends_of"
        return [friend for (friend,) in connection.execute(self._queries[query], (player,))]

    async def change(self, change: FriendChange, rules: FriendRules, now: int) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            before = set(self._of(connection, change.player, rules.is_mutual))
            after = change.applied(before)
            new, gone = after - before, before - after
            if new and len(after) > rules.most:
                raise too_many_friends(change.player, rules.most)
            pairs = [(change.player, friend) for friend in gone]
            if rules.is_mutual:
                pairs += [(friend, change.player) for friend in gone]
            connection.executemany(self._queries["drop_friend"], pairs)
            connection.executemany(self._queries["add_friend"], [(change.player, friend, now) for friend in new])
            for friend in sorted(new) if rules.is_mutual else ():
                if len(self._of(connection, friend, True)) > rules.most:
                    raise too_many_friends(friend, rules.most)
            return sorted(after)

        return await self._connections.write(work)
