"""What the API takes: queries and bodies, each a struct that refuses unknown fields."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import msgspec

from keepscore.entries import Entry
from keepscore.errors import InvalidField, InvalidScore

__all__ = [
    "AmountBody",
    "AroundQuery",
    "AsOfQuery",
    "BatchBody",
    "BatchQuery",
    "BoardEventsQuery",
    "CountQuery",
    "EntryBody",
    "EventsQuery",
    "HistoryQuery",
    "LookupBody",
    "NameBody",
    "PlayerQuery",
    "ReviseBody",
    "RunBody",
    "ScoreBody",
    "TopQuery",
    "VerifyQuery",
    "ViewQuery",
    "WindowsQuery",
    "number",
]

#: A number as it was written, so that no digit is lost on the way to a board with decimals.
Number = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "number"})]
#: A number that was left out.
NOTHING = msgspec.Raw(b"null")


class ViewQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which ranking: window (default: the board's first), window_id (default: now), segment (`region:eu`), numbering of ranks."""

    window: str | None = None
    window_id: str | None = None
    segment: str | None = None
    rank: str | None = None


class TopQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """Which page of a ranking."""

    limit: int = 100
    offset: int = 0
    cursor: str | None = None


class PlayerQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """How many players above and below."""

    around: int = 0


class AroundQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """How many players above and below."""

    around: int = 50


class CountQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """Which scores."""

    min: Decimal | None = None
    max: Decimal | None = None


class EventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How many events."""

    limit: int = 100


class BoardEventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which events."""

    cursor: str | None = None
    limit: int = 1000


class WindowsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which windows."""

    window: str | None = None
    limit: int = 100
    offset: int = 0


class HistoryQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which windows."""

    window: str | None = None
    limit: int = 100


class AsOfQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which moment (it has to be given), and what of it."""

    at: str = ""
    window: str | None = None
    segment: str | None = None
    rank: str | None = None
    limit: int = 100


class BatchQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether receipts are wanted, whether scores count in closed windows, too, and whether the batch is only to be checked."""

    results: bool = False
    backfill: bool = False
    dry_run: bool = False


class VerifyQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether what differs is to be put right."""

    repair: bool = False


class _Submission(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    player_id: str
    at: str | None = None
    segments: dict[str, str] | None = None
    game_id: str | None = None
    metadata: Any = None
    idempotency_key: str | None = None


class ScoreBody(_Submission, forbid_unknown_fields=True, kw_only=True):
    """A score."""

    score: Number


class AmountBody(_Submission, forbid_unknown_fields=True, kw_only=True):
    """An amount to add."""

    amount: Number


class EntryBody(_Submission, forbid_unknown_fields=True, kw_only=True):
    """One submission of a batch: `score` or `amount`."""

    score: Number = msgspec.field(default_factory=lambda: NOTHING)
    amount: Number = msgspec.field(default_factory=lambda: NOTHING)

    def entry(self) -> Entry:
        """The entry that it stands for."""
        return Entry(
            player_id=self.player_id,
            score=None if bytes(self.score) == b"null" else number("score", self.score),
            amount=None if bytes(self.amount) == b"null" else number("amount", self.amount),
            at=self.at,
            segments=self.segments,
            game_id=self.game_id,
            metadata=self.metadata,
            idempotency_key=self.idempotency_key,
        )


class BatchBody(msgspec.Struct, forbid_unknown_fields=True):
    """Up to 10,000 submissions. Each is decoded by itself, so that a bad one does not spoil the others."""

    scores: list[msgspec.Raw]


class LookupBody(msgspec.Struct, forbid_unknown_fields=True):
    """Up to 1,000 players."""

    player_ids: list[str]


class ReviseBody(msgspec.Struct, forbid_unknown_fields=True):
    """Why final standings are corrected."""

    reason: str


class RunBody(msgspec.Struct, forbid_unknown_fields=True):
    """As of when the keeper does its jobs: a past moment; without it, now."""

    now: str | None = None


class NameBody(msgspec.Struct, forbid_unknown_fields=True):
    """A player's name to show."""

    name: str | None


def number(field: str, raw: msgspec.Raw) -> int | Decimal:
    """The number that was written, exactly."""
    text = bytes(raw)
    try:
        return int(text)
    except ValueError:
        shown = text[:60].decode("utf-8", "replace")
        if text[:1] not in b"-0123456789":
            raise InvalidField(f"{field} = {shown} cannot be used: write a number") from None
    try:
        return Decimal(text.decode())
    except InvalidOperation:
        raise InvalidScore(f"{field} = {shown} is outside ±(2^53 − 1)") from None
