"""Addresses of PostgreSQL.

    postgresql://[user[:password]@]host[:port]/database[?sslmode=…&sslrootcert=FILE&host=FOLDER&deadline=SECONDS]

A password may also come from PGPASSWORD or ~/.pgpass. `host` is the folder of a server's socket, where no host is named.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from keepscore.storage.deadlines import deadline_s

__all__ = ["EXAMPLE", "SCHEMES", "PostgresAddress", "parse_postgres_url"]

EXAMPLE = "postgresql://user:password@127.0.0.1:5432/keepscore"
SCHEMES = ("postgresql", "postgres")
PARAMETERS = ("sslmode", "sslrootcert", "host", "deadline")
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
#: Seconds that a call may take.
CALL_DEADLINE_S = 10.0


class PostgresAddress(NamedTuple):
    """What a URL says."""

    #: For the driver, with all secrets.
    dsn: str
    #: For people, without.
    shown: str
    user: str | None
    database: str
    deadline: float


def parse_postgres_url(url: str) -> PostgresAddress:
    """Return what a URL says, or raise a ValueError that names the part that is wrong."""
    if "://" not in url:
        raise ValueError("it names no host, which comes after ://")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("its host or port cannot be read; write special characters of a password as in %2F") from None
    if parts.fragment or "@" in parts.path or "@" in parts.query or parts.netloc.count("@") > 1:
        raise ValueError("write special characters of a password as in %2F")
    database = unquote(parts.path[1:])
    if not database or "/" in database:
        raise ValueError("it names no database, which comes after the host, as in /keepscore")
    if port == 0 or "," in parts.netloc.rpartition("@")[2]:
        raise ValueError("name one host, and a port from 1 to 65535")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in query:
        if name not in PARAMETERS:
            raise ValueError(f"unknown parameter {name!r}; allowed: {', '.join(PARAMETERS)}")
    if query.get("sslmode", "prefer") not in SSL_MODES:
        raise ValueError(f"sslmode = {query['sslmode']!r} is not one of {', '.join(SSL_MODES)}")
    if not parts.hostname and not query.get("host"):
        raise ValueError("it names no host")
    deadline = deadline_s(query.pop("deadline", None), CALL_DEADLINE_S)
    dsn = parts._replace(scheme="postgresql", query=urlencode(query)).geturl()
    where = parts.netloc.rpartition("@")[2] or query["host"]
    return PostgresAddress(dsn, f"postgresql://{where}/{database}", unquote(parts.username or "") or None, database, deadline)
