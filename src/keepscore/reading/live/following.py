"""`lb.live(…)`: live subscriptions for programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from keepscore.domain.results.live import LiveChange, LiveEnd, LiveMessage, LiveMode, LiveState, Overtaken, WindowChange
from keepscore.errors import KeepscoreError, UnknownBoard
from keepscore.reading.live.hub import LiveHub, LiveStart, positions_of
from keepscore.reading.live.mailboxes import Mailbox
from keepscore.reading.live.specs import LiveRequest, specs_of

__all__ = ["LiveReads"]


class HasHub(Protocol):
    """The parts of a process, one of which is a hub."""

    @property
    def live(self) -> LiveHub:
        """The hub."""


class LiveReads:
    """The part of the library that follows rankings."""

    _opened: Callable[[], Awaitable[HasHub]]

    def live(
        self,
        board: str,
        *,
        top: int | None = None,
        player_id: str | None = None,
        around: int | None = None,
        friends_of: str | None = None,
        group: str | None = None,
        window: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        mode: LiveMode = "stream",
        resume_from: str | None = None,
    ) -> AsyncIterator[LiveMessage]:
        """Follow the `top` rows of a ranking, those `around` a player, a player's friends, or a group: the state, then each change.

        Several boards, comma-separated, come one after the other. With `mode="cache"`, only the latest state comes. A connection that was
        cut is resumed by itself; `resume_from` is the position of the last message that another program has got.
        """
        request = LiveRequest(board, window, segment, rank, top, player_id, around, friends_of, group)
        return _followed(self._opened, request, resume_from, mode == "cache")


async def _followed(
    opened: Callable[[], Awaitable[HasHub]], request: LiveRequest, resume_from: str | None, is_cached: bool
) -> AsyncIterator[LiveMessage]:
    hub, mailbox = (await opened()).live, Mailbox()
    await hub.subscribe(mailbox, 1, specs_of(request), LiveStart(positions_of(resume_from, "resume_from"), is_cached))
    try:
        while True:
            _, message = await mailbox.get()
            if message.name == "stopping":
                return
            if isinstance(message.told, LiveEnd):
                raise _error(message.told)
            if isinstance(message.told, LiveState | LiveChange | Overtaken | WindowChange):
                yield message.told
    finally:
        hub.leave(mailbox)


def _error(end: LiveEnd) -> KeepscoreError:
    """Return the error that has ended a subscription: the board is gone."""
    return UnknownBoard(end.detail)
