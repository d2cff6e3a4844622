"""The tables within a board's definition."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Decay", "Window"]


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How one window of a board is kept. All fields are optional, but a season has `start` and `end`, or `cron`."""

    key: str | None = None
    segment_key: str | None = None
    live_key: str | None = None
    live_segment_key: str | None = None
    ttl: str | None = None
    archive: int | Literal["all"] = 1000
    snapshot: str | None = None
    start: str | None = None
    end: str | None = None
    cron: str | None = None

    @property
    def is_renamed(self) -> bool:
        """Whether its rankings have other keys while it is live."""
        return self.live_key is not None or self.live_segment_key is not None


class Decay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the scores of a board lose worth with time."""

    half_life: str
