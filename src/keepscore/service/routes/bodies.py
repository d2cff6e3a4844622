"""What the API takes: queries and bodies, each a struct that refuses unknown fields."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import msgspec

from keepscore.domain.imports import NewPart
from keepscore.domain.inputs import Entry
from keepscore.domain.key_places import RankingPlace
from keepscore.errors import InvalidField, InvalidScore
from keepscore.service.routes.stated import (
    AroundCount,
    BinCount,
    BoardEventCount,
    EventCount,
    FoundCount,
    ImportKeys,
    NumberField,
    Offset,
    PageLimit,
    PictureUrl,
    PlayerList,
    PlayerText,
    PositionText,
    RankName,
    ScoreBound,
    ScoreList,
    SegmentFields,
    SegmentName,
    TextField,
    Time,
    WindowChoice,
    WindowCount,
    WindowList,
)

__all__ = [
    "NOTHING",
    "AmountBody",
    "AroundQuery",
    "AsOfQuery",
    "BatchBody",
    "BatchQuery",
    "BoardEventsQuery",
    "ChangeQuery",
    "CountQuery",
    "DistributionQuery",
    "EntryBody",
    "EventsQuery",
    "ExplainQuery",
    "HistoryQuery",
    "ImportBody",
    "ImportQuery",
    "ImportsQuery",
    "LookupBody",
    "PlayerQuery",
    "ReviseBody",
    "RunBody",
    "ScoreBody",
    "SearchQuery",
    "SegmentsQuery",
    "SnapshotQuery",
    "SnapshotsQuery",
    "TopQuery",
    "VerifyQuery",
    "ViewQuery",
    "WindowsQuery",
    "number",
]

#: A number that was left out.
NOTHING = msgspec.Raw(b"null")


class ViewQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which ranking: window (default: the board's first), window_id (default: now), segment (`region:eu`), numbering of ranks.

    And `min_seq`, the position that it must show, and who looks.
    """

    window: WindowChoice = None
    window_id: str | None = None
    segment: SegmentName = None
    rank: RankName = None
    viewer: PlayerText | None = None
    min_seq: PositionText = None


class TopQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """Which page of a ranking."""

    limit: PageLimit = 100
    offset: Offset = 0
    cursor: str | None = None
    min: Annotated[Decimal | None, ScoreBound] = None
    max: Annotated[Decimal | None, ScoreBound] = None


class SnapshotsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which snapshots."""

    window: WindowChoice = None
    window_id: str | None = None
    segment: SegmentName = None
    limit: PageLimit = 100
    offset: Offset = 0


class SnapshotQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which page of a snapshot."""

    limit: PageLimit = 100
    offset: Offset = 0
    cursor: str | None = None
    rank: RankName = None


class PlayerQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """How many players above and below."""

    around: AroundCount = 0


class SearchQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """The first letters of a name (they have to be given), and how many players."""

    name: str = ""
    limit: FoundCount = 20


class SegmentsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which slices."""

    name: str | None = None
    window: WindowChoice = None
    window_id: str | None = None
    limit: PageLimit = 100
    offset: Offset = 0
    min_seq: PositionText = None


class AroundQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """How many players above and below."""

    around: AroundCount = 50


class CountQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """Which scores."""

    min: Annotated[Decimal | None, ScoreBound] = None
    max: Annotated[Decimal | None, ScoreBound] = None


class DistributionQuery(ViewQuery, forbid_unknown_fields=True, kw_only=True):
    """Into how many parts."""

    bins: BinCount = 24


class ExplainQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether the receipt says who is next, and who was overtaken."""

    explain: bool = False


class EventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How many events."""

    limit: EventCount = 100


class BoardEventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which events."""

    cursor: str | None = None
    limit: BoardEventCount = 1000


class WindowsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which windows."""

    window: WindowChoice = None
    limit: WindowCount = 100
    offset: Offset = 0


class HistoryQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which windows."""

    window: WindowChoice = None
    limit: WindowCount = 100
    viewer: PlayerText | None = None
    min_seq: PositionText = None


class AsOfQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which moment (it has to be given), and what of it."""

    at: Time = ""
    window: WindowChoice = None
    segment: SegmentName = None
    rank: RankName = None
    limit: PageLimit = 100
    min_seq: PositionText = None


class BatchQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether receipts are wanted, whether scores count in closed windows, too, and whether the batch is only to be checked."""

    results: bool = False
    backfill: bool = False
    dry_run: bool = False


class ChangeQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether a change may lose or rebuild something."""

    confirm: bool = False


class VerifyQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether what differs is to be put right."""

    repair: bool = False


class _Submission(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    player_id: PlayerText
    at: Time | None = None
    segments: SegmentFields | None = None
    game_id: TextField | None = None
    metadata: Any = None
    idempotency_key: TextField | None = None
    play_token: str | None = None
    name: TextField | None = None
    avatar_url: PictureUrl | None = None


class ScoreBody(_Submission, forbid_unknown_fields=True, kw_only=True):
    """A score."""

    score: NumberField
    windows: WindowList | None = None


class AmountBody(_Submission, forbid_unknown_fields=True, kw_only=True):
    """An amount to add."""

    amount: NumberField


class EntryBody(_Submission, forbid_unknown_fields=True, kw_only=True):
    """One submission of a batch: `score` or `amount`."""

    score: NumberField = msgspec.field(default_factory=lambda: NOTHING)
    amount: NumberField = msgspec.field(default_factory=lambda: NOTHING)
    windows: WindowList | None = None

    def entry(self) -> Entry:
        """Return the entry that it stands for."""
        return Entry(
            player_id=self.player_id,
            score=None if bytes(self.score) == b"null" else number("score", self.score),
            amount=None if bytes(self.amount) == b"null" else number("amount", self.amount),
            at=self.at,
            segments=self.segments,
            game_id=self.game_id,
            metadata=self.metadata,
            idempotency_key=self.idempotency_key,
            play_token=msgspec.UNSET if self.play_token is None else self.play_token,
            windows=msgspec.UNSET if self.windows is None else self.windows,
            name=msgspec.UNSET if self.name is None else self.name,
            avatar_url=msgspec.UNSET if self.avatar_url is None else self.avatar_url,
        )


class BatchBody(msgspec.Struct, forbid_unknown_fields=True):
    """Up to 10,000 submissions. Each is decoded by itself, so that a bad one does not spoil the others."""

    scores: ScoreList


class ImportBody(msgspec.Struct, forbid_unknown_fields=True):
    """Up to 10,000 rows of an import: a `part` of a file, or rows with `keys` of their own. `into` makes them opening balances."""

    scores: ScoreList
    part: NewPart | None = None
    keys: ImportKeys = []
    into: RankingPlace | None = None


class ImportQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Whether opening balances are only to be checked."""

    dry_run: bool = False


class ImportsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Behind which part."""

    after: str = ""


class LookupBody(msgspec.Struct, forbid_unknown_fields=True):
    """Up to 1,000 players."""

    player_ids: PlayerList


class ReviseBody(msgspec.Struct, forbid_unknown_fields=True):
    """Why final standings are corrected."""

    reason: str


class RunBody(msgspec.Struct, forbid_unknown_fields=True):
    """As of when the keeper does its jobs: a past moment; without it, now."""

    now: Time | None = None


def number(field: str, raw: msgspec.Raw) -> int | Decimal:
    """Return the number that was written, exactly."""
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
