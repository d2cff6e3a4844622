"""Who did what, in both ledgers: noted with the change, chained, and whatever is changed with SQL is found."""

import asyncio
import json
import multiprocessing

import msgspec
import pytest

from keepscore.domain.actors import Actor, acting
from keepscore.domain.boards import Board
from keepscore.domain.results.audit import AuditPage
from keepscore.errors import KeepscoreError, LedgerUnavailable
from keepscore.fairplay.audit import Audit
from keepscore.storage.ledgers.audit import AuditFilter, AuditNote
from keepscore.storage.ledgers.keys import KeyRecord
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger

END = 1 << 62


async def noted(ledger):
    found = await ledger.audit.chunk(0, END, 1000)
    return [(e.at, e.actor, e.address, e.action, e.board, e.reason, json.loads(e.detail)) for e in found]


async def tamper(ledger, *statements):
    """Do what somebody with access to the database can do."""
    if isinstance(ledger, SqliteLedger):
        triggers = ["is_chained", "is_not_changed", "is_not_removed"]

        def work(connection):
            for sql in (*(f"DROP TRIGGER IF EXISTS audit_{name}" for name in triggers), *statements):
                connection.execute(sql)

        return await ledger.identity.on_writer(work)

    async def change(connection):
        for sql in ("ALTER TABLE audit DISABLE TRIGGER ALL", *statements):
            await connection.execute(sql)

    return await ledger.identity.write(change)


async def check(ledger):
    found = await Audit(ledger.audit).verify()
    assert found.ok is (found.broken is None)
    return found


async def test_what_was_done_is_noted_with_who_did_it(place):
    ledger = place()
    who = f"local writer {await ledger.open(0)}"
    try:
        await ledger.audit.note("revise", "b", {"number": 2, "name": "Ünï"}, 5, "a 'reason' \\ with ünï")
        with acting("key k ops", "192.0.2.1"):
            await ledger.audit.note("void", "b", {}, 6)
        assert await noted(ledger) == [
            (5, who, None, "revise", "b", "a 'reason' \\ with ünï", {"number": 2, "name": "Ünï"}),
            (6, "key k ops", "192.0.2.1", "void", "b", None, {}),
        ]
        found = await check(ledger)
        assert (found.ok, found.entries, found.head) == (True, 2, (await ledger.audit.head())[0].hash.hex())
    finally:
        await ledger.close()


async def test_definitions_are_noted_as_they_are_recorded(ledger):
    with acting("key k ops", "192.0.2.1"):
        record = await ledger.boards.put(Board("b"), True, 1)
        await ledger.boards.put(Board("b", max_score=5), True, 2, 1, "reset")
        await ledger.boards.delete("b", 3)
    await ledger.boards.delete("unknown", 4)
    by = "key k ops", "192.0.2.1"
    assert await noted(ledger) == [
        (1, *by, "put_board", "b", None, {"id": record.id, "version": 1}),
        (2, *by, "reset", "b", None, {"id": record.id, "version": 2}),
        (3, *by, "delete_board", "b", None, {"id": record.id, "version": 2}),
    ]


async def test_a_definition_that_is_refused_is_not_noted(ledger):
    await ledger.boards.put(Board("b"), True, 1)
    with pytest.raises(KeepscoreError):
        await ledger.boards.put(Board("b", max_score=5), True, 2, 7)
    assert len(await noted(ledger)) == 1
    assert (await check(ledger)).ok


async def test_keys_are_noted_as_they_are_recorded(ledger):
    def note(action):
        return AuditNote(7, action, "", {"key": "k"}, by=Actor("me", "here"))

    key = KeyRecord("k", "name", "read", ("*",), b"h", 1)
    await ledger.keys.add(key, None, note("create_key"))
    with pytest.raises(LedgerUnavailable):
        await ledger.keys.add(key, None, note("create_key"))
    assert await ledger.keys.revoke("k", 2, note("revoke_key"))
    assert not await ledger.keys.revoke("other", 2, note("revoke_key"))
    assert await noted(ledger) == [(7, "me", "here", action, "", None, {"key": "k"}) for action in ("create_key", "revoke_key")]
    assert (await check(ledger)).entries == 2


