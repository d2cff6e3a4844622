"""Player tokens: what they say, and all that is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.access import sign_player_token
from keepscore.access.api_keys import derived_secret, hash_of, new_key
from keepscore.access.player_tokens import key_id_of, verified_claims
from keepscore.errors import InvalidField, Unauthenticated

NOW = 1_794_744_000_000


def verified(token: str, text: str, environment: str = "live", now: int = NOW) -> Any:
    return verified_claims(token, hash_of(text), environment, now)


def forged(text: str, payload: dict[str, Any], algorithm: str = "HS256", secret: Any = None, **header: Any) -> str:
    key = derived_secret(hash_of(text), "player tokens") if secret is None else secret
    return jwt.encode(payload, key, algorithm, headers={"kid": text.split("_")[2], **header})


GOOD = {"player_id": "ada", "exp": NOW // 1000 + 60, "env": "live"}


def test_a_token_says_what_was_signed() -> None:
    key = new_key("live")
    token = sign_player_token(key.text, "ada", boards=["season-*"], ttl="1h", now_ms=NOW)
    assert key_id_of(token) == key.id
    assert verified(token, key.text) == ("ada", ("season-*",), NOW + 3_600_000)
    assert verified(forged(key.text, GOOD), key.text) == ("ada", ("*",), NOW + 60_000)


@pytest.mark.parametrize(
    ("payload", "word"),
    [
        ({**GOOD, "exp": NOW // 1000}, "expired"),
        ({**GOOD, "exp": NOW // 1000 + 2 * 86_400}, "more than a day"),
        ({**GOOD, "exp": "soon"}, "exp"),
        ({**GOOD, "exp": 1e300}, "exp"),
        ({"player_id": "ada", "env": "live"}, "exp"),
        ({**GOOD, "env": "test"}, "environment 'test'"),
        ({"player_id": "ada", "exp": GOOD["exp"]}, "env"),
        ({**GOOD, "player_id": ""}, "player_id"),
        ({**GOOD, "player_id": 7}, "player_id"),
        ({**GOOD, "player_id": "a\nb"}, "player_id"),
        ({**GOOD, "boards": "season-*"}, "boards"),
        ({**GOOD, "boards": [1]}, "boards"),
        ({**GOOD, "scope": "admin"}, "scope"),
    ],
)
def test_a_token_with_wrong_claims_is_refused(payload: dict[str, Any], word: str) -> None:
    text = new_key("live").text
    with pytest.raises(Unauthenticated, match=word):
        verified(forged(text, payload), text)


def test_a_token_of_another_key_or_of_no_key_is_refused() -> None:
    mine, other = new_key("live").text, new_key("live").text
    for token in (forged(mine, GOOD, secret=hash_of(mine)), forged(other, GOOD), forged(mine, GOOD, secret=b"x" * 32)):
        with pytest.raises(Unauthenticated, match="not signed"):
            verified(token, mine)


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
@pytest.mark.parametrize("algorithm", ["none", "HS384", "HS512"])
def test_no_other_algorithm_is_taken(algorithm: str) -> None:
    text = new_key("live").text
    secret = None if algorithm != "none" else ""
    token = forged(text, GOOD, algorithm, secret)
    assert key_id_of(token) is None
    with pytest.raises(Unauthenticated):
        verified(token, text)


def swapped(token: str, **header: Any) -> str:
    """A token whose header says something else than what was signed."""
    changed = base64.urlsafe_b64encode(json.dumps(header).encode()).decode().rstrip("=")
    return ".".join([changed, *token.split(".")[1:]])


def test_a_header_that_was_swapped_changes_nothing() -> None:
    text = new_key("live").text
    token, kid = forged(text, GOOD), text.split("_")[2]
    for header in ({"alg": "none", "kid": kid}, {"alg": "RS256", "kid": kid}, {"alg": "HS256", "kid": kid, "typ": "x"}):
        with pytest.raises(Unauthenticated):
            verified(swapped(token, **header), text)
    head, payload, _ = token.split(".")
    with pytest.raises(Unauthenticated):
        verified(f"{head}.{payload}.", text)


@given(st.integers(0, 200), st.sampled_from("Aa0-_."))
def test_no_changed_or_cut_token_is_taken(at: int, char: str) -> None:
    text = new_key("live").text
    token = forged(text, GOOD)
    at %= len(token)
    # The last character of each part has bits that stand for nothing.
    if token[at] == char or token[at + 1 : at + 2] in ("", "."):
        return
    for bad in (token[:at] + char + token[at + 1 :], token[:at]):
        with pytest.raises(Unauthenticated):
            verified(bad, text)


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b.c", "....", "x" * 5000, "é.é.é", "e30.e30.e30"])
def test_what_is_no_token_names_no_key(text: str) -> None:
    assert key_id_of(text) is None


@pytest.mark.parametrize("ttl", ["", "0s", "25h", "soon", "1.5h", "999999999d"])
def test_how_long_a_token_lives_is_bounded(ttl: str) -> None:
    with pytest.raises(InvalidField, match="ttl"):
        sign_player_token(new_key("live").text, "ada", ttl=ttl)


def test_a_malformed_key_signs_nothing_and_is_not_shown() -> None:
    with pytest.raises(InvalidField) as error:
        sign_player_token("ks_live_secret", "ada")
    assert "secret" not in str(error.value)
