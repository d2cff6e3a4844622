"""The routes of `/v1` for matches: record one, and look back at those of a player."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec

from keepscore.domain.inputs import Number
from keepscore.domain.ratings.matches import MAX_PLACE, MAX_PLAYERS
from keepscore.domain.results.matches import HeadToHead, MatchBatch, MatchReceipt, PlayerMatches, PlayerRatings
from keepscore.errors import InvalidField
from keepscore.leaderboards import Leaderboards
from keepscore.players.match_batches import MAX_BATCH_MATCHES
from keepscore.players.match_history import MAX_MATCHES
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers, viewer_of
from keepscore.service.routes.bodies import NOTHING, number
from keepscore.service.routes.declarations import BOARD, board_read
from keepscore.service.routes.ranking_table import MAX_BATCH_BODY_BYTES
from keepscore.service.routes.stated import PlayerText, TextField, Time

__all__ = ["MatchRoutes"]

MatchCount = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_MATCHES})]
#: Who played, team by team, and the place of each team.
Teams = Annotated[list[list[PlayerText]], msgspec.Meta(extra_json_schema={"minItems": 2, "maxItems": MAX_PLAYERS})]
Places = list[Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_PLACE})]]
_MATCHES = {"minItems": 1, "maxItems": MAX_BATCH_MATCHES, "items": {"type": "object"}}
BatchMatches = Annotated[list[Any], msgspec.Meta(extra_json_schema=_MATCHES)]
#: How a duel ended.
Result = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "number", "enum": [1, 0.5, 0]})]


class MatchBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A match of two players, `a` and `b`, with its `result`; or one of `teams`, with their `ranks`."""

    a: PlayerText | None = None
    b: PlayerText | None = None
    result: Result = msgspec.field(default_factory=lambda: NOTHING)
    teams: Teams | None = None
    ranks: Places | None = None
    match_id: TextField | None = None
    at: Time | None = None


class MatchesBody(msgspec.Struct, forbid_unknown_fields=True):
    """Matches, each as a single one is sent."""

    matches: BatchMatches


class _Duel(NamedTuple):
    a: str
    b: str
    result: Number


def _duel(body: MatchBody) -> _Duel:
    """Return the two players of a match and its result, or raise the error that says what is missing."""
    if body.a is None or body.b is None or body.result == NOTHING:
        raise InvalidField("a match needs a, b and result, or teams and ranks: give one or the other")
    return _Duel(body.a, body.b, number("result", body.result))


def _check_teams(body: MatchBody) -> None:
    if (body.a, body.b) != (None, None) or body.result != NOTHING:
        raise InvalidField("teams cannot be given with a, b or result: give one or the other")


class MatchesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which matches of a player."""

    opponent_id: str | None = None
    limit: MatchCount = 100
    cursor: str | None = None
    viewer: PlayerText | None = None


class RatingsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How many points."""

    limit: MatchCount = 100
    viewer: PlayerText | None = None


class ViewerQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Who looks."""

    viewer: PlayerText | None = None


class MatchRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "POST",
                BOARD + "/matches",
                self.record,
                "Record a match",
                scope="submit",
                keyed=True,
                body=MatchBody,
                answers={200: MatchReceipt, 202: MatchReceipt},
                tag="Matches",
                description="Rates a match on a board with a `rating`, and returns the new ratings. Give `a`, `b` and `result` or, on a "
                "board rated by openskill, `teams` and `ranks`. With Elo, the changes add up to zero. A `match_id` counts once: sent "
                "again, the first answer comes back, `replayed`; with other players, another result or another time it is refused "
                "(409). Without one, an `Idempotency-Key` is taken for it.",
                example=Example({"board": "duels"}, {"a": "ada", "b": "bruno", "result": 1, "match_id": "duel-7"}),
            ),
            Route(
                "POST",
                BOARD + "/matches/batch",
                self.record_many,
                "Record up to 1,000 matches",
                scope="submit",
                cost="heavy",
                keyed=True,
                body=MatchesBody,
                answers={200: MatchBatch},
                max_body=MAX_BATCH_BODY_BYTES,
                tag="Matches",
                description="Rates matches one after the other, each as `POST …/matches` does. Bad ones are listed in `rejected`, and the "
                "others count. A `match_id` counts once; with an `Idempotency-Key`, matches without an id get one of the key and their "
                "place, so that the same batch may be sent again.",
                example=Example({"board": "duels"}, {"matches": [{"a": "ada", "b": "bruno", "result": 1, "match_id": "duel-8"}]}),
            ),
            board_read(
                BOARD + "/matches/{match_id}",
                self.get,
                "Get a match",
                query=ViewerQuery,
                cost="light",
                answers={200: MatchReceipt},
                tag="Matches",
                description="Returns what a match changed when it was recorded.",
                example=Example({"board": "duels", "match_id": "duel-7"}),
            ),
            board_read(
                BOARD + "/players/{player_id}/matches",
                self.of_player,
                "List a player's matches",
                query=MatchesQuery,
                answers={200: PlayerMatches},
                tag="Matches",
                description="Returns a player's matches, or those against one opponent, newest first, each with the rating afterwards.",
                example=Example({"board": "duels", "limit": 10}),
            ),
            board_read(
                BOARD + "/players/{player_id}/matches/{opponent_id}",
                self.head_to_head,
                "Compare two players head to head",
                query=ViewerQuery,
                answers={200: HeadToHead},
                tag="Matches",
                description="Returns how the matches of two players ended, from the side of the first, and the last ten.",
                example=Example({"board": "duels", "opponent_id": "bruno"}),
            ),
            board_read(
                BOARD + "/players/{player_id}/ratings",
                self.ratings,
                "Get a player's rating over time",
                query=RatingsQuery,
                answers={200: PlayerRatings},
                tag="Matches",
                description="Returns the rating after each match that counts, newest first, and the highest rating ever.",
                example=Example({"board": "duels", "limit": 10}),
            ),
        ]

    async def record(self, request: Request[NoQuery, MatchBody]) -> Answer:
        """Record a match."""
        body = request.body
        key = idempotency_key(request)
        match_id = key if body.match_id is None else body.match_id
        board = request.path[0]
        if body.teams is not None:
            _check_teams(body)
            receipt = await self._lb.matches.record_teams(board, body.teams, body.ranks, match_id=match_id, at=body.at)
        else:
            receipt = await self._lb.matches.record(board, *_duel(body), match_id=match_id, at=body.at)
        return Answer(receipt, 202 if receipt.pending is True else 200, headers=replay_headers(receipt))

    async def record_many(self, request: Request[NoQuery, MatchesBody]) -> Answer:
        """Record many matches."""
        key = idempotency_key(request)
        found = await self._lb.matches.record_many(request.path[0], request.body.matches, idempotency_key=key)
        return Answer(found, headers=NO_STORE)

    async def get(self, request: Request[ViewerQuery, NoBody]) -> Answer:
        """Return a match."""
        board, match_id = request.path
        return Answer(await self._lb.matches.get(board, match_id, viewer=viewer_of(request)), headers=NO_STORE)

    async def of_player(self, request: Request[MatchesQuery, NoBody]) -> Answer:
        """Return a page of a player's matches."""
        board, player = request.path
        query = request.query
        found = await self._lb.matches.of_player(
            board, player, opponent_id=query.opponent_id, limit=query.limit, cursor=query.cursor, viewer=viewer_of(request)
        )
        return Answer(found, headers=NO_STORE)

    async def head_to_head(self, request: Request[ViewerQuery, NoBody]) -> Answer:
        """Compare two players."""
        return Answer(await self._lb.matches.head_to_head(*request.path, viewer=viewer_of(request)), headers=NO_STORE)

    async def ratings(self, request: Request[RatingsQuery, NoBody]) -> Answer:
        """Return a player's rating over time."""
        board, player = request.path
        found = await self._lb.matches.ratings(board, player, limit=request.query.limit, viewer=viewer_of(request))
        return Answer(found, headers=NO_STORE)