async def test_pages_are_those_that_are_wanted(ledger):
    for number in range(6):
        with acting(f"key {'k' * (number % 2 + 1)} ops"):
            await ledger.audit.note("void" if number < 3 else "undo_void", f"b{number % 3}", {}, number)

    async def ids(before=END, limit=10, **wanted):
        return [entry.id for entry in await ledger.audit.page(AuditFilter(**wanted), before, limit)]

    assert await ids() == [6, 5, 4, 3, 2, 1]
    assert await ids(before=5, limit=2) == [4, 3]
    assert await ids(board="b1") == [5, 2]
    assert await ids(action="void", board="b1") == [2]
    # A key by its id, and not one whose id begins in the same way.
    assert await ids(actor="k") == await ids(actor="key k ops") == [5, 3, 1]
    assert await ids(actor="key") == await ids(actor="%") == []


async def filled(ledger, count=5):
    for number in range(count):
        await ledger.audit.note("void", "b", {"number": number}, number, f"reason {number}")


#: What somebody does with SQL, and the link that is broken first.
TAMPERED = {
    "nothing": ([], None),
    "reason": (["UPDATE audit SET reason = 'other' WHERE id = 3"], 3),
    "no reason": (["UPDATE audit SET reason = NULL WHERE id = 3"], 3),
    "who": (["UPDATE audit SET who = 'somebody' WHERE id = 1"], 1),
    "time": (["UPDATE audit SET at = at + 1 WHERE id = 5"], 5),
    "a space": (["UPDATE audit SET detail = '{ \"number\":3}' WHERE id = 4"], 4),
    "two": (["UPDATE audit SET board = 'c' WHERE id IN (2, 4)"], 2),
    "hash": (["UPDATE audit SET hash = (SELECT hash FROM audit WHERE id = 2) WHERE id = 4"], 4),
    "first removed": (["DELETE FROM audit WHERE id = 1"], 2),
    "middle removed": (["DELETE FROM audit WHERE id = 3"], 4),
    "middle removed and closed up": (["DELETE FROM audit WHERE id = 3", "UPDATE audit SET id = 3 WHERE id = 4"], 3),
    "last removed": (["DELETE FROM audit WHERE id >= 4"], 4),
    "all removed": (["DELETE FROM audit"], 1),
    "exchanged": ([f"UPDATE audit SET id = {new} WHERE id = {old}" for old, new in ((2, -2), (3, 2), (-2, 3))], 2),
    "inserted before": (["INSERT INTO audit SELECT -9, at, who, action, board, detail, address, reason, hash FROM audit WHERE id = 1"], -9),
    "inserted": (["INSERT INTO audit SELECT 6, at, who, action, board, detail, address, reason, hash FROM audit WHERE id = 1"], 6),
    "head removed": (["DELETE FROM audit_head"], None),
    "head moved back": (["UPDATE audit_head SET last_id = 4, entries = 4"], 5),
    "head forged": (["DELETE FROM audit WHERE id = 5", "UPDATE audit_head SET last_id = 4, entries = 4"], 4),
    "count": (["UPDATE audit_head SET entries = 4"], None),
}


@pytest.mark.parametrize("what", TAMPERED)
async def test_what_somebody_does_with_sql_is_found(ledger, what):
    statements, broken = TAMPERED[what]
    await filled(ledger)
    await tamper(ledger, *statements)
    found = await check(ledger)
    assert found.ok is (what == "nothing")
    assert (found.broken.id if found.broken else None) == broken
    # What is broken stays so, whatever is added.
    await ledger.audit.note("void", "b", {}, 9)
    assert (await check(ledger)).ok is (what == "nothing")
    # It can be looked at all the same.
    assert len((await Audit(ledger.audit).entries(limit=2)).entries) in (1, 2)


