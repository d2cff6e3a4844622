"""Friends: what a list may hold, and what a change makes of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from keepscore.domain.values import check_player
from keepscore.errors import InvalidField

__all__ = ["FRIEND_MODES", "MAX_FRIENDS", "ONE_WAY", "FriendChange", "FriendMode", "FriendRules", "check_friends"]

#: Friends of one player.
MAX_FRIENDS = 5000

#: Whether a player's list is that player's own, or a friendship is one of both.
FriendMode = Literal["one-way", "mutual"]
FRIEND_MODES: tuple[str, ...] = ("one-way", "mutual")


class FriendRules(NamedTuple):
    """Whether friendship is mutual, and how many friends a player may have."""

    is_mutual: bool = False
    most: int = MAX_FRIENDS


#: Where nobody says otherwise.
ONE_WAY = FriendRules()


class FriendChange(NamedTuple):
    """A change of one player's list: who comes and who goes. `replaces`: everybody else goes."""

    player: str
    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    replaces: bool = False

    def applied(self, before: Collection[str]) -> set[str]:
        """Return the list after the change.

        >>> sorted(FriendChange("a", ["c"], ["b"]).applied(["b", "d"]))
        ['c', 'd']
        >>> FriendChange("a", ["c"], replaces=True).applied(["b", "d"])
        {'c'}
        """
        kept = set() if self.replaces else set(before) - set(self.removed)
        return kept | set(self.added)


def check_friends(player: str, friends: Iterable[object], most: int = MAX_FRIENDS) -> list[str]:
    """Return a list of friends in its order, each once and without the player, or refuse it.

    >>> check_friends("a", ["b", "a", "c", "b"])
    ['b', 'c']
    """
    if isinstance(friends, str):
        raise InvalidField(f"friend_ids = {friends[:40]!r} is not a list of players")
    given = list(friends)
    if len(given) > most:
        raise InvalidField(f"friend_ids has {len(given)} entries: give at most {most}")
    return [friend for friend in dict.fromkeys(check_player(one) for one in given) if friend != player]
