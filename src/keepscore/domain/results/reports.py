"""Answers about what has been and what was done: windows, histories, events, resets, verifications, the keeper."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Score
from keepscore.domain.results.plain import Result
from keepscore.domain.scoring import Scope

__all__ = [
    "BestPlace",
    "BoardEvent",
    "BoardEvents",
    "Deleted",
    "Difference",
    "Discrepancy",
    "JobStatus",
    "KeeperRun",
    "KeeperStatus",
    "PastPlace",
    "PlayerEvents",
    "PlayerHistory",
    "Rebuild",
    "RecordedEvent",
    "Reset",
    "Revision",
    "SnapshotInfo",
    "Snapshots",
    "Verification",
    "WindowInfo",
    "WindowState",
    "Windows",
]

WindowState = Literal["open", "closing", "closed"]


class WindowInfo(Result):
    """One window of a board: `open`, `closing` (it has ended, and takes late scores or is not archived yet) or `closed` (archived).

    `start` and `end` (not included) are null for all_time; of its versions, which resets have ended, the first has an end only.
    """

    window: str
    window_id: str
    start: datetime | None
    end: datetime | None
    state: WindowState
    players: int


class SnapshotInfo(Result):
    """One snapshot: a ranking as it was at the moment `taken`, while its window was open."""

    id: int
    window: str
    window_id: str
    segment: str | None
    taken: datetime
    total_players: int
    digest: str


class Snapshots(Result):
    """The snapshots of a board, newest first."""

    board: str
    snapshots: list[SnapshotInfo]


class Windows(Result):
    """The windows of a board that have players, newest first; all_time comes last."""

    board: str
    windows: list[WindowInfo]
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class PastPlace(Result, gc=False):
    """Where a player stood in one window. Beyond the archived standings, rank and percentile are null, and the score is the ledger's."""

    window_id: str
    start: datetime | None
    end: datetime | None
    state: WindowState
    rank: int | None
    score: Score
    total_players: int
    percentile: float | None
    #: True where the engine does not keep the player (`keep_top`): the rank is an estimate, wrong by `error` at most.
    approximate: bool | UnsetType = UNSET
    error: int | UnsetType = UNSET


class BestPlace(Result, gc=False):
    """The best rank that a player has had."""

    window_id: str
    rank: int
    score: Score


class PlayerHistory(Result):
    """A player's places window by window, newest first.

    `best` is the best rank of all windows; among equal ranks, the one with the better score, then the most recent one.
    """

    board: str
    player_id: str
    window: str
    history: list[PastPlace]
    best: BestPlace | None
    #: True where scores that came after `as_of` may be missing: the engine is away, or takes none.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class RecordedEvent(Result, gc=False):
    """An event as the ledger has it: what it did, when it happened (`at`), when it came, and its identity (`writer`, `n`)."""

    kind: str
    amount: Score
    at: datetime
    received: datetime
    segments: dict[str, str] | None
    game_id: str | None
    metadata: Any
    writer: int
    n: int
    #: Where it counts; None: in all windows of its time.
    scope: Scope | None = None


class PlayerEvents(Result):
    """A player's events on a board, newest first. `total` counts all of them.

    `complete_from`, if set, says since when nothing is missing: some earlier events were dropped.
    """

    board: str
    player_id: str
    total: int
    events: list[RecordedEvent]
    complete_from: datetime | UnsetType = UNSET


class BoardEvent(Result, gc=False):
    """An event of any player."""

    player_id: str
    kind: str
    amount: Score
    at: datetime
    received: datetime
    segments: dict[str, str] | None
    game_id: str | None
    metadata: Any
    writer: int
    n: int
    #: Where it counts; None: in all windows of its time.
    scope: Scope | None = None


class BoardEvents(Result):
    """Some of a board's events, in the order of writer and number. `total` counts all of them.

    `complete_from`, if set, says since when nothing is missing: some earlier events were dropped.
    """

    board: str
    total: int
    events: list[BoardEvent]
    next_cursor: str | None
    complete_from: datetime | UnsetType = UNSET


class Rebuild(Result):
    """The result of rebuilding a board's rankings from its events."""

    board: str
    events: int
    players: int
    rankings: int
    seconds: float


class Reset(Result):
    """The answer to a reset: `version` is the number of the rankings that ended `at` that moment, `window_ids` names each to read it.

    After an undo, they name the rankings that continue.
    """

    board: str
    version: int
    window_ids: dict[str, str]
    at: datetime
    undone: bool | UnsetType = UNSET
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET


#: What is not right: a player's score or time, a player who is missing or should not be there, a place in the order, a ranking that is
#: missing or should not be there, what the engine keeps beside a ranking, how far events are applied.
Discrepancy = Literal["score", "since", "missing", "extra", "order", "missing ranking", "extra ranking", "index", "watermark"]


class Difference(Result):
    """A player for whom a ranking does not show what the ledger says (null: not there), or something else that is not right."""

    window: str
    window_id: str
    segment: str | None
    player_id: str
    ledger: str | None
    engine: str | None
    problem: Discrepancy


class Verification(Result):
    """What a comparison of a board's rankings with the fold of its events found, the first 1,000 differences at most.

    After a repair, `repaired` is what was found at first, and `differences` what a second look found; `rebuilt` says whether the
    rankings were rebuilt for it.
    """

    board: str
    events: int
    rankings: int
    players: int
    differences: list[Difference]
    repaired: list[Difference] = msgspec.field(default_factory=list)
    rebuilt: bool = False

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


class JobStatus(Result):
    """The status of a job of the keeper. `every` is in seconds; `failures` counts those since it last worked."""

    name: str
    every: float
    last_run: str | None = None
    next_run: str | None = None
    failures: int = 0
    error: str | None = None
    result: str | None = None


class KeeperStatus(Result):
    """The jobs of the keeper, and whether this process is the leader."""

    leader: bool
    now: str
    jobs: list[JobStatus]
    older_ledger_boards: int = 0
    """Boards that were found to have events which a ledger that came back older has lost, since this process started."""
    older_ledger_events: int = 0
    """The events that it had lost of them."""


class KeeperRun(Result):
    """What the jobs of the keeper did as of a moment."""

    now: str
    jobs: list[JobStatus]


class Deleted(Result):
    """A board that was deleted."""

    board: str
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET


class Revision(Result):
    """A correction of the standings of a closed window."""

    board: str
    window: str
    window_id: str
    number: int
    taken: str
    total_players: int
    digest: str
    #: True where the same idempotency key was answered before: this is that answer.
    replayed: bool | UnsetType = UNSET
