"""What may be submitted: each check says what was wrong, with the value, and what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import replace

from keepscore.domain.durations import time_of
from keepscore.domain.profiles import check_profile
from keepscore.domain.ratings.matches import Match
from keepscore.domain.scoring import Kind, Scope
from keepscore.domain.values import check_player, check_text, moment_of
from keepscore.errors import (
    InvalidField,
    InvalidScore,
    InvalidSegment,
    InvalidTime,
    NotIncrementable,
    NotRated,
    RolledUp,
    StillFollowing,
    TakesMatches,
    UnknownSegment,
)
from keepscore.projection.live_boards import LiveBoard
from keepscore.writing.scopes import Submission, check_windows

__all__ = ["MAX_SEGMENT_BYTES", "SubmissionRequest", "check_decaying", "check_match", "check_submission", "check_taken", "decaying_amount"]

#: Bytes of a segment value.
MAX_SEGMENT_BYTES = 64
#: Bytes of metadata, as JSON.
MAX_METADATA_BYTES = 4096
#: How far in the future a time may lie, for clocks that differ (milliseconds).
MAX_AHEAD_MS = 60_000
#: The earliest time that is taken: 1970-01-01. Windows before it are nobody's.
MIN_AT_MS = 0


class SubmissionRequest(msgspec.Struct):
    """What a caller submits, unchecked: a score, or an amount to add."""

    player: object
    kind: Kind
    amount: int | float | Decimal
    at: datetime | str | None = None
    segments: Mapping[str, str] | None = None
    game_id: str | None = None
    metadata: Any = None
    #: The token of the play that it is the score of.
    play_token: str | None = None
    #: Of a correction, the windows in which it counts.
    windows: list[str] | None = None
    #: Of an opening balance, the one ranking of its time in which it counts. Only imports have some.
    opening: Scope | None = None
    #: What the player's profile shows from now on: `name` and `avatar_url`.
    profile: Mapping[str, str] | None = None
    #: Whether nobody sent it: the keeper takes points from players who do not play.
    is_own: bool = False

    def content(self) -> list[object]:
        """Return what an idempotency key stands for. Ledgers remember it: its form stays as it is."""
        # What identified a request before there were play tokens and windows identifies it still.
        later = [value for value in (self.play_token, self.windows, self.profile) if value is not None]
        return [self.kind, self.player, self.amount, self.at, self.segments, self.game_id, self.metadata, *later]


def check_submission(live: LiveBoard, given: SubmissionRequest, now: int, backfill: bool = False, ranked: bool = False) -> Submission:
    """Return a submission that the board takes, or raise the error that says why it does not.

    `backfill` lets closed windows pass; `ranked`: somebody waits for the ranks.
    """
    kind, amount, at, segments = given.kind, given.amount, given.at, given.segments
    game_id, metadata = given.game_id, given.metadata
    who = check_player(given.player)
    live.check_not_merged(who)
    board = live.board
    if board.is_rollup:
        raise RolledUp(f"board {board.name!r} is made from {', '.join(board.made_from)}: send scores there")
    if board.rating is not None and given.opening is None and not given.is_own:
        raise TakesMatches(f"board {board.name!r} ranks by rating, and takes no scores: send matches, to /v1/boards/{board.name}/matches")
    if board.following and given.opening is None:
        raise StillFollowing(
            f"board {board.name!r} follows another system: send scores there until 'keepscore import … --cut-over' ends that"
        )
    if kind == "increment" and not board.takes_increments:
        hint = ", or give the board increments = true" if board.resolves_increments else ""
        raise NotIncrementable(f"board {board.name!r} has operator {board.operator!r} and takes scores, not increments: send 'score'{hint}")
    if live.half_life is not None:
        check_decaying(live, kind)
    if type(amount) is int and not board.decimals and board.bounds[0] <= amount <= board.bounds[1]:
        number: int = amount
    else:
        number = _stored(live, kind, amount)
    moment = now if at is None else _moment(at, now)
    if at is not None:
        check_taken(live, moment)
    if segments:
        _check_segments(live, segments)
    if game_id is not None:
        check_text("game_id", game_id, InvalidField)
    if metadata is not None and len(msgspec.json.encode(metadata)) > MAX_METADATA_BYTES:
        raise InvalidField(f"metadata is larger than {MAX_METADATA_BYTES} bytes of JSON")
    if given.profile is not None:
        check_profile(given.profile)
    own = dict(segments) if segments else None
    windows = None if given.windows is None else check_windows(live, kind, given.windows)
    submission = Submission(live, who, kind, number, moment, now, own, game_id, metadata, backfill, ranked, windows, given.opening)
    submission.find_rankings(now)
    return submission


def check_match(live: LiveBoard, match: Match, at: datetime | str | None, now: int) -> Submission:
    """Return a match that the board takes, as a submission, or raise the error that says why it does not."""
    if live.board.rating is None:
        raise NotRated(f"board {live.name!r} has no rating, and takes no matches: send scores, or give the board a rating")
    for player in match.players:
        check_player(player)
        live.check_not_merged(player)
    if not match.is_duel and not live.board.rating.takes_teams:
        raise InvalidField(
            f"teams = {str([list(team) for team in match.teams])[:80]} cannot be used: board {live.name!r} is rated by "
            f"{live.board.rating.system}, for two players; openskill takes teams"
        )
    moment = now if at is None else _moment(at, now)
    if at is not None:
        check_taken(live, moment)
    submission = Submission(
        live, match.players[0], "match", 0, moment, now, None, match.match_id, None, backfill=False, ranked=False, match=match
    )
    submission.find_rankings(now)
    submission.by_player = {player: replace(submission, player=player) for player in match.players}
    return submission


def check_decaying(live: LiveBoard, kind: Kind) -> None:
    """Refuse a correction on a board with decay: the difference to a score that shrinks is another at every moment, and may be below 0."""
    if kind == "score" and live.board.takes_corrections:
        raise InvalidScore(f"score cannot be set on board {live.name!r}, which is a sum with decay: send an amount, as an increment")


def decaying_amount(target: LiveBoard, kind: Kind, amount: int, own: bool) -> tuple[Kind, int]:
    """Return what a submission means on a board with decay, where bounds are those of single amounts."""
    if own:
        check_decaying(target, kind)
    low, high = target.board.bounds
    if not low <= amount <= high:
        raise InvalidScore(
            f"{'score' if kind == 'score' else 'amount'} = {target.board.shown(amount)} is outside the bounds of board {target.name!r}"
        )
    return "increment" if target.board.takes_corrections else kind, amount


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


def _moment(at: datetime | str, now: int) -> int:
    ms = moment_of(at)
    if ms > now + MAX_AHEAD_MS:
        raise InvalidTime(
            f"at = {str(at)!r} is in the future: it may be at most {MAX_AHEAD_MS // 1000} s after the service's clock, {_text(now)}"
        )
    if ms < MIN_AT_MS:
        raise InvalidTime(f"at = {str(at)!r} is before 1970-01-01, the earliest time that is accepted")
    return ms


def check_taken(live: LiveBoard, moment: int) -> None:
    """Raise InvalidTime for a time whose events are dropped, or about to be."""
    if moment < live.accepts_from:
        raise InvalidTime(
            f"at = {_text(moment)} is too early: board {live.name!r} takes scores from {_text(live.accepts_from)} on, because "
            "earlier events were folded and dropped (keep_events)"
        )


def _check_segments(live: LiveBoard, segments: Mapping[str, str]) -> None:
    for name, value in segments.items():
        rule = live.board.slicing.rules.get(name)
        if rule is None:
            known = ", ".join(live.board.slicing.rules) or "none"
            raise UnknownSegment(f"segments: board {live.name!r} has no segment {name!r}: it has {known}")
        if rule.is_profile or rule.is_kept:
            raise InvalidSegment(
                f"segment {name} = {value[:40]!r} cannot be sent to board {live.name!r}: it comes from the player's profile"
            )
        if not 0 < len(value.encode("utf-8", "replace")) <= MAX_SEGMENT_BYTES or not value.isprintable():
            raise InvalidSegment(f"segment {name} = {value[:40]!r} is empty, longer than {MAX_SEGMENT_BYTES} bytes or not printable")


def _text(moment: int) -> str:
    return time_of(moment).isoformat(timespec="seconds")
