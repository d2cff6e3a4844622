"""Players who are erased, in PostgreSQL."""

from __future__ import annotations

from typing import Any

import msgspec

from keepscore.domain.erasure import Renaming
from keepscore.storage.ledgers.erasure import BoardErasure, ErasureStore, KeptAnswer, changed_answer
from keepscore.storage.ledgers.postgres.connections import LONG_CALL_DEADLINES
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresErasure"]

#: The queries that rename a player's rows of one board, beside events and messages, and those that remove some.
_RENAMES = (
    *("erase_archived", "erase_standings", "erase_openings", "erase_queue", "erase_appeals", "erase_holds"),
    *("erase_rewards", "erase_seasons"),
)
_REMOVALS = "erase_attempts", "erase_addresses"


class PostgresErasure(PostgresRole, ErasureStore):
    """Renames and removes rows of all tables."""

    async def boards(self) -> list[int]:
        return [number for (number,) in await self._connections.read("erasure_boards")]

    async def knows(self, player: str) -> bool:
        ((found,),) = await self._connections.read("erasure_knows", player, patience=LONG_CALL_DEADLINES)
        return bool(found)

    async def has_archived(self, board_id: int, player: str) -> bool:
        ((found,),) = await self._connections.read("erasure_has_archived", board_id, player, patience=LONG_CALL_DEADLINES)
        return bool(found)

    async def rewards_due(self, player: str) -> int:
        ((count,),) = await self._connections.read("erasure_rewards_due", player)
        return int(count)

    async def rename(self, erasure: BoardErasure) -> None:
        board, who = erasure.board, erasure.who
        quoted = ['"player_id":' + msgspec.json.encode(name).decode() for name in who]

        async def work(connection: Any) -> None:
            self._connections.check_confirmed()
            await self._rename_events(connection, board, who)
            await self._rename_in_others(connection, erasure)
            await connection.execute(self._queries["erase_messages"], board, who.player, *quoted)
            for name in _RENAMES:
                await connection.execute(self._queries[name], board, *who)
            for name in _REMOVALS:
                await connection.execute(self._queries[name], board, who.player)
            await connection.execute(self._queries["put_value"], *erasure.note)

        await self._connections.transaction(work, LONG_CALL_DEADLINES)

    async def _rename_events(self, connection: Any, board: int, who: Renaming) -> None:
        rows = []
        for _, writer, n, received, kind, game_id, text in await connection.fetch(self._queries["events_to_erase"], board, [who.player]):
            metadata = who.metadata(kind, None if text is None else msgspec.json.decode(text))
            rows.append((writer, n, received, who.game_id(kind, game_id), _encoded(metadata)))
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            await connection.execute(self._queries["erase_events"], board, who.pseudonym, *columns)

    async def _rename_in_others(self, connection: Any, erasure: BoardErasure) -> None:
        board, who, rows = erasure.board, erasure.who, []
        found = await connection.fetch(self._queries["events_to_erase"], board, list(erasure.others)) if erasure.others else []
        for _, writer, n, received, _, _, text in found:
            metadata = None if text is None else msgspec.json.decode(text)
            if (new := who.renamed(metadata)) != metadata:
                rows.append((writer, n, received, _encoded(new)))
        if rows:
            await connection.execute(self._queries["erase_named"], board, *[list(column) for column in zip(*rows, strict=True)])

    async def tidy(self, board_id: int, who: Renaming) -> None:
        async def work(connection: Any) -> None:
            self._connections.check_confirmed()
            await connection.execute(self._queries["erase_archived"], board_id, *who)
            await connection.execute(self._queries["drop_states_of"], board_id, who.player)

        await self._connections.transaction(work, LONG_CALL_DEADLINES)

    async def forget(self, who: Renaming) -> None:
        named = who.player, msgspec.json.encode(who.player)
        # All keys are looked at, while others write.
        rows = await self._connections.read("answers_that_name", *named, patience=LONG_CALL_DEADLINES)

        async def work(connection: Any) -> None:
            self._connections.check_confirmed()
            for name in ("erase_profile", "erase_friends", "erase_invite_tries"):
                await connection.execute(self._queries[name], who.player)
            for row in rows:
                kept = KeptAnswer(*row)
                answer = changed_answer(kept, who)
                if answer is None:
                    await connection.execute(self._queries["drop_answer"], *kept[:3])
                else:
                    await connection.execute(self._queries["erase_answer"], answer, *kept[:3])

        await self._connections.transaction(work, LONG_CALL_DEADLINES)


def _encoded(metadata: object) -> str | None:
    return None if metadata is None else msgspec.json.encode(metadata, order="sorted").decode()
