"""Matches: recorded once, with the changes of both ratings, and looked up again. `lb.matches`."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from keepscore.domain.durations import time_of
from keepscore.domain.inputs import Number
from keepscore.domain.ratings.matches import Match, contest, duel
from keepscore.domain.results.matches import HeadToHead, MatchBatch, MatchPlayer, MatchReceipt, PlayerMatches, PlayerRatings
from keepscore.domain.results.plain import encode
from keepscore.domain.results.standings import Rejection
from keepscore.domain.values import check_player, check_text
from keepscore.errors import BadInput, Conflict, EngineUnavailable, InvalidField, KeepscoreError, MatchRecorded, RankingLost, UnknownMatch
from keepscore.players.match_batches import check_batch, given_match
from keepscore.players.match_history import MatchesSeen, MatchHistory
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.partial_rankings import rankings_of
from keepscore.projection.stores import Stores
from keepscore.reading.visibility import Labels
from keepscore.storage.ledgers.claims import MATCH, Answered, Claim
from keepscore.writing.checks import check_match
from keepscore.writing.groups import PendingRequest
from keepscore.writing.idempotency import Retries, Unanswered, fingerprint
from keepscore.writing.scopes import Submission
from keepscore.writing.writer import Writer

__all__ = ["Matches"]

#: How often a match is sent again that another process has claimed and not recorded, before the request fails.
MAX_TRIES = 3

_receipt = msgspec.json.Decoder(MatchReceipt)


class Matches:
    """Records matches on boards with a rating, and looks back at them."""

    def __init__(self, stores: Stores, writer: Writer, retries: Retries, labels: Labels) -> None:
        self._catalog, self._ledger, self._engine, self._clock = stores
        self._writer = writer
        self._retries = retries
        self._labels = labels
        self._history = MatchHistory(stores, labels)

    async def record(
        self, board: str, a: str, b: str, result: Number, *, match_id: str | None = None, at: datetime | str | None = None
    ) -> MatchReceipt:
        """Record a match of two players: `result` is 1 where `a` won, 0.5 for a draw, 0 where `b` won.

        When this returns, the match is durable and both ratings are ranked. A `match_id` counts once: sent again, the first answer
        comes back, `replayed`.
        """
        match = duel(_name(match_id), check_player(a), check_player(b), result)
        return await self._accept(board, match, match_id is not None, at)

    async def record_teams(
        self,
        board: str,
        teams: Sequence[Sequence[str]],
        ranks: Sequence[int] | None = None,
        *,
        match_id: str | None = None,
        at: datetime | str | None = None,
    ) -> MatchReceipt:
        """Record a match of teams: `ranks` has the place of each, 1 being the first; without it, teams are in the order of their places.

        Teams of any size are for boards that are rated by openskill; on others, there are two with a player each.
        """
        match = contest(_name(match_id), teams, ranks)
        return await self._accept(board, match, match_id is not None, at)

    async def record_many(self, board: str, matches: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> MatchBatch:
        """Record up to 1,000 matches in their order, each with the fields of `record` or `record_teams`; bad ones are rejected one by one.

        A `match_id` counts once. With a key, a match without an id gets one of the key and its place: the same batch may be sent again.
        """
        check_batch(matches)
        prefix = f"m_{secrets.token_hex(10)}" if idempotency_key is None else check_text("idempotency_key", idempotency_key, InvalidField)
        found = await asyncio.gather(*(self._one_of_many(board, entry, f"{prefix}:{n}") for n, entry in enumerate(matches)))
        taken = [one for one in found if isinstance(one, MatchReceipt)]
        rejected = [Rejection(n, one.type, one.detail) for n, one in enumerate(found) if isinstance(one, KeepscoreError)]
        return MatchBatch(board, len(taken), sum(one.replayed for one in taken), rejected, taken)

    async def _one_of_many(self, board: str, entry: object, name: str) -> MatchReceipt | KeepscoreError:
        try:
            match, at = given_match(entry, name)
            return await self._accept(board, match, True, at)
        except (BadInput, Conflict) as exc:
            # What is wrong with one match is no matter of the others.
            return exc

    async def _accept(self, board: str, match: Match, is_named: bool, at: datetime | str | None) -> MatchReceipt:
        """Record a match, or find that it is recorded."""
        live, name = self._catalog[board], match.match_id
        claim = Claim(MATCH, str(live.id), name, fingerprint([match.teams, match.places, at]))
        try:
            submission = check_match(live, match, at, self._clock())
        except KeepscoreError:
            # A retry of what was taken in time gets its answer, although it would be refused by now.
            known = await self._ledger.claims.find(claim) if is_named else None
            if known is not None:
                return await self._replayed(live, claim, known)
            raise
        for _ in range(MAX_TRIES):
            try:
                return await self._record(live, submission, match, claim)
            except Unanswered:
                known = await self._ledger.claims.find(claim)
                if known is not None:
                    return await self._replayed(live, claim, known)
        raise EngineUnavailable(f"match {name!r} was claimed and taken back again and again: try again")

    async def _record(self, live: LiveBoard, submission: Submission, match: Match, claim: Claim) -> MatchReceipt:
        def answer(pending: bool) -> MatchReceipt:
            found = _told(live, submission, match)
            if pending:
                found.pending = True
            return found

        def record(rejected: list[Rejection]) -> bytes:
            return encode(_told(live, submission, match))

        request = PendingRequest([(0, submission)], [], claim, False, False, self._writer.answer(), record=record, tell=answer)
        receipt: MatchReceipt = await self._writer.submit(request)
        if receipt.pending is not True and await self._add_ranks(live, receipt):
            self._retries.keep(claim, receipt)
        return receipt

    async def _add_ranks(self, live: LiveBoard, receipt: MatchReceipt) -> bool:
        """Add the ranks that players have now; return whether the engine tells."""
        moment = round(receipt.at.timestamp() * 1000)
        wholes = live.route(moment, None).rankings
        try:
            rankings = rankings_of(self._engine, self._ledger, live)
            players = [player.player_id for player in receipt.players]
            places = await rankings.places(wholes[0], players, live.board.rank) if wholes else [None] * len(players)
        except (EngineUnavailable, RankingLost):
            receipt.pending = True
            return False
        for player, place in zip(receipt.players, places, strict=True):
            # Of a player whom the engine does not keep, nobody knows the dense rank.
            player.rank = None if place is None else getattr(place, live.board.rank) or place.unique
        return True

    async def _replayed(self, live: LiveBoard, claim: Claim, known: Answered) -> MatchReceipt:
        """Return the first answer to a match, with the ranks that it had, or those of now where nobody has kept these."""
        if known.fingerprint != claim.fingerprint:
            raise MatchRecorded(
                f"match_id = {claim.key!r} is another match on board {live.name!r}, with other players, another result or another time: "
                "give each match its own"
            )
        return replace(await self._kept(live, claim, known), replayed=True)

    async def _kept(self, live: LiveBoard, claim: Claim, known: Answered) -> MatchReceipt:
        text = self._retries.unsaved().get(claim) or known.answer
        assert text is not None, "it is recorded with its answer"
        receipt = _receipt.decode(text)
        if any(player.rank is None for player in receipt.players):
            await self._add_ranks(live, receipt)
        return receipt

    # -- looking back ---------------------------------------------------------------------------------------------------

    async def get(self, board: str, match_id: str, *, viewer: str | None = None) -> MatchReceipt:
        """Return what a match changed when it was recorded, for the players whom a `viewer` may see."""
        live = self._catalog[board]
        claim = Claim(MATCH, str(live.id), check_text("match_id", match_id, InvalidField), b"")
        known = await self._ledger.claims.find(claim)
        if known is None:
            raise UnknownMatch(f"board {board!r} has no match {match_id!r}")
        receipt = await self._kept(live, claim._replace(fingerprint=known.fingerprint), known)
        told = await self._labels.visible([player.player_id for player in receipt.players], viewer)
        seen = [replace(player, player_id=name) for player, name in zip(receipt.players, told, strict=True) if name is not None]
        return replace(receipt, players=seen)

    async def of_player(
        self,
        board: str,
        player_id: str,
        *,
        opponent_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        viewer: str | None = None,
    ) -> PlayerMatches:
        """Return a page of a player's matches, or of those against one opponent, the newest first, as a `viewer` may see them.

        O(matches of the player).
        """
        return await self._history.of_player(MatchesSeen(board, player_id, viewer), opponent_id, limit, cursor)

    async def head_to_head(self, board: str, player_id: str, opponent_id: str, *, viewer: str | None = None) -> HeadToHead:
        """Return how the matches of two players ended, and the last ten, as a `viewer` may see them. O(matches of the player)."""
        return await self._history.head_to_head(MatchesSeen(board, player_id, viewer), opponent_id)

    async def ratings(self, board: str, player_id: str, *, limit: int = 100, viewer: str | None = None) -> PlayerRatings:
        """Return a player's rating after each of the last matches, and the highest ever, as a `viewer` may see it.

        O(matches of the player).
        """
        return await self._history.ratings(MatchesSeen(board, player_id, viewer), limit)


def _name(match_id: str | None) -> str:
    return f"m_{secrets.token_hex(10)}" if match_id is None else check_text("match_id", match_id, InvalidField)


def _told(live: LiveBoard, submission: Submission, match: Match) -> MatchReceipt:
    """Return what a planned match changes, without ranks."""
    shown = live.board.shown
    players = [MatchPlayer(one.player, shown(one.before + one.change), shown(one.change), None) for one in match.rated]
    for player, one in zip(players, match.rated, strict=True):
        if one.deviation is not None:
            player.deviation = round(one.deviation, 4)
        if "provisional" in one.note:
            player.provisional = True
    return MatchReceipt(match.match_id, live.name, time_of(submission.at), players)
