"""Whether a submission breaks a rule of its board. Pure.

What a player has sent before comes as a `RulePast`, in the order in which the ledger took it. Every submission that is accepted is added
to it, so two in one group see each other. Times are those at which the service got a submission, which no client can choose.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import NamedTuple

from keepscore.domain.board_checks import brief
from keepscore.domain.boards import Board
from keepscore.domain.inactivity import is_loss
from keepscore.domain.plays import Play
from keepscore.domain.rules import Limit, RuleLimits
from keepscore.domain.scoring import Event, Kind, State
from keepscore.domain.verdicts import VERDICTS, that_count
from keepscore.domain.windows import Span, span_at
from keepscore.errors import GameCounted, KeepscoreError, RuleBroken

__all__ = ["Facts", "RulePast", "attempts_since", "breaches"]


#: Scores and amounts of a player that are remembered: those that a new one is compared with.
MAX_AMOUNTS = 100


class Facts(NamedTuple):
    """What the rules go by of one submission. Times are in milliseconds, the amount is as stored."""

    kind: Kind
    amount: int
    at: int
    received: int
    game_id: str | None = None
    play: Play | None = None
    #: Of a correction, the window whose score it sets.
    span: Span | None = None
    #: The windows in which it counts; None: in all.
    windows: tuple[str, ...] | None = None


class Tally:
    """Numbers that belong to moments, and their sums from a moment on. O(log n) each, as nearly all come in the order of time.

    >>> tally = Tally()
    >>> for moment in (10, 20, 15):
    ...     tally.add(moment, 2)
    >>> tally.since(15), tally.since(21)
    (4, 0)
    """

    def __init__(self) -> None:
        self._moments: list[int] = []
        #: All numbers up to each moment.
        self._sums = [0]

    def add(self, moment: int, number: int = 1) -> None:
        """Add a number."""
        if not self._moments or moment >= self._moments[-1]:
            self._moments.append(moment)
            self._sums.append(self._sums[-1] + number)
            return
        place = bisect_right(self._moments, moment)
        self._moments.insert(place, moment)
        self._sums.insert(place, self._sums[place])
        self._sums[place + 1 :] = [one + number for one in self._sums[place + 1 :]]

    def since(self, moment: int) -> int:
        """Return the sum from a moment on."""
        return self._sums[-1] - self._sums[bisect_left(self._moments, moment)]


class RulePast:
    """What a player has sent to a board, as far as its rules go."""

    def __init__(self, board: Board, events: Iterable[Event] = (), opened: Mapping[tuple[str, str], State] | None = None) -> None:
        self.board = board
        #: How many events it is made of.
        self.size = 0
        #: Submissions that count, by when they were received, and by how much they made the score better.
        self.taken, self.gains = Tally(), Tally()
        #: Those that were refused.
        self.refused = Tally()
        #: The latest scores and amounts that count.
        self.amounts: deque[int] = deque(maxlen=MAX_AMOUNTS)
        #: All games, those whose scores were voided, too: an undo would make them count twice.
        self.games: set[str] = set()
        self._sign = 1 if board.order == "desc" else -1
        #: The score so far, over all windows.
        self._score: int | None = None
        #: The best score in each part of the first window, where amounts are added to it.
        self._bests: dict[str, int] = {}
        #: Time, amount and windows of all that was added up, and the sums of what was dropped, by window and id.
        self._added: list[tuple[int, int, tuple[str, ...] | None]] = []
        self._opened = opened or {}
        self._open()
        self._learn(list(events))

    def _open(self) -> None:
        """Begin with the states that dropped events have left."""
        states = list(self._opened.values())
        # With decay, states are levels, which are not to be compared with amounts.
        if states and self.board.decay is None:
            latest = max(states, key=lambda state: state.since)
            best = max(states, key=lambda state: state.score * self._sign)
            self._score = (latest if self.board.operator == "last" else best).score

    def _learn(self, events: list[Event]) -> None:
        self.size += len(events)
        self.games.update(event.game_id for event in events if event.game_id is not None and event.kind not in VERDICTS)
        parts: set[tuple[tuple[str, ...], str | None]] = set()
        before: Event | None = None
        for event in sorted(that_count(events), key=lambda event: (event.seq or 0, event.received, event.writer, event.n)):
            if self.lose(event):
                continue
            # An amount on a best board may be recorded in several parts, each with windows of its own.
            part = None if event.kind != "raise" or event.scope is None else (event.scope.windows, event.scope.segment)
            is_next = before is not None and (before.writer, before.n + 1, before.received) == (event.writer, event.n, event.received)
            if part is not None and is_next and parts and part not in parts:
                parts.add(part)
                self._score = self._better(event.amount)
            else:
                parts = set() if part is None else {part}
                windows = None if event.scope is None else event.scope.windows
                self.take(Facts(event.kind, event.amount, event.at, event.received, event.game_id, windows=windows))
            before = event

    @property
    def score(self) -> int | None:
        """The score so far, over all windows; None: there is none, or it is a sum."""
        return self._score

    def lose(self, event: Event) -> bool:
        """Take up an event that is a loss for inactivity, which nobody has sent; return whether it is one."""
        if self.board.inactivity is None or event.amount >= 0 or not is_loss(event.kind, event.game_id):
            return False
        self._score = (self._score or 0) + event.amount
        self._added.append((event.at, event.amount, None))
        return True

    def take(self, facts: Facts) -> None:
        """Add a submission that is accepted, or an event that counts."""
        rise = self.rise(facts)
        self.taken.add(facts.received)
        self.amounts.append(facts.amount)
        if rise > 0:
            self.gains.add(facts.received, rise)
        if facts.game_id is not None:
            self.games.add(facts.game_id)
        board = self.board
        if board.operator == "sum":
            self._added.append((facts.at, rise * self._sign, facts.windows))
        elif board.operator == "best" and (facts.kind in ("increment", "raise") or board.increments):
            name, so_far = self._in_first_window(facts.at)
            made = facts.amount if facts.kind != "increment" else (so_far or 0) + facts.amount
            self._bests[name] = made if so_far is None else max(so_far, made)
            self._score = self._better(made)
        elif board.operator == "best":
            self._score = self._better(facts.amount)
        else:
            self._score = facts.amount if facts.kind == "score" else (self._score or 0) + facts.amount

    def rise(self, facts: Facts) -> int:
        """Return by how much a submission makes the score better; below 0: worse. A first score has nothing to be better than."""
        kind, amount = facts.kind, facts.amount
        if self.board.operator == "sum":
            gain = amount - self._sum_in(facts.span) if kind == "score" and facts.span is not None else amount
        elif kind == "raise":
            gain = amount - (self._in_first_window(facts.at)[1] or 0)
        elif kind == "score":
            gain = 0 if self._score is None else amount - self._score
        else:
            gain = amount
        return gain * self._sign

    def _better(self, score: int) -> int:
        return score if self._score is None else max(score, self._score, key=lambda one: one * self._sign)

    def _in_first_window(self, at: int) -> tuple[str, int | None]:
        """Return which part of the first window a time lies in, and the best score there so far."""
        span = span_at(self.board, self.board.first_window, at)
        name = "" if span is None else span.id
        opened = self._opened.get((self.board.first_window, name))
        return name, self._bests.get(name, None if opened is None else opened.score)

    def _sum_in(self, span: Span) -> int:
        opened = self._opened.get((span.window, span.id))
        own = [n for at, n, windows in self._added if span.start <= at < span.end and (windows is None or span.window in windows)]
        return sum(own, 0 if opened is None else opened.score)


def breaches(board: Board, limits: RuleLimits, facts: Facts, past: RulePast) -> list[KeepscoreError]:
    """Return the rules that a submission breaks, each with its limit and the value: up to the first that refuses it, which is last."""
    found: list[KeepscoreError] = []
    for error in _broken(board, limits, facts, past):
        if error is not None:
            found.append(error)
            if not isinstance(error, RuleBroken) or error.rule not in limits.holding:
                break
    return found


def _broken(board: Board, limits: RuleLimits, facts: Facts, past: RulePast) -> Iterator[KeepscoreError | None]:
    if limits.attempts:
        yield _too_many(board, "max_attempts", "attempts", limits.attempts, facts, [past.taken, past.refused])
    if limits.builds:
        yield _of_the_build(board, limits, facts)
    if limits.per_second is not None:
        yield _too_fast(board, limits.per_second, facts)
    if limits.once_a_game:
        yield _of_the_game(board, facts, past)
    if limits.submissions:
        yield _too_many(board, "max_submissions", "accepted submissions", limits.submissions, facts, [past.taken])
    if limits.increase:
        yield _too_steep(board, limits, facts, past)
    if limits.scores != (None, None):
        yield _too_good(board, limits, facts)


def attempts_since(board: Board, limits: RuleLimits, now: int) -> int | None:
    """Return from when on refused attempts matter; None: they do not."""
    return min((_start(board, limit, now) for limit in limits.attempts), default=None)


def _start(board: Board, limit: Limit, now: int) -> int:
    """Return the first moment that counts for a limit."""
    if limit.ms is not None:
        return now - limit.ms + 1
    span = span_at(board, limit.window or "all_time", now)
    # Between two seasons nothing is counted.
    return now + 1 if span is None else span.start


def _too_many(board: Board, rule: str, what: str, limits: tuple[Limit, ...], facts: Facts, counted: list[Tally]) -> RuleBroken | None:
    for limit in limits:
        start = _start(board, limit, facts.received)
        count = 1 + sum(tally.since(start) for tally in counted)
        if count > limit.most and start <= facts.received:
            return _error(board, rule, limit.text, count, f"this would be number {count} of the player's {what} in that time")
    return None


def _of_the_build(board: Board, limits: RuleLimits, facts: Facts) -> RuleBroken | None:
    play, patterns = facts.play, ", ".join(limits.builds)
    if play is None or play.build is None:
        what = "no play_token was sent" if play is None else "its play was begun without a build"
        return _error(board, "builds", patterns, None, f"{what}: begin a play with POST …/plays and a build")
    if not any(fnmatchcase(play.build, pattern) for pattern in limits.builds):
        return _error(board, "builds", patterns, play.build, f"the play's build is {brief(play.build)}")
    return None


def _too_fast(board: Board, per_second: Fraction, facts: Facts) -> RuleBroken | None:
    play, shown = facts.play, str(board.rules.score_per_second if board.rules is not None else "")
    if play is None:
        return _error(board, "score_per_second", shown, None, "no play_token was sent: begin a play with POST …/plays")
    ms = max(0, facts.received - play.started_ms)
    if facts.amount > 0 and facts.amount * 1000 > per_second * ms:
        value = board.shown(facts.amount)
        return _error(board, "score_per_second", shown, value, f"{_what(facts)} = {value}, {ms / 1000:g} s after the play began")
    return None


def _too_good(board: Board, limits: RuleLimits, facts: Facts) -> RuleBroken | None:
    value = board.shown(facts.amount)
    low, high = limits.scores
    if high is not None and facts.amount > high:
        return _error(board, "max_score", str(board.shown(high)), value, f"{_what(facts)} = {value}")
    if low is not None and facts.amount < low:
        return _error(board, "min_score", str(board.shown(low)), value, f"{_what(facts)} = {value}")
    return None


def _what(facts: Facts) -> str:
    return "score" if facts.kind == "score" else "amount"


def _of_the_game(board: Board, facts: Facts, past: RulePast) -> KeepscoreError | None:
    if facts.game_id is None:
        return _error(board, "require", "game_id", None, "no game_id was sent")
    if facts.game_id in past.games:
        return GameCounted.of(board.name, facts.game_id)
    return None


def _too_steep(board: Board, limits: RuleLimits, facts: Facts, past: RulePast) -> RuleBroken | None:
    rise = past.rise(facts)
    for limit in limits.increase if rise > 0 else ():
        value, time = rise, ""
        if limit.ms is not None:
            start = _start(board, limit, facts.received)
            value += past.gains.since(start)
            time = " in that time"
        if value > limit.most:
            shown = board.shown(value)
            return _error(board, "max_increase", limit.text, shown, f"the player's score would get better by {shown}{time}")
    return None


def _error(board: Board, rule: str, limit: str, value: object, why: str) -> RuleBroken:
    return RuleBroken(f"{rule} = {limit} of board {board.name!r} is broken: {why}", rule, limit, value)
