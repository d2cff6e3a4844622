"""Positions as answers show them."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from keepscore.domain.positions import Position

__all__ = ["shown_position"]


def shown_position(position: Position | None) -> str | UnsetType:
    """Return a position as text; nothing where an answer comes from somewhere that has none, such as an archive."""
    return UNSET if position is None else f"{position[0]}:{position[1]}"
