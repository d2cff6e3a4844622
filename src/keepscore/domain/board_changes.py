"""What a change of a definition does to a board: which rankings it rebuilds or drops, and which settings it loses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from keepscore.domain.board_checks import brief
from keepscore.domain.board_parts import Window
from keepscore.domain.boards import MEANING, Board, board_from_dict
from keepscore.domain.durations import duration_ms
from keepscore.errors import InvalidBoard

__all__ = ["consequences", "merged"]

_REBUILT = "rankings are rebuilt from the ledger"
#: Fields that are compared one by one elsewhere.
_BY_PARTS = ("windows", "segments", "resets")


def merged(board: Board, fields: Mapping[str, Any]) -> Board:
    """Return a definition with some fields changed; null sets a field back to its default.

    >>> merged(Board("xp", operator="sum", max_score=9), {"max_score": None, "rank": "dense"}).operator
    'sum'
    """
    if fields.get("name", board.name) != board.name:
        raise InvalidBoard(f"name = {brief(fields['name'])} cannot be used; board {board.name!r} keeps its name: leave it out")
    return board_from_dict({field: value for field, value in {**board.to_dict(), **fields}.items() if value is not None})


def consequences(old: Board, new: Board, is_replaced: bool) -> list[str]:
    """Return what a change rebuilds, drops or loses, a phrase each; nothing: it does no harm.

    `is_replaced`: fields that were left out went back to their defaults, which loses what they were set to.

    >>> consequences(Board("xp", operator="sum", max_score=9), Board("xp"), is_replaced=True)
    ["operator changes from 'sum' to 'best': rankings are rebuilt from the ledger", 'max_score = 9 is lost']
    """
    changed = [
        f"{field} changes from {_shown(old, field)} to {_shown(new, field)}: {_REBUILT}"
        for field in MEANING
        if field not in _BY_PARTS and getattr(old, field) != getattr(new, field)
    ]
    changed += _of_windows(old, new, is_replaced)
    changed += [f"segment {name!r} and its rankings are dropped" for name in old.segments if name not in new.segments]
    changed += [f"segment {name!r} is added: {_REBUILT}" for name in new.segments if name not in old.segments]
    if old.segments != new.segments and all(one in new.segments for one in old.segments) and len(old.segments) == len(new.segments):
        changed.append(f"segments change their order: {_REBUILT}")
    return changed + (_lost_settings("", old, new, (*MEANING, *_BY_PARTS)) if is_replaced else [])


def _of_windows(old: Board, new: Board, is_replaced: bool) -> list[str]:
    changed = [f"window {name!r} and its rankings are dropped" for name in old.periods if name not in new.periods]
    changed += [f"window {name!r} is added: {_REBUILT}" for name in new.periods if name not in old.periods]
    both = [name for name in old.periods if name in new.periods]
    if both != [name for name in new.periods if name in old.periods]:
        changed.append(f"windows change their order: {_REBUILT}")
    for name in both:
        before, after = old.periods[name], new.periods[name]
        if (before.start, before.end, before.cron) != (after.start, after.end, after.cron):
            changed.append(f"window {name!r} gets another calendar: {_REBUILT}")
        if after.ttl is not None and (before.ttl is None or duration_ms(after.ttl) < duration_ms(before.ttl)):
            changed.append(f"windows.{name}.ttl changes from {brief(before.ttl)} to {brief(after.ttl)}: older rankings are dropped")
        if is_replaced:
            changed += _lost_settings(f"windows.{name}.", before, after, ("start", "end", "cron"))
    return changed


def _lost_settings(place: str, old: Board | Window, new: Board | Window, left_out: tuple[str, ...]) -> list[str]:
    """Return the settings that have gone back to their defaults."""
    default = Board(old.name) if isinstance(old, Board) else Window()
    return [
        f"{place}{field} = {_shown(old, field)} is lost"
        for field in old.__struct_fields__
        if field not in left_out and getattr(old, field) != getattr(new, field) == getattr(default, field)
    ]


def _shown(part: Board | Window, field: str) -> str:
    return brief(msgspec.to_builtins(getattr(part, field)))
