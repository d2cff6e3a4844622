"""What programs outside hear of: ranks that scores have changed, and windows that have ended."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from keepscore.domain.boards import Board
from keepscore.domain.outside_channels import OFF, OutsideChannels, RankChanged, WindowEnded, channel_name
from keepscore.domain.windows import Span, day_of
from keepscore.projection.partial_rankings import is_estimated
from keepscore.storage.engines.base import Outcome
from keepscore.storage.feeds.base import Feed
from keepscore.writing.plan import Plan

__all__ = ["Announcer"]

_encode = msgspec.json.Encoder().encode


class Announcer:
    """Tells programs outside, on the channels that the settings name; on none, it does nothing."""

    def __init__(self, feed: Feed, channels: OutsideChannels) -> None:
        self._feed = feed
        self._updates, self._resets = channels
        self.tells_ranks = self._updates != OFF

    def ranks_changed(self, plans: Mapping[int, Plan], outcomes: Mapping[int, Outcome]) -> None:
        """Tell players whose own scores have moved them: in each window, or in the board's first one where the channel names none."""
        if not self.tells_ranks:
            return
        told = []
        for key, outcome in outcomes.items():
            plan = plans[key]
            live, player = plan.boards[0], plan.submission.player
            if outcome.restate or live.hides(player) or plan.submission.is_held:
                continue
            moved = list(zip(plan.shown, outcome.changes, strict=False))
            for ranking, change in moved if "{window}" in self._updates else moved[:1]:
                if change.previous != change.rank and not is_estimated(live, change.unique):
                    message = RankChanged(change.previous, change.rank, live.name, ranking.window)
                    told.append((channel_name(self._updates, live.name, ranking.window, player), _encode(message)))
        self._feed.announce(told)

    def window_ended(self, board: Board, span: Span, event: str) -> None:
        """Tell that a window has ended."""
        if self._resets != OFF:
            message = WindowEnded(span.window, day_of(board, span.end), board.name, span.id, event)
            self._feed.announce([(channel_name(self._resets, board.name, span.window), _encode(message))])
