"""Which windows of a board are live: their rankings lie under live keys. Pure.

That is told by name and id, such as `{"daily": "2026-11-15"}`, for the windows that have live keys; an empty id: none, as it is between two
seasons.
"""

from __future__ import annotations

from collections.abc import Mapping

from keepscore.domain.boards import Board
from keepscore.domain.windows import Span, span_at, span_of
from keepscore.errors import UnknownWindow

__all__ = ["live_at", "live_from", "live_kept", "live_next", "live_text", "live_until"]

#: Milliseconds by which the clocks of hosts may differ.
SKEW_MS = 3_600_000


def live_at(board: Board, now: int) -> dict[str, str]:
    """Return the windows that are live at a moment."""
    spans = {name: span_at(board, name, now) for name, window in board.periods.items() if window.is_renamed}
    return {name: span.id if span is not None else "" for name, span in spans.items()}


def live_next(board: Board, live: Mapping[str, str], now: int) -> dict[str, str]:
    """Return the same after others were. Time goes on: a clock that is behind others brings no window back."""
    spans = {name: _span(board, name, live) for name in live}
    return {name: found if (span := spans.get(name)) is None or now >= span.end else span.id for name, found in live_at(board, now).items()}


def live_kept(board: Board, live: Mapping[str, str], now: int) -> dict[str, str]:
    """Those that were live, though they may have ended; where that was by another calendar, those that are now."""
    present, spans = live_at(board, now), {name: _span(board, name, live) for name in live}
    kept = {name: span.id for name, span in spans.items() if span is not None and span.start <= now + SKEW_MS}
    return {name: kept.get(name, found) for name, found in present.items()}


def live_until(board: Board, live: Mapping[str, str]) -> int:
    """Return the moment at which the first of them ends; 0: that has to be looked up again and again."""
    spans = [_span(board, name, live) for name in live]
    return min((span.end if span is not None else 0 for span in spans), default=0)


def _span(board: Board, name: str, live: Mapping[str, str]) -> Span | None:
    try:
        return span_of(board, name, live[name]) if live[name] and name in board.periods else None
    except UnknownWindow:
        return None


def live_text(live: Mapping[str, str]) -> str:
    """Live windows as a text.

    >>> live_text({"daily": "2026-11-15", "season": ""})
    'daily=2026-11-15,season='
    """
    return ",".join(f"{name}={window_id}" for name, window_id in live.items())


def live_from(text: bytes | None) -> dict[str, str]:
    """Live windows from such a text."""
    pairs = (part.partition("=") for part in (text or b"").decode(errors="replace").split(",") if part)
    return {name: window_id for name, _, window_id in pairs}
