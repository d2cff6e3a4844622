"""The role of a ledger that keeps single values under names: how far a job is, which engine was used, and so on.

Every name is built here and nowhere else. A mark says its name and how its value is written:

    await ledger.marks.put(closed_until(board_id, "daily"), moment)
    await ledger.marks.get(closed_until(board_id, "daily"))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import msgspec

from keepscore.domain.restrictions import Restriction
from keepscore.domain.results.reports import JobStatus
from keepscore.storage.ledgers.slots import Slot

__all__ = [
    "ARCHIVED_VERSION",
    "ENGINE_HOME",
    "KEYS_VERSION",
    "PROBED",
    "RESTRICTIONS_VERSION",
    "SECRET",
    "SERVICE_URL",
    "Mark",
    "MarkKind",
    "MarkStore",
    "archived_ids",
    "board_home",
    "closed_until",
    "configured",
    "distribution",
    "erasure_note",
    "histogram",
    "is_stale_rollup",
    "job_status",
    "restriction_note",
    "snapshot_taken",
    "void_added",
    "void_note",
    "void_players",
]

T = TypeVar("T")
#: Kinds of marks of which there are many, by the beginning of their names.
MarkKind = Literal["void", "restriction", "erasure", "keeper", "histogram"]


@dataclass(frozen=True, slots=True)
class Mark(Generic[T]):
    """A value of one type under a name."""

    name: str
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


def _number(name: str) -> Mark[int]:
    return Mark(name, lambda number: str(number).encode(), int)


def _text(name: str) -> Mark[str]:
    return Mark(name, str.encode, bytes.decode)


def _ids(text: bytes) -> set[str]:
    return set(text.decode().split(","))


def _bytes(name: str) -> Mark[bytes]:
    return Mark(name, bytes, bytes)


#: The random secret of the ledger.
SECRET = _bytes("secret")
#: The address of the service that uses the ledger.
SERVICE_URL = _text("url")
#: The moment of the last test whether the ledger takes writes.
PROBED = _number("probe")
#: The engine that the ledger was used with last.
ENGINE_HOME = _text("engine:home")
#: Another value whenever API keys have changed.
KEYS_VERSION = _bytes("keys:version")
#: Another value whenever more windows are archived.
ARCHIVED_VERSION = _bytes("archived")

#: Another value whenever it was decided who is ranked.
RESTRICTIONS_VERSION = _bytes("restrictions:version")

_CLOSED, _ARCHIVED, _VOID, _RESTRICTION, _ERASURE = "closed", "archived", "void", "restriction", "erasure"
_KEEPER, _HISTOGRAM = "keeper", "histogram"
_job_status = msgspec.json.Decoder(JobStatus).decode
_restriction = msgspec.json.Decoder(Restriction).decode


def board_home(board_id: int) -> Mark[str]:
    """Return the mark of the engine that has had a board's rankings."""
    return _text(f"home:{board_id}")


def closed_until(board_id: int, window: str) -> Mark[int]:
    """Return the mark of the moment up to which the windows of a board with this name are closed."""
    return _number(f"{_CLOSED}:{board_id}:{window}")


def archived_ids(board_id: int, window: str) -> Mark[set[str]]:
    """Return the mark of which windows of a board with this name are archived, by their ids."""
    return Mark(f"{_ARCHIVED}:{board_id}:{window}", lambda ids: ",".join(sorted(ids)).encode(), _ids)


def snapshot_taken(board_id: int, window: str) -> Mark[int]:
    """Return the mark of the last moment whose snapshots of a board's window are done."""
    return _number(f"snapshot:{board_id}:{window}")


def job_status(job: str) -> Mark[JobStatus]:
    """Return the mark of what became of a keeper's job."""
    return Mark(f"{_KEEPER}:{job}", msgspec.json.encode, _job_status)


def configured(board: str) -> Mark[bytes]:
    """Return the mark of the definition in the configuration that took effect last, by its digest."""
    return _bytes(f"configured:{board}")


