"""Keys in Redis that other services read: a hash of what is known about a player, and a ranking among friends. Pure."""

from __future__ import annotations

from typing import NamedTuple

from keepscore.domain.board_checks import check_template
from keepscore.domain.profiles import Card

__all__ = ["FRIENDS_FIELDS", "FRIENDS_TTL_MS", "NO_MIRROR", "PLAYER_FIELDS", "MirrorKeys", "check_mirror_key", "hash_of"]

#: What the templates may hold.
PLAYER_FIELDS, FRIENDS_FIELDS = ("player_id",), ("player_id", "board")
#: How long a ranking among friends is kept, in milliseconds: an hour.
FRIENDS_TTL_MS = 3_600_000


class MirrorKeys(NamedTuple):
    """Templates of keys; empty: there are none. `board` is the one of whose friends there are keys that do not name it."""

    player: str = ""
    friends: str = ""
    board: str = ""

    def of_player(self, player: str) -> str:
        """Return the key of a player's hash.

        >>> MirrorKeys("player:{player_id}").of_player("12345")
        'player:12345'
        """
        return self.player.format(player_id=player)

    def of_friends(self, board: str, player: str) -> str | None:
        """Return the key of a ranking among a player's friends; None: that board has none."""
        if not self.friends or ("{board}" not in self.friends and board != self.board):
            return None
        return self.friends.format(player_id=player, board=board)


#: Where nobody asks for keys.
NO_MIRROR = MirrorKeys()


def check_mirror_key(fields: tuple[str, ...], template: str) -> None:
    """Check that a template has the player, and nothing but what it may hold."""
    try:
        check_template(fields, template)
    except ValueError:
        raise ValueError(f"it may hold {', '.join('{' + field + '}' for field in fields)}") from None
    if "{player_id}" not in template:
        raise ValueError("it needs {player_id}: each player has a key")


def hash_of(card: Card) -> dict[str, str | None]:
    """Return the fields of a player's hash; None: that is not known, or not for everybody.

    >>> hash_of(Card("Ada", traits={"level": 50}))
    {'username': 'Ada', 'level': '50', 'region': None}
    """
    if card.visibility != "public":
        return dict.fromkeys(("username", "level", "region"))
    level, region = card.traits.get("level"), card.traits.get("region")
    return {"username": card.name, "level": None if level is None else str(level), "region": None if region is None else str(region)}
