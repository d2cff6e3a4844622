"""Plays: begun before a game, redeemed once with its score."""

from __future__ import annotations

from keepscore.access.play_tokens import PlayTokens
from keepscore.domain.durations import time_of
from keepscore.domain.plays import Play
from keepscore.domain.results.access import NewPlay
from keepscore.domain.values import check_player, check_text
from keepscore.errors import InvalidField
from keepscore.projection.stores import Stores

__all__ = ["Plays"]


class Plays:
    """Begins plays, and reads their tokens for the write path (`writing/protocols.py`)."""

    def __init__(self, stores: Stores, tokens: PlayTokens) -> None:
        self._catalog = stores.catalog
        self._clock = stores.clock
        self._tokens = tokens

    def begin(self, board: str, player_id: str, build: str | None) -> NewPlay:
        """Begin a play. Nothing is recorded yet."""
        live, now = self._catalog[board], self._clock()
        if build is not None:
            check_text("build", build, InvalidField)
        return NewPlay(self._tokens.begin(live.id, check_player(player_id), build, now), time_of(now))

    def read(self, token: str, board_id: int, player: str, now: int) -> Play:
        """Return the play of a token that a player may redeem on a board now, or say why not."""
        return self._tokens.read(token, board_id, player, now)
