"""Invite codes are easy to read aloud."""

from __future__ import annotations

from keepscore.domain.groups import CODE_ALPHABET, CODE_LENGTH, code_of, new_code, new_group_id


def test_codes_have_eight_characters_of_which_no_two_look_alike() -> None:
    codes = {new_code() for _ in range(2000)}
    assert len(codes) == 2000
    assert {len(code) for code in codes} == {CODE_LENGTH} == {8}
    assert set("".join(codes)) == set(CODE_ALPHABET)
    assert not set(CODE_ALPHABET) & set("0O1IL2Z5S8BUV")
    assert all(code_of(f" {code[:4].lower()}-{code[4:]} ") == code for code in codes)


def test_ids_are_not_guessed() -> None:
    assert len({new_group_id() for _ in range(1000)}) == 1000
