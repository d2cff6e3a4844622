"""What callers get: one struct an answer, the same in the library, in the HTTP API and in stored idempotency answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from keepscore.boards import Score

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


WindowState = Literal["open", "closing", "closed"]


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
    """The three ways to number one rank. Where the rank is an estimate, `dense` is 0: nobody knows it."""

    unique: int
    standard: int
    dense: int


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


class WindowInfo(msgspec.Struct):
    """One window of a board: `open`, `closing` (it has ended, and takes late scores or is not archived yet) or `closed` (archived).

    `start` and `end` (not included) are null for all_time.
    """

    window: str
    window_id: str
    start: datetime | None
    end: datetime | None
    state: WindowState
    players: int


class Windows(msgspec.Struct):
    """The windows of a board that have players, the latest start first; all_time comes last."""

    board: str
    windows: list[WindowInfo]


class PastPlace(msgspec.Struct, gc=False):
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


class BestPlace(msgspec.Struct, gc=False):
    """The best rank that a player has had."""

    window_id: str
    rank: int
    score: Score


class PlayerHistory(msgspec.Struct):
    """A player's places window by window, the newest first.

    `best` is the best rank of all windows; of equal ranks, the one with the better score, then the most recent one.
    """

    board: str
    player_id: str
    window: str
    history: list[PastPlace]
    best: BestPlace | None


class RecordedEvent(msgspec.Struct, gc=False):
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


class PlayerEvents(msgspec.Struct):
    """A player's events on a board, the newest first. `total` counts all of them."""

    board: str
    player_id: str
    total: int
    events: list[RecordedEvent]


class BoardEvent(msgspec.Struct, gc=False):
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


class BoardEvents(msgspec.Struct):
    """Some of a board's events, in the order of writer and number. `total` counts all of them."""

    board: str
    total: int
    events: list[BoardEvent]
    next_cursor: str | None


class Rebuild(msgspec.Struct):
    """What a rebuild of a board's rankings from its events came to."""

    board: str
    events: int
    players: int
    rankings: int
    seconds: float


class Reset(msgspec.Struct):
    """The answer to a reset: `version` is the number of the rankings that ended `at` that moment, `window_ids` names each to read it.

    Where a reset was undone, they are the ones that go on.
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
Problem = Literal["score", "since", "missing", "extra", "order", "missing ranking", "extra ranking", "index", "watermark"]


class Difference(msgspec.Struct):
    """A player for whom a ranking does not show what the ledger says (null: not there), or something else that is not right."""

    window: str
    window_id: str
    segment: str | None
    player_id: str
    ledger: str | None
    engine: str | None
    problem: Problem


class Verification(msgspec.Struct):
    """What a comparison of a board's rankings with the fold of its events found, the first 1,000 differences at most.

    After a repair, `repaired` is what was found at first, and `differences` what a second look found; `rebuilt` says whether the
    rankings were made anew for it.
    """

    board: str
    events: int
    rankings: int
    players: int
    differences: list[Difference]
    repaired: list[Difference] = []
    rebuilt: bool = False

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


class JobStatus(msgspec.Struct):
    """What became of a job of the keeper. `every` is in seconds; `failures` counts those since it last worked."""

    name: str
    every: float
    last_run: str | None = None
    next_run: str | None = None
    failures: int = 0
    error: str | None = None
    result: str | None = None


class KeeperStatus(msgspec.Struct):
    """The jobs of the keeper, and whether this process does those of which one of all does."""

    leader: bool
    now: str
    jobs: list[JobStatus]


class KeeperRun(msgspec.Struct):
    """What the jobs of the keeper did as of a moment."""

    now: str
    jobs: list[JobStatus]


class Revision(msgspec.Struct):
    """A correction of the standings of a closed window."""

    board: str
    window: str
    window_id: str
    number: int
    taken: str
    total_players: int
    digest: str


#: An answer as JSON. Scores with decimals are written out as numbers, digit by digit.
encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode
