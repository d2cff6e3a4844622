"""What may be submitted: each check says what was wrong, with the value, and what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from keepscore.catalog import LiveBoard, Route
from keepscore.durations import time_of
from keepscore.engines.base import Update
from keepscore.errors import (
    BadInput,
    InvalidField,
    InvalidPlayer,
    InvalidScore,
    InvalidSegment,
    InvalidTime,
    NotIncrementable,
    RolledUp,
    UnknownSegment,
    WindowClosed,
)
from keepscore.scoring import Kind

__all__ = [
    "Submission",
    "check_decaying",
    "check_key",
    "check_name",
    "check_open",
    "check_player",
    "check_submission",
    "check_taken",
    "moment_of",
]

#: Bytes of a player id, of a game id, of an idempotency key.
MAX_ID = 128
#: Bytes of a segment value.
MAX_SEGMENT = 64
#: Bytes of metadata, as JSON.
MAX_METADATA = 4096
#: How far in the future a time may lie, for clocks that differ (milliseconds).
MAX_AHEAD = 60_000
#: The earliest time that is taken: 1970-01-01. Windows before it are nobody's.
MIN_AT = 0


class Submission(msgspec.Struct, frozen=True):
    """A checked submission: `amount` is the score or increment as stored, `route` the rankings that it counts in."""

    live: LiveBoard
    player: str
    kind: Kind
    amount: int
    at: int
    received: int
    route: Route
    segments: dict[str, str] | None
    game_id: str | None
    metadata: Any
    #: Whether it counts in windows that are closed, too.
    backfill: bool
    #: What the engine has to do for it, if nothing changes it on its way.
    update: Update


def check_submission(
    live: LiveBoard,
    player: object,
    kind: Kind,
    amount: int | float | Decimal,
    now: int,
    at: datetime | str | None = None,
    segments: Mapping[str, str] | None = None,
    game_id: str | None = None,
    metadata: Any = None,
    backfill: bool = False,
    ranked: bool = False,
) -> Submission:
    """A submission that the board takes, or the error that says why it does not.

    `backfill` lets closed windows pass; `ranked`: somebody waits for the ranks.
    """
    who = check_player(player)
    board = live.board
    if board.rollup is not None:
        raise RolledUp(f"board {board.name!r} is made from {', '.join(board.rollup.of)}: send scores there")
    if kind == "increment" and board.operator in ("best", "first"):
        raise NotIncrementable(f"board {board.name!r} has operator {board.operator!r} and takes scores, not increments: send 'score'")
    if live.half_life is not None:
        check_decaying(live, kind)
    if type(amount) is int and not board.decimals and board.bounds[0] <= amount <= board.bounds[1]:
        number: int = amount
    else:
        number = _stored(live, kind, amount)
    moment = now if at is None else _moment(at, now)
    if at is not None:
        check_taken(live, moment)
    route = live.route(moment, _checked_segments(live, segments) if segments else None)
    # Nearly always the windows of the event's time are the ones that are open now, unless the clock was put back.
    is_now = moment == now or route.spans is live.position(now).spans
    closed = live.closed
    if not backfill and not (is_now and (not closed or moment >= max(closed.values()))):
        check_open(live, route, moment, now)
    if not route.spans:
        assert board.season is not None, "a season by cron has no gaps"
        start, end = (time.isoformat(timespec="seconds") for time in board.season)
        raise WindowClosed(f"board {board.name!r} has no season at {_text(moment)}: its season is from {start} to {end}")
    if game_id is not None:
        _text_of("game_id", game_id, InvalidField)
    if metadata is not None and len(msgspec.json.encode(metadata)) > MAX_METADATA:
        raise InvalidField(f"metadata is larger than {MAX_METADATA} bytes of JSON")
    update = live.update_on(route, who, kind, number, moment, now, ranked)
    own = dict(segments) if segments else None
    return Submission(live, who, kind, number, moment, now, route, own, game_id, metadata, backfill, update)


def check_decaying(live: LiveBoard, kind: Kind) -> None:
    """Refuse a correction on a board with decay: the difference to a score that shrinks is another at every moment, and may be below 0."""
    if kind == "score" and live.board.operator == "sum":
        raise InvalidScore(f"score cannot be set on board {live.name!r}, which is a sum with decay: send an amount, as an increment")


def check_player(player: object) -> str:
    """A player id that can be used: text of 1 to 128 bytes without control characters."""
    if not isinstance(player, str):
        raise InvalidPlayer(f"player_id = {player!r} is not a text")
    # Nearly all ids are short and printable ASCII, which needs no encoding to be measured.
    if player.isascii() and player.isprintable() and 0 < len(player) <= MAX_ID:
        return player
    return _text_of("player_id", player)


def _text_of(what: str, text: str, error: type[BadInput] = InvalidPlayer) -> str:
    shown = f"{what} = {text[:40]!r}{'…' if len(text) > 40 else ''}"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise error(f"{shown} holds half a surrogate pair, which is no character") from None
    if not 0 < size <= MAX_ID:
        raise error(f"{shown} has {size} bytes: give it 1 to {MAX_ID}")
    if any(char < " " or "\x7f" <= char <= "\x9f" for char in text):
        raise error(f"{shown} holds a control character")
    return text


def check_name(name: str | None) -> str | None:
    """A player's name that can be shown."""
    return None if name is None else _text_of("name", name)


