"""What a change of a definition does, and which definitions of a configuration take effect."""

from __future__ import annotations

from typing import Any

import pytest

from keepscore.domain.board_changes import consequences, merged
from keepscore.domain.boards import Board
from keepscore.errors import InvalidBoard
from keepscore.lifecycle.configured import Noted

FULL = Board(
    "b",
    operator="sum",
    windows={"all_time": {}, "weekly": {"ttl": "7d", "archive": "all"}},
    segments=["region", "country"],
    max_score=100,
    consistency="strong",
    also=["xp"],
)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"operator": "last"}, ["operator changes from 'sum' to 'last'", "rebuilt"]),
        ({"order": "asc"}, ["order", "rebuilt"]),
        ({"decay": {"half_life": "7d"}, "max_score": None}, ["decay", "{'half_life': '7d'}", "rebuilt"]),
        ({"keep_top": 5, "windows": ["all_time", "weekly"]}, ["keep_top", "rebuilt"]),
        ({"segments": ["region"]}, ["segment 'country' and its rankings are dropped"]),
        ({"segments": ["country", "region"]}, ["order"]),
        ({"segments": ["region", "country", "team"]}, ["segment 'team' is added"]),
        ({"windows": ["all_time"]}, ["window 'weekly' and its rankings are dropped"]),
        ({"windows": {"weekly": {"ttl": "7d"}, "all_time": {}}}, ["windows change their order"]),
        ({"windows": {"all_time": {}, "weekly": {"ttl": "1d"}}}, ["windows.weekly.ttl changes from '7d' to '1d'", "dropped"]),
        ({"windows": {"all_time": {"ttl": "1d"}, "weekly": {"ttl": "7d"}}}, ["windows.all_time.ttl changes from None to '1d'"]),
        ({"windows": {"all_time": {}, "weekly": {}, "season": {"cron": "0 0 1 * *"}}}, ["window 'season' is added"]),
    ],
)
def test_what_drops_or_rebuilds_something_is_told(fields: dict[str, Any], words: list[str]) -> None:
    told = "; ".join(consequences(FULL, merged(FULL, fields), is_replaced=False))
    assert all(word in told for word in words), told


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"max_score": None},
        {"max_score": 5, "rank": "dense", "grace": "2h", "movement": "1d"},
        {"consistency": "eventual", "also": []},
        {"windows": {"all_time": {}, "weekly": {"ttl": "9d", "archive": 10}}},
    ],
)
def test_what_was_said_and_does_no_harm_needs_no_word(fields: dict[str, Any]) -> None:
    assert consequences(FULL, merged(FULL, fields), is_replaced=False) == []


def test_a_whole_definition_that_leaves_settings_out_loses_them() -> None:
    told = consequences(FULL, Board("b", operator="sum", windows=["all_time", "weekly"], segments=["region", "country"]), is_replaced=True)
    lost = ["windows.weekly.ttl = '7d'", "windows.weekly.archive = 'all'", "max_score = 100", "consistency = 'strong'", "also = ['xp']"]
    assert told == [f"{setting} is lost" for setting in lost]


def test_only_the_fields_given_change() -> None:
    changed = merged(FULL, {"rank": "dense", "max_score": None})
    assert changed.to_dict() == {**FULL.to_dict(), "rank": "dense", "max_score": None}
    with pytest.raises(InvalidBoard, match="keeps its name"):
        merged(FULL, {"name": "c"})
    with pytest.raises(InvalidBoard, match="colour"):
        merged(FULL, {"colour": "red"})


class Starts:
    """Hosts that start with their files one after the other."""

    def __init__(self) -> None:
        self.noted = Noted("")

    def __call__(self, host: str | None, definition: str) -> bool:
        taken = self.noted.takes_effect(definition, host)
        self.noted = self.noted.with_definition(definition, host, taken)
        return taken


def test_hosts_with_different_files_do_not_change_a_board_back_and_forth() -> None:
    start = Starts()
    assert start("one", "A")
    assert start("two", "B")
    for _ in range(3):
        assert not start("one", "A")
        assert not start("two", "B")
    assert start.noted.latest == "B"


def test_a_file_that_is_changed_takes_effect_back_as_well_as_forth() -> None:
    start = Starts()
    assert [start("one", definition) for definition in ("A", "B", "A", "A", "B")] == [True, True, True, False, True]
    assert [start(None, definition) for definition in ("A", "B", "A", "A")] == [True, True, True, False]
    start = Starts()
    assert [start("one", "A"), start("two", "A"), start("one", "B"), start("two", "B")] == [True, False, True, False]


def test_a_host_nobody_knows_does_not_bring_back_what_was_replaced() -> None:
    start = Starts()
    assert [start("one", "A"), start("one", "B"), start("two", "A"), start("two", "C")] == [True, True, False, True]


def test_what_is_noted_stays_small() -> None:
    start = Starts()
    for n in range(500):
        start(f"host-{n}", f"definition-{n}")
    assert (len(start.noted.hosts), len(start.noted.earlier)) == (100, 100)
