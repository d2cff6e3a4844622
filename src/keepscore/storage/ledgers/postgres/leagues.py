"""Seasons of leagues, in PostgreSQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keepscore.domain.leagues.cohorts import Cohort, Home, PastSeason, Placement, SeasonBefore
from keepscore.storage.ledgers.leagues import Arrival, LeagueStore, Member, Membership, SeasonKey, SeasonRecord, Settled
from keepscore.storage.ledgers.postgres.role import PostgresRole

__all__ = ["PostgresLeagues"]


class PostgresLeagues(PostgresRole, LeagueStore):
    """One row for each season, cohort and member. A change of a season holds its row."""

    async def enrol(
        self, season: SeasonKey, arrivals: Sequence[Arrival], placement: Callable[[Sequence[SeasonBefore]], Placement]
    ) -> list[Member]:
        async def work(connection: Any) -> list[Member]:
            await connection.execute(self._queries["open_season"], *season)
            if await self._decided(connection, season) is not None:
                return []
            players = list(dict.fromkeys(arrival.player for arrival in arrivals))
            known = dict(map(tuple, await connection.fetch(self._queries["placed_members"], *season, players)))
            rows = await connection.fetch(self._queries["league_seasons"], season.board)
            place = placement([SeasonBefore(row[2], row[3] is not None) for row in rows if row[2] < season.starts])
            rows = await connection.fetch(self._queries["last_seasons"], season.board, players, season.starts)
            pasts = {row[0]: PastSeason(*row[1:]) for row in map(tuple, rows)}
            new = list({one.player: one for one in reversed(arrivals) if known.get(one.player) is None}.values())[::-1]
            homes = [place.home(pasts.get(one.player)) for one in new]
            members = [
                Member(one.player, place.tier(pasts.get(one.player)), 0, None)
                for one, home in zip(new, homes, strict=True)
                if home is None and one.player not in known
            ]
            at = {one.player: one.at for one in new}
            await self._put(connection, season, members, at)
            placed = [(one, home) for one, home in zip(new, homes, strict=True) if home is not None]
            found = await self._placed(connection, season, place, placed)
            await self._put(connection, season, found, at)
            return members + found

        return await self._connections.transaction(work)

    async def _placed(self, connection: Any, season: SeasonKey, place: Placement, found: Sequence[tuple[Arrival, Home]]) -> list[Member]:
        last = {}
        for home in {home for _, home in found}:
            row = await connection.fetchrow(self._queries["last_cohort"], *season, *home)
            if row is not None:
                last[home] = row[0], row[1]
        cohorts = place.fill([home for _, home in found], last)
        sizes = [(*season, *cohort, size) for cohort, size in Counter(cohorts).items()]
        await connection.executemany(self._queries["put_cohort"], sizes)
        return [Member(arrival.player, *cohort) for (arrival, _), cohort in zip(found, cohorts, strict=True)]

    async def _put(self, connection: Any, season: SeasonKey, members: Sequence[Member], at: Mapping[str, int]) -> None:
        rows = [(*season, one.player, at[one.player], one.tier, one.band, one.number) for one in members]
        await connection.executemany(self._queries["put_member"], rows)

    async def _decided(self, connection: Any, season: SeasonKey) -> int | None:
        found: int | None = await connection.fetchval(self._queries["hold_season"], *season)
        return found

    async def seasons(self, board_id: int) -> list[SeasonRecord]:
        return [_season(tuple(row)) for row in await self._connections.read("league_seasons", board_id)]

    async def season(self, season: SeasonKey) -> SeasonRecord | None:
        rows = await self._connections.read("league_season", *season)
        return _season(tuple(rows[0])) if rows else None

    async def roster(self, season: SeasonKey, cohort: Cohort) -> list[Member]:
        return [Member(*row) for row in await self._connections.read("roster", *season, *cohort)]

    async def waiting(self, season: SeasonKey, limit: int) -> list[Arrival]:
        return [Arrival(*row) for row in await self._connections.read("waiting_members", *season, limit)]

    async def of_player(self, board_id: int, player: str, limit: int) -> list[Membership]:
        rows = map(tuple, await self._connections.read("seasons_of_player", board_id, player, limit))
        return [Membership(_season(row[:4]), Member(*row[4:])) for row in rows]

    async def sizes(self, season: SeasonKey) -> Mapping[Cohort, int]:
        return {Cohort(*row[:3]): row[3] for row in map(tuple, await self._connections.read("cohort_sizes", *season))}

    async def merge(self, season: SeasonKey, source: Cohort, into: Cohort) -> None:
        async def work(connection: Any) -> None:
            if await self._decided(connection, season) is None:
                done = await connection.execute(self._queries["move_members"], *season, *source, into.band, into.number)
                await connection.execute(self._queries["empty_cohort"], *season, *source)
                await connection.execute(self._queries["put_cohort"], *season, *into, int(done.split()[-1]))

        await self._connections.transaction(work)

    async def settle(self, season: SeasonKey, settled: Sequence[Settled]) -> bool:
        async def work(connection: Any) -> bool:
            self._connections.check_confirmed()
            if await self._decided(connection, season) is not None:
                return False
            await connection.executemany(self._queries["settle_member"], [(*season, *one) for one in settled])
            return True

        return await self._connections.transaction(work)

    async def decide(self, season: SeasonKey, now: int) -> bool:
        async def work(connection: Any) -> bool:
            self._connections.check_confirmed()
            done: str = await connection.execute(self._queries["decide_season"], *season, now)
            return done != "UPDATE 0"

        return await self._connections.transaction(work)


def _season(row: tuple[Any, ...]) -> SeasonRecord:
    return SeasonRecord(SeasonKey(*row[:3]), row[3])
