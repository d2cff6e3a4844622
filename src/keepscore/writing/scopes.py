"""A checked submission, and the rankings in which it counts: all of its time, or those within a scope.

A correction, a score that is sent to a `sum` board, counts in the board's first window, or in those that the request names. A late score
counts in the windows that are still open, where the board has `late = "open_windows"`, or is refused. An opening balance, which an import
brings, counts in one ranking, and is not sent on to linked boards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from keepscore.domain.durations import time_of
from keepscore.domain.plays import Play
from keepscore.domain.ratings.matches import Match
from keepscore.domain.scoring import Event, Kind, Scope
from keepscore.domain.suspicion import Suspicion
from keepscore.domain.verdicts import RESTATING, verdict_on
from keepscore.domain.windows import Span
from keepscore.errors import InvalidField, WindowClosed
from keepscore.projection.live_boards import LiveBoard, RankingRoute
from keepscore.storage.engines.base import Update
from keepscore.storage.ledgers.claims import Claim

__all__ = ["Submission", "as_recorded", "check_windows", "move", "route_on", "verdict", "verdicts_on_player"]

#: What stands in a submission until it is known where it counts.
NO_ROUTE = RankingRoute((), (), (), 0)
NO_UPDATE = Update("", "score", 0, 0, 0, (), 0, (), False)


class Submission(msgspec.Struct, eq=False):
    """A checked submission: `amount` is the score or increment as stored, `route` the rankings that it counts in."""

    live: LiveBoard
    player: str
    kind: Kind
    amount: int
    at: int
    received: int
    segments: dict[str, str] | None
    game_id: str | None
    metadata: Any
    #: Whether it counts in windows that are closed, too.
    backfill: bool
    #: Whether somebody waits for the ranks.
    ranked: bool
    #: The windows that a correction names.
    windows: tuple[str, ...] | None = None
    #: The one ranking of its time of which it is an opening balance.
    opening: Scope | None = None
    #: The match that it is, of several players.
    match: Match | None = None
    #: The play that it is the score of, which counts once.
    play: Play | None = None
    #: What else of it counts once, as a rule of its board demands.
    once: Claim | None = None
    #: The mark of the address that it came from, where it is known.
    address: str | None = None
    #: Whether it is recorded as it is: a decision adds it.
    is_decided: bool = False
    #: Why it goes to the moderators; None: nobody doubts it.
    suspicion: Suspicion | None = None
    route: RankingRoute = NO_ROUTE
    #: What the player's profile says, where segments come from it; of one that is late, the values of now and before, by board.
    traits: Mapping[str, object] | None = None
    places: dict[int, list[dict[str, str]]] | None = None
    #: The version of that profile; None: none matters.
    profile_version: int | None = None
    #: Of a match, what it is for each player.
    by_player: dict[str, Submission] | None = None
    #: Where it counts on its own board; None: in all rankings of its time.
    scope: Scope | None = None
    #: What the engine has to do for it, if nothing changes it on its way.
    update: Update = NO_UPDATE

    @property
    def is_held(self) -> bool:
        """Whether it does not count until a moderator approves it."""
        return self.suspicion is not None and self.suspicion.is_held

    @property
    def sides(self) -> Collection[Submission]:
        """What it is for each of its players: itself, unless it is a match."""
        return (self,) if self.by_player is None else self.by_player.values()

    def find_rankings(self, now: int) -> None:
        """Find the rankings in which it counts, by the clock, or raise WindowClosed. To be called again when it has waited long."""
        live = self.live
        if self.kind in RESTATING or self.is_decided:
            # It counts where the event counts that it is about, or as was decided.
            self.route = live.route_of(self)
            return
        scope = self.opening
        if scope is None and self.kind == "score" and live.board.takes_corrections:
            scope = _correction_scope(live, live.position(self.at).spans, self.windows)
        self.route, self.scope = _open_route(self, live, scope, now)
        self.update = live.update_on(self.route, self, self.ranked)

    def segments_on(self, live: LiveBoard) -> dict[str, str] | None:
        """Return the values that it has on a board."""
        if live is self.live or self.traits is None or not live.reads_profiles:
            return self.segments
        return live.board.slicing.filled(self.segments, self.traits)

    def follow(self, segments: dict[str, str] | None, traits: Mapping[str, object] | None) -> None:
        """Count in the slices in which the player is."""
        self.traits, self.segments = traits, segments
        self.route = self.live.route(self.at, segments, self.scope)
        self.update = self.live.update_on(self.route, self, self.ranked)

    def on(self, live: LiveBoard, scope: Scope | None) -> Submission:
        """Return the same as another definition of its board takes it, with the scope that was recorded."""
        submission = replace(self, live=live, route=live.route(self.at, self.segments, scope), scope=scope)
        submission.update = live.update_on(submission.route, submission, self.ranked)
        return submission

    def taken_by(self, live: LiveBoard, now: int) -> Submission:
        """Return the same as another definition of its board would have taken it, or raise the error that says why not."""
        submission = replace(self, live=live)
        if self.windows is not None:
            submission.windows = check_windows(live, self.kind, self.windows)
        submission.find_rankings(now)
        return submission


def verdict(live: LiveBoard, kind: Literal["void", "restore"], decision: str, about: Event, now: int) -> Submission:
    """Return the verdict of a decision on a recorded event."""
    given = (live, about.player, kind, 0, about.at, now, about.segments, decision, verdict_on(about))
    found = Submission(*given, backfill=True, ranked=False, scope=about.scope)
    found.find_rankings(now)
    return found


def as_recorded(live: LiveBoard, event: Event, now: int) -> Submission:
    """Return an event that a decision adds, which is recorded as it is."""
    given = (live, event.player, event.kind, event.amount, event.at, now, event.segments, event.game_id, event.metadata)
    found = Submission(*given, backfill=True, ranked=False, scope=event.scope, address=event.address, is_decided=True)
    found.find_rankings(now)
    return found


def verdicts_on_player(given: Submission, events: Iterable[Event], now: int) -> list[Submission]:
    """Return the verdicts of a decision on a player: the first reaches the rankings of now, the others those in which events count.

    So an engine that has lost some of its last changes, and gets the verdicts again, restates the player in all of them.
    """
    live = given.live
    given.find_rankings(now)
    found, reached = [given], set(given.route.rankings)
    for event in events:
        if event.kind not in RESTATING and not all(r in reached or live.is_retired(r) for r in live.rankings_of(event)):
            one = replace(given, at=event.at, segments=event.segments, scope=event.scope)
            one.find_rankings(now)
            found.append(one)
            reached.update(one.route.rankings)
    return found


def move(live: LiveBoard, player: str, at: int, now: int, places: Sequence[dict[str, str]]) -> Submission:
    """Return what takes a player to the first of some places, in the windows of a moment, out of the others."""
    told = {"from": [place for place in places[1:] if place]}
    found = Submission(live, player, "move", 0, at, now, places[0] or None, None, told, backfill=True, ranked=False)
    found.find_rankings(now)
    return found


def route_on(linked: LiveBoard, submission: Submission) -> tuple[RankingRoute, Scope | None]:
    """Return the rankings of a linked board in which a submission counts, and the scope that says so."""
    return _open_route(submission, linked, None, submission.received)


def _open_route(submission: Submission, live: LiveBoard, scope: Scope | None, now: int) -> tuple[RankingRoute, Scope | None]:
    moment = submission.at
    position = live.position(moment)
    segments = submission.segments_on(live)
    route = position.route(segments, scope)
    # Nearly always the windows of the event's time are the ones that are open now, unless the clock was put back.
    is_now = moment == now or position is live.position(now)
    closed = live.closed
    if not submission.backfill and not (is_now and not live.closed_early and (not closed or moment >= max(closed.values()))):
        ended = [span for span in route.spans if _is_closed(live, span, closed, now)]
        left = tuple([span.window for span in route.spans if span not in ended])
        if ended and not (left and scope is None and live.board.late == "open_windows"):
            raise _closed(live, ended[0], moment)
        if ended:
            scope = Scope(left)
            route = position.route(segments, scope)
    if not route.spans and live is submission.live:
        assert live.board.season is not None, "a season by cron has no gaps"
        start, end = (time.isoformat(timespec="seconds") for time in live.board.season)
        raise WindowClosed(f"board {live.name!r} has no season at {_text(moment)}: its season is from {start} to {end}")
    return route, scope


def _is_closed(live: LiveBoard, span: Span, closed: Mapping[str, int], now: int) -> bool:
    """Return whether a window has ended, its grace included, or was closed before."""
    return now >= span.end + live.board.grace_ms or span.end <= closed.get(span.window, 0) or span[:2] in live.closed_early


def _closed(live: LiveBoard, span: Span, moment: int) -> WindowClosed:
    """Return the error for a score of a window that takes none any more."""
    window = f"the {span.window} window {span.id} of board {live.name!r}"
    if (early := live.closed_early.get(span[:2])) is not None:
        return WindowClosed(f"{window} was closed before its end, at {_text(early)}: it takes no more scores")
    return WindowClosed(
        f"at = {_text(moment)} is in {window}, which ended at {_text(span.end)} and takes late scores for {live.board.grace} only"
    )


def _correction_scope(live: LiveBoard, spans: Sequence[Span], windows: tuple[str, ...] | None) -> Scope:
    """Return where a correction counts: in the windows that it names, or in the board's first, if there is one at its time."""
    return Scope(windows or tuple([span.window for span in spans[:1]]) or (live.board.first_window,))


def check_windows(live: LiveBoard, kind: Kind, windows: Sequence[str]) -> tuple[str, ...]:
    """Return the windows that a correction names, in the board's order, or raise InvalidField."""
    board = live.board
    if kind != "score" or not board.takes_corrections:
        raise InvalidField(
            f"windows = {list(windows)} cannot be given: it is for corrections, which are scores sent to 'sum' boards; this is "
            f"{'a score' if kind == 'score' else 'an increment'} on board {board.name!r}, whose operator is {board.operator!r}"
        )
    if not windows or len(set(windows)) < len(windows) or not set(windows) <= set(board.periods):
        raise InvalidField(f"windows = {list(windows)} cannot be used: name one or more of {', '.join(board.periods)}, each once")
    return tuple([window for window in board.periods if window in windows])


def _text(moment: int) -> str:
    return time_of(moment).isoformat(timespec="seconds")
