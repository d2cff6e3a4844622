"""What is followed: some rows of a ranking, read and compared once for all who follow the same.

A channel never shows a state that is older than one it has shown: a page comes with the position at which it was read, and one from
before, as a replica may give, is passed over. Another epoch cannot be compared, and begins with a state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import thread_time
from typing import NamedTuple

from keepscore.domain.positions import Position, parse_position
from keepscore.domain.results.live import LiveChange, LiveEnd, LiveState, Overtaken, WindowChange
from keepscore.domain.results.standings import Lookup, PlayerPlace, Standing, Top
from keepscore.domain.windows import span_at
from keepscore.errors import EngineUnavailable, InvalidField, KeepscoreError, NotFound, Unavailable, UnknownPlayer
from keepscore.reading.cohorts import is_cohort
from keepscore.reading.live.circles import Circles
from keepscore.reading.live.mailboxes import Mailbox, Number
from keepscore.reading.live.messages import LiveNotice
from keepscore.reading.live.specs import LiveSpec
from keepscore.reading.reader import Reader
from keepscore.reading.view import View
from keepscore.storage.engines.base import Ranking

__all__ = ["Channel", "ShownRows"]

#: Subscribers who are told something in one turn: some tenths of a millisecond.
TURN = 50

log = logging.getLogger(__name__)


class ShownRows(NamedTuple):
    """What a channel has shown last."""

    view: View
    position: Position
    total: int
    standings: list[Standing]
    #: The rows around the player who is followed, if one is.
    near: list[Standing]


class Channel:
    """Some rows of a ranking, and the mailboxes of all who follow them."""

    def __init__(self, spec: LiveSpec, reader: Reader, circles: Circles, clock: Callable[[], int]) -> None:
        self.spec = spec
        self._clock = clock
        self._reader = reader
        self._circles = circles
        #: The friends or members who were read last, of a channel that follows some.
        self.circle: Sequence[str] = ()
        self._shown: ShownRows | None = None
        self._state: LiveNotice | None = None
        #: Who follows, under which number.
        self.mailboxes: dict[tuple[Number, Mailbox], None] = {}
        #: Whether something may have changed since it was read, and a read of it is under way.
        self.is_dirty = False
        self.task: asyncio.Task[None] | None = None
        self.flushed_s = 0.0
        #: Seconds of the processor that telling has taken since the last round began.
        self.spent_s = 0.0
        self._opening: asyncio.Future[None] | None = None

    @property
    def shown(self) -> ShownRows:
        """What was shown last."""
        assert self._shown is not None, "a channel is opened before it is used"
        return self._shown

    @property
    def ranking(self) -> Ranking:
        """The ranking that is shown."""
        return self.shown.view.ranking

    async def open(self) -> None:
        """Read what is shown first, once for all who ask at the same time."""
        if self._shown is not None:
            return
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._open())
        try:
            await asyncio.shield(self._opening)
        finally:
            if self._opening is not None and self._opening.done():
                self._opening = None

    async def _open(self) -> None:
        view = self._view()
        if is_cohort(view):
            raise InvalidField(f"segment = {self.spec.segment!r} cannot be followed, as cohorts have no positions: follow the whole window")
        found = await self._read(view)
        if found is None:
            raise EngineUnavailable(f"board {self.spec.board!r} cannot be followed while its answers may lack something: try again")
        self._shown = found

    def state(self, recovered: bool = False) -> LiveNotice:
        """Return all that is shown."""
        if recovered:
            return LiveNotice(self._told(recovered=True))
        if self._state is None:
            self._state = LiveNotice(self._told(recovered=False))
        return self._state

    def _told(self, recovered: bool) -> LiveState:
        view, position, total, standings, _ = self.shown
        return LiveState(*view.labels, str(position), recovered, total, standings)

    async def send(self, told: LiveState | LiveChange | Overtaken | WindowChange | LiveEnd) -> None:
        """Give a message to all who follow now. Others, such as writers, get their turn in between."""
        message, begun_s = LiveNotice(told), thread_time()
        for n, one in enumerate(list(self.mailboxes), 1):
            if one in self.mailboxes:
                one[1].put(one[0], self, message)
            if n % TURN == 0:
                self.spent_s += thread_time() - begun_s
                await asyncio.sleep(0)
                begun_s = thread_time()
        self.spent_s += thread_time() - begun_s

    async def refresh(self) -> bool:
        """Read what there is now, and tell what has changed. Return whether that is done, or has to be done again."""
        try:
            view = self._view()
            if view.live.board.cuts and view.live.board.cuts[-1] > self._clock():
                # A reset that takes effect in a moment.
                return False
            found = await self._read(view)
        except Unavailable as exc:
            log.debug("board %r cannot be read for its subscribers: %s", self.spec.board, exc)
            return False
        except NotFound as exc:
            if isinstance(exc, UnknownPlayer):
                return False
            await self.send(LiveEnd(exc.type, exc.detail))
            return True
        if found is None:
            return False
        before, self._shown = self.shown, found
        is_other = found.view.ranking != before.view.ranking
        is_reset = len(view.live.board.resets) > len(before.view.live.board.resets)
        if not is_other and found.position.epoch == before.position.epoch and found.position.seq < before.position.seq:
            self._shown = before
            return False
        self._state = None
        if is_other or is_reset:
            await self.send(self._ended(before.view, view, is_reset))
        if is_other or is_reset or found.position.epoch != before.position.epoch:
            await self.send(self._told(recovered=False))
        else:
            await self._tell_difference(before, found)
        return True

    def _ended(self, before: View, now: View, is_reset: bool) -> WindowChange:
        """Return which window has ended, and why."""
        window_id = before.ranking.window_id
        if is_reset:
            span = span_at(now.live.board, before.ranking.window, now.live.board.cuts[-1] - 1)
            window_id = window_id if span is None else span.id
        return WindowChange(before.live.name, before.ranking.window, window_id, "reset" if is_reset else "closed")

    async def _tell_difference(self, before: ShownRows, now: ShownRows) -> None:
        known = {one.player_id: one for one in before.standings}
        changed = [one for one in now.standings if known.get(one.player_id) != one]
        left = {one.player_id for one in now.standings}
        removed = [player for player in known if player not in left]
        if changed or removed or now.total != before.total:
            await self.send(LiveChange(*now.view.labels, str(now.position), now.total, changed, removed))
        if self.spec.player and (overtaken := self._overtaken(before, now)) is not None:
            await self.send(overtaken)

    def _overtaken(self, before: ShownRows, now: ShownRows) -> Overtaken | None:
        """Return who has passed the player, if somebody has: the player's own score is the same, and the rank is worse."""
        player = self.spec.player
        old = next((one for one in before.near if one.player_id == player), None)
        new = next((one for one in now.near if one.player_id == player), None)
        if old is None or new is None or new.rank <= old.rank or new.score != old.score:
            return None
        ahead = {one.player_id for one in before.near[: before.near.index(old)]}
        above = now.near[: now.near.index(new)]
        by = next((one.player_id for one in reversed(above) if one.player_id not in ahead), above[-1].player_id if above else None)
        return None if by is None else Overtaken(*now.view.labels, str(now.position), player, by, new.rank, old.rank)

    def _view(self) -> View:
        spec = self.spec
        view = self._reader.view(spec.board, spec.window, None, spec.segment, spec.rank)
        # Friends are shown as the player sees them, in every read.
        viewer = spec.friends_of or spec.viewer
        return view if viewer is None else view._replace(viewer=viewer)

    def is_outdated(self) -> bool:
        """Return whether the window that is shown has ended."""
        try:
            view = self._view()
        except KeepscoreError:
            return True
        return view.ranking != self.ranking or len(view.live.board.resets) != len(self.shown.view.live.board.resets)

    async def has_other_circle(self) -> bool:
        """Return whether friends or members are others than those who are shown, as far as that is known."""
        if not self.spec.has_circle:
            return False
        try:
            return await self._circles.of(self.spec) != self.circle
        except Unavailable:
            return False
        except NotFound:
            return True

    async def _read(self, view: View) -> ShownRows | None:
        """Read what is followed; None where the answer may lack something."""
        spec, reader = self.spec, self._reader
        answer: Top | PlayerPlace | Lookup
        if spec.has_circle:
            self.circle = await self._circles.of(spec)
            answer = await reader.lookup(view, self.circle, len(self.circle))
            standings = near = answer.standings
        elif not spec.player:
            answer = await reader.top(view, spec.top)
            standings = near = answer.standings
        else:
            try:
                # One more on each side, so that it can be told who passes the player.
                answer = await reader.player(view, spec.player, max(1, spec.around))
                near, own = answer.around, answer.player_id
            except UnknownPlayer:
                near, own = [], ""
                answer = await reader.top(view, 1)
            standings = near if spec.around else [one for one in near if one.player_id == own]
        if answer.stale is True or not isinstance(answer.position, str):
            return None
        return ShownRows(view, parse_position(answer.position), answer.total_players, standings, near)
