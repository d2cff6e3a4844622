"""Which definitions of boards are refused: those that do not fit what is stored, or the other boards."""

from __future__ import annotations

from collections.abc import Mapping

from keepscore.domain.boards import Board
from keepscore.domain.ratings.open_skill import check_installed
from keepscore.errors import CapReached, EventsDropped, InvalidBoard
from keepscore.projection.live_boards import Catalog, LiveBoard, check_links
from keepscore.projection.openings import said
from keepscore.projection.rollups import check_rollup
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger

__all__ = ["check_definition"]


async def check_definition(
    catalog: Catalog, ledger: Ledger, engine: RankingEngine, board: Board, old: LiveBoard | None, changes: Mapping[str, Board]
) -> None:
    """Refuse a definition that does not fit what is stored, or the boards that it is linked with, `changes` taken into account."""
    if old is not None and old.board.decimals != board.decimals:
        raise InvalidBoard(
            f"board {board.name!r}: decimals = {board.decimals} cannot be used; it has {old.board.decimals}, in which its scores "
            "are stored: create a new board"
        )
    if old is not None and old.board.is_rollup != board.is_rollup:
        raise InvalidBoard(f"board {board.name!r}: rollup cannot be given to a board, or taken from it: create a new board")
    _check_rating(board, old)
    await _check_dropped(catalog, ledger, board, old)
    boards = {live.name: live.board for live in catalog} | dict(changes)
    if old is None and len(boards) > catalog.max_boards:
        raise CapReached(
            f"board {board.name!r} would be one more than limits.boards = {catalog.max_boards} allows: delete one, or allow more"
        )
    await engine.check(board, list(boards.values()))
    for other in boards.values():
        if other.name == board.name or board.name in other.also:
            check_links(other, boards)
        if board.name in (other.name, *other.made_from):
            check_rollup(other, boards)


def _check_rating(board: Board, old: LiveBoard | None) -> None:
    """Refuse a rating that does not fit the ratings that are stored, or whose library is missing."""
    if board.rating is not None and board.rating.system == "openskill":
        check_installed()
    before = None if old is None else old.board.rating
    if before is not None and (before.has_deviations or (board.rating or before).has_deviations) and not before.same_scale(board.rating):
        raise InvalidBoard(
            f"board {board.name!r}: rating cannot change its system, z or idle_per_day, in which ratings are stored: create a new board"
        )
    if old is not None and before is None and board.rating is not None and board.rating.has_deviations:
        raise InvalidBoard(f"board {board.name!r}: rating cannot be given to a board that takes scores: create a new board")


async def _check_dropped(catalog: Catalog, ledger: Ledger, board: Board, old: LiveBoard | None) -> None:
    """Refuse a definition that would need events that are dropped, or about to be."""
    dropped = await ledger.openings.accepts_from()
    if old is not None and old.id in dropped and not old.board.same_states(board):
        raise EventsDropped(
            f"board {board.name!r} can no longer change its operator, order, calendar or segments: its events from before "
            f"{said(dropped[old.id])} were folded and dropped (keep_events). Create a new board"
        )
    for name in board.made_from:
        part = catalog.get(name)
        if part is not None and part.id in dropped and board.rollup and board.rollup.window in part.ttls:
            raise EventsDropped(
                f"board {board.name!r}: rollup cannot be used; the {board.rollup.window} rankings of board {name!r} expire, and its "
                f"events from before {said(dropped[part.id])} were dropped (keep_events)"
            )
