"""Boards that rank teams: what a team's standing is, and the board that holds the standings of all teams. Pure.

A board with `by = "team"` takes the scores of players, and ranks them like any other, for everybody and for each team. Beside it is a board
of its own with the teams, `NAME~teams`, which is made from it as a roll-up is; whoever reads the board is shown that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from keepscore.domain.board_parts import Window
from keepscore.domain.boards import MAX_SCORE, Board
from keepscore.domain.scoring import State
from keepscore.domain.team_definition import MEAN_OF_BEST, TEAM, TEAMS_SUFFIX

__all__ = ["members_that_count", "team_label", "team_of", "team_standing", "teams_board"]


def teams_board(board: Board) -> Board:
    """Return the board that holds the teams of a board."""
    windows = {
        name: Window(archive=window.archive, snapshot=window.snapshot, start=window.start, end=window.end, cron=window.cron)
        for name, window in board.periods.items()
    }
    changed: dict[str, Any] = {"windows": windows, "also": [], "rules": None, "min_score": None, "max_score": None, "increments": False}
    return replace(board, name=board.name + TEAMS_SUFFIX, **changed)


def team_label(team: str) -> str:
    """Return the label of the slice that a team's members are in."""
    return f"{TEAM}:{team}"


def team_of(label: str) -> str | None:
    """Return the team whose members are in a slice; None: it is no team's."""
    return label.removeprefix(f"{TEAM}:") if label.startswith(f"{TEAM}:") else None


def members_that_count(board: Board) -> int | None:
    """Return how many of a team's members count, the best ones; None: all."""
    if isinstance(board.members, Mapping):
        return board.members[MEAN_OF_BEST]
    return 1 if board.members == "best" else None


def team_standing(board: Board, members: Sequence[State]) -> State | None:
    """Return the standing that members make, who come in the order of their ranks; None: there are none.

    A mean is rounded to the last decimal of the board, halves up. It is as old as the latest of the scores that count.
    """
    counted = members[: members_that_count(board)]
    if not counted:
        return None
    score = sum(one.score for one in counted)
    if isinstance(board.members, Mapping):
        score = (2 * score + len(counted)) // (2 * len(counted))
    return State(max(-MAX_SCORE, min(MAX_SCORE, score)), max(one.since for one in counted))
