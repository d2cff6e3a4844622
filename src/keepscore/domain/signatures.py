"""Signatures of requests: an HMAC over time, method, path, the body's SHA-256 and a request id. Pure.

    Authorization: KS1-HMAC-SHA256 key=KEY_ID,time=SECONDS,id=REQUEST_ID,signature=HEX

What is signed are these lines, joined by a line feed: `KS1`, the time in seconds since 1970, the method, the path with its query as sent,
the SHA-256 of the raw body in hex, the request id. The secret is derived from the key: HMAC-SHA256 with the key's SHA-256 over
`keepscore request signatures`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import NamedTuple

__all__ = ["SCHEME", "Signature", "authorization_of", "parse_signature", "signature_of", "signing_secret"]

SCHEME = "KS1-HMAC-SHA256"
PURPOSE = b"keepscore request signatures"
_HEADER = re.compile(
    rf"{SCHEME} key=([0-9A-Za-z]{{12}}),\s?time=(\d{{9,11}}),\s?id=([0-9A-Za-z._~-]{{8,64}}),\s?signature=([0-9a-f]{{64}})", re.ASCII
)


class Signature(NamedTuple):
    """What the header of a signed request says."""

    key_id: str
    time_s: int
    request_id: str
    digest: str


def parse_signature(header: str) -> Signature | None:
    """Return what a header says, or None where it is malformed."""
    found = _HEADER.fullmatch(header)
    return None if found is None else Signature(found[1], int(found[2]), found[3], found[4])


def signing_secret(key_hash: bytes) -> bytes:
    """Return the secret of a key for signatures, from the SHA-256 of the key's text."""
    return hmac.digest(key_hash, PURPOSE, "sha256")


def signature_of(secret: bytes, time_s: int, method: str, target: str, body: bytes, request_id: str) -> str:
    """Return the signature of a request, in hex."""
    text = "\n".join(("KS1", str(time_s), method, target, hashlib.sha256(body).hexdigest(), request_id))
    return hmac.digest(secret, text.encode(), "sha256").hex()


def authorization_of(key: str, time_s: int, method: str, target: str, body: bytes, request_id: str) -> str:
    """Return the Authorization header of a request that is signed with a key."""
    secret = signing_secret(hashlib.sha256(key.encode()).digest())
    key_id = key.split("_")[2] if key.count("_") == 3 else ""
    return f"{SCHEME} key={key_id},time={time_s},id={request_id},signature={signature_of(secret, time_s, method, target, body, request_id)}"
