"""Seasons of leagues, in SQLite."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from keepscore.domain.leagues.cohorts import Cohort, Home, PastSeason, Placement, SeasonBefore
from keepscore.storage.ledgers.leagues import Arrival, LeagueStore, Member, Membership, SeasonKey, SeasonRecord, Settled
from keepscore.storage.ledgers.sqlite.role import SqliteRole

__all__ = ["SqliteLeagues"]


class SqliteLeagues(SqliteRole, LeagueStore):
    """One row for each season, cohort and member."""

    async def enrol(
        self, season: SeasonKey, arrivals: Sequence[Arrival], placement: Callable[[Sequence[SeasonBefore]], Placement]
    ) -> list[Member]:
        def work(connection: sqlite3.Connection) -> list[Member]:
            connection.execute(self._queries["open_season"], season)
            if self._decided(connection, season) is not None:
                return []
            known = {
                player: number
                for arrival in arrivals
                for player, number in connection.execute(self._queries["placed_member"], (*season, arrival.player))
            }
            earlier = [
                SeasonBefore(starts, decided is not None)
                for _, _, starts, decided in connection.execute(self._queries["league_seasons"], (season.board,))
                if starts < season.starts
            ]
            place = placement(earlier)
            new = list({one.player: one for one in reversed(arrivals) if known.get(one.player) is None}.values())[::-1]
            pasts = {one.player: self._past(connection, season, one.player) for one in new}
            homes = [place.home(pasts[one.player]) for one in new]
            waiting = [one for one, home in zip(new, homes, strict=True) if home is None and one.player not in known]
            members = [Member(one.player, place.tier(pasts[one.player]), 0, None) for one in waiting]
            rows = [(*season, *one, member.tier, 0, None) for one, member in zip(waiting, members, strict=True)]
            connection.executemany(self._queries["put_member"], rows)
            placed = [(one, home) for one, home in zip(new, homes, strict=True) if home is not None]
            return members + self._placed(connection, season, place, placed)

        return await self._connections.write(work)

    def _placed(
        self, connection: sqlite3.Connection, season: SeasonKey, place: Placement, found: Sequence[tuple[Arrival, Home]]
    ) -> list[Member]:
        last = {}
        for home in {home for _, home in found}:
            row = connection.execute(self._queries["last_cohort"], (*season, *home)).fetchone()
            if row is not None:
                last[home] = row[0], row[1]
        cohorts = place.fill([home for _, home in found], last)
        rows = [(*season, *arrival, *cohort) for (arrival, _), cohort in zip(found, cohorts, strict=True)]
        connection.executemany(self._queries["put_member"], rows)
        connection.executemany(self._queries["put_cohort"], [(*season, *cohort, size) for cohort, size in Counter(cohorts).items()])
        return [Member(arrival.player, *cohort) for (arrival, _), cohort in zip(found, cohorts, strict=True)]

    def _past(self, connection: sqlite3.Connection, season: SeasonKey, player: str) -> PastSeason | None:
        row = connection.execute(self._queries["last_season"], (season.board, player, season.starts)).fetchone()
        return None if row is None else PastSeason(*row)

    def _decided(self, connection: sqlite3.Connection, season: SeasonKey) -> int | None:
        row = connection.execute(self._queries["hold_season"], season).fetchone()
        return None if row is None else row[0]

    async def seasons(self, board_id: int) -> list[SeasonRecord]:
        return [_season(row) for row in await self._connections.read("league_seasons", board_id)]

    async def season(self, season: SeasonKey) -> SeasonRecord | None:
        rows = await self._connections.read("league_season", *season)
        return _season(rows[0]) if rows else None

    async def roster(self, season: SeasonKey, cohort: Cohort) -> list[Member]:
        return [Member(*row) for row in await self._connections.read("roster", *season, *cohort)]

    async def waiting(self, season: SeasonKey, limit: int) -> list[Arrival]:
        return [Arrival(*row) for row in await self._connections.read("waiting_members", *season, limit)]

    async def of_player(self, board_id: int, player: str, limit: int) -> list[Membership]:
        rows = await self._connections.read("seasons_of_player", board_id, player, limit)
        return [Membership(_season(row[:4]), Member(*row[4:])) for row in rows]

    async def sizes(self, season: SeasonKey) -> Mapping[Cohort, int]:
        return {Cohort(*row[:3]): row[3] for row in await self._connections.read("cohort_sizes", *season)}

    async def merge(self, season: SeasonKey, source: Cohort, into: Cohort) -> None:
        def work(connection: sqlite3.Connection) -> None:
            if self._decided(connection, season) is None:
                moved = connection.execute(self._queries["move_members"], (*season, *source, into.band, into.number)).rowcount
                connection.execute(self._queries["empty_cohort"], (*season, *source))
                connection.execute(self._queries["put_cohort"], (*season, *into, moved))

        await self._connections.write(work)

    async def settle(self, season: SeasonKey, settled: Sequence[Settled]) -> bool:
        def work(connection: sqlite3.Connection) -> bool:
            if self._decided(connection, season) is not None:
                return False
            connection.executemany(self._queries["settle_member"], [(*season, *one) for one in settled])
            return True

        return await self._connections.write_confirmed(work)

    async def decide(self, season: SeasonKey, now: int) -> bool:
        sql = self._queries["decide_season"]
        return await self._connections.write_confirmed(lambda connection: connection.execute(sql, (*season, now)).rowcount > 0)


def _season(row: Sequence[object]) -> SeasonRecord:
    board, window, starts, decided = row
    return SeasonRecord(SeasonKey(board, window, starts), decided)  # type: ignore[arg-type]
