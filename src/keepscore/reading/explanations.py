"""What a submission did, which score a rank needs, and which of a player's events count and why."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from msgspec import UNSET

from keepscore.domain.boards import Score
from keepscore.domain.durations import time_of
from keepscore.domain.explanations import Reason, equal_is_ahead, outdone, rank_of_share
from keepscore.domain.ordering import Row
from keepscore.domain.results.explanations import ExplainedEvent, Explanation, Needs, NextPlayer, TierAhead, Why
from keepscore.domain.results.standings import PlayerPlace, Receipt
from keepscore.domain.scoring import Event
from keepscore.domain.values import check_player
from keepscore.domain.verdicts import RESTATING, event_id, named_event, that_count
from keepscore.domain.windows import span_of
from keepscore.errors import EngineUnavailable, InvalidField, InvalidPage, LedgerUnavailable, UnknownPlayer
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.reading.history import MAX_EVENTS
from keepscore.reading.reader import Reader
from keepscore.reading.view import MAX_RANK, View, check_within

__all__ = ["Explainer", "Explanations"]

#: Overtaken players that are named.
MAX_OVERTAKEN = 10


class Explanations:
    """Which score a rank needs, and which events count and why."""

    def __init__(self, stores: Stores, reader: Reader) -> None:
        self._ledger = stores.ledger
        self._reader = reader

    # -- which score a rank needs ---------------------------------------------------------------------------------------

    async def needs(
        self,
        board: str,
        player_id: str,
        *,
        rank: int | None = None,
        top: str | None = None,
        window: str | None = None,
        segment: str | None = None,
    ) -> Needs:
        """Return the score with which a player reaches a rank, or the first so many percent (`top="1%"`)."""
        view = self._reader.view(board, window, None, segment)
        player = check_player(player_id)
        if (rank is None) == (top is None):
            raise InvalidField("give rank or top, one of them: rank=10, or top=1%")
        if rank is not None:
            check_within("rank", rank, 1, MAX_RANK)
        else:
            rank_of_share(str(top), 1)
        # What is dense is known for those who are ranked; of equal scores, both numberings say the same.
        view = view._replace(rank="unique" if view.rank == "unique" else "standard", viewer=player)
        target = rank or 0

        found = await self._own(view, player)
        total = (await self._reader.count(view)).count if found is None else found.total_players
        if top is not None:
            target = rank_of_share(top, total + (found is None))
        own_rank, own_score = (None, None) if found is None else (found.rank, found.score)
        answer = Needs(*view.labels, player, own_rank, own_score, target, total, False, None, None)
        if own_rank is not None and own_rank <= target:
            answer.reached, answer.needed_score, answer.gap = True, own_score, view.live.board.shown(0)
        elif target <= total:
            answer.needed_score = await self._needed(view, player, target)
            answer.gap = None if own_score is None else _distance(answer.needed_score, own_score)
        return answer

    async def _own(self, view: View, player: str) -> PlayerPlace | None:
        try:
            return await self._reader.player(view, player)
        except UnknownPlayer:
            return None

    async def _needed(self, view: View, player: str, target: int) -> Score:
        """Return the score that is enough to be ahead of whoever has a rank."""
        board = view.live.board
        (holder,) = (await self._reader.around(view._replace(rank="unique"), target, 0)).standings
        if equal_is_ahead(board, view.rank, player, Row(holder.player_id, 0, 0)):
            return holder.score
        step = board.shown(1)
        return holder.score + step if board.order == "desc" else holder.score - step

    # -- what counts, and why -------------------------------------------------------------------------------------------

    async def why(
        self,
        board: str,
        player_id: str,
        *,
        limit: int = 100,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
    ) -> Why:
        """Return a player's events, the newest first: which of them count in a ranking, which do not, and why."""
        view = self._reader.view(board, window, window_id, segment)
        player = check_player(player_id)
        check_within("limit", limit, 1, MAX_EVENTS)
        live = view.live
        opening = await self._ledger.openings.current(live.id)
        recorded = [e for e in await self._ledger.events.of_player(live.id, player) if opening is None or not opening.covers(e)]
        voids = {named_event(event): str(event.game_id) for event in recorded if event.kind == "void"}
        counted = {event_id(event) for event in that_count(recorded)}
        events = [event for event in recorded if event.kind not in RESTATING]
        reasons = self._reasons(view, [event for event in events if event_id(event) in counted])
        events.sort(key=lambda event: (event.seq or 0, event.received, event.writer, event.n), reverse=True)
        place = await self._own(view._replace(viewer=player), player)
        if place is None and not events:
            raise UnknownPlayer(f"player {player!r} has sent nothing to board {live.name!r}")
        explained = [self._explained(live, event, reasons.get(event_id(event)), event_id(event) in counted) for event in events[:limit]]
        for told, event in zip(explained, events, strict=False):
            if told.reason == "voided" and event_id(event) in voids:
                told.void_id = voids[event_id(event)]
        rank, score = (None, None) if place is None else (place.rank, place.score)
        answer = Why(*view.labels, player, rank, score, len(events), explained)
        if opening is not None:
            answer.complete_from = time_of(opening.received)
        return answer

    def _reasons(self, view: View, events: Iterable[Event]) -> dict[tuple[int, int], Reason]:
        """Return why events do not count in a ranking, of those that no verdict has made void."""
        live, ranking = view.live, view.ranking
        whole = ranking._replace(segment="")
        inside: list[Event] = []
        reasons: dict[tuple[int, int], Reason] = {}
        for event in events:
            reached = live.rankings_of(event)
            if ranking in reached:
                inside.append(event)
            elif whole in reached:
                reasons[event_id(event)] = "other_segment"
            else:
                span = span_of(live.board, ranking.window, ranking.window_id)
                is_late = span.start <= event.at < span.end <= event.received
                reasons[event_id(event)] = "late" if is_late else "other_window"
        return {**reasons, **outdone(live.board, inside)}

    @staticmethod
    def _explained(live: LiveBoard, event: Event, reason: Reason | None, is_valid: bool) -> ExplainedEvent:
        why: Reason | None = reason if is_valid else "voided"
        told = ExplainedEvent(
            f"{event.writer}-{event.n}",
            event.kind,
            live.board.shown(event.amount),
            time_of(event.at),
            time_of(event.received),
            event.segments,
            event.game_id,
            why is None,
            why,
        )
        if event.scope is not None:
            told.scope = event.scope
        return told


