"""The library for programs without an event loop: the same methods, blocking.

Made from `keepscore.leaderboards`, `keepscore.lookback` and `keepscore.upkeep` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import Any, TypeVar

from keepscore import leaderboards
from keepscore.answers import (
    Around,
    BatchReceipt,
    BoardEvents,
    Count,
    KeeperRun,
    KeeperStatus,
    Lookup,
    PlayerEvents,
    PlayerHistory,
    PlayerPlace,
    Profile,
    Rebuild,
    Receipt,
    Reset,
    Revision,
    Top,
    Verification,
    Windows,
)
from keepscore.boards import Board
from keepscore.entries import Entry
from keepscore.errors import KeepscoreError
from keepscore.leaderboards import BoardInfo, Number, now_ms
from keepscore.replay import Progress, no_progress

__all__ = ["Leaderboards"]

T = TypeVar("T")


class Leaderboards:
    """Boards on a ledger and an engine, for threads. Use it as a context manager; any thread may call it.

    >>> with Leaderboards.open(ledger="sqlite:///:memory:", boards=[Board("global")]) as lb:
    ...     lb.submit("global", "alice", 1500).rank
    1
    """

    def __init__(self, opened: leaderboards.Leaderboards) -> None:
        self._async = opened
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="keepscore", daemon=True)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def __enter__(self) -> Leaderboards:
        self._thread.start()
        try:
            self._run(self._async.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._run(self._async.__aexit__(kind, error, trace))
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @classmethod
    def open(
        cls,
        ledger: str = "sqlite:///keepscore.db",
        engine: str = "embedded://",
        boards: Iterable[Board] = (),
        clock: Callable[[], int] = now_ms,
        keep_keys: str = "7d",
        keep_events: str = "forever",
    ) -> Leaderboards:
        """Leaderboards on the ledger and engine at these URLs, with these boards beside those that the ledger knows.

        `keep_keys` is how long idempotency keys are remembered, and `keep_events` how long events are kept before they are folded and
        dropped.
        """
        return cls(leaderboards.Leaderboards.open(ledger, engine, boards, clock, keep_keys, keep_events))

    def submit(
        self,
        board: str,
        player_id: str,
        score: Number,
        *,
        at: datetime | str | None = None,
        segments: Mapping[str, str] | None = None,
        game_id: str | None = None,
        metadata: Any = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Submit a score. When this returns, it is durable and in the rankings."""
        return self._run(
            self._async.submit(
                board, player_id, score, at=at, segments=segments, game_id=game_id, metadata=metadata, idempotency_key=idempotency_key
            )
        )

    def increment(
        self,
        board: str,
        player_id: str,
        amount: Number,
        *,
        at: datetime | str | None = None,
        segments: Mapping[str, str] | None = None,
        game_id: str | None = None,
        metadata: Any = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Add an amount to a player's score, on a board whose operator is `sum` or `last`."""
        return self._run(
            self._async.increment(
                board, player_id, amount, at=at, segments=segments, game_id=game_id, metadata=metadata, idempotency_key=idempotency_key
            )
        )

    def submit_many(
        self,
        board: str,
        entries: Sequence[Entry | KeepscoreError],
        *,
        results: bool = False,
        backfill: bool = False,
        idempotency_key: str | None = None,
    ) -> BatchReceipt:
        """Submit up to 10,000 entries; the bad ones are rejected one by one. `backfill` counts in closed windows, too.

        An error in the place of an entry is told as that entry's rejection.
        """
        return self._run(self._async.submit_many(board, entries, results=results, backfill=backfill, idempotency_key=idempotency_key))

    def check_many(self, board: str, entries: Sequence[Entry | KeepscoreError], *, backfill: bool = False) -> BatchReceipt:
        """How many of up to 10,000 entries `submit_many` would accept, and which it would reject. Nothing is recorded."""
        return self._run(self._async.check_many(board, entries, backfill=backfill))

    def top(
        self,
        board: str,
        *,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Top:
        """A page of a ranking: the first `limit` players, those after `offset`, or those behind a `cursor`."""
        return self._run(
            self._async.top(
                board, limit=limit, offset=offset, cursor=cursor, window=window, window_id=window_id, segment=segment, rank=rank
            )
        )

    def rank(
        self,
        board: str,
        player_id: str,
        *,
        around: int = 0,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> PlayerPlace:
        """Where a player stands, with `around` players above and below."""
        return self._run(self._async.rank(board, player_id, around=around, window=window, window_id=window_id, segment=segment, rank=rank))

    def around(
        self,
        board: str,
        center_rank: int,
        *,
        around: int = 50,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Around:
        """The players around a rank."""
        return self._run(
            self._async.around(board, center_rank, around=around, window=window, window_id=window_id, segment=segment, rank=rank)
        )

    def lookup(
        self,
        board: str,
        player_ids: Sequence[str],
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Lookup:
        """Up to 1,000 players, in the order of their ranks, such as a player's friends."""
        return self._run(self._async.lookup(board, player_ids, window=window, window_id=window_id, segment=segment, rank=rank))

    def count(
        self,
        board: str,
        min: int | Decimal | None = None,
        max: int | Decimal | None = None,
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
    ) -> Count:
        """How many players there are, or have a score from `min` to `max`."""
        return self._run(self._async.count(board, min, max, window=window, window_id=window_id, segment=segment))

    def name_player(self, player_id: str, name: str | None) -> Profile:
        """Give a player a name to show."""
        return self._run(self._async.name_player(player_id, name))

    def profile(self, player_id: str) -> Profile:
        """What is known of a player beside the scores."""
        return self._run(self._async.profile(player_id))

    def boards(self) -> list[BoardInfo]:
        """All boards, by name."""
        return self._run(self._async.boards())

    def board(self, name: str) -> BoardInfo:
        """One board."""
        return self._run(self._async.board(name))

    def put_board(self, board: Board, *, version: int | None = None) -> BoardInfo:
        """Define a board, or change its definition. One that changes the meaning rebuilds the rankings from the ledger.

        Until the new rankings are complete, readers see the old ones; then this returns. `version` is the version that the
        change is meant for: where another came first, VersionConflict is raised.
        """
        return self._run(self._async.put_board(board, version=version))

    def delete_board(self, name: str) -> None:
        """Delete a board. Its events stay in the ledger; a new board of that name starts empty."""
        return self._run(self._async.delete_board(name))

    def refresh(self) -> bool:
        """Take up at once what other processes have defined; without this it takes a second. Answers whether there was something."""
        return self._run(self._async.refresh())

    def ready(self) -> None:
        """Raise an error unless the ledger can be written and the engine answers."""
        return self._run(self._async.ready())

    def windows(self, board: str, *, window: str | None = None, limit: int = 100, offset: int = 0) -> Windows:
        """The windows of a board that have players, the latest first."""
        return self._run(self._async.windows(board, window=window, limit=limit, offset=offset))

    def history(self, board: str, player_id: str, *, window: str | None = None, limit: int = 100) -> PlayerHistory:
        """Where a player stood, window by window, and the best place ever."""
        return self._run(self._async.history(board, player_id, window=window, limit=limit))

    def as_of(
        self,
        board: str,
        at: datetime | str,
        *,
        limit: int = 100,
        window: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Top:
        """The top of a ranking as it stood at a moment, by the events that had come by then. It reads all events of the board."""
        return self._run(self._async.as_of(board, at, limit=limit, window=window, segment=segment, rank=rank))

    def events(self, board: str, player_id: str, limit: int = 100) -> PlayerEvents:
        """What is recorded of a player on a board, the newest first."""
        return self._run(self._async.events(board, player_id, limit))

    def all_events(self, board: str, *, cursor: str | None = None, limit: int = 1000) -> BoardEvents:
        """What is recorded on a board, up to 10,000 events at a time: those behind a `cursor`."""
        return self._run(self._async.all_events(board, cursor=cursor, limit=limit))

    def reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """End a board's rankings as a numbered version, which stays readable by its window ids, and begin new, empty ones."""
        return self._run(self._async.reset(board, idempotency_key=idempotency_key))

    def undo_reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """Undo the last reset of a board, within its grace: what came before and after it is one ranking again."""
        return self._run(self._async.undo_reset(board, idempotency_key=idempotency_key))

    def verify(self, board: str, *, repair: bool = False) -> Verification:
        """Compare all that a board shows with the fold of its events; with `repair`, put right what differs, and compare again."""
        return self._run(self._async.verify(board, repair=repair))

    def rebuild(self, board: str, *, progress: Progress = no_progress) -> Rebuild:
        """Make the rankings of a board anew from all of its events. Readers see the old ones until the new ones are whole.

        `progress` is called now and then with what is being done, how much of it is done, and how much there is.
        """
        return self._run(self._async.rebuild(board, progress=progress))

    def revise(self, board: str, window: str, window_id: str, reason: str) -> Revision:
        """Correct the final standings of a closed window: they are archived anew, as the next revision, with a note in the audit."""
        return self._run(self._async.revise(board, window, window_id, reason))

    def keeper_status(self) -> KeeperStatus:
        """The jobs of the keeper: when each ran and runs next, and what became of it."""
        return self._run(self._async.keeper_status())

    def run_keeper(self, now: datetime | str | None = None) -> KeeperRun:
        """Do at once what the keeper has to do by some past moment (default: now), and tell what that was."""
        return self._run(self._async.run_keeper(now))
