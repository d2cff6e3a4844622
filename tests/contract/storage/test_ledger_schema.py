"""The tables of both ledgers: migrated step by step they are those of a fresh one, and an interrupted step leaves nothing."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager

import asyncpg
import pytest

from keepscore.domain.boards import Board
from keepscore.domain.scoring import Event
from keepscore.errors import LedgerUnavailable
from keepscore.fairplay.audit import Audit
from keepscore.storage.ledgers.audit import CHAINS_AUDIT
from keepscore.storage.ledgers.claims import Claim
from keepscore.storage.ledgers.postgres import schema as postgres_schema
from keepscore.storage.ledgers.postgres.ledger import PostgresLedger
from keepscore.storage.ledgers.postgres.url import parse_postgres_url
from keepscore.storage.ledgers.queries import migrations
from keepscore.storage.ledgers.sqlite import schema as sqlite_schema
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.driving import unnumbered
from tests.support.postgres_servers import shared_postgres

#: Columns, indexes and constraints, partitions left out: they depend on the month.
POSTGRES_SCHEMA = """
SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, ordinal_position::text
FROM information_schema.columns WHERE table_schema = 'public' AND table_name !~ '^events_[0-9]'
UNION ALL
SELECT tablename, indexname, indexdef, '', '', '', '' FROM pg_indexes WHERE schemaname = 'public' AND tablename !~ '^events_[0-9]'
UNION ALL
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '', '', ''
FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text !~ '^events_[0-9]'
"""


class SqlitePlace:
    module = sqlite_schema

    def __init__(self, folder):
        self._path = str(folder / "ledger.db")

    def ledger(self):
        return SqliteLedger(self._path, shared=True)

    async def rows(self, sql):
        connection = sqlite3.connect(self._path)
        try:
            found = connection.execute(sql).fetchall()
            connection.commit()
        finally:
            connection.close()
        return found

    async def schema(self):
        rows = await self.rows("SELECT type, name, tbl_name, sql FROM sqlite_master")
        return sorted(map(str, rows)), await self.version()

    async def version(self):
        return (await self.rows("PRAGMA user_version"))[0][0]

    async def set_version(self, number):
        await self.rows(f"PRAGMA user_version = {number}")


class PostgresPlace:
    module = postgres_schema

    def __init__(self, folder):
        self._url = shared_postgres().new_database()

    def ledger(self):
        return PostgresLedger(parse_postgres_url(self._url), shared=True)

    async def rows(self, sql):
        connection = await asyncpg.connect(self._url)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    async def schema(self):
        return sorted(map(str, await self.rows(POSTGRES_SCHEMA))), await self.version()

    async def version(self):
        exists = (await self.rows("SELECT to_regclass('migrations') IS NOT NULL"))[0][0]
        return (await self.rows("SELECT COALESCE(MAX(version), 0) FROM migrations"))[0][0] if exists else 0

    async def set_version(self, number):
        await self.rows(f"INSERT INTO migrations (version) VALUES ({number})")


PLACES = {"sqlite": SqlitePlace, "postgres": PostgresPlace}


@pytest.fixture(params=PLACES)
def dialect(request):
    return request.param


@pytest.fixture
def make(dialect, tmp_path):
    """Makes empty places."""

    def make(name="place"):
        (tmp_path / name).mkdir()
        return PLACES[dialect](tmp_path / name)

    return make


@asynccontextmanager
async def opened(ledger):
    await ledger.open(0)
    try:
        yield ledger
    finally:
        await ledger.close()


def known(monkeypatch, place, steps):
    """Let the program know these migrations only."""
    monkeypatch.setattr(place.module, "migrations", lambda dialect: steps)


async def test_step_by_step_is_as_a_fresh_one(make, dialect, monkeypatch):
    fresh, grown = make("fresh"), make("grown")
    steps = migrations(dialect)
    assert await fresh.ledger().migrate() == (0, len(steps))
    for number in range(1, len(steps) + 1):
        known(monkeypatch, grown, steps[:number])
        assert await grown.ledger().migrate() == (number - 1, number)
        assert await grown.version() == number
    assert await grown.schema() == await fresh.schema()
    assert await grown.ledger().migrate() == (len(steps), len(steps))


async def test_what_was_recorded_before_a_migration_is_there_after_it(make, dialect, monkeypatch):
    place = make()
    steps = migrations(dialect)
    async with opened(place.ledger()) as ledger:
        board = await ledger.boards.put(Board("b"), True, 0)
        events = [Event(board.id, 1, n, "p", "score", n, n, n) for n in (1, 2)]
        await ledger.events.append(events, [], {})
    known(monkeypatch, place, [*steps, "CREATE TABLE extra (number INTEGER);"])
    async with opened(place.ledger()) as ledger:
        assert await ledger.boards.current() == [board]
        assert unnumbered([e async for chunk in ledger.events.read(board.id, {}) for e in chunk]) == events
    assert await place.version() == len(steps) + 1


async def test_keys_of_submissions_are_known_after_the_migration_to_claims(make, dialect, monkeypatch):
    place = make()
    steps = migrations(dialect)
    (number,) = [number for number, step in enumerate(steps) if "idempotency ADD COLUMN kind" in step or "idempotency_of_boards" in step]
    known(monkeypatch, place, steps[:number])
    await place.ledger().migrate()
    await place.rows("INSERT INTO idempotency (board, key, fingerprint, answer, created) VALUES (7, 'k', 'f', 'answer', 5)")
    for name in ("once:rename:a:k", "reset:1:k", "undo_reset:1:k", "keeper:reset"):
        await place.rows(f"INSERT INTO ledger (name, value) VALUES ('{name}', 'x')")
    known(monkeypatch, place, steps)
    async with opened(place.ledger()) as ledger:
        found = await ledger.claims.find(Claim("submission", "7", "k", b"f"))
        assert (bytes(found.answer, "ascii") if isinstance(found.answer, str) else found.answer, found.owner) == (b"answer", None)
        assert [await ledger.claims.forget(before, 9) for before in (5, 6)] == [0, 1]
    names = [name for (name,) in await place.rows("SELECT name FROM ledger WHERE value = 'x'")]
    assert names == ["keeper:reset"]


async def test_states_that_were_folded_by_cut_times_are_folded_again(make, dialect, monkeypatch):
    place, steps = make(), migrations(dialect)
    known(monkeypatch, place, steps[: next(i for i, step in enumerate(steps) if "event_seq" in step)])
    await place.ledger().migrate()
    for number, operator in enumerate(("last", "first", "sum"), 1):
        definition = f'{{"name": "{operator}", "operator": "{operator}"}}'
        await place.rows(f"INSERT INTO boards VALUES ({number}, 1, 1, '{operator}', '{definition}', 0, NULL)")
        columns = "board, number, base, meaning, positions, complete"
        await place.rows(f"INSERT INTO checkpoints ({columns}) VALUES ({number}, 1, 1, 1, '{{}}', true)")
    known(monkeypatch, place, steps)
    async with opened(place.ledger()) as ledger:
        assert [point.semantics_version for number in (1, 2, 3) for point in await ledger.checkpoints.latest(number)] == [0, 0, 1]


async def test_a_migration_that_breaks_off_leaves_nothing(make, dialect, monkeypatch):
    place = make()
    steps = migrations(dialect)
    await place.ledger().migrate()
    before = await place.schema()
    known(monkeypatch, place, [*steps, "CREATE TABLE half (number INTEGER);\nINSERT INTO nowhere VALUES (1);\n"])
    for _ in range(2):
        with pytest.raises(LedgerUnavailable):
            await place.ledger().migrate()
        assert await place.schema() == before
    known(monkeypatch, place, [*steps, "CREATE TABLE half (number INTEGER);\n"])
    assert await place.ledger().migrate() == (len(steps), len(steps) + 1)


async def test_a_newer_schema_is_refused_and_left_alone(make, dialect):
    place = make()
    async with opened(place.ledger()) as ledger:
        await ledger.boards.put(Board("b"), True, 0)
    newer = len(migrations(dialect)) + 1
    await place.set_version(newer)
    for call in (lambda ledger: ledger.open(0), lambda ledger: ledger.migrate()):
        with pytest.raises(LedgerUnavailable) as error:
            await call(place.ledger())
        assert f"schema version {newer}" in str(error.value)
        assert "use a newer Keepscore" in str(error.value)
    assert await place.rows("SELECT count(*) FROM writers") == [(1,)]


async def test_several_may_migrate_at_once(make, dialect):
    place = make()
    ledgers = [place.ledger() for _ in range(4)]
    numbers = await asyncio.gather(*[ledger.open(0) for ledger in ledgers])
    assert len(set(numbers)) == 4
    assert await place.version() == len(migrations(dialect))
    for ledger in ledgers:
        await ledger.close()


async def test_who_changed_what_is_noted(make):
    place = make()
    async with opened(place.ledger()) as ledger:
        await ledger.boards.put(Board("b"), True, 5)
        await ledger.boards.put(Board("b", max_score=9), True, 6)
    async with opened(place.ledger()) as ledger:
        await ledger.boards.delete("b", 7)
        await ledger.boards.delete("b", 8)
        await ledger.boards.delete("other", 9)
    rows = await place.rows("SELECT at, who, action, board FROM audit ORDER BY id")
    assert rows == [
        (5, "local writer 1", "put_board", "b"),
        (6, "local writer 1", "put_board", "b"),
        (7, "local writer 2", "delete_board", "b"),
    ]
    details = await place.rows("SELECT detail FROM audit ORDER BY id")
    assert [detail.replace(" ", "") for (detail,) in details] == ['{"id":1,"version":1}', '{"id":1,"version":2}', '{"id":1,"version":2}']


async def test_entries_of_before_the_chain_are_chained(make, dialect, monkeypatch):
    place, steps = make(), migrations(dialect)
    known(monkeypatch, place, steps[: next(number for number, step in enumerate(steps) if CHAINS_AUDIT in step)])
    await place.ledger().migrate()
    # One was lost in a transaction that was not committed: its id is free.
    overriding = "" if dialect == "sqlite" else "OVERRIDING SYSTEM VALUE"
    for number, board in ((1, "'a'"), (3, "NULL"), (4, "'b'")):
        values = f"{number}, {number}, 'writer 1', 'put_board', {board}, '{{\"version\": {number}, \"id\": 1}}'"
        await place.rows(f"INSERT INTO audit (id, at, who, action, board, detail) {overriding} VALUES ({values})")
    known(monkeypatch, place, steps)
    async with opened(place.ledger()) as ledger:
        await ledger.audit.note("void", "a", {}, 9, "why")
        found = await Audit(ledger.audit).verify()
        assert (found.ok, found.entries) == (True, 4)
        assert [entry.id for entry in await ledger.audit.chunk(0, 99, 9)] == [1, 3, 4, 5]
        if dialect == "sqlite":
            await place.rows("DROP TRIGGER audit_is_not_changed")
        else:
            await place.rows("ALTER TABLE audit DISABLE TRIGGER ALL")
        await place.rows("UPDATE audit SET who = 'x' WHERE id = 3")
        assert (await Audit(ledger.audit).verify()).broken.id == 3
