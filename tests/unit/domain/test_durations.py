"""Durations are read as they are written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.domain.durations import duration_ms


def test_durations_are_read_as_they_are_written():
    texts = ["1ms", "30s", "10m", "48h", "7d", "8w", "0s"]
    assert [duration_ms(text) for text in texts] == [1, 30_000, 600_000, 172_800_000, 604_800_000, 4_838_400_000, 0]


@given(st.text(max_size=4).filter(lambda text: not re.fullmatch(r"\d+(ms|s|m|h|d|w)", text)))
def test_anything_else_is_not_a_duration(text):
    with pytest.raises(ValueError, match="is not a duration"):
        duration_ms(text)
