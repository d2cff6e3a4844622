"""The routes that existing clients of leaderboard services use: `/api/v1/leaderboard/…`, on one board.

Player ids that are whole numbers are returned as numbers there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import UNSET

from keepscore.access.principals import ANONYMOUS
from keepscore.domain.ordering import percentile
from keepscore.domain.results.friends import FriendsBoard
from keepscore.domain.results.standings import Around, PlayerPlace, Receipt, Top
from keepscore.errors import BadInput, InvalidField, Unauthenticated, UnknownPlayer, WindowClosed
from keepscore.leaderboards import Leaderboards
from keepscore.projection.viewers import is_shadowed
from keepscore.reading.history import MAX_EVENTS
from keepscore.reading.view import MAX_RANK, View, check_within
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Prepared, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers, status_of, whole_number
from keepscore.service.routes.bodies import number
from keepscore.service.routes.compat_shapes import (
    CompatAroundQuery,
    CompatTopQuery,
    Neighbour,
    Neighbours,
    PlayerId,
    PlayerRank,
    RankedPlayer,
    RankedPlayers,
    ScoreIncrement,
    ScoreUpdate,
    Updated,
    WhichQuery,
)
from keepscore.service.routes.page_cache import FOR_PLAYER, FOR_TOP, CdnTime, Made, PageCache

__all__ = ["Compat"]

Handler = Callable[[Any], Awaitable[Answer | Prepared]]

#: In the keys of pages, where those of other routes have a board's name.
THEIRS = ""
Read = TypeVar("Read", RankedPlayers, PlayerRank, Neighbours)

#: What these routes call the fields that errors speak of.
RENAMED = {"amount": "score_delta", "at": "timestamp", "limit": "n", "around": "range", "segment region": "region"}


def _in_their_words(handler: Handler) -> Handler:
    """Wrap a handler so that its errors name fields as these routes do."""

    async def renaming(request: Any) -> Answer | Prepared:
        try:
            return await handler(request)
        except (BadInput, WindowClosed) as exc:
            field, equals, rest = str(exc).partition(" = ")
            raise type(exc)(RENAMED.get(field, field) + equals + rest) from None

    return renaming


class Compat:
    """Handlers for one board."""

    def __init__(self, leaderboards: Leaderboards, board: str, pages: PageCache) -> None:
        self._lb = leaderboards
        self._reader = leaderboards.runtime.reader
        self._pages = pages
        self._board = board

    def routes(self) -> list[Route]:
        """Declare all routes of `/api/v1/leaderboard`."""
        base = "/api/v1/leaderboard"
        updated = {200: Updated, 202: Updated}
        tag = "Existing clients"
        routes = [
            Route(
                "POST",
                base + "/score",
                self.score,
                "Set a score",
                scope="submit",
                players=True,
                about="default",
                keyed=True,
                body=ScoreUpdate,
                answers=updated,
                tag=tag,
                description="Submits a score to the default board. Ids that are whole numbers come back as numbers.",
                example=Example(body={"player_id": 123, "score": 1500}),
            ),
            Route(
                "POST",
                base + "/score/increment",
                self.increment,
                "Add to a score",
                scope="submit",
                players=True,
                about="default",
                keyed=True,
                body=ScoreIncrement,
                answers=updated,
                tag=tag,
                description="Adds an amount on the default board.",
                example=Example(body={"player_id": 123, "score_delta": 25}),
            ),
            Route(
                "GET",
                base + "/top",
                self.top,
                "Get the top n",
                scope="read",
                players=True,
                about="default",
                query=CompatTopQuery,
                answers={200: RankedPlayers},
                tag=tag,
                description="Returns the first players of the default board, globally, in one region, or among a player's friends.",
                example=Example({"n": 10}),
            ),
            Route(
                "GET",
                base + "/rank/{player_id}",
                self.rank,
                "Get a player's rank",
                scope="read",
                players=True,
                about="default",
                cost="light",
                query=WhichQuery,
                answers={200: PlayerRank},
                tag=tag,
                description="Returns a player's rank, score and percentile on the default board.",
                example=Example({"player_id": "123"}),
            ),
            Route(
                "GET",
                base + "/around/{rank}",
                self.around,
                "Get the players around a rank",
                scope="read",
                players=True,
                about="default",
                query=CompatAroundQuery,
                answers={200: Neighbours},
                tag=tag,
                description="Returns the player at a rank of the default board, with players above and below.",
                example=Example({"range": 5}),
            ),
        ]
        return [route._replace(handler=_in_their_words(route.handler)) for route in routes]

    async def score(self, request: Request[NoQuery, ScoreUpdate]) -> Answer:
        """Set a score."""
        body = request.body
        value, key = number("score", body.score), idempotency_key(request)
        return await self._submitted(
            body, lambda extra: self._lb.submit(self._board, str(body.player_id), value, **extra, idempotency_key=key)
        )

    async def increment(self, request: Request[NoQuery, ScoreIncrement]) -> Answer:
        """Add to a score."""
        body = request.body
        amount = number("score_delta", body.score_delta)
        return await self._submitted(
            body,
            lambda extra: self._lb.increment(self._board, str(body.player_id), amount, **extra, idempotency_key=idempotency_key(request)),
        )

    async def _submitted(self, body: ScoreUpdate | ScoreIncrement, submit: Callable[[dict[str, Any]], Awaitable[Receipt]]) -> Answer:
        """Submit, and answer with the place in the ranking that was meant: everybody's, or the region's."""
        player, region = str(body.player_id), body.region
        view = before = None
        if body.leaderboard_type == "friends":
            return await self._submitted_among_friends(body, submit)
        if body.leaderboard_type == "regional":
            region = region or await self._region_of(player, "leaderboard_type")
            view = self._reader.view(self._board, None, None, f"region:{region}")
            before = await self._place(view, player)
        segments = None if region is None else {"region": region}
        receipt = await submit({"at": body.timestamp, "segments": segments, "game_id": body.game_id})
        answer = _updated(body, receipt)
        place = None if view is None or receipt.pending is True else await self._place(view, player)
        if place is not None:
            change = 0 if before is None else before.rank - place.rank
            answer.score, answer.rank, answer.rank_change, answer.percentile = place.score, place.rank, change, place.percentile
            answer.approximate, answer.error = place.approximate, place.error
        return Answer(answer, status_of(receipt), replay_headers(receipt))

    async def _submitted_among_friends(
        self, body: ScoreUpdate | ScoreIncrement, submit: Callable[[dict[str, Any]], Awaitable[Receipt]]
    ) -> Answer:
        """Submit, and answer with the place among friends."""
        player = str(body.player_id)
        before = _rank_in(await self._lb.friends.ranking(self._board, player))
        segments = None if body.region is None else {"region": body.region}
        receipt = await submit({"at": body.timestamp, "segments": segments, "game_id": body.game_id})
        answer = _updated(body, receipt)
        board = await self._lb.friends.ranking(self._board, player)
        rank = None if receipt.pending is True else _rank_in(board)
        if rank is not None:
            answer.rank, answer.rank_change = rank, 0 if before is None else before - rank
            answer.percentile = _share(board)
        return Answer(answer, status_of(receipt), replay_headers(receipt))

    async def _friends(self, request: Request[Any, NoBody], player: str | None) -> FriendsBoard:
        """Return a player and friends, of the player that a request names, or that its token is for."""
        principal = request.principal
        if principal is ANONYMOUS:
            raise Unauthenticated("type = 'friends' needs a key, or the player's token: send it as 'Authorization: Bearer …'")
        if player is not None:
            principal.check_player(player)
        player = principal.player or player
        if player is None:
            raise InvalidField("type = 'friends' needs a player: add player_id=…")
        return await self._lb.friends.ranking(self._board, player, window=request.query.period)

    async def _place(self, view: View, player: str) -> PlayerPlace | None:
        try:
            return await self._reader.player(view._replace(viewer=player), player)
        except UnknownPlayer:
            return None

    async def _region_of(self, player: str, field: str) -> str:
        """Return the region that a player has sent last. O(events of the player)."""
        for event in (await self._lb.history.events(self._board, player, MAX_EVENTS)).events:
            name, _, value = ("" if event.scope is None else event.scope.segment or "").partition(":")
            region = (event.segments or {}).get("region") or (value if name == "region" else None)
            if region is not None:
                return region
        raise InvalidField(f"{field} = 'regional' needs a region: send one, as player {player!r} has sent none before")

    def _view(self, query: WhichQuery, region: str | None = None) -> View:
        region = query.region or region
        if query.kind == "regional" and region is None:
            raise InvalidField("type = 'regional' needs a region: add region=…")
        segment = f"region:{region}" if query.kind == "regional" else None
        return self._reader.view(self._board, query.period, None, segment)

    async def top(self, request: Request[CompatTopQuery, NoBody]) -> Answer | Prepared:
        """Return the top n; it is kept encoded until the ranking changes."""
        query = request.query
        if query.kind == "friends":
            found = await self._friends(request, query.player_id)
            friends = [RankedPlayer(s.rank, _shown(s.player_id), s.name, s.score, 0) for s in found.standings]
            return Answer(_told(found, RankedPlayers(query.kind, query.period, len(friends), friends[: query.n])), headers=NO_STORE)
        view, key = self._view(query)._replace(viewer=request.principal.player), (THEIRS, request.query_string)

        async def made() -> Made:
            top = await self._reader.top(view, query.n)
            players = [RankedPlayer(s.rank, _shown(s.player_id), s.name, s.score, s.rank_change) for s in top.standings]
            return _told(top, RankedPlayers(query.kind, query.period, top.total_players, players)), top.position

        if view.viewer is not None and (self._reader.cards.has_secrets or await self._is_own(view)):
            return Answer((await made())[0], headers=NO_STORE)
        return self._pages.known(key, view) or await self._pages.page(key, view, made)

    async def _is_own(self, view: View, player: str | None = None) -> bool:
        """Return whether the viewer, or else the player whom a read is about, sees what nobody else does: that is kept by nobody."""
        return await is_shadowed(self._lb.runtime.ledger, view.live, view.viewer or player)

    async def _answer(
        self, view: View, found: PlayerPlace | Around, answer: Read, time: CdnTime, player: str | None = None
    ) -> Answer | Prepared:
        if await self._is_own(view, player):
            return Answer(_told(found, answer), headers=NO_STORE)
        return self._pages.answer(view, _told(found, answer), found.position, time)

    async def rank(self, request: Request[WhichQuery, NoBody]) -> Answer | Prepared:
        """Return a player's rank; that in a region, in the one that the request names, or else in the player's own."""
        query, player = request.query, request.path[0]
        if query.kind == "friends":
            found = await self._friends(request, player)
            for own in (standing for standing in found.standings if standing.is_current_player):
                score, total = own.score, len(found.standings)
                return Answer(_told(found, PlayerRank(_shown(player), own.rank, score, total, _share(found))), headers=NO_STORE)
            raise UnknownPlayer(f"player {player!r} is not ranked on board {self._board!r} ({query.period})")
        is_own = query.kind == "regional" and query.region is None
        view = self._view(query, await self._region_of(player, "type") if is_own else None)._replace(viewer=request.principal.player)
        place = await self._reader.player(view, player)
        told = place.score, place.total_players, place.percentile, place.approximate, place.error
        answer = PlayerRank(_shown(place.player_id), place.rank, *told)
        return await self._answer(view, place, answer, FOR_PLAYER, player)

    async def around(self, request: Request[CompatAroundQuery, NoBody]) -> Answer | Prepared:
        """Return the players around a rank."""
        rank = whole_number("rank", request.path[0])
        if request.query.kind == "friends":
            check_within("rank", rank, 1, MAX_RANK)
            found = await self._friends(request, request.query.player_id)
            near = found.standings[max(0, rank - 1 - request.query.range) : rank + request.query.range]
            friends = [Neighbour(s.rank, _shown(s.player_id), s.score) for s in near]
            return Answer(_told(found, Neighbours(rank, friends)), headers=NO_STORE)
        view = self._view(request.query)._replace(viewer=request.principal.player)
        around = await self._reader.around(view, rank, request.query.range)
        players = [Neighbour(s.rank, _shown(s.player_id), s.score) for s in around.standings]
        return await self._answer(view, around, Neighbours(around.center_rank, players), FOR_TOP)


def _updated(body: ScoreUpdate | ScoreIncrement, receipt: Receipt) -> Updated:
    told = receipt.replayed, receipt.pending, receipt.spooled, receipt.approximate, receipt.error
    # What is only recorded has not changed the score yet.
    updated = False if not receipt.updated and receipt.pending is not True else UNSET
    return Updated(body.player_id, receipt.score, receipt.rank, receipt.rank_change, receipt.percentile, updated, *told)


def _rank_in(board: FriendsBoard) -> int | None:
    return next((standing.rank for standing in board.standings if standing.is_current_player), None)


def _share(board: FriendsBoard) -> float:
    """Return which part of a player and friends, in percent, is not ahead of the player."""
    place = next(i for i, standing in enumerate(board.standings, 1) if standing.is_current_player)
    return percentile(place, len(board.standings))


def _told(found: Top | PlayerPlace | Around | FriendsBoard, answer: Read) -> Read:
    """Mark the answer to a read as stale where it is."""
    if found.stale is True:
        answer.stale, answer.as_of = True, found.as_of
    return answer


def _shown(player: str) -> PlayerId:
    """Return a player id as existing clients know it: a number where it is written as one."""
    if player.isascii() and player.removeprefix("-").isdecimal() and len(player) <= 18 and str(int(player)) == player:
        return int(player)
    return player
