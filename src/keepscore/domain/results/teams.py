"""What callers get of a team: its standing, and what each member brings."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from keepscore.domain.boards import Score
from keepscore.domain.results.plain import Result

__all__ = ["Team", "TeamMember"]


class TeamMember(Result):
    """A member of a team, and the score that the member has for it."""

    rank: int
    player_id: str
    name: str | None
    score: Score
    since: datetime | None
    #: Whether the score is part of the team's.
    counts: bool
    avatar_url: str | UnsetType = UNSET


class Team(Result):
    """A team's standing among all teams, and a page of its members, the best first."""

    board: str
    window: str
    window_id: str
    team_id: str
    rank: int
    score: Score
    total_teams: int
    total_members: int
    members: list[TeamMember]
    next_cursor: str | None
