"""The routes that existing clients of leaderboard services use: `/api/v1/leaderboard/…`, on one board.

Player ids that are whole numbers are told as numbers there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from keepscore.answers import Around, PlayerPlace, Receipt, Top
from keepscore.errors import BadInput, InvalidField, WindowClosed
from keepscore.leaderboards import Leaderboards
from keepscore.views import View
from keepscore.web.bodies import Number, number
from keepscore.web.http import Answer, NoBody, NoQuery, Prepared, Request, Route
from keepscore.web.routes import FOR_PLAYER, FOR_TOP, Headers, headers_for, idempotency_key, status_of, whole_number

__all__ = ["Compat"]

Type = Literal["global", "regional"]
Period = Literal["daily", "weekly", "monthly", "all_time"]
PlayerId = int | str
Handler = Callable[[Any], Awaitable[Answer | Prepared]]


class ScoreUpdate(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A player's score."""

    player_id: PlayerId
    score: Number
    leaderboard_type: Type = "global"
    region: str | None = None
    game_id: str | None = None
    timestamp: str | None = None


class ScoreIncrement(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An amount to add to a player's score."""

    player_id: PlayerId
    score_delta: Number
    leaderboard_type: Type = "global"
    region: str | None = None
    game_id: str | None = None
    timestamp: str | None = None


class Updated(msgspec.Struct):
    """The player after an update."""

    player_id: PlayerId
    score: Any
    rank: int | None
    rank_change: int | None
    percentile: float | None
    replayed: bool | UnsetType = UNSET
    #: Only where it is recorded, and will be ranked later: ranks are null until then.
    pending: bool | UnsetType = UNSET
    #: Only where the ledger is away, and the engine keeps it for the ledger.
    spooled: bool | UnsetType = UNSET


class WhichQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which ranking: global, or of a region; of a period."""

    type: Type = "global"
    period: Period = "all_time"
    region: str | None = None


class TopQuery(WhichQuery, forbid_unknown_fields=True, kw_only=True):
    """How many players."""

    n: int = 100


class AroundQuery(WhichQuery, forbid_unknown_fields=True, kw_only=True):
    """How many players above and below."""

    range: int = 50


class Player(msgspec.Struct):
    """A player of a list."""

    rank: int
    player_id: PlayerId
    player_name: str | None
    score: Any
    rank_change: int


class Players(msgspec.Struct):
    """The top of a leaderboard."""

    leaderboard_type: str
    period: str
    total_players: int
    players: list[Player]
    #: Only where the rankings cannot be reached: this is the ledger's checkpoint of the moment `as_of`.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class PlayerRank(msgspec.Struct):
    """Where a player stands."""

    player_id: PlayerId
    rank: int
    score: Any
    total_players: int
    percentile: float
    #: Only where the rankings cannot be reached: this is the ledger's checkpoint of the moment `as_of`.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


class Neighbour(msgspec.Struct):
    """A player around a rank."""

    rank: int
    player_id: PlayerId
    score: Any


class Neighbours(msgspec.Struct):
    """The players around a rank."""

    center_rank: int
    players: list[Neighbour]
    #: Only where the rankings cannot be reached: this is the ledger's checkpoint of the moment `as_of`.
    stale: bool | UnsetType = UNSET
    as_of: datetime | UnsetType = UNSET


#: What these routes call the fields that errors speak of.
RENAMED = {"amount": "score_delta", "at": "timestamp", "limit": "n", "around": "range", "segment region": "region"}


def _in_their_words(handler: Handler) -> Handler:
    """A handler whose errors name fields as these routes do."""

    async def renaming(request: Any) -> Answer | Prepared:
        try:
            return await handler(request)
        except (BadInput, WindowClosed) as exc:
            field, equals, rest = str(exc).partition(" = ")
            raise type(exc)(RENAMED.get(field, field) + equals + rest) from None

    return renaming


class Compat:
    """Handlers for one board."""

    def __init__(self, leaderboards: Leaderboards, board: str) -> None:
        self._lb = leaderboards
        self._board = board

    def routes(self) -> list[Route]:
        """All routes of `/api/v1/leaderboard`."""
        base = "/api/v1/leaderboard"
        updated = {200: Updated, 202: Updated}
        routes = [
            Route("POST", base + "/score", self.score, "Set a score", body=ScoreUpdate, answers=updated),
            Route("POST", base + "/score/increment", self.increment, "Add to a score", body=ScoreIncrement, answers=updated),
            Route("GET", base + "/top", self.top, "The top n", query=TopQuery, answers={200: Players}),
            Route("GET", base + "/rank/{player_id}", self.rank, "A player's rank", query=WhichQuery, answers={200: PlayerRank}),
            Route("GET", base + "/around/{rank}", self.around, "Around a rank", query=AroundQuery, answers={200: Neighbours}),
        ]
        return [route._replace(handler=_in_their_words(route.handler)) for route in routes]

    async def score(self, request: Request[NoQuery, ScoreUpdate]) -> Answer:
        """Set a score."""
        body = request.body
        receipt = await self._lb.submit(
            self._board,
            str(body.player_id),
            number("score", body.score),
            **self._extra(body),
            idempotency_key=idempotency_key(request),
        )
        return Answer(_updated(body.player_id, receipt), status_of(receipt))

    async def increment(self, request: Request[NoQuery, ScoreIncrement]) -> Answer:
        """Add to a score."""
        body = request.body
        amount = number("score_delta", body.score_delta)
        receipt = await self._lb.increment(
            self._board, str(body.player_id), amount, **self._extra(body), idempotency_key=idempotency_key(request)
        )
        return Answer(_updated(body.player_id, receipt), status_of(receipt))

    def _extra(self, body: ScoreUpdate | ScoreIncrement) -> dict[str, Any]:
        if body.leaderboard_type == "regional" and body.region is None:
            raise InvalidField("leaderboard_type = 'regional' needs a region")
        segments = None if body.region is None else {"region": body.region}
        return {"at": body.timestamp, "segments": segments, "game_id": body.game_id}

    def _view(self, query: WhichQuery) -> View:
        if query.type == "regional" and query.region is None:
            raise InvalidField("type = 'regional' needs a region: add region=…")
        segment = f"region:{query.region}" if query.type == "regional" else None
        return self._lb.reader.view(self._board, query.period, None, segment)

    async def top(self, request: Request[TopQuery, NoBody]) -> Answer:
        """The top n."""
        query = request.query
        view = self._view(query)
        top = await self._lb.reader.top(view, query.n)
        players = [Player(s.rank, _shown(s.player_id), s.name, s.score, s.rank_change) for s in top.standings]
        return _read(view, top, Players(query.type, query.period, top.total_players, players), FOR_TOP)

    async def rank(self, request: Request[WhichQuery, NoBody]) -> Answer:
        """A player's rank."""
        view = self._view(request.query)
        place = await self._lb.reader.player(view, request.path[0])
        answer = PlayerRank(_shown(place.player_id), place.rank, place.score, place.total_players, place.percentile)
        return _read(view, place, answer, FOR_PLAYER)

    async def around(self, request: Request[AroundQuery, NoBody]) -> Answer:
        """The players around a rank."""
        rank = whole_number("rank", request.path[0])
        view = self._view(request.query)
        around = await self._lb.reader.around(view, rank, request.query.range)
        players = [Neighbour(s.rank, _shown(s.player_id), s.score) for s in around.standings]
        return _read(view, around, Neighbours(around.center_rank, players), FOR_TOP)


def _updated(player: PlayerId, receipt: Receipt) -> Updated:
    told = receipt.replayed, receipt.pending, receipt.spooled
    return Updated(player, receipt.score, receipt.rank, receipt.rank_change, receipt.percentile, *told)


def _read(view: View, found: Top | PlayerPlace | Around, answer: Players | PlayerRank | Neighbours, headers: Headers) -> Answer:
    """The answer to a read, which says so where it is stale, and is not kept then."""
    if found.stale is True:
        answer.stale, answer.as_of = True, found.as_of
    return Answer(answer, headers=headers_for(view, found, headers))


def _shown(player: str) -> PlayerId:
    """A player id as existing clients know it: a number where it is written as one."""
    if player.isascii() and player.removeprefix("-").isdecimal() and len(player) <= 18 and str(int(player)) == player:
        return int(player)
    return player
