"""Corrections by moderators: an absolute score in some windows, whatever the board's operator.

On a board that adds up, a correction is the difference to the score of now. Elsewhere, what counts in these windows becomes void, the
score is recorded, and what counted in other windows, too, is recorded again for those. Either way it is one decision, which `undo`
takes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from keepscore.domain.ordering import KeyCodec, Row
from keepscore.domain.results.moderation import ScoreAndRank, VoidChange
from keepscore.domain.scoring import Event, Kind, Scope, State, fold_all
from keepscore.domain.verdicts import that_count
from keepscore.errors import EventsDropped, InvalidField
from keepscore.fairplay.additions import marked
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import PlayerPast, player_past
from keepscore.projection.stores import Stores
from keepscore.storage.engines.base import Ranking
from keepscore.writing.checks import SubmissionRequest, check_submission

__all__ = ["Correction", "CorrectionRequest", "Replacement", "checked_correction", "replacement_for", "told_beforehand"]


class CorrectionRequest(NamedTuple):
    """What a moderator asks for, unchecked."""

    player_id: str
    score: int | float | Decimal
    windows: Sequence[str] | None
    reason: str
    dry_run: bool = False


class Correction(NamedTuple):
    """What a moderator wants: a player's score in some windows, as stored."""

    player: str
    score: int
    windows: tuple[str, ...]


class Replacement(NamedTuple):
    """What a correction does: events that no longer count, and events that are added."""

    voided: list[Event]
    added: list[Event]
    #: The rankings that are set, the unsegmented ones first.
    targets: list[Ranking]


def checked_correction(live: LiveBoard, wanted: CorrectionRequest, now: int) -> Correction:
    """Return what a caller has asked for, or raise the error that says what is wrong with it."""
    windows = wanted.windows
    kind: Kind = "increment" if live.half_life is not None and live.board.takes_corrections else "score"
    checked = check_submission(live, SubmissionRequest(wanted.player_id, kind, wanted.score), now)
    periods = live.board.periods
    if windows is not None and (isinstance(windows, str) or not windows or not set(windows) <= set(periods)):
        raise InvalidField(f"windows = {list(windows)} cannot be used: name one or more of {', '.join(periods)}")
    return Correction(checked.player, checked.amount, tuple(windows or (live.board.first_window,)))


async def replacement_for(stores: Stores, live: LiveBoard, wanted: Correction, decision: str, now: int) -> Replacement:
    """Return what has to be recorded for a correction. O(events of the player)."""
    past = await player_past(stores.ledger, live, wanted.player)
    counting = that_count(past.events)
    targets = _targets(live, wanted, past, counting, now)
    if live.board.operator == "sum" and live.half_life is None:
        added = []
        for ranking in targets:
            own = [event for event in counting if ranking in live.rankings_of(event)]
            state = fold_all(live.board, own, past.states.get(ranking))
            if state is None or state.score != wanted.score:
                difference = wanted.score - (0 if state is None else state.score)
                added.append(_set(live, wanted.player, "correction", difference, ranking, now))
        return Replacement([], [marked(decision, event) for event in added], targets)
    if any(ranking in past.states for ranking in targets):
        raise EventsDropped(
            f"the score of player {wanted.player!r} on board {live.name!r} rests on events that are folded and dropped (keep_events), and "
            "cannot be made void: name a window without them"
        )
    voided = [event for event in counting if not set(live.rankings_of(event)).isdisjoint(targets)]
    added = [copy for event in voided for copy in _elsewhere(live, decision, event, targets, now)]
    kind: Kind = "increment" if live.board.takes_corrections else "score"
    added += [marked(decision, _set(live, wanted.player, kind, wanted.score, ranking, now)) for ranking in targets]
    return Replacement(voided, added, targets)


def _targets(live: LiveBoard, wanted: Correction, past: PlayerPast, counting: Iterable[Event], now: int) -> list[Ranking]:
    """Return the rankings of these windows: those of everyone, and those of slices that the player is in."""
    wholes = [ranking for ranking in live.position(now).wholes if ranking.window in wanted.windows]
    if not wholes:
        raise InvalidField(f"board {live.name!r} has no {' or '.join(wanted.windows)} window now: name one that is open")
    spans = {(ranking.window, ranking.window_id) for ranking in wholes}
    known = [*past.states, *(ranking for event in counting for ranking in live.rankings_of(event))]
    slices = dict.fromkeys(ranking for ranking in known if ranking.segment and ranking[1:3] in spans)
    return [*wholes, *slices]


def _set(live: LiveBoard, player: str, kind: Kind, amount: int, ranking: Ranking, now: int) -> Event:
    scope = Scope((ranking.window,), ranking.segment)
    return Event(live.id, 0, 0, player, kind, amount, now, now, None, None, None, None, scope)


def _elsewhere(live: LiveBoard, decision: str, event: Event, targets: Sequence[Ranking], now: int) -> list[Event]:
    """Return what stands in the place of a void event in the rankings that are left alone."""
    windows: dict[str, list[str]] = {}
    for ranking in live.rankings_of(event):
        if ranking not in targets:
            windows.setdefault(ranking.segment, []).append(ranking.window)
    return [
        marked(decision, event._replace(segments=None, scope=Scope(tuple(own), segment), received=now), event)
        for segment, own in windows.items()
    ]


async def told_beforehand(stores: Stores, live: LiveBoard, wanted: Correction, targets: Iterable[Ranking], now: int) -> list[VoidChange]:
    """Return scores and ranks before and after a correction, without making it."""
    board, shown = live.board, live.shown_at(now)
    level = wanted.score if live.half_life is None else live.half_life.level(wanted.score, now)
    state = State(level, now - now % board.resolution_ms)
    codec, row = KeyCodec(board), Row(wanted.player, *state)
    changes = []
    for ranking in (ranking for ranking in targets if not ranking.segment):
        (place,) = await stores.engine.places(ranking, [wanted.player], board.rank)
        ahead = (await stores.engine.page_after(ranking, row, 1)).first.unique - 1
        before = None if place is None else ScoreAndRank(shown(place.score), getattr(place, board.rank))
        if place is not None:
            old, new = codec.encode(wanted.player, place.score, max(place.since, 0)), codec.encode(*row)
            ahead -= old >= new if board.order == "desc" else old <= new
        after = ScoreAndRank(shown(level), ahead + 1 if board.rank == "unique" else None)
        if live.hides(wanted.player):
            continue
        changes.append(VoidChange(wanted.player, ranking.window, ranking.window_id, before, after))
    return [change for change in changes if change.before != change.after]
