"""What players have sent to boards with rules, remembered by a process that has the ledger for itself.

To read it again for every submission would cost more than to record one. What is remembered is the fold of what the ledger has, and no
more: all that this process records is told (`recorded`), and whatever is not exactly what the rules have let pass makes the process
forget the player. So is everything when another ledger has taken the place of the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keepscore.caches import ByteCache
from keepscore.domain.boards import Board
from keepscore.domain.rule_checks import Facts, RulePast
from keepscore.domain.scoring import Event
from keepscore.storage.ledgers.base import Ledger

__all__ = ["RememberedPasts"]

#: Bytes of all that is remembered, and of one player's past, about: by itself, and for each event.
MAX_BYTES, PAST_BYTES, EVENT_BYTES = 32 << 20, 1500, 250

#: Number of a board, and a player.
Whose = tuple[int, str]


class RememberedPasts:
    """The pasts of players who have sent something lately."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._pasts: ByteCache[Whose, RulePast] = ByteCache(MAX_BYTES)
        #: Those that the group is judged by which is about to be recorded, and what it adds to each.
        self._judged: dict[Whose, tuple[RulePast, list[Facts]]] = {}
        self._incarnation = ledger.identity.incarnation

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget."""
        return not self._pasts and not self._judged

    def take(self, board_id: int, board: Board, players: Iterable[str]) -> dict[str, RulePast]:
        """Return what is remembered of some players by this definition of a board. It is forgotten unless it comes back (`judged`)."""
        if self._incarnation != self._ledger.identity.incarnation:
            self._pasts, self._incarnation = ByteCache(MAX_BYTES), self._ledger.identity.incarnation
        found = {}
        for player in players:
            past = self._pasts.get((board_id, player))
            if past is not None:
                self._pasts.pop((board_id, player))
                if past.board is board:
                    found[player] = past
        return found

    def forget(self, board_id: int, player: str) -> None:
        """Forget what is remembered of a player on a board."""
        self._pasts.pop((board_id, player))
        self._judged.pop((board_id, player), None)

    def judged(self, pasts: Mapping[Whose, tuple[RulePast, list[Facts]]]) -> None:
        """Take note of what a group adds to the pasts of its players, if it is recorded."""
        self._judged = dict(pasts)

    def recorded(self, events: Iterable[Event]) -> None:
        """Remember the pasts of a group that is recorded as it was judged, and forget those of others in it."""
        judged, self._judged = self._judged, {}
        added: dict[Whose, list[Event]] = {}
        for event in events:
            whose = event.board, event.player
            if whose in judged:
                added.setdefault(whose, []).append(event)
            else:
                self._pasts.pop(whose)
        for whose, own in added.items():
            past, taken = judged[whose]
            if [_meaning(event) for event in own] == [(*facts[:5], facts.windows) for facts in taken]:
                past.size += len(own)
                self._pasts.put(whose, past, PAST_BYTES + EVENT_BYTES * past.size)


def _meaning(event: Event) -> tuple[object, ...]:
    return event.kind, event.amount, event.at, event.received, event.game_id, None if event.scope is None else event.scope.windows
