"""Keys of rankings: a segment's value, whatever it is, does not decide in which slot of a Redis Cluster its ranking lies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from keepscore.domain.boards import Board, Window
from keepscore.domain.keys import key_of, live_key_of, moves_tag, sample_keys, tag_of
from keepscore.domain.windows import span_at

TEMPLATES = [
    "lb:{value}:{{{board}}}:{segment}",
    "lb:{{{board}}}:{segment}:{value}",
    "{value}{{{board}}}{segment}{value}",
    "lb:{segment}:{value}",
]
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.sampled_from("{}{}{}x"), min_size=1, max_size=8)


def board_with(template: str) -> Board:
    return Board("cup", segments=["region"], windows={"all_time": {"key": "whole:{{{board}}}", "segment_key": template}})


@pytest.mark.parametrize("template", TEMPLATES)
@given(values=st.lists(VALUES, unique=True, max_size=20))
def test_a_value_does_not_move_the_tag_and_has_a_key_of_its_own(template: str, values: list[str]) -> None:
    board = board_with(template)
    span = span_at(board, "all_time", 0)
    assert span is not None
    keys = {value: key_of(board, span, f"region:{value}") for value in values}
    assert len(set(keys.values())) == len(values)
    for value, key in keys.items():
        if "{{" in template:
            assert tag_of(key) == "cup"
        if "{" not in value and "}" not in value:
            assert key == template.format(board="cup", segment="region", value=value)


@pytest.mark.parametrize(("template", "moves"), list(zip(TEMPLATES, [True, False, True, False], strict=True)))
def test_boards_whose_keys_may_be_others_than_before_are_known(template: str, moves: bool) -> None:
    assert moves_tag(board_with(template)) is moves


def test_a_board_that_follows_leaves_the_keys_of_its_templates_alone() -> None:
    windows = {
        "daily": Window(key="lb:{start:%j}", segment_key="lb:{start:%j}:{value}", live_key="lb:now", live_segment_key="lb:now:{value}")
    }
    board = Board("b", segments=["region"], windows=windows)
    follower = replace(board, following=True)
    span = span_at(board, "daily", 0)
    assert span is not None
    for segment in ("", "region:eu"):
        assert key_of(follower, span, segment) == "keepscore:following:" + key_of(board, span, segment)
        assert live_key_of(follower, "daily", segment) == f"keepscore:following:{live_key_of(board, 'daily', segment)}"
    assert not set(sample_keys(board, thorough=True)) & set(sample_keys(follower, thorough=True))
