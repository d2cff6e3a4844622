"""Players who are erased, in SQLite."""

from __future__ import annotations

import sqlite3

import msgspec

from keepscore.domain.erasure import ERASED, Renaming
from keepscore.storage.ledgers.erasure import BoardErasure, ErasureStore, KeptAnswer, changed_answer
from keepscore.storage.ledgers.sqlite.connections import SqliteConnections
from keepscore.storage.ledgers.sqlite.events import SqliteEvents
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteErasure"]

#: The queries that rename or remove a player's rows of one board, beside events.
_ON_BOARD = (
    *("erase_archived", "erase_standings", "erase_openings", "erase_queue", "erase_appeals", "erase_holds"),
    *("erase_messages", "erase_rewards", "erase_seasons", "erase_attempts", "erase_addresses"),
)


class SqliteErasure(SqliteRole, ErasureStore):
    """Renames and removes rows of all tables."""

    def __init__(self, connections: SqliteConnections, events: SqliteEvents) -> None:
        super().__init__(connections)
        self._events = events

    async def boards(self) -> list[int]:
        return [number for (number,) in await self._connections.read("erasure_boards")]

    async def knows(self, player: str) -> bool:
        return await self._says("erasure_knows", {"player": player})

    async def has_archived(self, board_id: int, player: str) -> bool:
        return await self._says("erasure_has_archived", {"board": board_id, "player": player})

    async def _says(self, query: str, values: dict[str, object]) -> bool:
        sql = self._queries[query]
        return bool(await self._connections.on_reader(lambda connection: connection.execute(sql, values).fetchone()[0]))

    async def rewards_due(self, player: str) -> int:
        ((count,),) = await self._connections.read("erasure_rewards_due", player)
        return int(count)

    async def rename(self, erasure: BoardErasure) -> None:
        board, who = erasure.board, erasure.who
        quoted = ['"player_id":' + msgspec.json.encode(name).decode() for name in who]
        values = {"board": board, **who._asdict(), "erased": ERASED, "old": quoted[0], "new": quoted[1]}

        def work(connection: sqlite3.Connection) -> None:
            events = self._rename_events(connection, board, who)
            self._rename_in_others(connection, erasure)
            for name in _ON_BOARD:
                connection.execute(self._queries[name], values)
            connection.execute(self._queries["put_value"], erasure.note)
            if events:
                self._events.index_anew(connection)

        try:
            await self._connections.write_confirmed(work)
        except BaseException:
            # What is kept in memory may be that of a transaction that did not come to be.
            await self._events.load()
            raise

    def _rename_events(self, connection: sqlite3.Connection, board: int, who: Renaming) -> int:
        found = self._events.found_in(connection, board, [who.player])[who.player]
        rows = []
        for event in found:
            metadata = _encoded(who.metadata(event.kind, event.metadata))
            rows.append((who.pseudonym, who.game_id(event.kind, event.game_id), metadata, board, event.writer, event.n))
        connection.executemany(self._queries["erase_event"], rows)
        connection.execute(self._queries["erase_indexed"], (board, who.player))
        connection.executemany(self._queries["index_event"], [(board, who.pseudonym, event.writer, event.n) for event in found])
        return len(found)

    def _rename_in_others(self, connection: sqlite3.Connection, erasure: BoardErasure) -> None:
        board, who = erasure.board, erasure.who
        for own in self._events.found_in(connection, board, erasure.others).values():
            changed = [(who.renamed(event.metadata), event) for event in own if event.metadata is not None]
            rows = [(_encoded(new), board, event.writer, event.n) for new, event in changed if new != event.metadata]
            connection.executemany(self._queries["erase_named"], rows)

    async def tidy(self, board_id: int, who: Renaming) -> None:
        values = {"board": board_id, **who._asdict()}

        def work(connection: sqlite3.Connection) -> None:
            for name in ("erase_archived", "drop_states_of"):
                connection.execute(self._queries[name], values)

        await self._connections.write_confirmed(work)

    async def forget(self, who: Renaming) -> None:
        named, sql = {"player": who.player, "quoted": msgspec.json.encode(who.player).decode()}, self._queries["answers_that_name"]
        # All keys are looked at, while others write.
        rows = await self._connections.on_reader(lambda connection: connection.execute(sql, named).fetchall())

        def work(connection: sqlite3.Connection) -> None:
            for name in ("erase_profile", "erase_friends", "erase_invite_tries"):
                connection.execute(self._queries[name], (who.player,))
            for row in rows:
                kept = KeptAnswer(*row)
                answer = changed_answer(kept, who)
                if answer is None:
                    connection.execute(self._queries["drop_answer"], kept[:3])
                else:
                    connection.execute(self._queries["erase_answer"], (answer, *kept[:3]))

        await self._connections.write_confirmed(work)


def _encoded(metadata: object) -> bytes | None:
    return None if metadata is None else msgspec.json.encode(metadata, order="sorted")
