"""The documents: one index with every page in the order people need them, and every job of the keeper in its table."""

from __future__ import annotations

import re
from pathlib import Path

import keepscore.lifecycle.keeper
from keepscore.lifecycle.jobs.base import Job

DOCS = Path(__file__).parents[2] / "docs"
ORDER = ["Getting started", "Concepts", "Guides", "Reference", "Operations", "How it works", "Contributing"]


def subclasses(kind: type[Job]) -> set[type[Job]]:
    return {kind}.union(*(subclasses(child) for child in kind.__subclasses__()))


def test_the_index_has_the_parts_in_the_order_people_need_them() -> None:
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\d\. \*\*\[?([\w ]+)", text, re.MULTILINE) == ORDER


def test_the_index_has_every_page_once() -> None:
    pages = re.findall(r"\]\((\w[\w-]*\.md)\)", (DOCS / "README.md").read_text(encoding="utf-8"))
    assert sorted(pages) == sorted(page.name for page in DOCS.glob("*.md") if page.name != "README.md")


def test_every_job_of_the_keeper_is_documented() -> None:
    table = re.findall(r"^\| (`.*?`) \|", (DOCS / "keeper.md").read_text(encoding="utf-8"), re.MULTILINE)
    documented = {name for row in table for name in re.findall(r"`([^`]+)`", row)}
    jobs = {kind.name for kind in subclasses(Job) if kind.__module__.startswith(keepscore.lifecycle.__name__) and hasattr(kind, "name")}
    assert len(jobs) > 10
    assert jobs - documented == set()


def test_every_room_says_what_it_may_import_and_where_to_start() -> None:
    rooms = [path for path in (DOCS.parent / "src" / "keepscore").rglob("__init__.py") if path.parent.name != "keepscore"]
    assert len(rooms) > 15
    for room in rooms:
        text = room.read_text(encoding="utf-8").split('"""')[1]
        assert "tart with" in text or "enerated from" in text, room
        # A folder of one adapter is part of its port's room.
        assert "mport" in text or room.parent.name in ("embedded", "redis", "sqlite", "postgres"), room


def test_every_table_of_postgresql_is_described() -> None:
    migrations = (DOCS.parent / "src" / "keepscore" / "storage" / "ledgers" / "postgres" / "migrations").glob("*.sql")
    tables = {table for path in migrations for table in re.findall(r"CREATE TABLE (\w+) \(", path.read_text(encoding="utf-8"))}
    rows = [line for line in (DOCS / "postgres.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(tables) > 20
    assert tables - set(re.findall(r"`(\w+)`", "\n".join(rows))) == set()
