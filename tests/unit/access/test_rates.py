"""Rates as they are written."""

from __future__ import annotations

import pytest

from keepscore.access.rates import Rate, rate_of


def test_rates() -> None:
    assert rate_of("5/1s") == Rate(5, 1)
    assert rate_of("1000000000/7d") == Rate(10**9, 604_800)
    for text in ("", "5", "5/", "/1m", "0/1m", "-5/1m", "5/0s", "5/8d", "5/500ms", "5/1500ms", "1e3/1m", "٣/1m", "99999999999/1s", "OFF"):
        with pytest.raises(ValueError, match="600/1m"):
            rate_of(text)
