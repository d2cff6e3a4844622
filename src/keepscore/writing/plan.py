"""From submissions to events: linked boards, corrections of sums, and the bounds that a result has to keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from keepscore.domain.boards import Board
from keepscore.domain.ratings.matches import Match, rated
from keepscore.domain.scoring import Event, Kind, Scope, made_event
from keepscore.domain.verdicts import RESTATING
from keepscore.errors import InvalidScore, KeepscoreError, NotIncrementable, NotRated, TakesMatches, Unavailable, UnknownBoard
from keepscore.projection.live_boards import Catalog, LiveBoard, RankingRoute
from keepscore.projection.rating_book import RatingBook
from keepscore.storage.engines.base import Ranking, Update
from keepscore.storage.pace import Turns
from keepscore.writing.checks import check_taken, decaying_amount
from keepscore.writing.match_plan import MatchSide, before_ranked, side_events
from keepscore.writing.scopes import Submission, move, route_on, verdict
from keepscore.writing.scores import Scores

__all__ = ["Plan", "Planner", "linked_boards"]


class Plan(msgspec.Struct, frozen=True):
    """The events that one submission becomes, the first ones on its own board, and what the engine has to do for each.

    Nearly always there is one on each board. Where an amount makes another score of each ranking, those on one board count in one part of
    its windows each, in the order of the windows.
    """

    submission: Submission
    boards: Sequence[LiveBoard]
    events: Sequence[Event]
    updates: Sequence[Update]

    def on(self, live: LiveBoard) -> Plan:
        """Return the same, as its board is defined now."""
        submission = self.submission.on(live, self.submission.scope)
        boards = [live if board.id == live.id else board for board in self.boards]
        return Plan(submission, boards, self.events, [submission.update]) if submission.route.spans else self

    @property
    def shown(self) -> Sequence[Ranking]:
        """The rankings of its own board that the answer tells of, one for each window that has not left the engine."""
        if self.submission.is_held:
            return self.submission.update.rankings[: self.submission.update.wholes]
        if len(self.updates) <= 1:
            update = self.updates[0] if self.updates else self.submission.update
            return update.rankings[: update.wholes]
        own = [update for board, update in zip(self.boards, self.updates, strict=False) if board.id == self.boards[0].id]
        return [ranking for update in own for ranking in update.rankings[: update.wholes]]


def linked_boards(plans: Iterable[Plan]) -> list[set[int]]:
    """Return the boards of some plans, those together that one submission goes to, directly or by way of others."""
    found: list[set[int]] = []
    for boards in {tuple(live.id for live in plan.boards) for plan in plans}:
        together = {*boards}.union(*(others for others in found if not others.isdisjoint(boards)))
        found = [others for others in found if others.isdisjoint(boards)] + [together]
    return found


class _Target(NamedTuple):
    """A board on which a submission counts, and where on it."""

    live: LiveBoard
    route: RankingRoute
    scope: Scope | None


#: Kind, amount and scope of an event.
_Meaning = tuple[Kind, int, Scope | None]


class _Need:
    """What a group adds to the scores of one board."""

    __slots__ = ("_last", "entries", "is_exact", "rankings", "total")

    def __init__(self, live: LiveBoard) -> None:
        board = live.board
        #: Whether scores have to be known: they are set outright, some are not kept, or there are bounds of the board's own.
        self.is_exact = board.operator == "last" or board.is_partial or board.has_bounds
        self.entries: list[tuple[tuple[Ranking, ...], str]] = []
        self.rankings: dict[Ranking, None] = {}
        #: All amounts together, whatever their signs.
        self.total = 0
        self._last: tuple[Ranking, ...] = ()

    def add(self, rankings: tuple[Ranking, ...], player: str, amount: int) -> None:
        """Take up one more amount."""
        self.entries.append((rankings, player))
        self.total += abs(amount)
        # Nearly all submissions share one tuple of rankings.
        if rankings is not self._last:
            self._last = rankings
            self.rankings.update(dict.fromkeys(rankings))


class Planner:
    """Plans one group of submissions, in their order, each seeing what the ones before it do to the scores."""

    def __init__(self, catalog: Catalog, scores: Scores, writer: int, counts: dict[int, int]) -> None:
        self._catalog = catalog
        self._reader = scores
        self._writer = writer
        #: The number of the last planned event of each board.
        self._counts = dict(counts)
        #: Boards whose scores have to be known, and the scores: as they were, and what the group has made of them so far.
        self._tracked: set[int] = set()
        self._scores: dict[tuple[Ranking, str], int] = {}
        #: How many matches players have had, where that matters.
        self._games: dict[tuple[int, str], int] = {}
        #: Ratings of boards where a match goes by more than the rating that is ranked.
        self._books: dict[int, RatingBook] = {}
        #: Those of the submission that is being planned.
        self._made: dict[tuple[Ranking, str], int] = {}
        #: Boards as the whole group sees them, by name.
        self._current: dict[str, LiveBoard] = {}

    async def prepare(self, submissions: Iterable[Submission]) -> None:
        """Read the scores that these submissions depend on, all at once."""
        needs: dict[LiveBoard, _Need] = {}
        turns = Turns()
        for given in submissions:
            if given.kind in RESTATING or given.is_decided or (given.kind == "score" and given.live.is_simple):
                continue
            if turns.is_over():
                await turns.pass_on()
            try:
                submission, targets = self._targets(given)
            except KeepscoreError:
                # The plan tells.
                continue
            if submission.match is not None:
                matches = needs.setdefault(submission.live, _Need(submission.live))
                matches.is_exact = True
                matches.entries += [(submission.route.rankings, player) for player in submission.match.players]
                continue
            for target, route, _ in targets:
                if target.half_life is not None or (submission.kind == "score" and not target.board.takes_corrections):
                    continue
                need = needs.get(target)
                if need is None:
                    need = needs[target] = _Need(target)
                need.add(route.rankings, submission.player, submission.amount)
                if target.board.needs_current_score(submission.kind) and (target is submission.live or submission.kind == "increment"):
                    need.is_exact = True
        for target, need in needs.items():
            rating = target.board.rating
            if rating is not None and rating.needs_past:
                self._books[target.id] = await self._reader.rating_book(target, {player for _, player in need.entries})
                continue
            if need.is_exact or not await self._reader.have_room(target, need.rankings, need.total):
                self._tracked.add(target.id)
                self._scores |= await self._reader.read(target, need.entries)
            if rating is not None and rating.counts_games:
                found = await self._reader.matches(target, {player for _, player in need.entries})
                self._games |= {(target.id, player): len(own) for player, own in found.items()}

    def plan_alone(self, submission: Submission) -> Plan | None:
        """Return the plan of a submission to a single board that needs no current score, as nearly all are; None for others."""
        if submission.kind in RESTATING or submission.is_decided:
            return self._plan_decided(submission)
        if submission.is_held or submission.match is not None:
            return None
        live = submission.live
        is_simple = live.is_simple if submission.kind == "score" else live.adds_simply
        if submission.places is not None or not is_simple or live.id in self._tracked or live is not self._catalog.get(live.name):
            return None
        if submission.at != submission.received:
            # While it waited, that may have changed.
            check_taken(live, submission.at)
        event = self._event(live, submission, (submission.kind, submission.amount, submission.scope))
        # Whether the player is ranked may have been decided while it waited.
        update = live.update(event, submission.ranked) if live.hides(submission.player) else submission.update
        return Plan(submission, live.alone, (event,), (update,))

    def _plan_decided(self, given: Submission) -> Plan:
        """Return the plan of a verdict, or of what a decision adds: it counts where it says, on no other board."""
        live = self._board(given.live.name)
        if live is not given.live:
            given = self._taken_by(live, given)
        events = [self._event(live, given, (given.kind, given.amount, given.scope)), *self._moves([live], given)]
        return Plan(given, [live] * len(events), events, [live.update(event) for event in events])

    def plan(self, submission: Submission) -> Plan:
        """Return the events of one of the submissions that were prepared, or the error that keeps it out."""
        self._made = {}
        submission, targets = self._targets(submission)
        if submission.at != submission.received:
            check_taken(submission.live, submission.at)
        if submission.match is not None:
            return self._plan_match(submission, submission.match)
        # All amounts first: an error must leave nothing behind, no number that nobody uses and no score that nobody made.
        meant = [(target.live, one) for target in targets for one in self._meanings(target, submission)]
        if submission.is_held:
            return self._plan_held(submission, meant)
        self._scores.update(self._made)
        events = [self._event(live, submission, one) for live, one in meant]
        updates = [_update(live, submission, event) for (live, _), event in zip(meant, events, strict=True)]
        boards = [live for live, _ in meant]
        moves = self._moves(dict.fromkeys(boards), submission)
        moved = [live for move in moves for live in dict.fromkeys(boards) if live.id == move.board]
        updates += [live.update(move) for live, move in zip(moved, moves, strict=True)]
        return Plan(submission, [*boards, *moved], [*events, *moves], updates)

    def _plan_match(self, submission: Submission, match: Match) -> Plan:
        """Return the plan of a match: a change for each player and, in windows where it is the player's first, what to start from."""
        live, wholes = submission.live, submission.route.rankings[: submission.route.wholes]
        rating = live.board.rating
        if rating is None:
            raise NotRated(f"board {live.name!r} no longer takes matches: it has no rating now")
        if live.is_resetting:
            raise Unavailable(f"board {live.name!r} is being reset: send the match again in a moment")
        book = self._books.get(live.id) if rating.needs_past else None
        before = {
            player: book.before(player, wholes, submission.received)
            if book is not None
            else before_ranked(submission, [self._scores.get((whole, player)) for whole in wholes], self._games.get((live.id, player), 0))
            for player in match.players
        }
        match.rated = rated(live.board, match, before, submission.received)
        events = []
        for one in match.rated:
            side = MatchSide(submission, wholes, before[one.player], one)
            new = [self._event(live, of, meant) for of, meant in side_events(side, match.match_id, book)]
            events += [*new, *self._moves([live], side.of)]
            if book is not None:
                book.add_all(new)
            self._scores |= {(whole, one.player): r + one.change for whole, r in zip(wholes, side.before.ratings, strict=True)}
            self._games[live.id, one.player] = side.before.games + 1
        return Plan(submission, [live] * len(events), events, [live.update(event) for event in events])

    def _plan_held(self, submission: Submission, meant: Sequence[tuple[LiveBoard, _Meaning]]) -> Plan:
        """Return the plan of a submission that does not count until it is approved: its events, and the voids of them.

        To an engine nothing changes but the positions, and the latest time that a client has sent.
        """
        assert submission.suspicion is not None, "that is what it is held for"
        events = [self._event(live, submission, one) for live, one in meant]
        boards = [live for live, _ in meant]
        for live, event in zip(boards, tuple(events), strict=True):
            void = verdict(live, "void", submission.suspicion.id, event, submission.received)
            events.append(self._event(live, void, ("void", 0, event.scope)))
        nothing = submission.update._replace(kind="score", amount=0, rankings=(), wholes=0, expiries=())
        return Plan(submission, [*boards, *boards], events, [nothing] * len(events))

    def _moves(self, boards: Iterable[LiveBoard], submission: Submission) -> list[Event]:
        """Return the moves that see to the slices of a player behind an event of the past."""
        places = submission.places or {}
        return [
            self._event(live, move(live, submission.player, submission.at, submission.received, places[live.id]), ("move", 0, None))
            for live in boards
            if live.id in places
        ]

    def _event(self, live: LiveBoard, submission: Submission, meant: _Meaning) -> Event:
        """Return the next event of a board."""
        n = self._counts[live.id] = self._counts.get(live.id, 0) + 1
        kind, amount, scope = meant
        of, metadata = submission, submission.metadata if live is submission.live else None
        extras = submission.segments_on(live), submission.game_id, metadata
        build = None if of.play is None else of.play.build
        return made_event((live.id, self._writer, n, of.player, kind, amount, of.at, of.received, *extras, None, scope, build, of.address))

    def _targets(self, submission: Submission) -> tuple[Submission, list[_Target]]:
        """Return a submission as its board takes it now, and all boards on which it counts, its own first, with the rankings of each."""
        live = self._board(submission.live.name)
        if live is not submission.live:
            submission = self._taken_by(live, submission)
        targets = [_Target(live, submission.route, submission.scope)]
        for name in live.board.also if submission.opening is None else ():
            # One that was deleted since is passed over.
            if self._catalog.get(name) is not None:
                linked = self._board(name)
                check_taken(linked, submission.at)
                targets.append(_Target(linked, *route_on(linked, submission)))
        return submission, targets

    def _board(self, name: str) -> LiveBoard:
        """Return a board as the whole group sees it."""
        found = self._current.get(name)
        if found is None:
            found = self._current[name] = self._catalog[name]
        return found

    def _taken_by(self, live: LiveBoard, submission: Submission) -> Submission:
        """Return a submission whose board was redefined while it waited, as the new definition takes it."""
        if live.id != submission.live.id:
            raise UnknownBoard(f"board {live.name!r} was deleted and defined again in the meantime: send it again")
        is_decided = submission.kind in RESTATING or submission.is_decided
        if live.board.rating is not None and submission.match is None and submission.opening is None and not is_decided:
            raise TakesMatches(f"board {live.name!r} takes matches now, and no scores")
        if submission.kind == "increment" and not live.board.takes_increments:
            raise NotIncrementable(f"board {live.name!r} no longer takes increments: its operator is now {live.board.operator!r}")
        return submission.taken_by(live, submission.received)

    def _meanings(self, on: _Target, submission: Submission) -> list[_Meaning]:
        """Return what a submission means on a board: kind, amount and scope of each event."""
        if submission.kind == "increment" and on.live.board.resolves_increments:
            return self._raises(on, submission)
        kind, amount = self._amount(on, submission)
        return [(kind, amount, on.scope)]

    def _raises(self, on: _Target, submission: Submission) -> list[_Meaning]:
        """Return what an amount makes of the best scores that there are: one event for rankings in a row that come to the same."""
        board, player, amount = on.live.board, submission.player, submission.amount
        if amount < 0:
            raise InvalidScore(
                f"amount = {board.shown(amount)} would make the score worse, and board {board.name!r} keeps the best: send 0 or more"
            )
        if on.live.is_resetting:
            raise Unavailable(f"board {on.live.name!r} is being reset: send the amount again in a moment")
        self._check_results(on.live, on.route.rankings, player, amount)
        scores = [(ranking, self._made[ranking, player]) for ranking in on.route.rankings]
        if len({score for _, score in scores}) == 1:
            return [("raise", scores[0][1], on.scope)]
        meant: list[_Meaning] = []
        for span in on.route.spans:
            own = [(ranking, score) for ranking, score in scores if ranking.window == span.window]
            if len({score for _, score in own}) == 1:
                last = meant[-1] if meant else None
                if last is not None and last[2] is not None and last[2].segment is None and last[1] == own[0][1]:
                    meant[-1] = "raise", last[1], Scope((*last[2].windows, span.window))
                else:
                    meant.append(("raise", own[0][1], Scope((span.window,))))
            else:
                meant += [("raise", score, Scope((span.window,), ranking.segment)) for ranking, score in own]
        return meant

    def _amount(self, on: _Target, submission: Submission) -> tuple[Kind, int]:
        """Return the kind and amount of the one event that a submission becomes on a board."""
        target, route, _ = on
        board, own = target.board, target is submission.live
        kind, amount = submission.kind, submission.amount
        if target.half_life is not None:
            return decaying_amount(target, kind, amount, own)
        is_tracked = target.id in self._tracked
        if kind == "score" and not board.takes_corrections:
            low, high = board.bounds
            if not low <= amount <= high:
                raise InvalidScore(f"score = {board.shown(amount)} is outside the bounds of board {board.name!r}")
            if is_tracked:
                self._take_score(board, route.rankings, submission.player, amount)
            return "score", amount
        if kind == "score" and own:
            # An absolute score on a sum board: what is missing to it in the first of its windows.
            if target.is_resetting:
                raise Unavailable(f"board {target.name!r} is being reset: send the score again in a moment, or an amount, as an increment")
            kind, amount = "correction", amount - self._score(route.rankings[0], submission.player)
        elif kind == "score":
            kind = "increment"
        if is_tracked:
            self._check_results(target, route.rankings, submission.player, amount)
        return kind, amount

    def _take_score(self, board: Board, rankings: tuple[Ranking, ...], player: str, score: int) -> None:
        """Note a score, so that amounts behind it in the group go on from it."""
        for ranking in rankings:
            known = self._scores.get((ranking, player)) if board.resolves_increments else None
            self._made[ranking, player] = score if known is None else max(known, score)

    def _check_results(self, target: LiveBoard, rankings: tuple[Ranking, ...], player: str, amount: int) -> None:
        low, high = target.board.bounds
        for ranking in rankings:
            result = self._made[ranking, player] = amount + self._score(ranking, player)
            if not low <= result <= high:
                shown = target.board.shown
                raise InvalidScore(
                    f"amount = {shown(amount)} would make the {ranking.window} score {shown(result)}, outside the bounds of board "
                    f"{target.name!r}: {shown(low)} to {shown(high)}"
                )

    def _score(self, ranking: Ranking, player: str) -> int:
        key = ranking, player
        known = self._made.get(key)
        return self._scores.get(key, 0) if known is None else known


def _update(target: LiveBoard, submission: Submission, event: Event) -> Update:
    """Return what the engine has to do for one of a submission's events."""
    own = target is submission.live
    as_given = (event.kind, event.amount, event.scope) == (submission.kind, submission.amount, submission.scope)
    if own and as_given and not target.hides(submission.player):
        return submission.update
    return target.update(event, own and submission.ranked)
