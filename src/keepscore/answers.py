"""What callers get: one struct an answer, the same in the library, in the HTTP API and in stored idempotency answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from keepscore.boards import Score
from keepscore.reports import (
    BestPlace,
    BoardEvent,
    BoardEvents,
    Difference,
    JobStatus,
    KeeperRun,
    KeeperStatus,
    PastPlace,
    PlayerEvents,
    PlayerHistory,
    Problem,
    Rebuild,
    RecordedEvent,
    Reset,
    Revision,
    Verification,
    WindowInfo,
    Windows,
    WindowState,
)

__all__ = [
    "Around",
    "BatchReceipt",
    "BestPlace",
    "BoardEvent",
    "BoardEvents",
    "Count",
    "Difference",
    "JobStatus",
    "KeeperRun",
    "KeeperStatus",
    "Lookup",
    "PastPlace",
    "PlayerEvents",
    "PlayerHistory",
    "PlayerPlace",
    "Problem",
    "Profile",
    "RankNumbers",
    "Rebuild",
    "Receipt",
    "RecordedEvent",
    "Rejection",
    "Reset",
    "Revision",
    "Standing",
    "Top",
    "Verification",
    "WindowInfo",
    "WindowReceipt",
    "WindowState",
    "Windows",
    "encode",
]


class WindowReceipt(msgspec.Struct, gc=False):
    """What a submission did in one window."""

    id: str
    score: Score
    rank: int | None
    previous_rank: int | None
    rank_change: int | None
    percentile: float | None
    total_players: int | None
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class Receipt(msgspec.Struct, gc=False):
    """The answer to a submission. Score and rank are those of the board's first window; `windows` has all of them.

    `rank_change` is positive where the player moved up, and 0 for a new player, whose `previous_rank` is null.
    """

    board: str
    player_id: str
    score: Score
    updated: bool
    rank: int | None
    previous_rank: int | None
    rank_change: int | None
    percentile: float | None
    total_players: int | None
    windows: dict[str, WindowReceipt]
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET
    #: True where the submission is recorded, and will be ranked when the engine is back: ranks are null until then.
    pending: bool | UnsetType = UNSET
    #: True where the ledger is away, and the engine keeps the submission for it.
    spooled: bool | UnsetType = UNSET
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class Rejection(msgspec.Struct):
    """A submission of a batch that was not taken: its place in the batch and the error."""

    index: int
    type: str
    detail: str


class BatchReceipt(msgspec.Struct):
    """The answer to a batch. `results` has a receipt for each accepted submission, in their order, where asked for."""

    accepted: int
    rejected: list[Rejection]
    results: list[Receipt] | UnsetType = UNSET
    replayed: bool | UnsetType = UNSET
    #: How many of the accepted have an idempotency key of their own that was answered before.
    duplicates: int | UnsetType = UNSET
    #: True where all is recorded, and will be ranked when the engine is back.
    pending: bool | UnsetType = UNSET
    #: True where the ledger is away, and the engine keeps the submission for it.
    spooled: bool | UnsetType = UNSET


class Standing(msgspec.Struct, gc=False):
    """One player of a ranking."""

    rank: int
    player_id: str
    name: str | None
    score: Score
    since: datetime | None
    #: How far the player moved up since the baseline of the board's `movement`; 0 without one.
    rank_change: int
    #: True for a player who was not in the baseline.
    new: bool | UnsetType = UNSET
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class Top(msgspec.Struct):
    """A page of a ranking."""

    board: str
    window: str
    window_id: str
    segment: str | None
    total_players: int
    as_of: datetime
    standings: list[Standing]
    next_cursor: str | None
    #: True where the engine is away, and this is the ledger's checkpoint of the moment `as_of`.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET


class RankNumbers(msgspec.Struct, gc=False):
    """The three ways to number one rank. Where the rank is an estimate, `dense` is null: nobody knows it."""

    unique: int
    standard: int
    dense: int | None


class PlayerPlace(msgspec.Struct, gc=False):
    """Where one player stands, and who is around."""

    board: str
    window: str
    window_id: str
    segment: str | None
    player_id: str
    name: str | None
    rank: int
    score: Score
    since: datetime | None
    percentile: float
    total_players: int
    ranks: RankNumbers
    around: list[Standing]
    #: True where the engine is away, and this is the ledger's checkpoint of the moment `as_of`.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class Around(msgspec.Struct):
    """The players around a rank."""

    board: str
    window: str
    window_id: str
    segment: str | None
    center_rank: int
    total_players: int
    standings: list[Standing]
    #: True where the engine is away, and this is the ledger's checkpoint of the moment `as_of`.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class Lookup(msgspec.Struct):
    """Some players, in the order of their ranks; `missing` are not in the ranking."""

    board: str
    window: str
    window_id: str
    segment: str | None
    total_players: int
    standings: list[Standing]
    missing: list[str]
    #: True where the engine is away, and this is the ledger's checkpoint of the moment `as_of`.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class Count(msgspec.Struct):
    """How many players have a score in a range."""

    board: str
    window: str
    window_id: str
    segment: str | None
    min: Score | None
    max: Score | None
    count: int
    #: True where the engine is away, and this is the ledger's checkpoint of the moment `as_of`.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
    #: True where the engine does not keep all of them (`keep_top`): the count is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class Profile(msgspec.Struct):
    """What is known of a player beside the scores."""

    player_id: str
    name: str | None


#: An answer as JSON. Scores with decimals are written out as numbers, digit by digit.
encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode
