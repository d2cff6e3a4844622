"""From submissions to events: linked boards, corrections of sums, and the bounds that a result has to keep."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from keepscore.catalog import Catalog, LiveBoard
from keepscore.engines.base import Ranking, RankingEngine, Update
from keepscore.errors import EngineUnavailable, InvalidScore, NotIncrementable, Unavailable, UnknownBoard
from keepscore.guard import Submission, check_decaying, check_open, check_taken
from keepscore.ledgers.base import Ledger
from keepscore.replay import restated
from keepscore.scoring import Event, Kind, made_event

__all__ = ["Plan", "Planner"]


class Plan(msgspec.Struct, frozen=True):
    """The events that one submission becomes, the first on its own board, and what the engine has to do for each."""

    submission: Submission
    boards: Sequence[LiveBoard]
    events: Sequence[Event]
    updates: Sequence[Update]

    def on(self, live: LiveBoard) -> Plan:
        """The same, as its board is defined now."""
        submission = _redirected(self.submission, live)
        return Plan(submission, (live, *self.boards[1:]), self.events, self.updates) if submission.route.spans else self


class Planner:
    """Plans one group of submissions, in their order, each seeing what the ones before it do to the scores."""

    def __init__(
        self, catalog: Catalog, engine: RankingEngine, ledger: Ledger, writer: int, counts: dict[int, int], increments: bool
    ) -> None:
        #: Whether the group has amounts to add: only they ask for scores that the group has set.
        self._increments = increments
        self._catalog = catalog
        self._engine = engine
        self._ledger = ledger
        self._writer = writer
        #: The number of the last planned event of each board.
        self._counts = dict(counts)
        #: Scores that the group has made so far, and those of the submission that is being planned.
        self._scores: dict[tuple[Ranking, str], int] = {}
        self._made: dict[tuple[Ranking, str], int] = {}

    def plan_alone(self, submission: Submission) -> Plan | None:
        """The plan of a submission to no board but its own, on no score of which it depends, as nearly all are; None for others."""
        live = submission.live
        if submission.kind != "score" or not live.is_simple or self._increments or live is not self._catalog.get(live.name):
            return None
        if submission.at != submission.received:
            # While it waited, that may have changed.
            check_taken(live, submission.at)
        return Plan(submission, live.alone, (self._event(live, submission, "score", submission.amount),), (submission.update,))

    async def plan(self, submission: Submission) -> Plan:
        """The events of one submission, or the error that keeps it out."""
        live = submission.live
        self._made = {}
        if live is not self._catalog.get(live.name):
            live, submission = self._redirected(submission)
        if submission.at != submission.received:
            check_taken(live, submission.at)
        boards = [live, *self._catalog.links(live)] if live.board.also else [live]
        # All amounts first: an error must leave nothing behind, no number that nobody uses and no score that nobody made.
        amounts = [await self._amount(target, submission, own=target is live) for target in boards]
        self._scores.update(self._made)
        events = [self._event(target, submission, *amount) for target, amount in zip(boards, amounts, strict=True)]
        updates = [_update(target, submission, event) for target, event in zip(boards, events, strict=True)]
        return Plan(submission, boards, events, updates)

    def _event(self, target: LiveBoard, submission: Submission, kind: Kind, amount: int) -> Event:
        """The next event of a board."""
        number = target.id
        n = self._counts[number] = self._counts.get(number, 0) + 1
        of, extras = submission, (submission.segments, submission.game_id, submission.metadata if target is submission.live else None)
        return made_event((number, self._writer, n, of.player, kind, amount, of.at, of.received, *extras))

    def _redirected(self, submission: Submission) -> tuple[LiveBoard, Submission]:
        """A submission whose board was redefined while it waited, as the new definition takes it."""
        live = self._catalog[submission.live.name]
        if live.id != submission.live.id:
            raise UnknownBoard(f"board {live.name!r} was deleted and made anew meanwhile: send it again")
        if submission.kind == "increment" and live.board.operator in ("best", "first"):
            raise NotIncrementable(f"board {live.name!r} takes no increments any more: its operator is now {live.board.operator!r}")
        return live, _redirected(submission, live)

    async def _amount(self, target: LiveBoard, submission: Submission, own: bool) -> tuple[Kind, int]:
        """What a submission means on a board: kind and amount of the event."""
        board = target.board
        route = submission.route if own else target.route(submission.at, submission.segments)
        if not own:
            check_taken(target, submission.at)
            if not submission.backfill:
                check_open(target, route, submission.at, submission.received)
        kind, amount = submission.kind, submission.amount
        if target.half_life is not None:
            return _decaying_amount(target, kind, amount, own)
        if kind == "score" and board.operator != "sum":
            low, high = board.bounds
            if not low <= amount <= high:
                raise InvalidScore(f"score = {board.shown(amount)} is outside the bounds of board {board.name!r}")
            if board.operator == "last" and self._increments:
                self._made.update(dict.fromkeys([(ranking, submission.player) for ranking in route.rankings], amount))
            return "score", amount
        if kind == "score" and own:
            # An absolute score on a sum board: what is missing to it in the first window.
            if target.is_resetting:
                raise Unavailable(f"board {target.name!r} is being reset: send the score again in a moment, or an amount, as an increment")
            kind, amount = "correction", amount - await self._score(target, route.rankings[0], submission.player)
        elif kind == "score":
            kind = "increment"
        await self._check_results(target, route.rankings, submission.player, amount)
        return kind, amount

    async def _check_results(self, target: LiveBoard, rankings: tuple[Ranking, ...], player: str, amount: int) -> None:
        low, high = target.board.bounds
        for ranking in rankings:
            result = self._made[ranking, player] = amount + await self._score(target, ranking, player)
            if not low <= result <= high:
                shown = target.board.shown
                raise InvalidScore(
                    f"amount = {shown(amount)} would make the {ranking.window} score {shown(result)}, outside the bounds of board "
                    f"{target.name!r}: {shown(low)} to {shown(high)}"
                )

    async def _score(self, target: LiveBoard, ranking: Ranking, player: str) -> int:
        key = ranking, player
        known = self._made.get(key, self._scores.get(key))
        if known is not None:
            return known
        try:
            (state,) = await self._engine.states(ranking, [player])
            away = False
        except EngineUnavailable:
            state, away = None, True
        if away or (state is None and target.board.keep_top is not None):
            # The engine does not keep everybody.
            state = await restated(self._ledger, target, player, ranking, await self._ledger.positions(target.id))
        return 0 if state is None else state.score


def _redirected(of: Submission, live: LiveBoard) -> Submission:
    """A submission as another definition of its board takes it."""
    route = live.route(of.at, of.segments)
    update = live.update_on(route, of.player, of.kind, of.amount, of.at, of.received, of.update.ranked)
    return replace(of, live=live, route=route, update=update)


def _update(target: LiveBoard, submission: Submission, event: Event) -> Update:
    """What the engine has to do for one of a submission's events."""
    own = target is submission.live
    if own and (event.kind, event.amount) == (submission.kind, submission.amount):
        return submission.update
    return target.update(event, own and submission.update.ranked)


def _decaying_amount(target: LiveBoard, kind: Kind, amount: int, own: bool) -> tuple[Kind, int]:
    """What a submission means on a board with decay, where bounds are those of single amounts."""
    if own:
        check_decaying(target, kind)
    low, high = target.board.bounds
    if not low <= amount <= high:
        raise InvalidScore(
            f"{'score' if kind == 'score' else 'amount'} = {target.board.shown(amount)} is outside the bounds of board {target.name!r}"
        )
    return "increment" if target.board.operator == "sum" else kind, amount