def check_key(key: str | None) -> str | None:
    """An idempotency key that can be used."""
    if key is not None and (not 0 < len(key.encode("utf-8", "replace")) <= MAX_ID or not key.isprintable()):
        raise InvalidField(f"idempotency_key = {key[:40]!r} is empty, longer than {MAX_ID} bytes or holds a control character")
    return key


def _stored(live: LiveBoard, kind: Kind, amount: int | float | Decimal) -> int:
    field = "score" if kind == "score" else "amount"
    if isinstance(amount, float):
        amount = Decimal(repr(amount))
    if isinstance(amount, bool) or not isinstance(amount, int | Decimal):
        raise InvalidScore(f"{field} = {amount!r} is not a number")
    number = live.board.stored(amount, field)
    low, high = live.board.bounds
    # What adds up with decay shrinks by itself: there the bounds are those of the amounts.
    if (kind == "score" or live.half_life is not None) and not low <= number <= high:
        bounds = f"{live.board.shown(low)} to {live.board.shown(high)}"
        bounds += ", as it has decay" if live.half_life is not None and number < 0 else ""
        raise InvalidScore(f"{field} = {amount} is outside the bounds of board {live.name!r}: {bounds}")
    return number


def moment_of(at: datetime | str) -> int:
    """A time with an offset, in milliseconds since 1970."""
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else at
        if moment.tzinfo is None:
            raise InvalidTime(f"at = {str(at)!r} has no offset: write it as in '2026-11-15T19:30:00Z'")
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError, TypeError):
        raise InvalidTime(f"at = {str(at)!r} is not a time: write it as in '2026-11-15T19:30:00Z'") from None


def _moment(at: datetime | str, now: int) -> int:
    ms = moment_of(at)
    if ms > now + MAX_AHEAD:
        raise InvalidTime(f"at = {str(at)!r} lies in the future: at most {MAX_AHEAD // 1000} s after the service's clock, {_text(now)}")
    if ms < MIN_AT:
        raise InvalidTime(f"at = {str(at)!r} lies before 1970-01-01, the earliest time that is taken")
    return ms


def check_taken(live: LiveBoard, moment: int) -> None:
    """Raise InvalidTime for a time whose events are dropped, or about to be."""
    if moment < live.taken_from:
        raise InvalidTime(
            f"at = {_text(moment)} is too early: board {live.name!r} takes scores from {_text(live.taken_from)} on, as the events of "
            "before are folded and dropped (keep_events)"
        )


def check_open(live: LiveBoard, route: Route, moment: int, now: int) -> None:
    """Raise WindowClosed where a window of a route has ended, its grace included."""
    closed = live.closed
    for span in route.spans:
        if now >= span.end + live.board.grace_ms or span.end <= closed.get(span.window, 0):
            raise WindowClosed(
                f"at = {_text(moment)} lies in the {span.window} window {span.id} of board {live.name!r}, which ended at "
                f"{_text(span.end)} and takes late scores for {live.board.grace} only"
            )


def _checked_segments(live: LiveBoard, segments: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in segments.items():
        if name not in live.board.segments:
            known = ", ".join(live.board.segments) or "none"
            raise UnknownSegment(f"segments: board {live.name!r} has no segment {name!r}: it has {known}")
        if not 0 < len(value.encode("utf-8", "replace")) <= MAX_SEGMENT or not value.isprintable():
            raise InvalidSegment(f"segment {name} = {value[:40]!r} is empty, longer than {MAX_SEGMENT} bytes or not printable")
    return segments


def _text(moment: int) -> str:
    return time_of(moment).isoformat(timespec="seconds")
