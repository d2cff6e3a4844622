"""What one screen of a game shows of a board: `lb.view`."""

from __future__ import annotations

from keepscore.domain.results.friends import BoardView
from keepscore.domain.values import check_player
from keepscore.players.friends import FriendLists
from keepscore.reading.among import Among, ViewRequest

__all__ = ["Screens"]


class Screens:
    """Everything at once: with the player's friends, as the ledger has them."""

    def __init__(self, lists: FriendLists, among: Among) -> None:
        self._lists = lists
        self._among = among

    async def view(self, board: str, request: ViewRequest) -> BoardView:
        """Return what one screen shows, in one round trip to the engine."""
        wants_friends = request.player is not None and request.friends > 0
        friends = await self._lists.of(check_player(request.player)) if wants_friends else []
        return await self._among.view(board, request, friends)
