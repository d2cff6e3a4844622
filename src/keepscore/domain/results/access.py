"""What callers get of keys, tokens and plays."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, UnsetType

from keepscore.domain.results.plain import Result
from keepscore.domain.results.standings import PlayerPlace

__all__ = ["ApiKey", "KeyList", "KeyState", "NewKey", "NewPlay", "PlayerStandings", "PlayerToken"]

#: Whether a key can be used.
KeyState = Literal["active", "expired", "revoked"]


class ApiKey(Result):
    """An API key, without its secret."""

    id: str
    name: str
    scope: str
    boards: list[str]
    created: datetime
    expires: datetime | None
    last_used: datetime | None
    state: KeyState
    #: The key that it replaces.
    replaces: str | None


class KeyList(Result):
    """All API keys, oldest first."""

    keys: list[ApiKey]


class NewKey(Result):
    """A new API key. Its text, `key`, is shown here and never again."""

    id: str
    name: str
    scope: str
    boards: list[str]
    expires: datetime | None
    key: str
    #: The key in whose place it comes, and until when that one can be used.
    replaces: str | UnsetType = UNSET
    replaced_expires: datetime | UnsetType = UNSET
    #: What may be a mistake, such as a pattern that matches no board.
    warnings: list[str] | UnsetType = UNSET


class PlayerToken(Result):
    """A token with which a player's client submits and reads as that player."""

    token: str
    expires: datetime


class NewPlay(Result):
    """A play that has begun. A score with its token counts once."""

    play_token: str
    started_at: datetime


class PlayerStandings(Result):
    """Where a player stands, board by board, in the first window of each. Boards without the player are left out."""

    player_id: str
    standings: list[PlayerPlace]
    next_cursor: str | None
