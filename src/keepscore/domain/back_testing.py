"""What rules would have caught of what a player has sent: the rules run over the past, as if they had always refused. Pure.

A submission that is caught is not a part of the past for those after it, as it would have been refused. What was in quarantine did not
count when it came, and counts here only if it was approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepscore.domain.boards import Board
from keepscore.domain.plays import Play
from keepscore.domain.results.review import Reason
from keepscore.domain.rule_checks import Facts, RulePast, breaches
from keepscore.domain.rules import RuleLimits
from keepscore.domain.scoring import Event, State
from keepscore.domain.suspicion import reason_of
from keepscore.domain.verdicts import VERDICTS, event_id, named_event, that_count
from keepscore.errors import RuleBroken

__all__ = ["Caught", "Tested", "tested"]


class Caught(NamedTuple):
    """A submission that rules would have caught: its events, why, and what moderators have made of it."""

    events: list[Event]
    reasons: list[Reason]
    #: Whether moderators have let it no longer count, or approved it.
    is_void: bool
    is_approved: bool


class Tested(NamedTuple):
    """What became of the submissions of one player."""

    submissions: int
    caught: list[Caught]
    #: Those that moderators have let no longer count, and the rules have let pass.
    missed: int


def tested(board: Board, limits: RuleLimits, events: Sequence[Event], opened: Mapping[tuple[str, str], State]) -> Tested:
    """Run rules over all that a player has sent to a board. O(n log n)."""
    counting = {event_id(event) for event in that_count(events)}
    voided = {named_event(event) for event in events if event.kind == "void"}
    numbers = {event_id(event): event.seq for event in events}
    # A void that was recorded together with its event is a quarantine.
    held = {named_event(event) for event in events if event.kind == "void" and numbers.get(named_event(event)) == event.seq}
    past = RulePast(board, (), opened)
    submissions = missed = 0
    caught: list[Caught] = []
    for own in _submissions(event for event in events if event.kind not in VERDICTS):
        event = own[0]
        if past.lose(event):
            continue
        submissions += 1
        facts, identity = _facts(event), event_id(event)
        reasons = [reason_of(error) for error in breaches(board, limits, facts, past) if isinstance(error, RuleBroken)]
        is_void = identity not in counting
        if reasons:
            caught.append(Caught(own, reasons, is_void, not is_void and identity in voided))
            past.refused.add(facts.received)
        else:
            missed += is_void
            if not is_void or identity not in held:
                past.take(facts)
    return Tested(submissions, caught, missed)


def _submissions(events: Iterable[Event]) -> list[list[Event]]:
    """Return events in the order in which they were recorded, those together that one amount on a best board has become."""
    found: list[list[Event]] = []
    for event in sorted(events, key=lambda event: (event.seq or 0, event.received, event.writer, event.n)):
        last = found[-1][-1] if found else None
        is_part = last is not None and event.kind == "raise" == last.kind and event.scope is not None and event.scope != last.scope
        if last is not None and is_part and (last.writer, last.n + 1, last.received) == (event.writer, event.n, event.received):
            found[-1].append(event)
        else:
            found.append([event])
    return found


def _facts(event: Event) -> Facts:
    play = None if event.build is None else Play("", event.received, event.build)
    windows = None if event.scope is None else event.scope.windows
    return Facts(event.kind, event.amount, event.at, event.received, event.game_id, play, windows=windows)
