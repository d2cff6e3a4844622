"""Environments: `live`, and `test` beside it, with boards, keys and events of its own. Pure.

What is apart is the place: another file, another database. A URL says itself where each environment is with `{environment}`; any other is
the place of `live`, and `test` lies beside it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["ENVIRONMENTS", "LIVE", "engine_url_for", "ledger_url_for"]

LIVE = "live"
ENVIRONMENTS = (LIVE, "test")
FIELD = "{environment}"


def ledger_url_for(url: str, environment: str) -> str:
    """Return where the ledger of an environment is, by the configured URL.

    >>> ledger_url_for("sqlite:///data/keepscore.db", "test"), ledger_url_for("postgresql://u:p@h/keepscore?sslmode=require", "test")
    ('sqlite:///data/keepscore.test.db', 'postgresql://u:p@h/keepscore_test?sslmode=require')
    """
    if FIELD in url:
        return url.replace(FIELD, environment)
    if environment == LIVE or url.endswith(":memory:"):
        return url
    if url.startswith("sqlite:"):
        stem, dot, ending = url.rpartition(".")
        return f"{stem}.{environment}.{ending}" if dot and "/" not in ending else f"{url}.{environment}"
    before, mark, query = url.partition("?")
    return f"{before.rstrip('/')}_{environment}{mark}{query}"


def engine_url_for(url: str, environment: str) -> str:
    """Return where the rankings of an environment are; a ValueError where they cannot be apart.

    >>> engine_url_for("redis://127.0.0.1:6379", "test"), engine_url_for("redis+sentinel://h/service/2", "test")
    ('redis://127.0.0.1:6379/1', 'redis+sentinel://h/service/3')
    """
    if FIELD in url:
        return url.replace(FIELD, environment)
    if environment == LIVE or not url.startswith("redis"):
        return url
    if url.startswith("redis+cluster:"):
        raise ValueError(f"a Redis Cluster has one database: name the engine of {environment!r} by another URL, or with {FIELD} in it")
    before, mark, query = url.partition("?")
    path = urlsplit(before).path.strip("/").split("/")
    has_number = path[-1].isdecimal() and (len(path) > 1 or not url.startswith("redis+sentinel:"))
    database = int(path[-1]) if has_number else 0
    base = before.rstrip("/").rpartition("/")[0] if has_number else before.rstrip("/")
    return f"{base}/{database + 1}{mark}{query}"
