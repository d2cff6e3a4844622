"""The port to a ledger: the truth. What is acknowledged is here, once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

from keepscore.boards import Board
from keepscore.errors import VersionConflict
from keepscore.ledgers.openings import Openings
from keepscore.ordering import Row
from keepscore.scoring import Event, State

__all__ = [
    "TAKEN_OVER",
    "Ahead",
    "Answered",
    "Archive",
    "Archived",
    "BoardRecord",
    "Checkpoint",
    "Claim",
    "DuplicateKeys",
    "Ledger",
    "Order",
    "Profile",
    "Slot",
    "archive_of",
    "check_version",
]


#: What an archive that cannot be finished has come to.
TAKEN_OVER = "another process has begun the same archive anew: it is finished there"


class BoardRecord(NamedTuple):
    """A board as the ledger knows it: `id` is one life of the board, `version` counts the changes of its definition."""

    id: int
    version: int
    board: Board
    #: The version since which rankings mean the same.
    meaning: int


def check_version(current: BoardRecord | None, name: str, version: int | None) -> None:
    """Refuse a change that is meant for another version of a definition than the current one; None: for any."""
    found = 0 if current is None else current.version
    if version is not None and version != found:
        raise VersionConflict(f"board {name!r} is at version {found}, not {version}: read it again")


class Claim(NamedTuple):
    """An idempotency key that one request claims on a board, and what identifies the request that it belongs to."""

    board: int
    key: str
    fingerprint: bytes


class Answered(NamedTuple):
    """A key that was claimed before. `answer` is None where the process stopped between recording and answering."""

    fingerprint: bytes
    answer: bytes | None


class DuplicateKeys(Exception):
    """Some claims of an append were made before. Nothing was recorded."""

    def __init__(self, answered: Mapping[Claim, Answered]) -> None:
        super().__init__(f"{len(answered)} idempotency keys were claimed before")
        self.answered = answered


class Slot(NamedTuple):
    """A ranking within a board: window, window id, segment (`region:eu`, or empty for the whole)."""

    window: str
    window_id: str
    segment: str


class Checkpoint(NamedTuple):
    """What checkpointed states include: the last event number of each writer.

    A checkpoint holds what changed since the one before; `base` is the number of the first of the series. States of checkpoints
    below the base belong to an earlier definition.
    """

    number: int
    base: int
    #: The version whose meaning the states have (`BoardRecord.meaning`).
    meaning: int
    positions: dict[int, int]
    complete: bool
    #: The moment whose events it includes.
    taken: int


class Order(NamedTuple):
    """In which order a ranking's rows are: by score, and rows of one score by time; rows of one time by the id in the scores' direction."""

    desc: bool
    #: 1: the earlier first, -1: the later first, 0: times do not matter.
    ties: int


class Ahead(NamedTuple):
    """Where a row of a ranking is: rows ahead of it, rows with a better score, better scores, and rows in all."""

    rows: int
    better: int
    scores: int
    total: int


class Archived(NamedTuple):
    """A row of an archived ranking: the three ways to number its rank, and what the ranking had."""

    rank: int
    standard: int
    dense: int
    player: str
    score: int
    since: int


class Archive(NamedTuple):
    """A ranking as it was at the moment `taken`: all of its players counted, the first `kept` of them kept."""

    id: int
    board: int
    slot: Slot
    #: `closed`: the final standings of a window. `snapshot`: the standings at some moment.
    kind: str
    #: The revision of a closed window's standings, counted from 1; the position of a snapshot in its series.
    number: int
    taken: int
    players: int
    kept: int
    #: What tells whether the rows are those that were archived.
    digest: str


def archive_of(row: Sequence[Any]) -> Archive:
    """An archive from its row: number, board, the three parts of the slot, and the rest."""
    number, board, window, window_id, segment, *rest = row
    return Archive(number, board, Slot(window, window_id, segment), *rest)


class Profile(NamedTuple):
    """What is known of a player beside the scores."""

    player: str
    name: str | None


class Ledger(Openings):
    """Events, definitions, checkpoints, idempotency answers and profiles, durable."""

    @abstractmethod
    async def open(self, now: int) -> int:
        """Connect, bring the schema up to date, and register this process: the answer is its writer number, used by no other."""

    @abstractmethod
    async def migrate(self) -> tuple[int, int]:
        """Bring the schema up to date, and let go of the ledger again: the versions before and after."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of everything."""

    @abstractmethod
    async def enlist(self, now: int) -> int:
        """A further writer number for this process, used by no other."""

    @abstractmethod
    async def append(self, events: Sequence[Event], claims: Sequence[Claim], answers: Mapping[Claim, bytes]) -> None:
        """Record events and claims, and the answers of earlier claims, in one durable transaction.

        Raises DuplicateKeys where a claim was made before; then nothing is recorded.
        """

    @abstractmethod
    async def restore(self, events: Sequence[Event]) -> None:
        """Record events that were kept elsewhere, in one durable transaction; those that are recorded already are left alone."""

    @abstractmethod
    async def claimed(self, claim: Claim) -> Answered | None:
        """What is known of a claim's key, if it was claimed before."""

    @abstractmethod
    async def save_answers(self, answers: Mapping[Claim, bytes]) -> None:
        """Record the answers of claims, for retries."""

    @abstractmethod
    def events(self, board_id: int, after: Mapping[int, int]) -> AsyncIterator[list[Event]]:
        """The events of a board behind the given position of each writer, in the order of writer and number, in chunks.

        Those that an opening covers may be among them or not.
        """

    @abstractmethod
    async def player_events(self, board_id: int, player: str) -> list[Event]:
        """The events of one player, in the order of writer and number; those that an opening covers may be among them or not."""

    @abstractmethod
    async def positions(self, board_id: int) -> dict[int, int]:
        """The last event number of every writer on a board."""

    @abstractmethod
    async def boards(self) -> list[BoardRecord]:
        """The current definition of every board, by name."""

    @abstractmethod
    async def put_board(
        self, board: Board, same_meaning: bool, now: int, version: int | None = None, action: str = "put_board"
    ) -> BoardRecord:
        """Record a definition: a new board, or the next version of the one with that name.

        Where a `version` is given and another is the current one by now, nothing is recorded, and VersionConflict is raised.
        """

    @abstractmethod
    async def delete_board(self, name: str, now: int) -> None:
        """End a board's life. Its events stay, and a later board of that name does not have them."""

    @abstractmethod
    async def audit(self, action: str, board: str, detail: Mapping[str, object], now: int) -> None:
        """Note that this process did something to a board."""

    @abstractmethod
    async def begin_checkpoint(self, board_id: int, meaning: int, positions: Mapping[int, int], base: int | None, now: int) -> Checkpoint:
        """Begin a checkpoint that includes the events up to these positions, on top of `base`, or (None) a complete new one."""

    @abstractmethod
    async def write_checkpoint(self, board_id: int, checkpoint: int, slot: Slot, states: Sequence[tuple[str, State | None]]) -> None:
        """Replace some states of a ranking; None removes a player."""

    @abstractmethod
    async def trim_checkpoint(self, board_id: int, slot: Slot, below: int, limit: int) -> int:
        """Remove up to `limit` states of a ranking that belong to checkpoints below a number; answer how many there were.

        A ranking without states is forgotten.
        """

    @abstractmethod
    async def finish_checkpoint(self, board_id: int, checkpoint: int, expiries: Mapping[Slot, int]) -> None:
        """Declare a checkpoint complete, and say when the rankings in it may be dropped (0: never)."""

    @abstractmethod
    async def checkpoints(self, board_id: int) -> list[Checkpoint]:
        """The last complete checkpoint of a board and those begun after it, by number."""

    @abstractmethod
    async def checkpoint_slots(self, board_id: int) -> dict[Slot, int]:
        """The rankings in complete checkpoints, and when each may be dropped (0: never)."""

    @abstractmethod
    def checkpoint_rows(self, board_id: int, slot: Slot, first: int, last: int) -> AsyncIterator[list[tuple[str, int, int]]]:
        """The states of one ranking that belong to the checkpoints `first` to `last`, in chunks of (player, score, since)."""

    @abstractmethod
    async def checkpoint_states(self, board_id: int, slot: Slot, players: Sequence[str]) -> list[tuple[str, int, int, int]]:
        """The states of some players in one ranking: player, score, since, and the checkpoint that each belongs to."""

    @abstractmethod
    async def checkpoint_page(self, board_id: int, slot: Slot, order: Order, offset: int, limit: int) -> list[Row]:
        """The checkpointed rows of a ranking after the first `offset`, in order."""

    @abstractmethod
    async def checkpoint_sample(self, board_id: int, slot: Slot, order: Order, step: int) -> list[tuple[int, Row]]:
        """The first checkpointed row of a ranking and every `step`-th behind it, in order, with their ranks. O(N log N)."""

    @abstractmethod
    async def checkpoint_ahead(self, board_id: int, slot: Slot, order: Order, row: Row) -> Ahead:
        """Where a row is, or would be, among the checkpointed ones of a ranking."""

    @abstractmethod
    async def checkpoint_count(self, board_id: int, slot: Slot, low: int, high: int) -> int:
        """How many checkpointed rows of a ranking have a score from `low` to `high`, both included."""

    @abstractmethod
    async def begin_archive(self, board_id: int, slot: Slot, kind: str, number: int, taken: int) -> int:
        """Begin to archive a ranking; the answer names the archive. One of the same number that was not finished is dropped."""

    @abstractmethod
    async def write_archive(self, archive: int, rows: Sequence[Archived]) -> None:
        """Archive some rows; nothing happens to an archive that was dropped or finished meanwhile."""

    @abstractmethod
    async def finish_archive(self, archive: int, players: int, kept: int, digest: str) -> None:
        """Declare an archive complete: from now on it is there, and does not change.

        Raises LedgerUnavailable where another process has begun it anew, or finished it.
        """

    @abstractmethod
    async def drop_archive(self, archive: int) -> None:
        """Remove an archive."""

    @abstractmethod
    async def archives(
        self, board_id: int, window: str | None = None, window_id: str | None = None, kind: str | None = None
    ) -> list[Archive]:
        """The complete archives of a board, by window and the moment when they were taken."""

    @abstractmethod
    async def archive_rows(self, archive: int, offset: int, limit: int) -> list[Archived]:
        """The rows of an archive after the first `offset`."""

    @abstractmethod
    async def archive_places(self, archive: int, players: Sequence[str]) -> list[Archived]:
        """The rows of some players in an archive."""

    @abstractmethod
    async def archive_count(self, archive: int, low: int, high: int) -> int:
        """How many rows of an archive have a score from `low` to `high`, both included."""

    @abstractmethod
    async def player_archives(self, board_id: int, player: str) -> list[tuple[Archive, Archived]]:
        """All archives of a board that a player is in, the oldest first."""

    @abstractmethod
    async def has_events(self, board_id: int, start: int, end: int) -> bool:
        """Whether a board has an event whose time lies from `start` up to, not including, `end`. O(events of the board).

        Where events of about that time were dropped, it may have had one, and the answer is True.
        """

    @abstractmethod
    async def first_event(self, board_id: int) -> int | None:
        """The time of a board's earliest event, dropped ones included. O(events of the board)."""

    @abstractmethod
    async def forget_keys(self, before: int, limit: int) -> int:
        """Forget up to `limit` idempotency keys that were claimed before a moment; answer how many."""

    async def prepare(self, now: int) -> list[str]:
        """Make room for the events of the coming months; answer what was made."""
        return []

    @abstractmethod
    async def lead(self) -> bool:
        """Whether this process does the jobs that one of all does. It is whoever asks first while nobody is, until it is gone."""

    @abstractmethod
    async def profiles(self, since: int = 0) -> list[Profile]:
        """All profiles that were recorded at a moment or later. O(those)."""

    @abstractmethod
    async def put_profile(self, profile: Profile, now: int) -> None:
        """Record a profile."""

    @abstractmethod
    async def value(self, name: str) -> bytes | None:
        """What was kept under a name."""

    @abstractmethod
    async def values(self, beginning: str) -> dict[str, bytes]:
        """All that was kept under names that begin so."""

    @abstractmethod
    async def put_value(self, name: str, value: bytes) -> None:
        """Keep something under a name."""

    @abstractmethod
    async def secret(self) -> bytes:
        """A random secret of this ledger, made once."""

    @abstractmethod
    async def announce(self, url: str) -> None:
        """Tell whoever finds the ledger in use at which address the service is that uses it."""

    @abstractmethod
    async def probe(self, now: int) -> None:
        """Write something durably, or raise LedgerUnavailable."""
