"""`Leaderboards`: the facade that programs, the service and the command line use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import Context
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import Any, cast

from keepscore.access.keys import Keys
from keepscore.config import Settings, load_settings
from keepscore.connect import engine_from_url, ledger_from_url
from keepscore.domain.boards import Board
from keepscore.domain.durations import duration_ms
from keepscore.domain.friends import FriendRules
from keepscore.domain.inputs import Entry, Number
from keepscore.domain.results.access import NewPlay, PlayerStandings
from keepscore.domain.results.distribution import Distribution
from keepscore.domain.results.friends import BoardView
from keepscore.domain.results.standings import Around, BatchReceipt, Count, Lookup, PlayerPlace, Receipt, Top
from keepscore.errors import KeepscoreError, NotUsable
from keepscore.fairplay.audit import Audit
from keepscore.fairplay.moderation import Moderation
from keepscore.fairplay.prizes import Prizes
from keepscore.fairplay.webhooks import Webhooks
from keepscore.lifecycle.administration import Administration
from keepscore.lifetime import Connect, Lifetime, OpenedByCall
from keepscore.players.friends import Friends
from keepscore.players.groups import Groups
from keepscore.players.leagues import Leagues
from keepscore.players.matches import Matches
from keepscore.players.profiles import Players
from keepscore.reading.among import ViewRequest
from keepscore.reading.distribution import distribution
from keepscore.reading.explanations import Explanations
from keepscore.reading.history import History
from keepscore.reading.live.following import LiveReads
from keepscore.reading.live.hub import LiveTimes
from keepscore.reading.player_standings import player_standings
from keepscore.reading.score_range import ShownScores
from keepscore.runtime import Runtime, RuntimeSettings
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger
from keepscore.writing.checks import SubmissionRequest

__all__ = ["Leaderboards", "now_ms"]


def now_ms() -> int:
    """Return the current time, in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Leaderboards(LiveReads):
    """Boards on a ledger and an engine. The first call opens them; `close`, or `async with`, closes them.

    Methods here submit and read scores. `history` looks back, `players` has names and profiles, `friends` has lists of friends, `groups`
    has private groups, `matches` records matches, `leagues` looks at cohorts, `admin` manages whole boards, `keys` manages the API keys of
    a service, `moderation` has what moderators decide, `prizes` what there is to win, `webhooks` what waits to be delivered, and `audit`
    who did what.

    >>> import asyncio
    >>> async def main():
    ...     async with Leaderboards.open(ledger="sqlite:///:memory:", boards=[Board("global")]) as lb:
    ...         await lb.submit("global", "alice", 1500)
    ...         await lb.submit("global", "bob", 1700)
    ...         return [(s.rank, s.player_id, s.score) for s in (await lb.top("global", limit=10)).standings]
    >>> asyncio.run(main())
    [(1, 'bob', 1700), (2, 'alice', 1500)]
    """

    def __init__(self, connect: Connect, clock: Callable[[], int], settings: RuntimeSettings) -> None:
        self._lifetime = Lifetime(connect, clock, settings)
        #: Look back: windows, snapshots, players' histories, standings at past moments, events.
        self.history = cast("History", OpenedByCall(self._opened, "history", History))
        #: What is known of players beside their scores.
        self.players = cast("Players", OpenedByCall(self._opened, "players", Players))
        #: Who is whose friend, and how players stand among friends.
        self.friends = cast("Friends", OpenedByCall(self._opened, "friends", Friends))
        #: Private groups that players join with a code.
        self.groups = cast("Groups", OpenedByCall(self._opened, "groups", Groups))
        #: Matches on boards with a rating: record one, and look back at those of a player.
        self.matches = cast("Matches", OpenedByCall(self._opened, "matches", Matches))
        #: Leagues: a player's cohort and past seasons, and what a proposed league would have done.
        self.leagues = cast("Leagues", OpenedByCall(self._opened, "leagues", Leagues))
        #: Which score a rank needs, and which of a player's events count and why.
        self.explain = cast("Explanations", OpenedByCall(self._opened, "explain", Explanations))
        #: What is done to boards as wholes: definitions, resets, proof, repair, imports, and the keeper.
        self.admin = cast("Administration", OpenedByCall(self._opened, "admin", Administration))
        #: API keys: create, list, revoke and rotate them, and sign player tokens.
        self.keys = cast("Keys", OpenedByCall(self._opened, "keys", Keys))
        #: What moderators decide: events that no longer count, and undoing that.
        self.moderation = cast("Moderation", OpenedByCall(self._opened, "moderation", Moderation))
        #: What there is to win: winners, rewards and certificates.
        self.prizes = cast("Prizes", OpenedByCall(self._opened, "prizes", Prizes))
        #: What waits to be delivered about rewards, and trying it again.
        self.webhooks = cast("Webhooks", OpenedByCall(self._opened, "webhooks", Webhooks))
        #: Who did what, and the proof that nobody has changed that.
        self.audit = cast("Audit", OpenedByCall(self._opened, "audit", Audit))

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
        return cls.configured(load_settings(config, {"ledger.url": ledger, "engine.url": engine}), boards, clock)

    @classmethod
    def configured(cls, settings: Settings, boards: Iterable[Board] = (), clock: Callable[[], int] = now_ms) -> Leaderboards:
        """Return leaderboards for settings. These boards replace those of the same name in the settings."""

        def connect() -> tuple[Ledger, RankingEngine]:
            engine = engine_from_url(settings.engine, clock)
            return ledger_from_url(settings.ledger, shared=engine.is_shared), engine

        # What cannot be used is refused here, not by the first call.
        connect()
        given = tuple(boards)
        names = {board.name for board in given}
        runtime_settings = RuntimeSettings(
            boards=(*(board for board in settings.boards if board.name not in names), *given),
            keep_keys_ms=duration_ms(settings.keep_keys),
            keep_events_ms=None if settings.keep_events == "forever" else duration_ms(settings.keep_events),
            environment=settings.environment,
            caps=settings.caps,
            live=LiveTimes(interval_s=duration_ms(settings.live_interval) / 1000, heartbeat_s=duration_ms(settings.live_heartbeat) / 1000),
            friends=FriendRules(is_mutual=settings.friends == "mutual"),
            mirror=settings.mirror._replace(board=settings.default_board),
            webhook=settings.webhook,
            channels=settings.channels,
        )
        return cls(connect, clock, runtime_settings)

    async def __aenter__(self) -> Leaderboards:
        await self._lifetime.opened()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def _opened(self) -> Runtime:
        # What runs from then on does not belong to the request that came first.
        return self._lifetime.runtime_here() or await self._lifetime.opened(Context())

    async def close(self) -> None:
        """Finish running calls, and close ledger and engine. Later calls raise NotUsable; closing again does nothing."""
        await self._lifetime.close()

    @property
    def stop_seconds(self) -> float | None:
        """The most seconds that closing may take, at the cost of a longer next start; None: as long as the last checkpoint takes."""
        return self._lifetime.stop_seconds

    @stop_seconds.setter
    def stop_seconds(self, seconds: float | None) -> None:
        self._lifetime.stop_seconds = seconds

    @property
    def runtime(self) -> Runtime:
        """All parts of this process, by name, once it is open. For the service and for tests; programs do not need them."""
        if self._lifetime.runtime is None:
            raise NotUsable("these leaderboards are not open: use them as in `async with Leaderboards.open(…) as lb`")
        return self._lifetime.runtime

    # -- writing --------------------------------------------------------------------------------------------------------

    async def submit(
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
        given = SubmissionRequest(player_id, "score", score, at, segments, game_id, metadata, play_token)
        given.windows = None if windows is None else list(windows)
        given.profile = _told(name, avatar_url)
        return await self._submitted(board, given, idempotency_key, explain)

    async def _submitted(self, board: str, given: SubmissionRequest, key: str | None, explain: bool) -> Receipt:
        runtime = await self._opened()
        receipt = await runtime.submissions.submit(board, given, key)
        return await runtime.explainer.submission(receipt) if explain else receipt

    async def increment(
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
        given = SubmissionRequest(player_id, "increment", amount, at, segments, game_id, metadata, play_token)
        given.profile = _told(name, avatar_url)
        return await self._submitted(board, given, idempotency_key, explain)

    async def submit_many(
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
        return await (await self._opened()).submissions.submit_many(board, entries, results, backfill, idempotency_key)

    async def check_many(self, board: str, entries: Sequence[Entry | KeepscoreError], *, backfill: bool = False) -> BatchReceipt:
        """Return how many of up to 10,000 entries `submit_many` would accept, and which it would reject. Nothing is recorded."""
        return await (await self._opened()).submissions.check_many(board, entries, backfill)

    async def begin_play(self, board: str, player_id: str, *, build: str | None = None) -> NewPlay:
        """Begin a play: a score with its token counts once. `build` is the version of the game. Nothing is recorded yet."""
        return (await self._opened()).plays.begin(board, player_id, build)

    # -- reading --------------------------------------------------------------------------------------------------------

    async def top(
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
        reader = (await self._opened()).reader
        view = reader.view(board, window, window_id, segment, rank)._replace(viewer=viewer)
        return await reader.at_least(view, min_seq, lambda: reader.top(view, limit, offset, cursor, ShownScores(min, max)))

    async def rank(
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
        reader = (await self._opened()).reader
        view = reader.view(board, window, window_id, segment, rank)._replace(viewer=viewer)
        return await reader.at_least(view, min_seq, lambda: reader.player(view, player_id, around))

    async def around(
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
        reader = (await self._opened()).reader
        view = reader.view(board, window, window_id, segment, rank)._replace(viewer=viewer)
        return await reader.at_least(view, min_seq, lambda: reader.around(view, center_rank, around))

    async def lookup(
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
        reader = (await self._opened()).reader
        view = reader.view(board, window, window_id, segment, rank)._replace(viewer=viewer)
        return await reader.at_least(view, min_seq, lambda: reader.lookup(view, player_ids))

    async def count(
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
        reader = (await self._opened()).reader
        view = reader.view(board, window, window_id, segment)._replace(viewer=viewer)
        return await reader.at_least(view, min_seq, lambda: reader.count(view, min, max))

    async def view(
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
        request = ViewRequest(player_id, top, around, friends, windows, segment, rank)
        return await (await self._opened()).screens.view(board, request)

    async def distribution(
        self, board: str, *, bins: int = 24, window: str | None = None, window_id: str | None = None, segment: str | None = None
    ) -> Distribution:
        """Return how many players have which scores, in up to `bins` equal parts of the range."""
        reader = (await self._opened()).reader
        return await distribution(reader, reader.view(board, window, window_id, segment), bins)

    async def standings(self, player_id: str, *, cursor: str | None = None, limit: int = 100) -> PlayerStandings:
        """Return where a player stands now on every board, by board name, after a `cursor`."""
        runtime = await self._opened()
        names = [live.name for live in runtime.catalog]
        return await player_standings(runtime.reader, player_id, names, cursor, limit)

    # -- whether it works -----------------------------------------------------------------------------------------------

    async def ready(self) -> list[str]:
        """Return what is broken, if anything; raise an error if nothing can be served."""
        return await (await self._opened()).readiness.reasons()


def _told(name: str | None, avatar_url: str | None) -> dict[str, str] | None:
    """Return what a submission tells about its player."""
    told = {"name": name, "avatar_url": avatar_url}
    return {field: value for field, value in told.items() if value is not None} or None