@pytest.mark.parametrize("value", ["'text'", "x'ff'", "CAST(x'ff' AS TEXT)", "1e300", "-5"])
@pytest.mark.parametrize("column", ["at", "who", "reason", "board", "detail", "hash"])
async def test_values_of_other_types_are_found_and_shown(tmp_path, column, value):
    """SQLite keeps whatever it is given."""
    ledger = SqliteLedger(str(tmp_path / "ledger.db"))
    await ledger.open(0)
    try:
        await filled(ledger)
        await tamper(ledger, f"UPDATE audit SET {column} = {value} WHERE id = 3")
        assert (await check(ledger)).broken.id == 3
        page = await Audit(ledger.audit).entries()
        assert len(msgspec.json.decode(msgspec.json.encode(page), type=AuditPage).entries) == 5
    finally:
        await ledger.close()


async def test_entries_are_neither_changed_nor_removed_by_mistake(ledger):
    await filled(ledger)
    unchained = "INSERT INTO audit (id, at, who, action, detail) VALUES (9, 1, '', '', '{}')"
    for sql in ("UPDATE audit SET reason = 'x'", "DELETE FROM audit", unchained):
        with pytest.raises(LedgerUnavailable):
            await ledger.identity.write(lambda connection, sql=sql: connection.execute(sql))
    assert (await check(ledger)).entries == 5


async def test_a_check_beside_new_entries_is_about_those_before(ledger, monkeypatch):
    monkeypatch.setattr("keepscore.fairplay.audit.CHUNK_ENTRIES", 3)
    await filled(ledger, 10)
    chunk = ledger.audit.chunk

    async def slow(first, last, limit):
        await ledger.audit.note("void", "b", {}, 1)
        return await chunk(first, last, limit)

    monkeypatch.setattr(ledger.audit, "chunk", slow)
    found = await check(ledger)
    assert (found.ok, found.entries) == (True, 10)
    assert (await check(ledger)).entries > 10


async def test_two_ledgers_at_one_place_make_one_chain(place):
    one, other = place(shared=True), place(shared=True)
    await one.open(0)
    await other.open(0)
    try:
        await asyncio.gather(*(ledger.audit.note("void", "b", {"number": n}, n) for n in range(40) for ledger in (one, other)))
        for ledger in (one, other):
            found = await check(ledger)
            assert (found.ok, found.entries) == (True, 80)
        assert len({actor for _, actor, *_ in await noted(one)}) == 2
    finally:
        await one.close()
        await other.close()


async def _append(make, count):
    ledger = make()
    await ledger.open(0)
    for number in range(count):
        await ledger.audit.note("void", "b", {"number": number}, number)
        await ledger.boards.put(Board("b", max_score=number + 1), True, number)
    await ledger.close()


def _postgres(url):
    from keepscore.storage.ledgers.postgres.ledger import PostgresLedger
    from keepscore.storage.ledgers.postgres.url import parse_postgres_url

    return PostgresLedger(parse_postgres_url(url), shared=True)


def _sqlite(path):
    return SqliteLedger(path, shared=True)


def _work(make, where, count):
    asyncio.run(_append(lambda: make(where), count))


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_two_processes_make_one_chain(dialect, tmp_path):
    from tests.support.postgres_servers import shared_postgres

    make, where = (_sqlite, str(tmp_path / "ledger.db")) if dialect == "sqlite" else (_postgres, shared_postgres().new_database())
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_work, args=(make, where, 25)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]

    async def found():
        ledger = make(where)
        await ledger.open(0)
        try:
            return await check(ledger)
        finally:
            await ledger.close()

    answer = asyncio.run(found())
    assert (answer.ok, answer.entries) == (True, 100)
