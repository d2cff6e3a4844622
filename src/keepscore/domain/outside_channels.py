"""Channels of Redis on which programs outside hear what happens: their names are templates, their messages JSON. Pure."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

import msgspec

__all__ = ["NO_CHANNELS", "OFF", "OutsideChannels", "RankChanged", "WindowEnded", "channel_name", "is_channel_template"]

#: What a template is that names no channel.
OFF = "off"

_TEMPLATE = re.compile(r"(?:[^{}\s]|\{(?:player|board|window)\})+")


class OutsideChannels(NamedTuple):
    """The templates of channels; `off`: there is none."""

    updates: str = OFF
    resets: str = OFF


#: Where nobody says otherwise.
NO_CHANNELS = OutsideChannels()


class RankChanged(msgspec.Struct):
    """A player's own score has changed the player's rank; `old_rank` is null for somebody new."""

    old_rank: int | None
    new_rank: int
    board: str
    window: str


class WindowEnded(msgspec.Struct):
    """A window was closed, or a board reset: its name, the first day of the next one, and which it was."""

    type: str
    date: date
    board: str
    window_id: str
    event: str


def is_channel_template(text: str, name: str) -> bool:
    """Return whether a text can name channels: the updates of all players on one channel could not be told apart.

    >>> is_channel_template("leaderboard:updates:{player}", "updates"), is_channel_template("leaderboard:updates", "updates")
    (True, False)
    """
    is_whole = text == OFF or _TEMPLATE.fullmatch(text) is not None
    return is_whole and (text == OFF or ("{player}" in text) == (name == "updates"))


def channel_name(template: str, board: str, window: str, player: str = "") -> str:
    """Return the name of a channel.

    >>> channel_name("leaderboard:updates:{player}", "global", "weekly", "alice")
    'leaderboard:updates:alice'
    """
    parts = {"player": player, "board": board, "window": window}
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], template)
