"""The boards that hold teams: each is defined, changed and deleted with the board whose teams it holds."""

from __future__ import annotations

from keepscore.domain.boards import Board
from keepscore.domain.team_definition import TEAMS_SUFFIX
from keepscore.domain.teams import teams_board
from keepscore.errors import InvalidBoard
from keepscore.projection.live_boards import Catalog, LiveBoard

__all__ = ["check_no_teams", "teams_wanted"]


def check_no_teams(board: Board) -> None:
    """Refuse a definition of a board that only the service makes."""
    if board.teams_of is not None:
        raise InvalidBoard(f"board {board.name!r} holds the teams of board {board.teams_of!r}: define that one")


def teams_wanted(catalog: Catalog) -> tuple[list[Board], list[LiveBoard]]:
    """Return the boards of teams that are not defined as they should be, and those that nobody wants any more."""
    wanted = {live.name + TEAMS_SUFFIX: teams_board(live.board) for live in catalog if live.board.ranks_teams}
    known = {live.name: live for live in catalog if live.board.teams_of is not None}
    new = [board for name, board in wanted.items() if name not in known or not known[name].board.same_definition(board)]
    return new, [live for name, live in known.items() if name not in wanted]
