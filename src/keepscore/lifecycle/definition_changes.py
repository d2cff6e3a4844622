"""Changes of definitions that somebody asks for, and whether they are confirmed where they lose or rebuild something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.board_changes import consequences
from keepscore.domain.boards import Board
from keepscore.errors import ConfirmationNeeded
from keepscore.projection.live_boards import Catalog, LiveBoard

__all__ = ["Defined", "DefinitionChange", "check_confirmed", "consequences_with_rollups"]


class Defined(msgspec.Struct):
    """What became of a definition: its version, and whether the board is new."""

    definition: dict[str, Any]
    version: int
    created: bool
    replayed: bool | msgspec.UnsetType = msgspec.UNSET


class DefinitionChange(NamedTuple):
    """A change of a definition that somebody asks for."""

    name: str
    #: Makes the new definition of the one that there is, if there is one.
    make: Callable[[Board | None], Board]
    #: The version that it is meant for; None: any.
    version: int | None
    is_confirmed: bool
    #: Whether it is a whole definition, in which what was left out has its default.
    is_replaced: bool


def consequences_with_rollups(catalog: Catalog, old: LiveBoard, new: Board, same: bool, is_replaced: bool) -> list[str]:
    """Return what a change rebuilds, drops or loses, with the boards that are made from this one. `same`: its rankings stay."""
    changes = consequences(old.board, new, is_replaced)
    if not same and old.board.same_meaning(new):
        changes.append("rankings get other keys or another layout: they are rebuilt from the ledger")
    rebuilt = [] if same else [target for target in catalog.rollups(old) if target.board.teams_of is None]
    return changes + [f"board {target.name!r} is made from it, and is rebuilt as well" for target in rebuilt]


def check_confirmed(change: DefinitionChange, live: LiveBoard, changes: Sequence[str]) -> None:
    """Refuse a change that loses or rebuilds something and is not confirmed. Who names the version has read what there is."""
    if changes and not change.is_confirmed and change.version is None:
        raise ConfirmationNeeded(
            f"board {live.name!r} stays as it is, because this change would lose or rebuild something: {'; '.join(changes)}. To go "
            f'ahead, confirm it (?confirm=true, confirm=True or --yes) or send the version you have read (If-Match: "{live.version}"). '
            "To change single fields and keep the others, use PATCH or change_board",
            changes,
        )
