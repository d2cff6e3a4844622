"""The rules of boards, for the write path (`writing/protocols.py`): what players have sent before comes from the ledger.

So the rules hold with many hosts and after a crash. A process that has the ledger for itself remembers what it has read (`remembered`).
Two hosts that look at the same time do not see each other: a player may get past a limit by what one group brings. What counts once is
exact, as its claim is made in the transaction of its event.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence

from keepscore.domain.anomalies import Anomalies
from keepscore.domain.results.review import Reason
from keepscore.domain.rule_checks import Facts, RulePast, attempts_since, breaches
from keepscore.domain.rules import RuleLimits
from keepscore.domain.scoring import Event
from keepscore.domain.suspicion import Suspicion, reason_of
from keepscore.errors import KeepscoreError, RuleBroken
from keepscore.fairplay.anomalies import AnomalyWatch
from keepscore.fairplay.remembered import RememberedPasts
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.storage.ledgers.attempts import Attempt
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.claims import Claim
from keepscore.storage.pace import Turns
from keepscore.writing.scopes import Submission

__all__ = ["GAME", "BoardRules"]

#: The kind of the claims of games; the target is the number of the board.
GAME = "game"
#: Scores of a player that may wait in the quarantine of a board: whoever sends more fills no ledger.
MAX_WAITING = 50


class BoardRules:
    """Checks submissions against the rules of their boards."""

    def __init__(self, ledger: Ledger, is_shared: bool, watch: AnomalyWatch) -> None:
        self._ledger = ledger
        self._watch = watch
        #: Where other processes write into the ledger, too, only the ledger knows.
        self._remembered = None if is_shared else RememberedPasts(ledger)

    @property
    def remembers_nothing(self) -> bool:
        """Whether it need not be told what is recorded."""
        return self._remembered is None or self._remembered.is_empty

    def recorded(self, events: Iterable[Event]) -> None:
        """Take note of all that the process has recorded."""
        if self._remembered is not None:
            self._remembered.recorded(events)

    def forget(self, board_id: int, player: str) -> None:
        """Forget what is known of a player on a board: the ledger has something else by now."""
        if self._remembered is not None:
            self._remembered.forget(board_id, player)

    async def broken(self, submissions: Sequence[Submission], is_dry_run: bool = False) -> Mapping[int, KeepscoreError]:
        """Return the errors of submissions that break a rule, by their places."""
        remembered = None if is_dry_run else self._remembered
        players: dict[int, dict[str, None]] = {}
        # A board may have been redefined while some of them waited: its last definition is for all.
        boards = {submission.live.id: submission.live for submission in submissions}
        for submission in submissions:
            players.setdefault(submission.live.id, {})[submission.player] = None
        pasts: dict[tuple[int, str], RulePast] = {}
        for board_id, whose in players.items():
            live = boards[board_id]
            known = {} if remembered is None else remembered.take(board_id, live.board, whose)
            unknown = [player for player in whose if player not in known]
            known |= await self._pasts(live, unknown, submissions[0].received) if unknown else {}
            pasts |= {(board_id, player): past for player, past in known.items()}
            await self._watch.prepare(live, submissions)
        judged: dict[tuple[int, str], tuple[RulePast, list[Facts]]] = {}
        found: dict[int, KeepscoreError] = {}
        turns = Turns()
        # How many submissions of each player wait for moderators.
        waiting: dict[tuple[int, str], int] = {}
        for place, submission in enumerate(submissions):
            if turns.is_over():
                await turns.pass_on()
            player = submission.live.id, submission.player
            limits, past = boards[submission.live.id].limits, pasts[player]
            if limits is None:
                continue
            facts = _facts(submission)
            errors = breaches(past.board, limits, facts, past)
            submission.suspicion = None
            if errors and _is_held(limits, errors[-1]):
                errors = await self._hold(submission, errors, waiting)
            elif not errors and limits.anomalies is not None and not is_dry_run:
                await self._doubt(submission, self._watch.reasons(boards[player[0]], submission, facts, past), limits.anomalies, waiting)
            if submission.is_held:
                # It does not count; its game is used, as it would count twice otherwise.
                past.games.update([] if facts.game_id is None else [facts.game_id])
                submission.once = _game(submission) if limits.once_a_game else None
            elif not errors:
                past.take(facts)
                if limits.needs_events:
                    judged.setdefault(player, (past, []))[1].append(facts)
                submission.once = _game(submission) if limits.once_a_game else None
            else:
                error = found[place] = errors[-1]
                if _is_counted(limits, error):
                    past.refused.add(facts.received)
        if remembered is not None:
            remembered.judged(judged)
        return found

    async def _hold(
        self, submission: Submission, errors: list[KeepscoreError], waiting: dict[tuple[int, str], int]
    ) -> list[KeepscoreError]:
        """Put a submission in quarantine; return the error where too many of its player wait there already."""
        player = submission.live.id, submission.player
        if player not in waiting:
            waiting[player] = await self._ledger.queue.open_of(*player)
        if waiting[player] >= MAX_WAITING:
            rule = errors[-1].rule if isinstance(errors[-1], RuleBroken) else ""
            message = f"{errors[-1].detail}; {waiting[player]} scores of the player wait for moderators already, and no more are taken"
            return [RuleBroken(message, rule, str(MAX_WAITING), waiting[player])]
        waiting[player] += 1
        submission.suspicion = _suspicion([reason_of(error) for error in errors if isinstance(error, RuleBroken)], True)
        return []

    async def _doubt(self, submission: Submission, reasons: list[Reason], wanted: Anomalies, waiting: dict[tuple[int, str], int]) -> None:
        """Put a submission that stands out in the queue, unless many of its player are there already."""
        player = submission.live.id, submission.player
        if not reasons:
            return
        if player not in waiting:
            waiting[player] = await self._ledger.queue.open_of(*player)
        if waiting[player] < MAX_WAITING:
            waiting[player] += 1
            submission.suspicion = _suspicion(reasons, wanted.action == "quarantine")

    async def note_refused(self, refused: Sequence[tuple[Submission, KeepscoreError]]) -> None:
        """Record attempts that were refused, where a rule counts them."""
        counted = [one for one, error in refused if one.live.limits is not None and _is_counted(one.live.limits, error)]
        if counted:
            await self._ledger.attempts.add([Attempt(one.live.id, one.player, one.received, 1) for one in counted])

    async def _pasts(self, live: LiveBoard, players: list[str], now: int) -> dict[str, RulePast]:
        """Return what players have sent to a board. O(events of the players)."""
        board, limits = live.board, live.limits
        if limits is None or not limits.needs_events:
            return {player: RulePast(board) for player in players}
        if limits.increase:
            found = {
                player: RulePast(board, past.events, {(r.window, r.window_id): state for r, state in past.states.items() if not r.segment})
                for player, past in (await pasts_of(self._ledger, live, players)).items()
            }
        else:
            found = {player: RulePast(board, events) for player, events in (await self._ledger.events.of_players(live.id, players)).items()}
        since = attempts_since(board, limits, now)
        if since is not None:
            for attempt in await self._ledger.attempts.of_players(live.id, players, since):
                found[attempt.player].refused.add(attempt.at, attempt.times)
        return found


def _is_counted(limits: RuleLimits, error: KeepscoreError) -> bool:
    """Return whether a refused attempt counts: all but those beyond the most attempts, so that nobody fills the ledger with them."""
    return bool(limits.attempts) and not (isinstance(error, RuleBroken) and error.rule == "max_attempts")


def _suspicion(reasons: list[Reason], is_held: bool) -> Suspicion:
    return Suspicion(f"q_{secrets.token_hex(8)}", tuple(reasons), is_held)


def _is_held(limits: RuleLimits, error: KeepscoreError) -> bool:
    return isinstance(error, RuleBroken) and error.rule in limits.holding


def _facts(submission: Submission) -> Facts:
    of, spans = submission, submission.route.spans
    windows = None if of.scope is None else of.scope.windows
    return Facts(of.kind, of.amount, of.at, of.received, of.game_id, of.play, spans[0] if spans else None, windows)


def _game(submission: Submission) -> Claim:
    player = submission.player
    return Claim(GAME, str(submission.live.id), f"{len(player)}:{player}{submission.game_id}", b"")
