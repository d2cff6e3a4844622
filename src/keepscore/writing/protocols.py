"""What the write path asks of parts that it does not know. Other rooms implement these, and the runtime wires them.

A feature reaches the write path by a protocol here, not by an import or by a branch in the writer.
"""

from __future__ import annotations

from typing import Protocol

from keepscore.domain.plays import Play

__all__ = ["LedgerReturn", "PlayReader"]


class LedgerReturn(Protocol):
    """Takes up what another ledger than before says: one that came back may be older than it was."""

    async def relearn(self) -> bool:
        """Take up its definitions; return whether they are others. Only for who holds the writer."""

    async def forget_lost(self) -> None:
        """Forget what was recorded in a ledger that has turned out to be older."""


class PlayReader(Protocol):
    """Reads the tokens of plays."""

    def read(self, token: str, board_id: int, player: str, now: int) -> Play:
        """Return the play of a token that a player may redeem on a board now, or raise the error that says why not."""
