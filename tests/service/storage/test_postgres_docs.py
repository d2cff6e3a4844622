"""What docs/postgres.md says: its queries run, and no table and no part of the address is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from keepscore import Board
from keepscore.storage.ledgers.postgres.connections import OLDEST_VERSION
from keepscore.storage.ledgers.postgres.url import PARAMETERS, parse_postgres_url
from keepscore.sync import Leaderboards
from tests.support.postgres_servers import shared_postgres

PAGE = (Path(__file__).parents[3] / "docs" / "postgres.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
#: 2026-11-15T12:00:00Z.
NOON = 1_794_744_000_000


@pytest.fixture(scope="module")
def url() -> str:
    """A ledger with two players, and a checkpoint of what they have."""
    url = shared_postgres().new_database()
    with Leaderboards.open(url, boards=[Board("global")], clock=lambda: NOON) as boards:
        for player, score in (("alice", 5), ("bob", 7), ("alice", 9)):
            boards.submit("global", player, score)
        boards.admin.put_board(Board("global", max_score=100))
    return url


@pytest.mark.parametrize(
    ("query", "rows"),
    list(
        zip(
            QUERIES,
            [
                "2026-11-15 12:00:00+00|global|score|9|||216907200|3\n2026-11-15 12:00:00+00|global|score|5|||216907200|1",
                "2026-11-15 12:00:00+00|local writer 216907200|put_board|global|2|",
                "2026-11-15|3|2|21",
                "alice|9|2026-11-15 12:00:00+00\nbob|7|2026-11-15 12:00:00+00",
            ],
            strict=True,
        )
    ),
    ids=["history", "audit", "totals", "standings"],
)
def test_its_queries_answer(url: str, query: str, rows: str) -> None:
    assert shared_postgres().sql(f"SET timezone = 'UTC'; {query}", url).startswith(rows)


def test_every_table_is_described(url: str) -> None:
    tables = shared_postgres().sql(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition", url
    )
    described = set(re.findall(r"`(\w+)`", "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))))
    assert set(tables.splitlines()) <= described


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_of_the_address_is_described(name: str) -> None:
    assert f"`?{name}=" in PAGE


def test_the_oldest_version_and_the_deadline_are_the_true_ones() -> None:
    assert f"PostgreSQL {OLDEST_VERSION} or\nnewer" in PAGE
    assert f"`?deadline={parse_postgres_url('postgresql://host/db').deadline:g}`" in PAGE


def test_the_index_in_order_is_used(url: str) -> None:
    plan = shared_postgres().sql(f"SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN {QUERIES[-1]}", url)
    assert "standings_in_order" in plan
