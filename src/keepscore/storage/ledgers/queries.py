"""Named queries and numbered migrations, read from the `.sql` files of a ledger's folder."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

__all__ = ["migrations", "named_queries"]


@cache
def named_queries(dialect: str) -> dict[str, str]:
    """Return the queries of all files in ``{dialect}/queries/``, by name."""
    text = "\n".join(_files(dialect, "queries"))
    _, *parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    found = dict(zip(parts[::2], (body.strip() for body in parts[1::2]), strict=True))
    assert len(found) == len(parts) // 2, f"two queries of {dialect} have one name"
    return found


def migrations(dialect: str) -> list[str]:
    """Return the migrations of ``{dialect}/migrations/`` in order; the first brings an empty database to version 1."""
    return _files(dialect, "migrations")


def _files(dialect: str, folder: str) -> list[str]:
    files = resources.files(__package__).joinpath(dialect, folder).iterdir()
    return [file.read_text() for file in sorted(files, key=lambda file: file.name) if file.name.endswith(".sql")]