class Explainer:
    """Tells what submissions did."""

    def __init__(self, stores: Stores, reader: Reader) -> None:
        self._ledger = stores.ledger
        self._reader = reader

    async def submission(self, receipt: Receipt) -> Receipt:
        """Return a receipt with an explanation. Where it cannot be told, the receipt is as it was: the submission is recorded."""
        if receipt.pending is True or receipt.rank is None or not receipt.windows:
            return receipt
        window, told = next(iter(receipt.windows.items()))
        view = self._reader.members(receipt.board, window, told.id)._replace(viewer=receipt.player_id)
        with suppress(EngineUnavailable, LedgerUnavailable, InvalidPage, UnknownPlayer):
            receipt.explanation = await self._explanation(view, receipt)
        return receipt

    async def _explanation(self, view: View, receipt: Receipt) -> Explanation:
        reader, player = self._reader, receipt.player_id
        place = await reader.player(view._replace(rank="unique"), player)
        unique = place.ranks.unique
        around = await reader.around(view._replace(rank=view.rank), unique, MAX_OVERTAKEN)
        places = [standing.player_id for standing in around.standings]
        if player not in places:
            raise UnknownPlayer(f"player {player!r} has moved on meanwhile")
        own = places.index(player)
        ahead = around.standings[own - 1] if own else None
        next_player = None
        if ahead is not None and receipt.score is not None:
            gap = _distance(ahead.score, receipt.score)
            next_player = NextPlayer(ahead.rank, ahead.player_id, ahead.name, ahead.score, gap, ahead.avatar_url)
        if receipt.previous_rank is None:
            # Of those with an equal score, only who is listed behind.
            count = around.total_players - unique
        else:
            count = max(0, receipt.previous_rank - (receipt.rank or receipt.previous_rank)) if receipt.updated else 0
        behind = places[own + 1 : own + 1 + min(count, MAX_OVERTAKEN)]
        told = Explanation(next_player, behind, count, receipt.updated and await self._is_best(view.live, player))
        if view.live.board.tiers:
            told.tier = place.tier
            if (above := place.next_tier) is not UNSET:
                missing = None if above.score is None else _distance(above.score, place.score)
                told.next_tier = TierAhead(above.name, above.score, missing)
        return told

    async def _is_best(self, live: LiveBoard, player: str) -> bool:
        """Return whether the newest of a player's events is better than all others. O(events of the player)."""
        events = that_count(await self._ledger.events.of_player(live.id, player))
        if not events:
            return False
        events.sort(key=lambda event: (event.seq or 0, event.received, event.writer, event.n))
        sign = 1 if live.board.order == "desc" else -1
        newest = sign * events[-1].amount
        if live.board.operator == "sum":
            return newest > 0
        return all(sign * event.amount < newest for event in events[:-1])


def _distance(one: Score, other: Score) -> Score:
    return one - other if one > other else other - one
