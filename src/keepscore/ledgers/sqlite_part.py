"""What the parts of the ledger in SQLite share."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from keepscore.ledgers.base import Ledger

__all__ = ["SqlitePart"]

T = TypeVar("T")


class SqlitePart(Ledger):
    """How a part runs its queries."""

    _queries: Mapping[str, str]

    @abstractmethod
    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` gives within a transaction."""

    @abstractmethod
    async def _read(self, query: str, *args: object) -> list[Any]:
        """The rows of a named query."""
