"""The library for programs without an event loop: the same methods, blocking.

Imports `leaderboards` and below. Generated from `keepscore.leaderboards` by `tools/write_sync.py`: change that instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import Any

from keepscore import leaderboards
from keepscore.config import Settings
from keepscore.domain.boards import Board
from keepscore.domain.inputs import Entry, Number
from keepscore.domain.results.access import NewPlay, PlayerStandings
from keepscore.domain.results.distribution import Distribution
from keepscore.domain.results.friends import BoardView
from keepscore.domain.results.standings import (
    Around,
    BatchReceipt,
    Count,
    Lookup,
    PlayerPlace,
    Receipt,
    Top,
)
from keepscore.errors import KeepscoreError
from keepscore.leaderboards import now_ms
from keepscore.loop_thread import LoopThread
from keepscore.sync.admin import Administration
from keepscore.sync.audit import Audit
from keepscore.sync.explain import Explanations
from keepscore.sync.friends import Friends
from keepscore.sync.groups import Groups
from keepscore.sync.history import History
from keepscore.sync.keys import Keys
from keepscore.sync.leagues import Leagues
from keepscore.sync.matches import Matches
from keepscore.sync.moderation import Moderation
from keepscore.sync.players import Players
from keepscore.sync.prizes import Prizes
from keepscore.sync.webhooks import Webhooks

__all__ = ["Leaderboards"]


class Leaderboards:
    """Boards on a ledger and an engine, for threads. The first call opens them; `close`, or `with`, closes them. Any thread may call them.

    >>> with Leaderboards.open(ledger="sqlite:///:memory:", boards=[Board("global")]) as lb:
    ...     lb.submit("global", "alice", 1500).rank
    1
    """

    def __init__(self, boards: leaderboards.Leaderboards) -> None:
        self._async = boards
        self._thread = LoopThread(boards)
        self._run = self._thread.run
        self.history = History(self)
        self.players = Players(self)
        self.friends = Friends(self)
        self.groups = Groups(self)
        self.matches = Matches(self)
        self.leagues = Leagues(self)
        self.explain = Explanations(self)
        self.admin = Administration(self)
        self.keys = Keys(self)
        self.moderation = Moderation(self)
        self.prizes = Prizes(self)
        self.webhooks = Webhooks(self)
        self.audit = Audit(self)

    def __enter__(self) -> Leaderboards:
        try:
            self._run(self._async.__aenter__())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Finish running calls, and close ledger and engine. Later calls raise NotUsable; closing again does nothing."""
        self._thread.close()

    @classmethod
    def open(
        cls,
        ledger: str | None = None,
        engine: str | None = None,
        boards: Iterable[Board] = (),
        clock: Callable[[], int] = now_ms,
        config: str | None = None,
    ) -> Leaderboards:
        """Return leaderboards on the ledger and engine at these URLs, with these boards and those that the ledger knows.

        Other settings, and URLs that are left out, come from `KEEPSCORE_…` variables, then from the file `config` (or `keepscore.toml`, if
        it exists), as for the service and the commands. Nothing is opened yet: the first call does that, or `with`.
        """
        return cls(leaderboards.Leaderboards.open(ledger, engine, boards, clock, config))

    @classmethod
    def configured(cls, settings: Settings, boards: Iterable[Board] = (), clock: Callable[[], int] = now_ms) -> Leaderboards:
        """Return leaderboards for settings. These boards replace those of the same name in the settings."""
        return cls(leaderboards.Leaderboards.configured(settings, boards, clock))

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
        windows: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        play_token: str | None = None,
        name: str | None = None,
        avatar_url: str | None = None,
        explain: bool = False,
    ) -> Receipt:
        """Submit a score. When this returns, the score is durable and ranked. A `play_token` counts once.

        `name` and `avatar_url` go to the player's profile. With `explain`, the receipt says who is next, and who was overtaken.

        On a `sum` board it is a correction: it sets the score in the board's first window, or in the first of `windows`; the same
        difference counts in the rest of these. Other windows do not change.
        """
        return self._run(
            self._async.submit(
                board,
                player_id,
                score,
                at=at,
                segments=segments,
                game_id=game_id,
                metadata=metadata,
                windows=windows,
                idempotency_key=idempotency_key,
                play_token=play_token,
                name=name,
                avatar_url=avatar_url,
                explain=explain,
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
        play_token: str | None = None,
        name: str | None = None,
        avatar_url: str | None = None,
        explain: bool = False,
    ) -> Receipt:
        """Add an amount to a player's score: on `sum` and `last` boards, and on `best` boards with `increments`.

        A `play_token` counts once.
        """
        return self._run(
            self._async.increment(
                board,
                player_id,
                amount,
                at=at,
                segments=segments,
                game_id=game_id,
                metadata=metadata,
                idempotency_key=idempotency_key,
                play_token=play_token,
                name=name,
                avatar_url=avatar_url,
                explain=explain,
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
        """Submit up to 10,000 entries; bad ones are rejected one by one. With `backfill`, scores count in closed windows, too.

        An error in place of an entry becomes that entry's rejection.
        """
        return self._run(self._async.submit_many(board, entries, results=results, backfill=backfill, idempotency_key=idempotency_key))

    def check_many(self, board: str, entries: Sequence[Entry | KeepscoreError], *, backfill: bool = False) -> BatchReceipt:
        """Return how many of up to 10,000 entries `submit_many` would accept, and which it would reject. Nothing is recorded."""
        return self._run(self._async.check_many(board, entries, backfill=backfill))

    def begin_play(self, board: str, player_id: str, *, build: str | None = None) -> NewPlay:
        """Begin a play: a score with its token counts once. `build` is the version of the game. Nothing is recorded yet."""
        return self._run(self._async.begin_play(board, player_id, build=build))

    def top(
        self,
        board: str,
        *,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        min: int | Decimal | None = None,
        max: int | Decimal | None = None,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> Top:
        """Return a page of a ranking, by `offset` or `cursor`; with `min` or `max`, only players in that score range.

        A shadowed `viewer` is among them. With `min_seq`, the `position` of a receipt or an answer, this waits until the ranking is
        there. So do all reads.
        """
        return self._run(
            self._async.top(
                board,
                limit=limit,
                offset=offset,
                cursor=cursor,
                min=min,
                max=max,
                window=window,
                window_id=window_id,
                segment=segment,
                rank=rank,
                min_seq=min_seq,
                viewer=viewer,
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
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> PlayerPlace:
        """Return where a player stands, with `around` players above and below, as they see it or as another `viewer` does."""
        return self._run(
            self._async.rank(
                board,
                player_id,
                around=around,
                window=window,
                window_id=window_id,
                segment=segment,
                rank=rank,
                min_seq=min_seq,
                viewer=viewer,
            )
        )

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
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> Around:
        """Return the players around a rank; a shadowed `viewer` may be among them."""
        return self._run(
            self._async.around(
                board,
                center_rank,
                around=around,
                window=window,
                window_id=window_id,
                segment=segment,
                rank=rank,
                min_seq=min_seq,
                viewer=viewer,
            )
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
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> Lookup:
        """Return the ranks of up to 1,000 players, such as a player's friends, in rank order; a shadowed `viewer` may be among them."""
        return self._run(
            self._async.lookup(
                board, player_ids, window=window, window_id=window_id, segment=segment, rank=rank, min_seq=min_seq, viewer=viewer
            )
        )

    def count(
        self,
        board: str,
        min: int | Decimal | None = None,
        max: int | Decimal | None = None,
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> Count:
        """Return how many players there are, or how many have a score from `min` to `max`; a shadowed `viewer` is counted."""
        return self._run(
            self._async.count(board, min, max, window=window, window_id=window_id, segment=segment, min_seq=min_seq, viewer=viewer)
        )

    def view(
        self,
        board: str,
        player_id: str | None = None,
        *,
        top: int = 10,
        around: int = 5,
        friends: int = 10,
        windows: Sequence[str] | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> BoardView:
        """Return what one screen shows: the top, the player, those around and the first friends, in some windows (None: all)."""
        return self._run(
            self._async.view(board, player_id, top=top, around=around, friends=friends, windows=windows, segment=segment, rank=rank)
        )

    def distribution(
        self, board: str, *, bins: int = 24, window: str | None = None, window_id: str | None = None, segment: str | None = None
    ) -> Distribution:
        """Return how many players have which scores, in up to `bins` equal parts of the range."""
        return self._run(self._async.distribution(board, bins=bins, window=window, window_id=window_id, segment=segment))

    def standings(self, player_id: str, *, cursor: str | None = None, limit: int = 100) -> PlayerStandings:
        """Return where a player stands now on every board, by board name, after a `cursor`."""
        return self._run(self._async.standings(player_id, cursor=cursor, limit=limit))

    def ready(self) -> list[str]:
        """Return what is broken, if anything; raise an error if nothing can be served."""
        return self._run(self._async.ready())
