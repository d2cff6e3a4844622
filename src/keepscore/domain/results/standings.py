"""What callers get: one struct an answer, the same in the library, in the HTTP API and in stored idempotency answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Board, Score, board_from_dict
from keepscore.domain.results.explanations import Explanation
from keepscore.domain.results.plain import Result, encode
from keepscore.domain.results.reports import (
    BestPlace,
    BoardEvent,
    BoardEvents,
    Deleted,
    Difference,
    Discrepancy,
    JobStatus,
    KeeperRun,
    KeeperStatus,
    PastPlace,
    PlayerEvents,
    PlayerHistory,
    Rebuild,
    RecordedEvent,
    Reset,
    Revision,
    SnapshotInfo,
    Snapshots,
    Verification,
    WindowInfo,
    Windows,
    WindowState,
)
from keepscore.domain.results.review import Reason

__all__ = [
    "Around",
    "BatchReceipt",
    "BestPlace",
    "BoardEvent",
    "BoardEvents",
    "BoardInfo",
    "Count",
    "Deleted",
    "Difference",
    "Discrepancy",
    "JobStatus",
    "KeeperRun",
    "KeeperStatus",
    "Lookup",
    "NextTier",
    "PastPlace",
    "PlayerEvents",
    "PlayerHistory",
    "PlayerPlace",
    "RankNumbers",
    "Rebuild",
    "Receipt",
    "RecordedEvent",
    "Rejection",
    "Reset",
    "Revision",
    "Snapshot",
    "SnapshotInfo",
    "Snapshots",
    "Standing",
    "Top",
    "Verification",
    "WindowInfo",
    "WindowLayout",
    "WindowReceipt",
    "WindowState",
    "Windows",
    "encode",
]


class WindowReceipt(Result, gc=False):
    """What a submission did in one window."""

    id: str
    #: Null for an amount that is not ranked yet.
    score: Score | None
    rank: int | None
    previous_rank: int | None
    rank_change: int | None
    percentile: float | None
    total_players: int | None
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET
    #: Where the ranking is by now, as `epoch:seq`: a read with this as `min_seq` shows the submission.
    position: str | UnsetType = UNSET


class Receipt(Result, gc=False):
    """The answer to a submission. Score and rank are those of the board's first window; `windows` has all of them.

    `rank_change` is positive if the player moved up, and 0 for a new player, whose `previous_rank` is null.
    """

    board: str
    player_id: str
    #: Null for an amount that is not ranked yet.
    score: Score | None
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
    #: True where the submission is recorded, and is ranked only if a moderator approves it, under `queue_id`; `reasons` say why.
    quarantined: bool | UnsetType = UNSET
    queue_id: str | UnsetType = UNSET
    reasons: list[Reason] | UnsetType = UNSET
    #: Where the ranking is by now, as `epoch:seq`: a read with this as `min_seq` shows the submission.
    position: str | UnsetType = UNSET
    #: Where it was asked for (`explain`): who is next, who was overtaken, and whether it is a personal best.
    explanation: Explanation | UnsetType = UNSET
    #: On a board with a prize: a signed statement that the submission was accepted, which anyone can verify.
    signed_receipt: str | UnsetType = UNSET


class Rejection(Result):
    """A submission of a batch that was rejected: its place in the batch and the error."""

    index: int
    type: str
    detail: str


class BatchReceipt(Result):
    """The answer to a batch. `results` has a receipt for each accepted submission, in their order, if asked for."""

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
    #: How many of the accepted are recorded, and ranked only if a moderator approves them.
    quarantined: int | UnsetType = UNSET


class NextTier(Result, gc=False):
    """The tier above a player's, and the score that takes the player there now; null: that is not known."""

    name: str
    score: Score | None


class Standing(Result, gc=False):
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
    #: The player's picture, where the profile has one.
    avatar_url: str | UnsetType = UNSET
    #: Only on a board with `tiers`: the player's, and the one above it.
    tier: str | UnsetType | None = UNSET
    next_tier: NextTier | UnsetType = UNSET
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class Top(Result):
    """A page of a ranking."""

    board: str
    window: str
    window_id: str
    segment: str | None
    total_players: int
    as_of: datetime
    standings: list[Standing]
    next_cursor: str | None
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    #: Where the ranking was: all up to this position is included. Pass it as `min_seq` to see at least that.
    position: str | UnsetType = UNSET


class Snapshot(Result):
    """A page of a snapshot: the standings at the moment `taken`."""

    board: str
    id: int
    window: str
    window_id: str
    segment: str | None
    taken: datetime
    total_players: int
    digest: str
    standings: list[Standing]
    next_cursor: str | None


class RankNumbers(Result, gc=False):
    """The three ways to number one rank.

    `dense` is null if it is not known: for an estimate, and on Redis until somebody asks for `rank=dense`.
    """

    unique: int
    standard: int
    dense: int | None


class PlayerPlace(Result, gc=False):
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
    #: The player's picture, where the profile has one.
    avatar_url: str | UnsetType = UNSET
    #: Only on a board with `tiers`: the player's, and the one above it.
    tier: str | UnsetType | None = UNSET
    next_tier: NextTier | UnsetType = UNSET
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET
    #: Where the ranking was: all up to this position is included. Pass it as `min_seq` to see at least that.
    position: str | UnsetType = UNSET


class Around(Result):
    """The players around a rank."""

    board: str
    window: str
    window_id: str
    segment: str | None
    center_rank: int
    total_players: int
    standings: list[Standing]
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
    #: Where the ranking was: all up to this position is included. Pass it as `min_seq` to see at least that.
    position: str | UnsetType = UNSET


class Lookup(Result):
    """Some players, in rank order; `missing` are not in the ranking."""

    board: str
    window: str
    window_id: str
    segment: str | None
    total_players: int
    standings: list[Standing]
    missing: list[str]
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
    #: Where the ranking was: all up to this position is included. Pass it as `min_seq` to see at least that.
    position: str | UnsetType = UNSET


class Count(Result):
    """How many players have a score in a range."""

    board: str
    window: str
    window_id: str
    segment: str | None
    min: Score | None
    max: Score | None
    count: int
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    #: True where the window is closed, and these are its final standings, archived at the moment `as_of`.
    archived: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET
    #: True where the engine does not keep all of them (`keep_top`): the count is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET
    #: Where the ranking was: all up to this position is included. Pass it as `min_seq` to see at least that.
    position: str | UnsetType = UNSET


class WindowLayout(Result):
    """How the engine lays out a window, and why."""

    layout: str
    why: str


class BoardInfo(Result):
    """A board's definition, the number of its changes, and its windows' layouts, where the engine has more than one."""

    version: int
    board: Board
    layouts: dict[str, WindowLayout] = msgspec.field(default_factory=dict)
    #: Whether it was made just now.
    created: bool = False
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as plain data, with what goes beside it. Whether the board is new is in the answer's status."""
        layouts = {"layouts": msgspec.to_builtins(self.layouts)} if self.layouts else {}
        replayed = {"replayed": True} if self.replayed is True else {}
        return {**self.board.to_dict(), "version": self.version, **layouts, **replayed}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BoardInfo:
        """Build the answer from what `to_dict` returned."""
        definition = {key: value for key, value in data.items() if key not in ("version", "layouts", "replayed")}
        layouts = msgspec.convert(data.get("layouts", {}), dict[str, WindowLayout])
        info = cls(msgspec.convert(data.get("version"), int), board_from_dict(definition), layouts)
        if data.get("replayed") is True:
            info.replayed = True
        return info
