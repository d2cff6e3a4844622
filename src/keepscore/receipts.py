"""Answers to submissions. Scores that decay are told as they are when the submission comes."""

from __future__ import annotations

from keepscore.answers import Receipt, WindowReceipt
from keepscore.boards import Score
from keepscore.engines.base import Change, Rankings
from keepscore.ordering import percentile
from keepscore.planner import Plan

__all__ = ["is_estimated", "pending_receipt", "present_receipt", "receipt"]


def receipt(plan: Plan, changes: list[Change]) -> Receipt:
    """The answer to a submission whose changes are known, one for each window."""
    live = plan.boards[0]
    exact = None if live.is_plain else live.shown_at(plan.submission.received)
    windows: dict[str, WindowReceipt] = {}
    for span, change in zip(plan.submission.route.spans, changes, strict=True):
        previous, rank, total = change.previous, change.rank, change.total
        score = exact(change.score) if exact else change.score
        moved = 0 if previous is None else previous - rank
        windows[span.window] = WindowReceipt(span.id, score, rank, previous, moved, percentile(change.unique, total), total)
    return _with_headline(plan, windows, changes[0].updated)


async def present_receipt(plan: Plan, rankings: Rankings, changes: list[Change]) -> Receipt:
    """The answer to a submission from where the player stands now; what was before comes from `changes`, where there are any."""
    live, submission = plan.boards[0], plan.submission
    shown = live.shown_at(submission.received)
    windows: dict[str, WindowReceipt] = {}
    for i, span in enumerate(submission.route.spans):
        (place,) = await rankings.places(submission.route.rankings[i], [submission.player], live.board.rank)
        if place is None:
            windows[span.window] = WindowReceipt(span.id, _given(plan), None, None, None, None, None)
            continue
        # Of a player whom the engine does not keep, nobody knows the dense rank.
        rank: int = getattr(place, live.board.rank) or place.unique
        previous = changes[i].previous if changes else rank
        if is_estimated(plan, previous):
            previous = None
        moved = 0 if previous is None else previous - rank
        share = percentile(place.unique, place.total)
        windows[span.window] = WindowReceipt(span.id, shown(place.score), rank, previous, moved, share, place.total)
        if place.error is not None:
            windows[span.window].approximate, windows[span.window].error = True, place.error
    updated = bool(changes) and (changes[0].updated or shown(changes[0].score) != next(iter(windows.values())).score)
    if (changes and changes[0].previous is None and live.board.keep_top is not None) or (plan.events and not changes):
        # The engine did not have the player, or got the event with others that it lacked, and cannot say what the score was.
        updated = live.board.operator == "sum" or next(iter(windows.values())).score == _given(plan)
    answer = _with_headline(plan, windows, updated)
    answer.approximate, answer.error = next((window.approximate, window.error) for window in windows.values())
    if plan.events and any(window.rank is None for window in windows.values()):
        # It was recorded just now, and the engine has lost it since.
        answer.pending = True
    return answer


def is_estimated(plan: Plan, rank: int | None) -> bool:
    """Whether a rank that the engine tells is behind those that are exact, on a board of which it does not keep everybody."""
    keep_top = plan.boards[0].board.keep_top
    return keep_top is not None and rank is not None and rank > keep_top


def pending_receipt(plan: Plan) -> Receipt:
    """The answer to a submission that is recorded and not ranked yet."""
    windows = {span.window: WindowReceipt(span.id, _given(plan), None, None, None, None, None) for span in plan.submission.route.spans}
    receipt = _with_headline(plan, windows, False)
    receipt.pending = True
    return receipt


def _given(plan: Plan) -> Score:
    """The score or amount that was submitted, as it is when it comes."""
    live, given = plan.boards[0], plan.submission
    return live.shown_at(given.received)(given.amount if live.half_life is None else live.half_life.level(given.amount, given.at))


def _with_headline(plan: Plan, windows: dict[str, WindowReceipt], updated: bool) -> Receipt:
    head = next(iter(windows.values()))
    return Receipt(
        plan.boards[0].name,
        plan.submission.player,
        head.score,
        updated,
        head.rank,
        head.previous_rank,
        head.rank_change,
        head.percentile,
        head.total_players,
        windows,
    )
