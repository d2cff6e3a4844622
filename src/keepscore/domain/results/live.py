"""What a live subscription tells: a struct for each kind of message."""

from __future__ import annotations

from typing import Literal

from keepscore.domain.results.plain import Result
from keepscore.domain.results.standings import Standing

__all__ = ["LiveChange", "LiveEnd", "LiveMessage", "LiveMode", "LivePing", "LiveState", "Overtaken", "WindowChange"]

#: How a subscriber gets changes: each step, or whatever the latest state is.
LiveMode = Literal["stream", "cache"]
#: What has become of a window.
WindowEvent = Literal["closed", "reset"]


class LiveState(Result):
    """All that a subscription shows, at a position. It replaces whatever was shown before."""

    board: str
    window: str
    window_id: str
    segment: str | None
    position: str
    #: True where nothing was taken back that had been shown at the position from which the subscriber resumes.
    recovered: bool
    total_players: int
    standings: list[Standing]


class LiveChange(Result):
    """What differs from what was shown last: rows that are new or have changed, and the players who have left."""

    board: str
    window: str
    window_id: str
    segment: str | None
    position: str
    total_players: int
    standings: list[Standing]
    removed: list[str]


class Overtaken(Result):
    """Another player has passed the one who is followed."""

    board: str
    window: str
    window_id: str
    segment: str | None
    position: str
    player_id: str
    by: str
    rank: int
    previous_rank: int


class WindowChange(Result):
    """A window has ended, by the calendar or by a reset. The state of the next one follows."""

    board: str
    window: str
    #: The window that has ended.
    window_id: str
    event: WindowEvent


class LivePing(Result):
    """Nothing has changed, and the connection is alive."""


class LiveEnd(Result):
    """The subscription has ended, for this reason."""

    type: str
    detail: str


LiveMessage = LiveState | LiveChange | Overtaken | WindowChange
