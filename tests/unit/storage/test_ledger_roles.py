"""A ledger is composed of small roles: a new feature adds a role, not methods to an old one."""

import importlib
import inspect
from pathlib import Path
from typing import get_type_hints

import pytest

from keepscore.storage import ledgers
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.postgres.ledger import PostgresLedger
from keepscore.storage.ledgers.postgres.url import parse_postgres_url
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger

MAX_METHODS = 12
ROLES = get_type_hints(Ledger)


def methods(port):
    return [name for name, _ in inspect.getmembers(port, callable) if not name.startswith("_")]


@pytest.mark.parametrize("port", [Ledger, *ROLES.values()], ids=lambda port: port.__name__)
def test_a_port_has_a_dozen_methods_at_most(port):
    assert 0 < len(methods(port)) <= MAX_METHODS


@pytest.mark.parametrize("role", ROLES)
def test_each_role_has_a_file_of_its_own_in_the_port_and_in_each_adapter(role):
    made = [SqliteLedger(":memory:"), PostgresLedger(parse_postgres_url("postgresql://a:b@127.0.0.1/c"))]
    assert ROLES[role].__module__ == f"keepscore.storage.ledgers.{role}"
    for ledger in made:
        part = getattr(ledger, role)
        assert isinstance(part, ROLES[role])
        # Which ledger it is that answers, the connections know.
        file = "connections" if role == "identity" else role
        assert type(part).__module__ == f"{type(ledger).__module__.rpartition('.')[0]}.{file}"


def test_no_port_imports_an_adapter():
    for file in Path(ledgers.__file__).parent.glob("*.py"):
        source = inspect.getsource(importlib.import_module(f"keepscore.storage.ledgers.{file.stem}")) if file.stem != "__init__" else ""
        assert "ledgers.sqlite" not in source
        assert "ledgers.postgres" not in source
