"""Losses of players who do not play any more, recorded as events, so that history explains itself.

With `inactivity = {after = "14d", lose = 25, every = "7d", floor = 1000}` a player who scored last at t loses 25 at t + 14 days, 25 more
at t + 21 days, and so on, down to 1000. Each loss is an increment at the moment when it was due, with an idempotency key made of the
player and that moment: it is recorded once, however often and in how many processes this runs. The player's next score restarts the count.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime

from msgspec import UNSET

from keepscore.domain.boards import Board
from keepscore.domain.durations import duration_ms
from keepscore.domain.inactivity import PREFIX, Inactivity, is_loss
from keepscore.domain.ordering import Row
from keepscore.domain.results.standings import BatchReceipt
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import that_count
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import player_past
from keepscore.storage.engines.base import Ranking, RankingEngine
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.claims import SUBMISSION, Claim
from keepscore.writing.checks import SubmissionRequest, check_submission
from keepscore.writing.groups import PendingRequest
from keepscore.writing.writer import Writer

__all__ = ["lose_for_inactivity"]

#: Players that are looked at at a time.
CHUNK_PLAYERS = 1000


async def lose_for_inactivity(writer: Writer, ledger: Ledger, engine: RankingEngine, live: LiveBoard, now: int) -> int:
    """Record the losses of a board that are due; answer how many. O(players, and events of those who may lose something)."""
    rule = live.board.inactivity
    if rule is None:
        return 0
    ranking = live.ranking("all_time", None, None, now)
    floor = _floor(live.board, rule)
    recorded = 0
    async for row in _candidates(engine, ranking, now - min(duration_ms(rule.after), duration_ms(rule.every)), floor):
        past = await player_past(ledger, live, row.player)
        events = [event for event in that_count(past.events) if ranking in live.rankings_of(event)]
        score = row.score
        for due in _due(rule, events, past.own.get(ranking), max(past.at, live.accepts_from), now):
            amount = min(live.board.points(rule.lose), score - floor)
            if amount <= 0:
                break
            await ledger.identity.look_confirmed()
            answer = await _lose(writer, live, row.player, amount, due, now)
            score -= amount
            # Where another process was quicker, it is recorded already.
            recorded += answer.accepted if answer.replayed is UNSET else 0
    return recorded


def _floor(board: Board, rule: Inactivity) -> int:
    low = board.bounds[0]
    return low if rule.floor is None else max(low, board.points(rule.floor))


async def _candidates(engine: RankingEngine, ranking: Ranking, upto: int, floor: int) -> AsyncIterator[Row]:
    """Yield the players above the floor whose state is as old as that, or of whose time the engine knows nothing."""
    page = await engine.page(ranking, 0, CHUNK_PLAYERS)
    while page.rows:
        for row in page.rows:
            if row.since <= upto and row.score > floor:
                yield row
        await asyncio.sleep(0)
        page = await engine.page_after(ranking, page.rows[-1], CHUNK_PLAYERS)


def _due(rule: Inactivity, events: Iterable[Event], dropped: int | None, since: int, now: int) -> list[int]:
    """Return the moments since a player's last own event, a `dropped` one maybe, at which a loss was due and is not recorded.

    Losses from before `since` are in what dropped events have left.
    """
    own, losses = [] if dropped is None else [dropped], set()
    for event in events:
        if is_loss(event.kind, event.game_id):
            losses.add(event.at)
        else:
            own.append(event.at)
    if not own:
        return []
    first, every = max(own) + duration_ms(rule.after), duration_ms(rule.every)
    return [due for due in range(first, now + 1, every) if due >= since and due not in losses]


async def _lose(writer: Writer, live: LiveBoard, player: str, amount: int, due: int, now: int) -> BatchReceipt:
    moment = datetime.fromtimestamp(due / 1000, UTC)
    name = f"{PREFIX}{due}"
    reason = {"reason": "inactivity", "after": live.board.inactivity and live.board.inactivity.after}
    given = SubmissionRequest(player, "increment", live.board.shown(-amount), moment, None, name, reason, is_own=True)
    submission = check_submission(live, given, now, backfill=True)
    digest = hashlib.blake2b(f"{player}\0{due}".encode(), digest_size=16)
    claim = Claim(SUBMISSION, str(live.id), PREFIX + digest.hexdigest(), digest.digest())
    # As a batch of one, which asks for no ranks.
    answer: BatchReceipt = await writer.submit(PendingRequest([(0, submission)], [], claim, False, True, writer.answer(), patient=False))
    return answer
