"""Who did what, in both ledgers."""

import json

from keepscore.domain.boards import Board
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger

SQL = "SELECT at, who, action, board, detail FROM audit ORDER BY id"


async def noted(ledger):
    if isinstance(ledger, SqliteLedger):
        rows = await ledger.identity.on_writer(lambda connection: connection.execute(SQL).fetchall())
    else:
        rows = await ledger.identity.write(lambda connection: connection.fetch(SQL))
    return [(*row[:4], json.loads(row[4])) for row in map(tuple, rows)]


async def test_what_was_done_is_noted_with_who_did_it(place):
    ledger = place()
    who = f"writer {await ledger.open(0)}"
    try:
        await ledger.audit.note("revise", "b", {"reason": "Ünï", "number": 2}, 5)
        assert await noted(ledger) == [(5, who, "revise", "b", {"reason": "Ünï", "number": 2})]
    finally:
        await ledger.close()


async def test_definitions_are_noted_as_they_are_recorded(ledger):
    record = await ledger.boards.put(Board("b"), True, 1)
    await ledger.boards.put(Board("b", max_score=5), True, 2, 1, "reset")
    await ledger.boards.delete("b", 3)
    await ledger.boards.delete("unknown", 4)
    assert [(at, action, board, detail) for at, _, action, board, detail in await noted(ledger)] == [
        (1, "put_board", "b", {"id": record.id, "version": 1}),
        (2, "reset", "b", {"id": record.id, "version": 2}),
        (3, "delete_board", "b", {"id": record.id, "version": 2}),
    ]
