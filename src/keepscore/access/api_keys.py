"""The text of an API key, and what is made of it. Pure.

    ks_ENVIRONMENT_ID_SECRETCHECK     ks_live_5hVqT0aWm3Kd_…

The secret has 256 random bits. The check, a CRC of all that is before it, tells a key that was cut or mistyped from one that is unknown,
without a look-up. The ledger keeps a SHA-256 of the whole text: of a secret that cannot be guessed, no slow hash is needed.
Secrets for player tokens and signatures are derived from that hash, so that whoever holds the key can make them, and nobody
can make the key of them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import zlib
from typing import NamedTuple

__all__ = ["ParsedKey", "checksum_of", "derived_secret", "hash_of", "is_same_hash", "new_key", "parse_key"]

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: Characters of an id, of a secret (256 bits) and of a check (32 bits).
ID_CHARS, SECRET_CHARS, CHECK_CHARS = 12, 43, 6
_KEY = re.compile(rf"ks_([a-z0-9]{{1,16}})_([0-9A-Za-z]{{{ID_CHARS}}})_([0-9A-Za-z]{{{SECRET_CHARS}}})([0-9A-Za-z]{{{CHECK_CHARS}}})")


class ParsedKey(NamedTuple):
    """What the text of a key says."""

    environment: str
    id: str
    text: str

    def __repr__(self) -> str:
        return f"ParsedKey({self.environment!r}, {self.id!r})"


def new_key(environment: str) -> ParsedKey:
    """Return a key that nobody has had before."""
    key_id = "".join(secrets.choice(ALPHABET) for _ in range(ID_CHARS))
    body = f"ks_{environment}_{key_id}_" + "".join(secrets.choice(ALPHABET) for _ in range(SECRET_CHARS))
    return ParsedKey(environment, key_id, body + checksum_of(body))


def parse_key(text: str) -> ParsedKey | None:
    """Return what a key says, or None where it is malformed."""
    found = _KEY.fullmatch(text)
    if found is None or found[4] != checksum_of(text[:-CHECK_CHARS]):
        return None
    return ParsedKey(found[1], found[2], text)


def checksum_of(body: str) -> str:
    """Return the check that a key without it ends with: it tells typing errors, and no secret."""
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(CHECK_CHARS):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


def hash_of(text: str) -> bytes:
    """Return what the ledger keeps of a key."""
    return hashlib.sha256(text.encode()).digest()


def is_same_hash(one: bytes, other: bytes) -> bool:
    """Return whether two hashes are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one, other)


def derived_secret(key_hash: bytes, purpose: str) -> bytes:
    """Return the secret of a key for a purpose, 32 bytes."""
    return hmac.digest(key_hash, f"keepscore {purpose}".encode(), "sha256")
