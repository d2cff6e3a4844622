"""Who sees who a player is: names, pictures and invented names, put into standings as somebody looks at them.

`public` players are shown to everybody. `pseudonym` players have an invented name and id for everybody but themselves; `friends`
players for everybody but themselves and those whom they call friends. `hidden` players are in no list but their own: the ranks of the
others stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from msgspec import UnsetType

from keepscore.domain.handles import handle_of
from keepscore.domain.profiles import Card
from keepscore.domain.results.standings import Lookup
from keepscore.reading.cards import Cards

__all__ = ["NO_LABELS", "Friendships", "Labels", "NoFriends", "put_card"]


class Friendships(Protocol):
    """Knows who calls whom a friend."""

    async def friends_with(self, viewer: str, players: Collection[str]) -> Collection[str]:
        """Return those of some players who call a viewer their friend."""


class Shown(Protocol):
    """An answer about one player, or a row of a list."""

    player_id: str
    name: str | None
    avatar_url: str | UnsetType


S = TypeVar("S", bound=Shown)


class NoFriends:
    """Nobody has friends."""

    async def friends_with(self, viewer: str, players: Collection[str]) -> Collection[str]:
        """Return nobody."""
        return ()


class Labels:
    """Puts into answers what a viewer may know of players; without a viewer, what everybody may."""

    def __init__(self, cards: Cards, secret: bytes) -> None:
        self._cards = cards
        self._secret = secret
        #: Who calls whom a friend. The runtime replaces it where friends are known.
        self.friendships: Friendships = NoFriends()

    async def shown(self, standings: list[S], viewer: str | None) -> list[S]:
        """Return the standings that a viewer sees, with names and pictures. What is hidden is left out."""
        card = await self._cards.of([standing.player_id for standing in standings])
        if card is None:
            return standings
        secrets = {one.player_id for one in standings if card(one.player_id).visibility != "public"} - {viewer}
        friends = await self._friends(viewer, secrets, card)
        found = []
        for standing in standings:
            player = standing.player_id
            name, avatar_url, visibility = card(player)[:3]
            if player not in secrets or player in friends:
                standing.name = name
                if avatar_url is not None:
                    standing.avatar_url = avatar_url
            elif visibility == "hidden":
                continue
            else:
                standing.player_id = standing.name = self.handle(player)
            found.append(standing)
        return found

    async def looked_up(self, found: Lookup, viewer: str | None) -> Lookup:
        """Return some players as a viewer sees them. Those who are hidden are missing."""
        ranked = [standing.player_id for standing in found.standings]
        told = await self.visible(ranked, viewer)
        found.standings = await self.shown(found.standings, viewer)
        found.missing += [player for player, known in zip(ranked, told, strict=True) if known is None]
        return found

    async def put_on(self, place: Shown, viewer: str | None) -> bool:
        """Put a name and a picture on the answer about one player; return False where the viewer must not see it."""
        player = place.player_id
        cards = await self._cards.of((player,))
        if cards is None:
            return True
        card = cards(player)
        if card.visibility != "public" and player != viewer and not await self._friends(viewer, {player}, cards):
            place.player_id = place.name = self.handle(player)
            return card.visibility != "hidden"
        put_card(place, card)
        return True

    async def visible(self, players: Sequence[str], viewer: str | None) -> list[str | None]:
        """Return the ids under which a viewer knows some players; None: hidden."""
        card = await self._cards.of(players)
        if card is None:
            return list(players)
        secrets = {player for player in players if card(player).visibility != "public"} - {viewer}
        friends = await self._friends(viewer, secrets, card)
        return [
            player if player not in secrets or player in friends else None if card(player).visibility == "hidden" else self.handle(player)
            for player in players
        ]

    def handle(self, player: str) -> str:
        """Return the invented name of a player."""
        return handle_of(self._secret, player)

    async def _friends(self, viewer: str | None, players: Collection[str], card: Callable[[str], Card]) -> Collection[str]:
        open_to_friends = [player for player in players if card(player).visibility == "friends"]
        return await self.friendships.friends_with(viewer, open_to_friends) if viewer is not None and open_to_friends else ()


def put_card(place: Shown, card: Card) -> None:
    """Put a name and a picture on the answer about one player."""
    place.name = card.name
    if card.avatar_url is not None:
        place.avatar_url = card.avatar_url


class _NoLabels(Labels):
    """Puts nothing into answers: what is ranked has no profile."""

    def __init__(self) -> None:
        pass

    async def shown(self, standings: list[S], viewer: str | None) -> list[S]:
        """Return all of them as they are."""
        return standings

    async def looked_up(self, found: Lookup, viewer: str | None) -> Lookup:
        """Return it as it is."""
        return found

    async def put_on(self, place: Shown, viewer: str | None) -> bool:
        """Put nothing on it."""
        return True

    async def visible(self, players: Sequence[str], viewer: str | None) -> list[str | None]:
        """Return the same ids."""
        return list(players)


#: For lists of what is no player.
NO_LABELS: Labels = _NoLabels()