def is_stale_rollup(board_id: int) -> Mark[bool]:
    """Return the mark that says whether a roll-up has to be rebuilt."""
    return Mark(f"rollup:{board_id}", lambda is_stale: b"stale" if is_stale else b"", lambda text: text == b"stale")


def histogram(board_id: int, slot: Slot) -> Mark[bytes]:
    """Return the mark of the sample that tells the ranks of players whom a partial ranking leaves out."""
    return _bytes(f"{_HISTOGRAM}:" + "\x1f".join((str(board_id), *slot)))


def distribution(board_id: int) -> Mark[dict[int, int]]:
    """Return the mark of how often scores and amounts of each size have come to a board."""
    return Mark(f"distribution:{board_id}", msgspec.json.encode, msgspec.json.Decoder(dict[int, int]).decode)


def void_note(void_id: str, kind: type[T]) -> Mark[T]:
    """Return the mark of what is known of a void, in a struct of that kind."""
    return Mark(f"{_VOID}:{void_id}", msgspec.json.encode, msgspec.json.Decoder(kind).decode)


def void_players(void_id: str) -> Mark[bytes]:
    """Return the mark of whom a void reached, and what it changed for them."""
    return _bytes(f"players_of_{_VOID}:{void_id}")


def void_added(void_id: str) -> Mark[bytes]:
    """Return the mark of the events that a decision adds."""
    return _bytes(f"added_by_{_VOID}:{void_id}")


def erasure_note(mark: str, kind: type[T]) -> Mark[T]:
    """Return the mark of what is known of a player who was erased, by a mark of the id, in a struct of that kind."""
    return Mark(f"{_ERASURE}:{mark}", msgspec.json.encode, msgspec.json.Decoder(kind).decode)


def restriction_note(restriction_id: str) -> Mark[Restriction]:
    """Return the mark of a decision that a player is not ranked."""
    return Mark(f"{_RESTRICTION}:{restriction_id}", msgspec.json.encode, _restriction)


class MarkStore(ABC):
    """Values under names, durable."""

    async def get(self, mark: Mark[T]) -> T | None:
        """Return the value of a mark, if it has one."""
        found = await self.read(mark.name)
        return None if found is None else mark.decode(found)

    async def put(self, mark: Mark[T], value: T) -> None:
        """Give a mark a value."""
        await self.write({mark.name: mark.encode(value)})

    async def closed_windows(self) -> dict[int, dict[str, int]]:
        """Return up to which moment windows are closed (`closed_until`), by the board's number and the window's name."""
        found: dict[int, dict[str, int]] = {}
        for name, moment in (await self.read_all(f"{_CLOSED}:")).items():
            _, board, window = name.split(":")
            found.setdefault(int(board), {})[window] = int(moment)
        return found

    async def archived_windows(self) -> dict[int, dict[str, set[str]]]:
        """Return which windows are archived (`archived_ids`), by the board's number and the window's name."""
        found: dict[int, dict[str, set[str]]] = {}
        for name, ids in (await self.read_all(f"{_ARCHIVED}:")).items():
            _, board, window = name.split(":")
            found.setdefault(int(board), {})[window] = _ids(ids)
        return found

    async def all_of(self, kind: MarkKind) -> dict[str, bytes]:
        """Return all marks of a kind, by their names. O(those)."""
        return await self.read_all(f"{kind}:")

    async def decisions(self) -> dict[str, bytes]:
        """Return all that is kept of voids and restrictions, by names. O(voids and restrictions)."""
        beginnings = f"{_VOID}:", f"players_of_{_VOID}:", f"added_by_{_VOID}:", f"{_RESTRICTION}:"
        return {name: value for one in beginnings for name, value in (await self.read_all(one)).items()}

    @abstractmethod
    async def secret(self) -> bytes:
        """Return a random secret of this ledger, made once."""

    @abstractmethod
    async def read(self, name: str) -> bytes | None:
        """Return what was kept under a name."""

    @abstractmethod
    async def read_all(self, beginning: str) -> dict[str, bytes]:
        """Return all that was kept under names that begin so."""

    @abstractmethod
    async def write(self, values: Mapping[str, bytes]) -> None:
        """Keep values under their names: all of them or none."""
