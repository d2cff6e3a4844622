"""Every answer can be given on as plain data, as the HTTP API sends it."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from decimal import Decimal

import msgspec
import pytest

from keepscore.domain.results import access, reports, standings
from keepscore.domain.results.plain import encode
from keepscore.domain.results.standings import Standing, Top

ANSWERS = [
    kind
    for module in (access, reports, standings)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, msgspec.Struct) and kind.__module__ == module.__name__
]


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
def test_every_answer_has_it(kind: type) -> None:
    assert callable(getattr(kind, "to_dict", None))


def test_plain_data_are_what_the_api_sends() -> None:
    now = datetime(2026, 11, 18, 11, tzinfo=UTC)
    top = Top("b", "daily", "2026-11-18", None, 1, now, [Standing(1, "ada", None, Decimal("10.50"), now, 0)], None)
    plain = top.to_dict()
    assert plain == msgspec.json.decode(encode(top))
    assert plain["standings"][0] == {
        "rank": 1,
        "player_id": "ada",
        "name": None,
        "score": 10.5,
        "since": "2026-11-18T11:00:00Z",
        "rank_change": 0,
    }
    assert "stale" not in plain
