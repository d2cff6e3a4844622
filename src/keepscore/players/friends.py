"""Who is whose friend, and how a player stands among friends: `lb.friends`."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.caches import ENTRY_BYTES, ByteCache
from keepscore.domain.friends import FriendChange, FriendRules, check_friends
from keepscore.domain.results.friends import FriendList, FriendsBoard
from keepscore.domain.values import check_player
from keepscore.players.mirror import Mirror
from keepscore.projection.stores import Stores
from keepscore.reading.among import Among, Circle
from keepscore.reading.reader import Reader
from keepscore.reading.view import View

__all__ = ["FriendLists", "Friends"]

#: Lists that are remembered, in bytes; and about what an id takes beside its text.
LISTS_BYTES, ID_BYTES = 32 << 20, 60
#: Milliseconds for which a list is remembered: other processes may change it.
REMEMBERED_MS = 1000


class FriendLists:
    """Lists of friends, as the ledger has them. This process sees its own changes at once, and others' within a second."""

    def __init__(self, stores: Stores, rules: FriendRules) -> None:
        self._store = stores.ledger.friends
        self._clock = stores.clock
        self.rules = rules
        self._known: ByteCache[str, tuple[int, list[str]]] = ByteCache(LISTS_BYTES)
        #: Counts changes: what was read before one is not remembered after it.
        self._changes = 0

    async def of(self, player: str) -> list[str]:
        """Return a player's friends, by id."""
        known = self._known.get(player)
        if known is not None and known[0] <= self._clock() < known[0] + REMEMBERED_MS:
            return known[1]
        changes, now = self._changes, self._clock()
        friends = await self._store.of(player, self.rules.is_mutual)
        if changes == self._changes:
            self._known.put(player, (now, friends), ENTRY_BYTES + len(player) + sum(ID_BYTES + len(friend) for friend in friends))
        return friends

    async def change(self, change: FriendChange) -> FriendList:
        """Change a player's list, and return it."""
        try:
            friends = await self._store.change(change, self.rules, self._clock())
        finally:
            # Also where nobody knows whether it was recorded.
            self._changes += 1
            # Of a mutual friendship, the other side changes, too.
            self._known.clear() if self.rules.is_mutual else self._known.pop(change.player)
        return FriendList(change.player, len(friends), friends)


class Friends:
    """Lists of friends, and rankings among friends."""

    def __init__(self, lists: FriendLists, reader: Reader, among: Among, mirror: Mirror) -> None:
        self._lists = lists
        self._mirror = mirror
        self._reader = reader
        self._among = among

    async def of(self, player_id: str) -> FriendList:
        """Return a player's friends, by id."""
        friends = await self._lists.of(check_player(player_id))
        return FriendList(player_id, len(friends), list(friends))

    async def replace(self, player_id: str, friend_ids: Sequence[str]) -> FriendList:
        """Make these, up to 5,000 players, a player's friends, and nobody else. Return the list."""
        friends = self._checked(player_id, friend_ids)
        return await self._lists.change(FriendChange(player_id, friends, replaces=True))

    async def add(self, player_id: str, friend_ids: Sequence[str]) -> FriendList:
        """Make these friends of a player, too: up to 5,000 in all. Return the list."""
        return await self._lists.change(FriendChange(player_id, self._checked(player_id, friend_ids)))

    async def remove(self, player_id: str, friend_id: str) -> FriendList:
        """End a friendship; where there is none, nothing changes. Return the list."""
        removed = [check_player(friend_id)]
        return await self._lists.change(FriendChange(check_player(player_id), removed=removed))

    def _checked(self, player: str, friends: Sequence[str]) -> list[str]:
        return check_friends(check_player(player), friends, self._lists.rules.most)

    async def ranking(
        self,
        board: str,
        player_id: str,
        *,
        friend_ids: Sequence[str] | None = None,
        limit: int | None = None,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> FriendsBoard:
        """Return a player and friends in rank order: all who are ranked, or the first `limit`.

        With `friend_ids`, these are the friends, whatever the ledger has.
        """
        view = self._reader.view(board, window, window_id, segment, rank)
        check_player(player_id)
        friends = await self._lists.of(player_id) if friend_ids is None else self._checked(player_id, friend_ids)
        is_first = (window_id, segment) == (None, None) and view.ranking.window == view.live.board.first_window
        if friend_ids is not None or not is_first:
            return await self._among.ranking(view, Circle(player_id, friends), limit)
        return await self._mirrored(board, view, Circle(player_id, friends), limit)

    async def _mirrored(self, board: str, view: View, circle: Circle, limit: int | None) -> FriendsBoard:
        """Return a ranking among friends; where other services read it, all of it is written for them."""
        if not self._mirror.has_friends(board):
            return await self._among.ranking(view, circle, limit)
        # A limit that cannot be used is refused first.
        found = await self._among.ranking(view, circle, limit)
        whole = found if limit is None else await self._among.ranking(view, circle, None)
        await self._mirror.show_friends(board, circle.player or "", whole)
        return found
