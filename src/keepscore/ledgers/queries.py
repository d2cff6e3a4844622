"""Named queries and numbered migrations, read from the `.sql` files beside this module."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

__all__ = ["migrations", "named_queries"]


@cache
def named_queries(dialect: str) -> dict[str, str]:
    """The queries of ``sql/{dialect}.sql``, and of those beside it that begin with its name, by name."""
    files = [file for file in resources.files(__package__).joinpath("sql").iterdir() if re.fullmatch(rf"{dialect}(_\w+)?\.sql", file.name)]
    text = "\n".join(file.read_text() for file in files)
    _, *parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], (body.strip() for body in parts[1::2]), strict=True))


def migrations(dialect: str) -> list[str]:
    """The migrations of ``migrations/{dialect}/`` in order; the first brings an empty database to version 1."""
    folder = resources.files(__package__).joinpath("migrations", dialect)
    return [file.read_text() for file in sorted(folder.iterdir(), key=lambda f: f.name) if file.name.endswith(".sql")]
