"""Errors for requests that do not fit what is there."""

from __future__ import annotations

from collections.abc import Sequence

from keepscore.errors.base import Conflict

__all__ = [
    "AlreadyAppealed",
    "AlreadyDecided",
    "BoardInUse",
    "CapReached",
    "ConfirmationNeeded",
    "EventsDropped",
    "GameCounted",
    "KeyEnded",
    "MatchRecorded",
    "NotIncrementable",
    "NotRated",
    "NothingToUndo",
    "PlayTokenUsed",
    "PlayerMerged",
    "PositionLost",
    "RewardSettled",
    "RolledUp",
    "StillFollowing",
    "TakesMatches",
    "VersionConflict",
    "WindowClosed",
    "WindowFinal",
    "WindowOpen",
]


class AlreadyAppealed(Conflict):
    """A player has appealed against a decision before."""


class AlreadyDecided(Conflict):
    """A score in the queue that was approved or rejected before, or an appeal that has a reply."""


class BoardInUse(Conflict):
    """Another board is made from this one."""


class CapReached(Conflict):
    """There are as many boards, or values of a segment, as the configuration allows."""


class ConfirmationNeeded(Conflict):
    """A change of a definition that would lose or rebuild something, and was not confirmed."""

    def __init__(self, message: str, changes: Sequence[str] = ()) -> None:
        super().__init__(message)
        #: What would be lost or rebuilt, a phrase each.
        self.changes = list(changes)


class EventsDropped(Conflict):
    """Another definition would need events that were dropped."""


class GameCounted(Conflict):
    """A game counted before for this player: the board counts each once."""

    @classmethod
    def of(cls, board: str, game_id: str) -> GameCounted:
        """Return the error for a game on a board."""
        return cls(f"game_id = {game_id!r} counted before: board {board!r} counts each game of a player once (require)")


class KeyEnded(Conflict):
    """An API key that has expired or was revoked cannot be rotated or sign."""


class MatchRecorded(Conflict):
    """A match with this id was recorded with other players, another result or another time."""


class NotRated(Conflict):
    """The board has no rating, and takes scores instead of matches."""


class TakesMatches(Conflict):
    """The board ranks by rating, and takes matches instead of scores."""


class RewardSettled(Conflict):
    """A reward that is paid, claimed, held back, or on its way."""


class RolledUp(Conflict):
    """The board is made from others, and takes no scores and no resets itself."""


class StillFollowing(Conflict):
    """The board follows another system, which still takes the scores."""


class NotIncrementable(Conflict):
    """An increment was sent to a board whose operator takes scores only."""


class NothingToUndo(Conflict):
    """The board was not reset, or too long ago."""


class PlayTokenUsed(Conflict):
    """A play token was used before: each counts once."""


class PlayerMerged(Conflict):
    """A player was merged into another, whose scores these are now."""


class PositionLost(Conflict):
    """A position of another epoch: the ranking was rebuilt since, or the position is another ranking's. Read again without it."""


class VersionConflict(Conflict):
    """Somebody else has changed the board's definition in the meantime."""


class WindowClosed(Conflict):
    """A score for a window that has ended, and whose grace has passed."""


class WindowFinal(Conflict):
    """The winners of the window are decided: nothing changes its standings any more."""


class WindowOpen(Conflict):
    """A window whose standings are not final yet."""
