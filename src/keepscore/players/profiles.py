"""Profiles, what is known about players besides their scores: `lb.players`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from keepscore.domain.profiles import Card, card_of, changed_profile, check_profile
from keepscore.domain.results.players import DeletedProfile, FoundPlayers, Profile, ProfileBatch, Segments
from keepscore.domain.results.standings import Rejection
from keepscore.domain.results.teams import Team
from keepscore.domain.values import check_player
from keepscore.errors import InvalidField, KeepscoreError
from keepscore.players.people_of_boards import BoardPeople
from keepscore.players.teams import TeamRequest, team_of_board
from keepscore.projection.stores import Stores
from keepscore.reading.cards import profile_in
from keepscore.reading.reader import Reader
from keepscore.storage.ledgers.claims import Claim, Effect
from keepscore.storage.ledgers.players import PlayerRecord
from keepscore.writing.idempotency import Claims, Keep, claim_on

__all__ = ["MAX_PROFILES", "Players", "ProfileChanges"]

A = TypeVar("A", Profile, DeletedProfile, ProfileBatch)

#: Profiles of one batch.
MAX_PROFILES = 10_000


class ProfileChanges(NamedTuple):
    """What happens where profiles have changed."""

    #: Moves players to the slices that their profiles say.
    move: Callable[[Iterable[str]], Awaitable[None]]
    #: Shows profiles to other services.
    show: Callable[[Mapping[str, Card]], None]


class Players:
    """Players as people: their profiles."""

    def __init__(self, stores: Stores, claims: Claims, reader: Reader, changed: ProfileChanges) -> None:
        self._ledger = stores.ledger
        self._clock = stores.clock
        self._claims = claims
        self._reader = reader
        self._cards = reader.cards
        self._people = BoardPeople(stores, reader)
        self._changed = changed

    async def profile(self, player_id: str) -> Profile:
        """Return what is known about a player besides scores."""
        found = await self._ledger.players.find([check_player(player_id)])
        return _shown(player_id, profile_in(found[0]) if found else {})

    async def segments(
        self,
        board: str,
        *,
        name: str | None = None,
        window: str | None = None,
        window_id: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Segments:
        """Return the slices of a board's window, all or those of one segment `name`, with their sizes."""
        return await self._people.segments(self._reader.view(board, window, window_id), name, limit, offset)

    async def search(
        self,
        board: str,
        name: str,
        *,
        limit: int = 20,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        viewer: str | None = None,
    ) -> FoundPlayers:
        """Return ranked players whose names begin with some letters, in rank order, as a `viewer` may see them."""
        view = self._reader.view(board, window, window_id, segment, rank)._replace(viewer=viewer)
        return await self._people.search(view, name, limit)

    async def team(
        self,
        board: str,
        team_id: str,
        *,
        window: str | None = None,
        window_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        viewer: str | None = None,
    ) -> Team:
        """Return where a team stands on a board that ranks teams, and a page of its members, the best first, as a `viewer` may see them."""
        return await team_of_board(self._reader, TeamRequest(board, team_id, window, window_id, limit, cursor, viewer))

    async def name(self, player_id: str, name: str | None, *, idempotency_key: str | None = None) -> Profile:
        """Give a player a name to show; the rest of the profile stays as it is."""
        # What identified a request before there were profiles identifies it still.
        return await self._change(player_id, {"name": name}, False, (idempotency_key, ["name", name]))

    async def put(self, player_id: str, profile: Mapping[str, Any], *, idempotency_key: str | None = None) -> Profile:
        """Replace a player's profile: what is not named is not known any more."""
        about = ["name", profile["name"]] if list(profile) == ["name"] else ["put", profile]
        return await self._change(player_id, profile, True, (idempotency_key, about))

    async def change(self, player_id: str, fields: Mapping[str, Any], *, idempotency_key: str | None = None) -> Profile:
        """Change some fields of a player's profile, and attributes one by one. None removes a field."""
        return await self._change(player_id, fields, False, (idempotency_key, ["change", fields]))

    async def delete(self, player_id: str, *, idempotency_key: str | None = None) -> DeletedProfile:
        """Forget what is known about a player besides scores. The scores stay."""
        check_player(player_id)

        async def work(keep: Keep) -> DeletedProfile:
            deleted = DeletedProfile(player_id)
            cards: dict[str, Card] = {}

            def change(known: Mapping[str, PlayerRecord]) -> tuple[list[PlayerRecord], Effect | None]:
                cards[player_id] = card_of({}, _next_version(known, player_id))
                return [PlayerRecord(player_id, None)], keep(deleted)

            await self._ledger.players.change([player_id], change, self._clock())
            await self._show(cards)
            return deleted

        return await self._once(claim_on("player", player_id, idempotency_key, ["delete"]), DeletedProfile, work)

    async def change_many(self, profiles: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> ProfileBatch:
        """Change up to 10,000 profiles, each as `change` does; bad ones are rejected one by one.

        Each has a `player_id` and fields of a profile. The same batch may be sent again.
        """
        if not 1 <= len(profiles) <= MAX_PROFILES:
            raise InvalidField(f"players has {len(profiles)} entries: give 1 to {MAX_PROFILES}")
        good: list[tuple[int, str, dict[str, Any]]] = []
        rejected: list[Rejection] = []
        for index, entry in enumerate(profiles):
            try:
                fields = dict(entry) if isinstance(entry, Mapping) else {}
                player = check_player(fields.pop("player_id", None))
                good.append((index, player, check_profile(fields)))
            except KeepscoreError as exc:
                rejected.append(Rejection(index, exc.type, exc.detail))

        async def work(keep: Keep) -> ProfileBatch:
            cards: dict[str, Card] = {}
            answer = ProfileBatch(0, [])

            def change(known: Mapping[str, PlayerRecord]) -> tuple[list[PlayerRecord], Effect | None]:
                changed: dict[str, dict[str, Any]] = {}
                refused = list(rejected)
                for index, player, fields in good:
                    before = changed[player] if player in changed else profile_in(known[player]) if player in known else {}
                    try:
                        changed[player] = changed_profile(before, fields)
                    except KeepscoreError as exc:
                        refused.append(Rejection(index, exc.type, exc.detail))
                refused.sort(key=lambda one: one.index)
                answer.accepted, answer.rejected = len(profiles) - len(refused), refused
                cards.update({player: card_of(profile, _next_version(known, player)) for player, profile in changed.items()})
                return [_record(player, profile) for player, profile in changed.items()], keep(answer)

            await self._ledger.players.change([player for _, player, _ in good], change, self._clock())
            await self._show(cards)
            return answer

        return await self._once(claim_on("players", "batch", idempotency_key, list(profiles)), ProfileBatch, work)

    async def _change(self, player: str, fields: Mapping[str, Any], is_whole: bool, key: tuple[str | None, object]) -> Profile:
        check_player(player)
        given = check_profile(fields)

        async def work(keep: Keep) -> Profile:
            made: list[tuple[dict[str, Any], int]] = []

            def change(known: Mapping[str, PlayerRecord]) -> tuple[list[PlayerRecord], Effect | None]:
                before = {} if is_whole or player not in known else profile_in(known[player])
                profile = changed_profile(before, given)
                made.append((profile, _next_version(known, player)))
                return [_record(player, profile)], keep(_shown(player, profile))

            await self._ledger.players.change([player], change, self._clock())
            await self._show({player: card_of(*made[-1])})
            return _shown(player, made[-1][0])

        return await self._once(claim_on("player", player, *key), Profile, work)

    async def _show(self, cards: Mapping[str, Card]) -> None:
        """Show what is recorded, and count it in the slices that come from profiles."""
        self._cards.put(cards)
        self._changed.show(cards)
        await self._changed.move(cards)

    async def _once(self, claim: Claim | None, kind: type[A], work: Callable[[Keep], Awaitable[A]]) -> A:
        answer = await self._claims.once(claim, kind, work)
        if answer.replayed is True:
            # Another process may have done it.
            await self._cards.learn()
        return answer


def _next_version(known: Mapping[str, PlayerRecord], player: str) -> int:
    return known[player].version + 1 if player in known else 1


def _record(player: str, profile: Mapping[str, Any]) -> PlayerRecord:
    rest = {name: value for name, value in profile.items() if name != "name"}
    return PlayerRecord(player, profile.get("name"), msgspec.json.encode(rest).decode() if rest else None)


def _shown(player: str, profile: Mapping[str, Any]) -> Profile:
    return Profile(player, profile.get("name"), **{name: value for name, value in profile.items() if name != "name"})
