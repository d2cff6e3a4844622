"""The text of keys, and the secrets that are derived from them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keepscore.access.api_keys import derived_secret, hash_of, new_key, parse_key
from keepscore.domain.signatures import signing_secret


def test_keys_are_unlike_each_other_and_say_where_they_belong() -> None:
    keys = [new_key("test") for _ in range(100)]
    assert len({key.id for key in keys}) == len({key.text for key in keys}) == 100
    assert all(key.text.startswith(f"ks_test_{key.id}_") for key in keys)
    assert all(parse_key(key.text) == key for key in keys)
    assert keys[0].text.split("_")[3] not in repr(keys[0])


@given(st.data())
def test_a_key_that_was_mistyped_or_cut_is_seen_without_a_look_up(data: st.DataObject) -> None:
    text = new_key("live").text
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda char: char != text[at]))
    assert parse_key(text[:at] + other + text[at + 1 :]) is None
    assert parse_key(text[:at]) is None
    assert parse_key(text + other) is None


def test_secrets_of_a_key_differ_by_purpose() -> None:
    key = hash_of(new_key("live").text)
    assert len({key, derived_secret(key, "a"), derived_secret(key, "b"), signing_secret(key)}) == 4
