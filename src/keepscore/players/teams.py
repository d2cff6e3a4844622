"""Teams of boards that rank teams: where one stands, and what each of its members brings."""

from __future__ import annotations

from typing import NamedTuple

from keepscore.domain.results.teams import Team, TeamMember
from keepscore.domain.teams import members_that_count, team_label
from keepscore.domain.values import check_player
from keepscore.errors import InvalidField, UnknownPlayer, UnknownTeam
from keepscore.reading.reader import Reader

__all__ = ["TeamRequest", "team_of_board"]


class TeamRequest(NamedTuple):
    """Which team, in which window, which page of its members, and who looks."""

    board: str
    team: str
    window: str | None = None
    window_id: str | None = None
    limit: int = 100
    cursor: str | None = None
    viewer: str | None = None


async def team_of_board(reader: Reader, request: TeamRequest) -> Team:
    """Return a team's standing and a page of its members. O(log N + limit)."""
    team = check_player(request.team)
    view = reader.view(request.board, request.window, request.window_id)
    if view.live.board.teams_of is None:
        raise InvalidField(f"board {request.board!r} ranks players, and has no teams: give it by = 'team'")
    board, window, window_id, _ = view.labels
    try:
        place = await reader.player(view, team)
    except UnknownPlayer:
        raise UnknownTeam(f"team {team!r} is not in the {window} window {window_id} of board {board!r}: no member has a score") from None
    own = reader.members(board, window, window_id, team_label(team))._replace(rank="unique", viewer=request.viewer)
    page = await reader.top(own, request.limit, cursor=request.cursor)
    most = members_that_count(view.live.board)
    members = [
        TeamMember(one.rank, one.player_id, one.name, one.score, one.since, most is None or one.rank <= most, one.avatar_url)
        for one in page.standings
    ]
    return Team(board, window, window_id, team, place.rank, place.score, place.total_players, page.total_players, members, page.next_cursor)
