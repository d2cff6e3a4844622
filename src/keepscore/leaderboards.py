"""`Leaderboards`: the facade that programs, the service and the command line use."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import Any

import msgspec

from keepscore.answers import Around, BatchReceipt, Count, Lookup, PlayerPlace, Profile, Receipt, Rejection, Top
from keepscore.applier import Applier
from keepscore.as_of import AsOf
from keepscore.boards import Board
from keepscore.care import Care
from keepscore.catalog import Catalog
from keepscore.connect import engine_from_url, feed_for, ledger_from_url
from keepscore.definitions import Definitions
from keepscore.durations import duration_ms
from keepscore.engines.base import InProcessEngine
from keepscore.entries import Entry, check_entry, merged_answer
from keepscore.errors import InvalidField, KeepscoreError
from keepscore.guard import check_name, check_player, check_submission
from keepscore.jobs.base import Parts
from keepscore.keeper import Keeper
from keepscore.ledgers import base as ledgers
from keepscore.lookback import Lookback
from keepscore.reader import Reader
from keepscore.rehearsal import rehearse
from keepscore.resets import Resets
from keepscore.retries import claim_of
from keepscore.scoring import Kind
from keepscore.spool import Spool
from keepscore.tickets import Ticket
from keepscore.upkeep import Upkeep
from keepscore.writer import Writer

__all__ = ["MAX_BATCH", "BoardInfo", "Leaderboards", "now_ms"]

#: Submissions of one batch.
MAX_BATCH = 10_000

Number = int | float | Decimal


def now_ms() -> int:
    """The present, in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class BoardInfo(msgspec.Struct):
    """A board's definition and the number of its changes."""

    version: int
    board: Board


