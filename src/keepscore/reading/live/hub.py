"""The hub of one process: hears which rankings have changed, and has what is followed of them read and told.

A channel is read at most once in an interval, however often its ranking changes and however many follow. Notices may be lost: each
second, the positions of all rankings that are followed are compared with those that were shown, and their windows with the calendar.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from keepscore.domain.positions import Position, parse_position
from keepscore.errors import InvalidPosition, KeepscoreError
from keepscore.projection.changes import Changes
from keepscore.projection.stores import Stores
from keepscore.reading.live.channels import Channel
from keepscore.reading.live.circles import Circles, Friends
from keepscore.reading.live.mailboxes import Mailbox, Number
from keepscore.reading.live.messages import STOPPING
from keepscore.reading.live.specs import LiveSpec
from keepscore.reading.reader import Reader
from keepscore.storage.engines.base import Ranking
from keepscore.storage.feeds.base import Feed

__all__ = ["DEFAULT_TIMES", "LiveHub", "LiveParts", "LiveStart", "LiveTimes", "positions_of"]

#: The share of the event loop's time that telling one channel's subscribers may take, at most.
FAN_OUT_SHARE = 0.05
#: Seconds of an interval for each subscriber, as the server sends beside the event loop, and of an interval at most.
FAN_OUT_S, LONGEST_FAN_OUT_S = 170e-6, 0.5

#: Seconds in which what others follow gets to where a subscriber has been.
CATCH_UP_S = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveTimes:
    """How often subscribers hear something, in seconds."""

    #: Between two messages about the same rows, at least.
    interval_s: float = 0.1
    #: Without a message, before a sign of life.
    heartbeat_s: float = 15.0
    #: Between two comparisons of what was shown with what there is.
    check_s: float = 1.0


#: Where nobody says otherwise.
DEFAULT_TIMES = LiveTimes()


class LiveParts(NamedTuple):
    """What a hub reads from, and hears changes from."""

    reader: Reader
    feed: Feed
    changes: Changes
    friends: Friends


class LiveStart(NamedTuple):
    """How a subscription begins: from positions that were shown, and whether only the newest state counts."""

    resume_from: Sequence[Position] = ()
    is_cached: bool = False


FROM_NOW = LiveStart()


class LiveHub:
    """All subscriptions of one process."""

    def __init__(self, stores: Stores, parts: LiveParts, times: LiveTimes) -> None:
        reader, feed, changes, friends = parts
        self.circles = Circles(friends, stores.ledger.groups)
        self._reader = reader
        self._positions = stores.engine.positions
        self._restrictions = stores.catalog.restrictions
        self._clock = stores.clock
        self.times = times
        self._channels: dict[LiveSpec, Channel] = {}
        self._by_ranking: dict[Ranking, set[Channel]] = {}
        #: What each mailbox follows, by number.
        self._mailboxes: dict[Mailbox, dict[Number, list[Channel]]] = {}
        self._checks: dict[Callable[[], None], None] = {}
        self._task: asyncio.Task[None] | None = None
        feed.listen(self._changed)
        changes.listen(self._all_changed)

    def viewer_of(self, player: str | None) -> str | None:
        """Return a player who looks, where that matters: some show themselves to some only, or the player is shadowed."""
        if player is None or self._reader.cards.has_secrets:
            return player
        return player if any(one.kind == "shadow" and not one.is_over(self._clock()) for one in self._restrictions.of(player)) else None

    def is_member(self, player: str, group: str) -> bool:
        """Return whether a player is a member of a group that is followed, as it was read last."""
        return all(player in channel.circle for channel in self._channels.values() if channel.spec.group == group)

    @property
    def subscribers(self) -> int:
        """How many subscriptions there are."""
        return sum(len(channel.mailboxes) for channel in self._channels.values())

    async def subscribe(self, mailbox: Mailbox, number: Number, specs: Sequence[LiveSpec], start: LiveStart = FROM_NOW) -> None:
        """Let a mailbox follow something under a number, from its state on. All of it, or an error and nothing."""
        channels = []
        for spec in specs:
            channel = self._channels.get(spec) or Channel(spec, self._reader, self.circles, self._clock)
            await channel.open()
            await self._catch_up(channel, start.resume_from)
            channels.append(channel)
        # Another one may have come to follow the same meanwhile.
        channels = [self._channels.get(channel.spec, channel) for channel in channels]
        states = [channel.state(self._is_recovered(channel, start.resume_from)) for channel in channels]
        self._mailboxes.setdefault(mailbox, {})[number] = channels
        for channel, state in zip(channels, states, strict=True):
            self._channels[channel.spec] = channel
            self._by_ranking.setdefault(channel.ranking, set()).add(channel)
            channel.mailboxes[number, mailbox] = None
            mailbox.join(number, channel, state, start.is_cached)
            if channel.shown.position != self._positions.latest(channel.ranking):
                self._touch(channel)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch(), name="keepscore-live")

    async def _catch_up(self, channel: Channel, resume_from: Sequence[Position]) -> None:
        """Let a channel that others follow get to where a subscriber has been already, in another process maybe, if the engine has."""
        for position in resume_from:
            if not _is_behind(channel, position):
                continue
            (there,) = await self._positions.read([channel.ranking])
            if there is None or there.epoch != position.epoch or there.seq < position.seq:
                continue
            time = asyncio.get_running_loop().time
            deadline = time() + CATCH_UP_S
            while _is_behind(channel, position) and channel.mailboxes and time() < deadline:
                self._touch(channel)
                await asyncio.sleep(self.times.interval_s / 4)

    @staticmethod
    def _is_recovered(channel: Channel, resume_from: Sequence[Position]) -> bool:
        """Return whether nothing was taken back since a position; refuse one that the ranking has not reached."""
        here = channel.shown.position
        for position in resume_from:
            if position.epoch == here.epoch:
                if position.seq > here.seq:
                    raise InvalidPosition(
                        f"the position {position} is not reached yet: the ranking is at {here}. Resume from one that you were given"
                    )
                return True
        return False

    def unsubscribe(self, mailbox: Mailbox, number: Number) -> None:
        """Let a mailbox follow something no more."""
        followed = self._mailboxes.get(mailbox, {})
        for channel in followed.pop(number, ()):
            channel.mailboxes.pop((number, mailbox), None)
            if not channel.mailboxes:
                self._channels.pop(channel.spec, None)
                self._forget(channel, channel.ranking)
        mailbox.leave(number)
        if not followed:
            self._mailboxes.pop(mailbox, None)

    def leave(self, mailbox: Mailbox) -> None:
        """Let a mailbox follow nothing any more."""
        for number in list(self._mailboxes.get(mailbox, ())):
            self.unsubscribe(mailbox, number)

    def _forget(self, channel: Channel, ranking: Ranking) -> None:
        own = self._by_ranking.get(ranking, set())
        own.discard(channel)
        if not own:
            self._by_ranking.pop(ranking, None)

    def __contains__(self, mailbox: Mailbox) -> bool:
        return mailbox in self._mailboxes

    def each_check(self, check: Callable[[], None]) -> Callable[[], None]:
        """Call something each second, as long as there are subscribers. Return what ends that."""
        self._checks[check] = None
        return lambda: self._checks.pop(check, None)

    def stop(self) -> None:
        """Let all connections end, so that their clients come back, to another process maybe."""
        for mailbox in self._mailboxes:
            mailbox.end(STOPPING)

    async def close(self) -> None:
        """Stop telling."""
        self.stop()
        tasks = [task for task in (self._task, *(channel.task for channel in self._channels.values())) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._channels.clear()
        self._by_ranking.clear()

    # -- changes --------------------------------------------------------------------------------------------------------

    def _changed(self, rankings: Set[Ranking]) -> None:
        if self._by_ranking:
            for ranking in rankings:
                for channel in self._by_ranking.get(ranking, ()):
                    self._touch(channel)

    def _all_changed(self) -> None:
        for channel in self._channels.values():
            self._touch(channel)

    def _touch(self, channel: Channel) -> None:
        channel.is_dirty = True
        if channel.task is None or channel.task.done():
            channel.task = asyncio.get_running_loop().create_task(self._flush(channel))

    async def _flush(self, channel: Channel) -> None:
        """Tell what has changed, again and again, until nothing has; never more often than in each interval."""
        time = asyncio.get_running_loop().time
        while channel.is_dirty and channel.mailboxes:
            fan_out_s = max(FAN_OUT_S * len(channel.mailboxes), channel.spent_s / FAN_OUT_SHARE)
            interval = max(self.times.interval_s, min(LONGEST_FAN_OUT_S, fan_out_s))
            await asyncio.sleep(max(0.0, channel.flushed_s + interval - time()))
            channel.is_dirty = False
            channel.flushed_s, channel.spent_s = time(), 0.0
            try:
                ranking = channel.ranking
                is_done = await channel.refresh()
                if channel.ranking != ranking:
                    self._forget(channel, ranking)
                    if channel.mailboxes:
                        self._by_ranking.setdefault(channel.ranking, set()).add(channel)
                channel.is_dirty = channel.is_dirty or not is_done
            except KeepscoreError as exc:
                log.warning("board %r cannot be told to its subscribers: %s", channel.spec.board, exc)
                channel.is_dirty = True

    async def _watch(self) -> None:
        """Compare what was shown with what there is, and send signs of life, while somebody follows."""
        time = asyncio.get_running_loop().time
        while self._mailboxes:
            await asyncio.sleep(self.times.check_s)
            try:
                await self._compare()
            except KeepscoreError as exc:
                log.debug("positions cannot be compared now: %s", exc)
            for check in list(self._checks):
                check()
            quiet_s = time() - self.times.heartbeat_s
            for mailbox in list(self._mailboxes):
                if mailbox.got_s <= quiet_s:
                    mailbox.ping()

    async def _compare(self) -> None:
        for channel in list(self._channels.values()):
            if channel.is_outdated() or await channel.has_other_circle():
                self._touch(channel)
        followed = list(self._by_ranking)
        for ranking, position in zip(followed, await self._positions.read(followed), strict=True):
            for channel in self._by_ranking.get(ranking, ()):
                if position is not None and channel.shown.position != position:
                    self._touch(channel)


def _is_behind(channel: Channel, position: Position) -> bool:
    here = channel.shown.position
    return here.epoch == position.epoch and here.seq < position.seq


def positions_of(text: str | None, name: str) -> list[Position]:
    """Read the positions that a subscriber resumes from, comma-separated: one for each ranking."""
    return [parse_position(part.strip(), name) for part in text.split(",")] if text else []
