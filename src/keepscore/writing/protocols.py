"""What the write path asks of parts that it does not know. Other rooms implement these, and the runtime wires them.

A feature reaches the write path by a protocol here, not by an import or by a branch in the writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from keepscore.domain.plays import Play
from keepscore.domain.scoring import Event
from keepscore.errors import KeepscoreError
from keepscore.projection.live_boards import LiveBoard
from keepscore.writing.scopes import Submission

__all__ = ["Arrivals", "LedgerReturn", "Origins", "PlayReader", "ProfileNotes", "ReceiptSigner", "SegmentSource", "SubmissionRules"]


class Arrivals(Protocol):
    """Takes note of players who score on boards with a league."""

    async def arrived(self, recorded: Iterable[tuple[LiveBoard, Event]]) -> None:
        """See that the players of recorded events are in a cohort. Never fails: what is missing is found later."""


class LedgerReturn(Protocol):
    """Takes up what another ledger than before says: one that came back may be older than it was."""

    async def relearn(self) -> bool:
        """Take up its definitions; return whether they are others. Only for who holds the writer."""

    async def forget_lost(self) -> None:
        """Forget what was recorded in a ledger that has turned out to be older."""


class Origins(Protocol):
    """Knows where submissions come from."""

    def here(self) -> str | None:
        """Return the mark of the address that the running request comes from, where it is known."""

    def recorded(self, events: Iterable[Event]) -> None:
        """Take note of where recorded events came from."""


class PlayReader(Protocol):
    """Reads the tokens of plays."""

    def read(self, token: str, board_id: int, player: str, now: int) -> Play:
        """Return the play of a token that a player may redeem on a board now, or raise the error that says why not."""


class ProfileNotes(Protocol):
    """Takes up what accepted submissions tell about their players."""

    async def note(self, told: Mapping[str, Mapping[str, str]]) -> None:
        """Take up names and pictures (`name`, `avatar_url`), by player. Never fails."""


class ReceiptSigner(Protocol):
    """Signs that submissions were accepted, where their board has a prize."""

    def signed_receipt(self, submission: Submission, event: Event | None) -> str | None:
        """Return a signed statement that a submission is recorded, as this event if that is known; None where there is nothing to sign."""


class SegmentSource(Protocol):
    """Knows the values of segments that submissions do not name: those of the profile, or of an earlier submission."""

    async def prepare(self, submissions: Sequence[Submission]) -> None:
        """Learn what the values of these depend on, as far as that is possible."""

    def fill(self, submission: Submission) -> None:
        """Let a submission count in the slices in which its player is, or raise the error that says why that is not known."""

    def forget(self, players: Iterable[str]) -> None:
        """Forget what the values of these players depend on: it has changed since they were prepared."""


class SubmissionRules(Protocol):
    """Knows the rules of boards. It is asked only about submissions to boards that have some."""

    @property
    def remembers_nothing(self) -> bool:
        """Whether `recorded` need not be called."""

    async def broken(self, submissions: Sequence[Submission], is_dry_run: bool = False) -> Mapping[int, KeepscoreError]:
        """Return the errors of submissions that break a rule, by their places. Each sees those before it that break none.

        Give what counts once (`Submission.once`) to the others, and to those that are recorded and doubted why (`Submission.suspicion`).
        Unless it is a dry run, the others are recorded next.
        """

    def recorded(self, events: Iterable[Event]) -> None:
        """Take note of all that the process has recorded, whatever it is."""

    async def note_refused(self, refused: Sequence[tuple[Submission, KeepscoreError]]) -> None:
        """Take note of submissions that were refused for that."""
