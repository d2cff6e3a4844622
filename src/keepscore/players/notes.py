"""What submissions tell about their players, on its way to the profiles."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from keepscore.errors import KeepscoreError
from keepscore.players.profiles import Players
from keepscore.reading.cards import Cards

__all__ = ["Notes"]

log = logging.getLogger(__name__)


class Notes:
    """Implements `writing.protocols.ProfileNotes`."""

    def __init__(self, players: Players, cards: Cards) -> None:
        self._players = players
        self._cards = cards

    async def note(self, told: Mapping[str, Mapping[str, str]]) -> None:
        """Take up names and pictures of players whose submissions were accepted, where they are new. Never fails."""
        changed = [{"player_id": player, **fields} for player, fields in told.items() if self._is_new(player, fields)]
        if not changed:
            return
        try:
            await self._players.change_many(changed)
        except KeepscoreError as exc:
            # The scores are recorded: the next submission tells it again.
            log.warning("names that came with scores were not recorded: %s", exc)

    def _is_new(self, player: str, fields: Mapping[str, str]) -> bool:
        card = self._cards.known(player)
        return card is None or any(getattr(card, name) != value for name, value in fields.items())
