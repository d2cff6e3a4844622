"""The routes of `/v1` about players as people: their profiles."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from keepscore.domain.profiles import MAX_LEVEL, PROFILE_FIELDS, TEXT_BYTES, VISIBILITIES
from keepscore.domain.results.players import FoundPlayers, Profile, ProfileBatch, Segments
from keepscore.errors import InvalidField
from keepscore.leaderboards import Leaderboards
from keepscore.players.profiles import MAX_PROFILES
from keepscore.service.http.layer import Answer, Example, NoBody, NoQuery, Prepared, Request, Route
from keepscore.service.routes.boards import idempotency_key, replay_headers, viewer_of
from keepscore.service.routes.bodies import SearchQuery, SegmentsQuery
from keepscore.service.routes.declarations import BOARD, board_read
from keepscore.service.routes.own_reads import reached, tagged
from keepscore.service.routes.ranking_table import MAX_BATCH_BODY_BYTES
from keepscore.service.routes.stated import PictureUrl, TextField

__all__ = ["PlayerRoutes"]

PLAYER = "/v1/players/{player_id}"

#: The value of a region, a country or a team.
ShortText = Annotated[str, msgspec.Meta(extra_json_schema={"minLength": 1, "maxLength": TEXT_BYTES})]
Level = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": MAX_LEVEL})]

#: Checked with the other fields, so that the message names what would be right.
VisibilityText = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(VISIBILITIES)})]


class ProfileBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Fields of a profile. `null` removes one."""

    name: TextField | UnsetType | None = UNSET
    avatar_url: PictureUrl | UnsetType | None = UNSET
    region: ShortText | UnsetType | None = UNSET
    country: ShortText | UnsetType | None = UNSET
    level: Level | UnsetType | None = UNSET
    team: ShortText | UnsetType | None = UNSET
    attributes: dict[str, Any] | UnsetType | None = UNSET
    visibility: VisibilityText | UnsetType | None = UNSET

    def given(self) -> dict[str, Any]:
        """Return the fields that were sent."""
        fields = {name: value for name in PROFILE_FIELDS if (value := getattr(self, name)) is not UNSET}
        if not fields:
            raise InvalidField(f"the profile is empty: send some of {', '.join(PROFILE_FIELDS)}")
        return fields


class ProfilesBody(msgspec.Struct, forbid_unknown_fields=True):
    """Up to 10,000 profiles, each with a `player_id`. Each is checked by itself, so that a bad one does not spoil the others."""

    players: Annotated[list[dict[str, Any]], msgspec.Meta(extra_json_schema={"maxItems": MAX_PROFILES})]


class PlayerRoutes:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards

    def routes(self) -> list[Route]:
        """Return them all."""
        return [
            Route(
                "GET",
                PLAYER,
                self.profile,
                "Get a player's profile",
                scope="read",
                players=True,
                about="visible",
                cost="light",
                answers={200: Profile},
                tag="Players",
                description="Returns what is known about a player besides scores. What is not known is left out; `name` is null then.",
            ),
            Route(
                "PUT",
                PLAYER,
                self.put,
                "Set a player's profile",
                scope="submit",
                players=True,
                keyed=True,
                body=ProfileBody,
                answers={200: Profile},
                tag="Players",
                description="Replaces the profile: fields that are left out, or null, are not known any more. Lists show name and picture.",
                example=Example(body={"name": "Ada", "country": "BR", "level": 12}),
            ),
            Route(
                "PATCH",
                PLAYER,
                self.change,
                "Change a player's profile",
                scope="submit",
                players=True,
                keyed=True,
                body=ProfileBody,
                answers={200: Profile},
                tag="Players",
                description="Changes the fields that are sent; `null` removes one. Attributes are changed one by one.",
                example=Example(body={"level": 13, "attributes": {"clan": "owls"}}),
            ),
            Route(
                "DELETE",
                PLAYER,
                self.delete,
                "Delete a player's profile",
                scope="submit",
                players=True,
                keyed=True,
                answers={204: None},
                tag="Players",
                description="Forgets the profile. The player's scores stay.",
            ),
            board_read(
                BOARD + "/segments",
                self.segments,
                "List the segments of a board",
                query=SegmentsQuery,
                answers={200: Segments},
                tag="Players",
                description="Returns the slices of a window that have players, by name and value, with their sizes.",
                example=Example({"limit": 10}),
            ),
            board_read(
                BOARD + "/players",
                self.search,
                "Search ranked players by name",
                query=SearchQuery,
                answers={200: FoundPlayers},
                tag="Players",
                description="Returns ranked players whose names begin with `name`, whatever the case of its letters, in rank order. "
                "If `more` is true, name more letters.",
                example=Example({"name": "ad"}),
            ),
            Route(
                "POST",
                "/v1/players/batch",
                self.change_many,
                "Change up to 10,000 profiles",
                scope="submit",
                cost="heavy",
                keyed=True,
                body=ProfilesBody,
                answers={200: ProfileBatch},
                max_body=MAX_BATCH_BODY_BYTES,
                tag="Players",
                description="Changes each profile as `PATCH` does. Bad ones are listed in `rejected`, and the others count. Sending the "
                "same batch again changes nothing.",
                example=Example(body={"players": [{"player_id": "ada", "name": "Ada"}, {"player_id": "bruno", "country": "BR"}]}),
            ),
        ]

    async def segments(self, request: Request[SegmentsQuery, NoBody]) -> Answer | Prepared:
        """List the slices of a window."""
        query = request.query
        await reached(self._lb, request)
        found = await self._lb.players.segments(
            request.path[0], name=query.name, window=query.window, window_id=query.window_id, limit=query.limit, offset=query.offset
        )
        return tagged(found)

    async def search(self, request: Request[SearchQuery, NoBody]) -> Answer | Prepared:
        """Search players by name."""
        query = request.query
        await reached(self._lb, request)
        found = await self._lb.players.search(
            request.path[0],
            query.name,
            limit=query.limit,
            window=query.window,
            window_id=query.window_id,
            segment=query.segment,
            rank=query.rank,
            viewer=viewer_of(request),
        )
        return tagged(found)

    async def profile(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return a player's profile."""
        return Answer(await self._lb.players.profile(request.path[0]))

    async def put(self, request: Request[NoQuery, ProfileBody]) -> Answer:
        """Replace a profile."""
        found = await self._lb.players.put(request.path[0], request.body.given(), idempotency_key=idempotency_key(request))
        return Answer(found, headers=replay_headers(found))

    async def change(self, request: Request[NoQuery, ProfileBody]) -> Answer:
        """Change a profile."""
        found = await self._lb.players.change(request.path[0], request.body.given(), idempotency_key=idempotency_key(request))
        return Answer(found, headers=replay_headers(found))

    async def delete(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Forget a profile."""
        deleted = await self._lb.players.delete(request.path[0], idempotency_key=idempotency_key(request))
        return Answer(None, 204, replay_headers(deleted))

    async def change_many(self, request: Request[NoQuery, ProfilesBody]) -> Answer:
        """Change many profiles."""
        found = await self._lb.players.change_many(request.body.players, idempotency_key=idempotency_key(request))
        return Answer(found, headers=replay_headers(found))
