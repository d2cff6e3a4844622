"""Definitions of a configuration: which of them take effect at a start.

A definition of a file takes effect when the file has changed; what was changed otherwise since, with `PUT` say, stays. Where rankings are
shared, hosts may start with different files. Each file then takes effect once, the last one stays, and a host whose file differs says so
in its log: hosts that restart in turns do not change a board back and forth. A file that is changed back counts as changed on the host
where that was done.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from keepscore.domain.board_checks import brief
from keepscore.domain.boards import Board
from keepscore.errors import InvalidBoard
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.boards import BoardRecord
from keepscore.storage.ledgers.marks import configured as configured_mark

__all__ = ["Noted", "digest_of", "host_of", "in_effect", "note_configured", "noted_of", "with_resets"]

#: Hosts, and definitions, that are remembered of a board.
MAX_HOSTS, MAX_DEFINITIONS = 100, 100


class Noted(msgspec.Struct):
    """What the ledger notes of the files that define a board: the last definition that took effect, and each host's last one."""

    latest: str
    #: Definitions that took effect before, the oldest first.
    earlier: list[str] = []
    hosts: dict[str, str] = {}

    def takes_effect(self, definition: str, host: str | None) -> bool:
        """Return whether a definition that a host starts with takes effect; None: there are no other hosts."""
        if definition == self.latest:
            return False
        last = None if host is None else self.hosts.get(host)
        if host is None or (last is not None and last != definition):
            # The file was changed here.
            return True
        return last is None and definition not in self.earlier

    def with_definition(self, definition: str, host: str | None, took_effect: bool) -> Noted:
        """Return what to note after a start with a definition."""
        hosts = dict(self.hosts) if host is None else {**{name: own for name, own in self.hosts.items() if name != host}, host: definition}
        hosts = dict(list(hosts.items())[-MAX_HOSTS:])
        if not took_effect or definition == self.latest:
            return Noted(self.latest, self.earlier, hosts)
        earlier = [one for one in (*self.earlier, self.latest) if one not in ("", definition)]
        return Noted(definition, earlier[-MAX_DEFINITIONS:], hosts)


async def noted_of(ledger: Ledger, board: Board) -> Noted:
    """Read what is noted of the files that define a board."""
    kept = await ledger.marks.get(configured_mark(board.name))
    if kept is None:
        return Noted("")
    # Before hosts were told apart, the mark was the digest alone.
    return Noted(kept.hex()) if len(kept) == hashlib.sha256().digest_size else msgspec.json.decode(kept, type=Noted)


async def note_configured(ledger: Ledger, board: Board, noted: Noted, shared: bool, took_effect: bool) -> None:
    """Note that this host has started with a definition."""
    after = noted.with_definition(digest_of(board), host_of(shared), took_effect)
    if after != noted:
        await ledger.marks.put(configured_mark(board.name), msgspec.json.encode(after))


async def in_effect(ledger: Ledger, configured: Sequence[Board], shared: bool) -> list[BoardRecord]:
    """Return the boards that there will be once a ledger is opened with these. Nothing is recorded: new ones have no number yet."""
    records = {record.board.name: record for record in await ledger.boards.current()}
    for place, board in enumerate(configured, 1):
        old = records.get(board.name)
        if old is None:
            records[board.name] = BoardRecord(-place, 0, board, 0)
        elif (await noted_of(ledger, board)).takes_effect(digest_of(board), host_of(shared)):
            records[board.name] = old._replace(board=with_resets(board, old))
    return list(records.values())


def digest_of(board: Board) -> str:
    """Return a digest that tells a definition from others."""
    return hashlib.sha256(msgspec.json.encode(board.to_dict())).hexdigest()


def host_of(shared: bool) -> str | None:
    """Return the name of this host, where there may be others."""
    return socket.gethostname() if shared else None


def with_resets(board: Board, old: LiveBoard | BoardRecord | None) -> Board:
    """Return a definition with the resets that the board had, which no definition sets."""
    known = [] if old is None else old.board.resets
    if board.resets and board.resets != known:
        raise InvalidBoard(
            f"board {board.name!r}: resets = {brief(board.resets)} cannot be set; they are {brief(known)}: leave them out, and reset a "
            "board with POST /v1/boards/{board}/reset"
        )
    return replace(board, resets=known) if known else board
