"""Signatures of requests, which cover everything."""

from __future__ import annotations

from keepscore.access.api_keys import hash_of, new_key
from keepscore.domain.signatures import authorization_of, parse_signature, signature_of, signing_secret

NOW = 1_794_744_000_000


def test_a_signature_covers_everything() -> None:
    secret = signing_secret(hash_of("key"))
    parts = (1_794_744_000, "POST", "/v1/boards/b/scores?x=1", b'{"a":1}', "0123456789abcdef")
    right = signature_of(secret, *parts)
    for index, other in enumerate((1_794_744_001, "PUT", "/v1/boards/c/scores?x=1", b'{"a":2}', "0123456789abcdee")):
        assert signature_of(secret, *(*parts[:index], other, *parts[index + 1 :])) != right
    assert signature_of(signing_secret(hash_of("other")), *parts) != right


def test_the_header_of_a_signature_is_read_as_it_was_written() -> None:
    key = new_key("live")
    header = authorization_of(key.text, NOW // 1000, "GET", "/", b"", "0123456789abcdef")
    found = parse_signature(header)
    assert found is not None
    assert found[:3] == (key.id, NOW // 1000, "0123456789abcdef")
    assert key.text.split("_")[3] not in header
    for bad in (header[:-1], header + "0", header.upper(), header.replace("time=", "time=x"), header.replace("id=0", "id=/"), ""):
        assert parse_signature(bad) is None
