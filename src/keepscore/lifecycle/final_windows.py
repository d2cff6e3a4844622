"""Windows whose winners are decided: their standings are signed, and nothing changes them any more."""

from __future__ import annotations

from collections.abc import Iterable

from keepscore.domain.durations import text_of
from keepscore.errors import WindowFinal
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.prizes import PrizePlace

__all__ = ["check_not_final"]


async def check_not_final(ledger: Ledger, live: LiveBoard, rankings: Iterable[Ranking]) -> None:
    """Raise WindowFinal where the winners of one of some windows are decided. One query for each window."""
    for window, window_id in dict.fromkeys(ranking[1:3] for ranking in rankings):
        found = await ledger.prizes.window(PrizePlace(live.id, window, window_id))
        if found is not None and found.final_at is not None:
            raise WindowFinal(
                f"the winners of the {window} window {window_id} of board {live.name!r} are final since {text_of(found.final_at)}: its "
                "standings cannot be corrected any more"
            )
