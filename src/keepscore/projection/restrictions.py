"""Who is not ranked, as one process knows it from the ledger.

The process that decides knows at once. Others look whether something has changed when they record or fold something, at most a few times
a second; what they rank meanwhile, the keeper's job finds and takes back.
"""

from __future__ import annotations

from keepscore.domain.restrictions import Restriction, latest_in_force
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.marks import RESTRICTIONS_VERSION, restriction_note

__all__ = ["Restrictions"]

#: Milliseconds for which a process takes what it knows for current.
CURRENT_MS = 250

_decode = restriction_note("").decode


class Restrictions:
    """All restrictions, by player."""

    def __init__(self) -> None:
        self._by_player: dict[str, dict[str, Restriction]] = {}
        self._version: bytes | None = None
        self._looked: int | None = None

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._by_player)

    def take_up(self, one: Restriction) -> None:
        """Know a restriction that was made or changed."""
        self._by_player.setdefault(one.player, {})[one.restriction_id] = one

    def of(self, player: str) -> list[Restriction]:
        """Return the restrictions of a player, whether or not they are in force."""
        return list(self._by_player.get(player, {}).values())

    def all(self) -> list[Restriction]:
        """Return all restrictions."""
        return [one for own in self._by_player.values() for one in own.values()]

    def on(self, board: str, player: str, at: int) -> Restriction | None:
        """Return the restriction that counts for a player on a board at a moment."""
        own = self._by_player.get(player)
        return None if own is None else latest_in_force(own.values(), board, at)

    def on_now(self, board: str, player: str, now: int) -> Restriction | None:
        """Return the restriction that counts for a player on a board now: what is known was decided, whatever this host's clock says."""
        own = self._by_player.get(player)
        if own is None:
            return None
        moments = [moment for one in own.values() for moment in (one.since, one.lifted or 0, *one.lifted_on.values())]
        return latest_in_force(own.values(), board, max(now, *moments))

    def merge_of(self, player: str, at: int) -> Restriction | None:
        """Return the merge of a player into another that is in force at a moment."""
        own = self._by_player.get(player)
        return None if own is None else next((one for one in own.values() if one.kind == "merge" and not one.is_over(at)), None)

    def players_on(self, board: str, at: int) -> list[str]:
        """Return the players who are not ranked on a board at a moment. O(restricted players)."""
        return [player for player in self._by_player if self.on(board, player, at) is not None]

    def players_now(self, board: str, now: int) -> list[str]:
        """Return the players who are not ranked on a board now. O(restricted players)."""
        return [player for player in self._by_player if self.on_now(board, player, now) is not None]

    async def refresh(self, ledger: Ledger, now: int, at_once: bool = False) -> None:
        """Learn what other processes have decided, unless that was done just now."""
        if not at_once and self._looked is not None and 0 <= now - self._looked < CURRENT_MS:
            return
        # Whoever comes meanwhile, or while the ledger is away, goes on with what is known.
        self._looked = now
        version = await ledger.marks.get(RESTRICTIONS_VERSION)
        if version != self._version:
            self._by_player = {}
            for text in (await ledger.marks.all_of("restriction")).values():
                self.take_up(_decode(text))
            self._version = version

    async def put(self, ledger: Ledger, one: Restriction, version: bytes) -> None:
        """Record a restriction, and let everybody know: both or neither, as nobody looks for one without a new version."""
        note = restriction_note(one.restriction_id)
        await ledger.marks.write({note.name: note.encode(one), RESTRICTIONS_VERSION.name: RESTRICTIONS_VERSION.encode(version)})
        self.take_up(one)