class Leaderboards(Lookback, Upkeep):
    """Boards on a ledger and an engine. Use it as an async context manager.

    >>> import asyncio
    >>> async def main():
    ...     async with Leaderboards.open(ledger="sqlite:///:memory:", boards=[Board("global")]) as lb:
    ...         await lb.submit("global", "alice", 1500)
    ...         await lb.submit("global", "bob", 1700)
    ...         return [(s.rank, s.player_id, s.score) for s in (await lb.top("global", limit=10)).standings]
    >>> asyncio.run(main())
    [(1, 'bob', 1700), (2, 'alice', 1500)]
    """

    def __init__(
        self, ledger: str, engine: str, boards: Iterable[Board], clock: Callable[[], int], keep_keys: str, keep_events: str
    ) -> None:
        self.clock = clock
        self._keep_events = None if keep_events == "forever" else duration_ms(keep_events)
        self._keep_keys = duration_ms(keep_keys)
        self._engine = engine_from_url(engine, clock)
        self.ledger = ledger_from_url(ledger, shared=not isinstance(self._engine, InProcessEngine))
        self._configured = list(boards)
        self._feed = feed_for(self._engine)
        self._catalog = Catalog()
        self._names_since = 0

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
        return cls(ledger, engine, boards, clock, keep_keys, keep_events)

    async def __aenter__(self) -> Leaderboards:
        number = await self.ledger.open(self.clock())
        try:
            secret = await self.ledger.secret()
            await self._engine.open(hashlib.sha256(secret).hexdigest()[:12])
            await self._feed.open()
            self._applier = Applier(number, self._catalog, self.ledger, self._engine)
            self._spool = Spool(self._catalog, self.ledger, self._engine)
            await self._spool.prepare(self.clock())
            self._writer = Writer(self._catalog, self.ledger, self._engine, self._feed, self._applier, self._spool, self.clock)
            self.reader = Reader(self._catalog, self._engine, self.ledger, self._feed, secret, self.clock, self._applier.assured)
            self._as_of = AsOf(self.ledger, self.clock, self.reader.names)
            parts = Parts(
                *(self._catalog, self.ledger, self._engine, self._applier, self._writer, self._spool, self.clock),
                *(self._keep_keys, self._keep_events),
            )
            self._keeper = Keeper(parts, self._refresh, lambda: self._care.prune())
            self._definitions = Definitions(
                self._catalog, self.ledger, self._engine, self._applier, self._writer.quiet, self._keeper, self.reader, self.clock
            )
            self._care = Care(
                *(self._catalog, self.ledger, self._engine, self._applier, self._spool),
                *(self._definitions, self._feed, self._writer.quiet, self._keeper.checkpoint_kept, self.clock),
            )
            self._resets = Resets(self._catalog, self._definitions, self.ledger, self.clock)
            self._applier.reloaded = self._keeper.rests_on
            self._applier.refresh = self._definitions.adopt
            await self._definitions.load(self._configured)
            await self._spool.drain()
            await self._learn_names()
        except BaseException:
            await self._close()
            raise
        self._writer.start()
        self._keeper.start()
        return self

    async def _refresh(self) -> None:
        """Take up what other processes have changed."""
        await self._definitions.refresh()
        await self._definitions.learn_times()
        await self._learn_names()

    async def _learn_names(self) -> None:
        learned = self.clock()
        # Names that were given in the last moments may be recorded a little later.
        changed = await self.ledger.profiles(self._names_since - 5000)
        self._names_since = learned
        for player, name in changed:
            self.reader.name(player, name)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._writer.stop()
        await self._keeper.stop()
        await self._close()

    async def _close(self) -> None:
        await self._feed.close()
        await self._engine.close()
        await self.ledger.close()

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
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Submit a score. When this returns, it is durable and in the rankings."""
        return await self._submit(board, player_id, "score", score, at, segments, game_id, metadata, idempotency_key)

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
    ) -> Receipt:
        """Add an amount to a player's score, on a board whose operator is `sum` or `last`."""
        return await self._submit(board, player_id, "increment", amount, at, segments, game_id, metadata, idempotency_key)

    async def _submit(
        self,
        board: str,
        player: str,
        kind: Kind,
        amount: Number,
        at: datetime | str | None,
        segments: Mapping[str, str] | None,
        game_id: str | None,
        metadata: Any,
        key: str | None,
    ) -> Receipt:
        live = self._catalog[board]
        claim = None if key is None else claim_of(live, key, [kind, player, amount, at, segments, game_id, metadata])
        try:
            submission = check_submission(live, player, kind, amount, self.clock(), at, segments, game_id, metadata, ranked=True)
        except KeepscoreError:
            # A retry of what was taken in time gets its answer, although it would be refused by now.
            first = None if claim is None else await self._writer.retries.first_answer(claim, batch=False)
            if isinstance(first, Receipt):
                return first
            raise
        receipt: Receipt = await self._writer.submit(Ticket([(0, submission)], [], claim, True, False, self._writer.answer()))
        return receipt

    async def submit_many(
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
        _check_size(entries)
        if idempotency_key is not None and any(isinstance(entry, Entry) and entry.idempotency_key is not None for entry in entries):
            raise InvalidField("give an idempotency key to the batch or to its entries, not to both")
        live = self._catalog[board]
        now = self.clock()
        whole = Ticket([], [], None, results, True, self._writer.answer())
        tickets = [whole]
        for index, entry in enumerate(entries):
            try:
                if isinstance(entry, KeepscoreError):
                    raise entry
                submission = check_entry(live, entry, now, backfill, results)
                if entry.idempotency_key is None:
                    whole.submissions.append((index, submission))
                else:
                    claim = claim_of(live, entry.idempotency_key, entry)
                    tickets.append(Ticket([(index, submission)], [], claim, results, True, self._writer.answer()))
            except KeepscoreError as exc:
                whole.rejected.append(Rejection(index, exc.type, exc.detail))
        if idempotency_key is not None:
            good = [entry for entry in entries if isinstance(entry, Entry)]
            whole.claim = claim_of(live, idempotency_key, good)
        await asyncio.gather(*[self._writer.submit(ticket) for ticket in tickets], return_exceptions=True)
        return merged_answer(tickets, results)

    async def check_many(self, board: str, entries: Sequence[Entry | KeepscoreError], *, backfill: bool = False) -> BatchReceipt:
        """How many of up to 10,000 entries `submit_many` would accept, and which it would reject. Nothing is recorded."""
        _check_size(entries)
        live = self._catalog[board]
        return await rehearse(self._catalog, self._engine, self.ledger, live, entries, self.clock(), backfill)

    # -- reading --------------------------------------------------------------------------------------------------------

    async def top(
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
        return await self.reader.top(self.reader.view(board, window, window_id, segment, rank), limit, offset, cursor)

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
    ) -> PlayerPlace:
        """Where a player stands, with `around` players above and below."""
        return await self.reader.player(self.reader.view(board, window, window_id, segment, rank), player_id, around)

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
    ) -> Around:
        """The players around a rank."""
        return await self.reader.around(self.reader.view(board, window, window_id, segment, rank), center_rank, around)

    async def lookup(
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
        return await self.reader.lookup(self.reader.view(board, window, window_id, segment, rank), player_ids)

    async def count(
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
        return await self.reader.count(self.reader.view(board, window, window_id, segment), min, max)

    # -- players --------------------------------------------------------------------------------------------------------

    async def name_player(self, player_id: str, name: str | None) -> Profile:
        """Give a player a name to show."""
        profile = Profile(check_player(player_id), check_name(name))
        await self.ledger.put_profile(ledgers.Profile(player_id, name), self.clock())
        self.reader.name(player_id, name)
        return profile

    async def profile(self, player_id: str) -> Profile:
        """What is known of a player beside the scores."""
        return Profile(check_player(player_id), self.reader.names.get(player_id))

    # -- boards ---------------------------------------------------------------------------------------------------------

    async def boards(self) -> list[BoardInfo]:
        """All boards, by name."""
        return [BoardInfo(live.version, live.board) for live in self._catalog]

    async def board(self, name: str) -> BoardInfo:
        """One board."""
        live = self._catalog[name]
        return BoardInfo(live.version, live.board)

    async def put_board(self, board: Board, *, version: int | None = None) -> BoardInfo:
        """Define a board, or change its definition. One that changes the meaning rebuilds the rankings from the ledger.

        Until the new rankings are complete, readers see the old ones; then this returns. `version` is the version that the
        change is meant for: where another came first, VersionConflict is raised.
        """
        await self._definitions.put(board, version)
        return await self.board(board.name)

    async def delete_board(self, name: str) -> None:
        """Delete a board. Its events stay in the ledger; a new board of that name starts empty."""
        await self._definitions.delete(name)

    async def refresh(self) -> bool:
        """Take up at once what other processes have defined; without this it takes a second. Answers whether there was something."""
        return await self._definitions.refresh()

    def layouts(self, board: Board) -> dict[str, tuple[str, str]]:
        """How the engine lays out each window of a board and why, where it has more than one way."""
        return self._engine.layouts(board)

    # -- care -----------------------------------------------------------------------------------------------------------

    async def ready(self) -> None:
        """Raise an error unless the ledger can be written and the engine answers."""
        await self.ledger.probe(self.clock())
        for live in self._catalog:
            await self._engine.applied(live.id)


def _check_size(entries: Sequence[object]) -> None:
    if not 1 <= len(entries) <= MAX_BATCH:
        raise InvalidField(f"scores has {len(entries)} entries: give 1 to {MAX_BATCH}")
