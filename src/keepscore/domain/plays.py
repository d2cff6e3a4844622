"""A play: one game of a player on a board, from its beginning. Pure."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Play"]


class Play(NamedTuple):
    """What the token of a play says: its id, when it began (milliseconds since 1970), and the build of the game."""

    id: str
    started_ms: int
    build: str | None
