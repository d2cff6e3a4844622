"""The routes of `/v1` for API keys, player tokens and plays, and what a player with a token asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from keepscore.access.player_tokens import DEFAULT_TTL
from keepscore.access.principals import ANONYMOUS
from keepscore.domain.results.access import KeyList, NewKey, NewPlay, PlayerStandings, PlayerToken
from keepscore.errors import InvalidField, Unauthenticated
from keepscore.leaderboards import Leaderboards
from keepscore.reading.player_standings import player_standings
from keepscore.service.http.layer import NO_STORE, Answer, Example, NoBody, NoQuery, Request, Route
from keepscore.service.routes.declarations import BOARD
from keepscore.service.routes.stated import PageLimit

__all__ = ["KeyRoutes"]


class KeyBody(msgspec.Struct, forbid_unknown_fields=True):
    """A key to create."""

    name: str
    scope: str
    boards: list[str] | None = None
    expires: str | None = None


class RotateQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How long the key that is replaced can still be used."""

    overlap: str = "24h"


class TokenBody(msgspec.Struct, forbid_unknown_fields=True):
    """A player token to sign."""

    player_id: str
    boards: list[str] | None = None
    ttl: str = DEFAULT_TTL


class PlayBody(msgspec.Struct, forbid_unknown_fields=True):
    """A play that begins."""

    player_id: str
    build: str | None = None


class StandingsQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which player (a token says it by itself), and which boards."""

    player_id: str | None = None
    cursor: str | None = None
    limit: PageLimit = 100


class KeyRoutes:
    """Handlers of one service. `changed` takes up that keys have changed."""

    def __init__(self, leaderboards: Leaderboards, changed: Callable[[], Awaitable[None]], is_public: Callable[[str], bool]) -> None:
        self._lb = leaderboards
        self._changed = changed
        self._is_public = is_public

    def routes(self) -> list[Route]:
        """Return them all."""
        return [*self._keys(), *self._for_players()]

    def _keys(self) -> list[Route]:
        return [
            Route(
                "POST",
                "/v1/keys",
                self.create,
                "Create an API key",
                scope="admin",
                body=KeyBody,
                answers={201: NewKey},
                tag="Access",
                description="Returns the key's text, `key`, once: the service keeps only a hash. Once there is a key, requests need one.",
                example=Example(body={"name": "game server", "scope": "submit", "boards": ["season-*"], "expires": "90d"}),
            ),
            Route(
                "GET",
                "/v1/keys",
                self.list,
                "List API keys",
                scope="admin",
                answers={200: KeyList},
                tag="Access",
                description="Returns all keys without their secrets, including ended ones, oldest first.",
            ),
            Route(
                "DELETE",
                "/v1/keys/{key_id}",
                self.revoke,
                "Revoke an API key",
                scope="admin",
                answers={204: None},
                tag="Access",
                description="Ends a key, and the player tokens that it signed, within a second on every worker. Revoking it "
                "again does nothing.",
            ),
            Route(
                "POST",
                "/v1/keys/{key_id}/rotate",
                self.rotate,
                "Replace an API key",
                scope="admin",
                query=RotateQuery,
                answers={201: NewKey},
                tag="Access",
                description="Creates a key of the same name, scope and boards. The old one stays valid for the `overlap`.",
                example=Example({"overlap": "24h"}),
            ),
            Route(
                "POST",
                "/v1/tokens",
                self.token,
                "Sign a player token",
                scope="submit",
                about="visible",
                body=TokenBody,
                answers={200: PlayerToken},
                tag="Access",
                description="Returns a short-lived token for a player's client, signed with the key of the request. The bearer submits and "
                "reads as that player only, on boards that both the key and `boards` allow.",
                example=Example(body={"player_id": "ada", "ttl": "15m"}),
            ),
        ]

    def _for_players(self) -> list[Route]:
        return [
            Route(
                "POST",
                BOARD + "/plays",
                self.play,
                "Begin a play",
                scope="submit",
                players=True,
                cost="light",
                body=PlayBody,
                answers={200: NewPlay},
                tag="Scores",
                description="Returns a token for one game that begins now. A score with it, by the same player on the same board, "
                "counts once, within a day.",
                example=Example(body={"player_id": "ada", "build": "1.4.2"}),
            ),
            Route(
                "GET",
                "/v1/me/standings",
                self.standings,
                "Get a player's standings on all boards",
                scope="read",
                players=True,
                about="visible",
                query=StandingsQuery,
                answers={200: PlayerStandings},
                tag="Rankings",
                description="Returns where the player of the token stands on every board that it may read, by their names. With a key, "
                "name the player. Continue with `next_cursor`.",
                example=Example({"player_id": "ada"}),
            ),
        ]

    async def create(self, request: Request[NoQuery, KeyBody]) -> Answer:
        """Create a key."""
        body = request.body
        key = await self._lb.keys.create(body.name, body.scope, boards=body.boards, expires=body.expires)
        await self._changed()
        return Answer(key, 201, NO_STORE)

    async def list(self, request: Request[NoQuery, NoBody]) -> Answer:
        """List all keys."""
        return Answer(KeyList(await self._lb.keys.all()), headers=NO_STORE)

    async def revoke(self, request: Request[NoQuery, NoBody]) -> Answer:
        """End a key."""
        await self._lb.keys.revoke(request.path[0])
        await self._changed()
        return Answer(None, 204)

    async def rotate(self, request: Request[RotateQuery, NoBody]) -> Answer:
        """Replace a key."""
        key = await self._lb.keys.rotate(request.path[0], overlap=request.query.overlap)
        await self._changed()
        return Answer(key, 201, NO_STORE)

    async def token(self, request: Request[NoQuery, TokenBody]) -> Answer:
        """Sign a player token."""
        body, key_id = request.body, request.principal.key_id
        return Answer(await self._lb.keys.token_signed_by(key_id, body.player_id, boards=body.boards, ttl=body.ttl), headers=NO_STORE)

    async def play(self, request: Request[NoQuery, PlayBody]) -> Answer:
        """Begin a play."""
        play = await self._lb.begin_play(request.path[0], request.body.player_id, build=request.body.build)
        return Answer(play, headers=NO_STORE)

    async def standings(self, request: Request[StandingsQuery, NoBody]) -> Answer:
        """Return where a player stands."""
        query, principal = request.query, request.principal
        if principal is ANONYMOUS:
            raise Unauthenticated("this needs a player token, or a key with player_id: send it as 'Authorization: Bearer …'")
        if query.player_id is not None:
            principal.check_player(query.player_id)
        player = principal.player or query.player_id
        if player is None:
            raise InvalidField("player_id is missing: only a player token says by itself whose standings are meant")
        names = [live.name for live in self._lb.runtime.catalog if principal.may_use(live.name) or self._is_public(live.name)]
        return Answer(await player_standings(self._lb.runtime.reader, player, names, query.cursor, query.limit), headers=NO_STORE)
