"""Snapshots of a board: the standings that were archived while its windows were open."""

from __future__ import annotations

from typing import NamedTuple

from keepscore.domain.durations import time_of
from keepscore.domain.ordering import number_rows
from keepscore.domain.results.standings import Snapshot, SnapshotInfo, Snapshots, Standing
from keepscore.errors import InvalidPage, UnknownSnapshot, UnknownWindow
from keepscore.projection.live_boards import LiveBoard
from keepscore.reading.archive import Past
from keepscore.reading.cursors import Cursors
from keepscore.reading.tiers import RankedList, put_tiers
from keepscore.reading.view import MAX_OFFSET, check_limit, check_within, rank_kind, since_of
from keepscore.reading.visibility import Labels
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.archives import Archive
from keepscore.storage.ledgers.base import Ledger

__all__ = ["MAX_SNAPSHOT_ID", "SnapshotFilter", "SnapshotPage", "board_snapshots", "snapshot_page"]

#: The highest number of a snapshot that can be asked for.
MAX_SNAPSHOT_ID = 10**15


class SnapshotFilter(NamedTuple):
    """Which snapshots of a board; without a segment, those of everyone."""

    window: str | None = None
    window_id: str | None = None
    segment: str | None = None
    limit: int = 100
    offset: int = 0


class SnapshotPage(NamedTuple):
    """Which page of a snapshot, and how its ranks are numbered."""

    limit: int = 100
    offset: int = 0
    cursor: str | None = None
    rank: str | None = None


async def board_snapshots(ledger: Ledger, live: LiveBoard, wanted: SnapshotFilter) -> Snapshots:
    """Return the snapshots of a board, the newest first. O(snapshots of the board)."""
    check_limit(wanted.limit)
    check_within("offset", wanted.offset, 0, MAX_OFFSET)
    if wanted.window is not None and wanted.window not in live.board.periods:
        raise UnknownWindow(f"board {live.name!r} has no window {wanted.window!r}: it has {', '.join(live.board.periods)}")
    archives = await ledger.archives.find(live.id, wanted.window, wanted.window_id, "snapshot")
    found = [archive for archive in archives if archive.slot.segment == (wanted.segment or "")]
    found.sort(key=lambda archive: (archive.taken, archive.id), reverse=True)
    return Snapshots(live.title, [_info(archive) for archive in found[wanted.offset : wanted.offset + wanted.limit]])


async def snapshot_page(
    ledger: Ledger, live: LiveBoard, snapshot_id: int, wanted: SnapshotPage, cursors: Cursors, labels: Labels
) -> Snapshot:
    """Return a page of a snapshot's standings. O(snapshots of the board + limit)."""
    check_limit(wanted.limit)
    check_within("offset", wanted.offset, 0, MAX_OFFSET)
    check_within("id", snapshot_id, 1, MAX_SNAPSHOT_ID)
    numbering = rank_kind(live.board, wanted.rank)
    archives = await ledger.archives.find(live.id, kind="snapshot")
    archive = next((archive for archive in archives if archive.id == snapshot_id), None)
    if archive is None:
        raise UnknownSnapshot(f"board {live.name!r} has no snapshot {snapshot_id}: GET /v1/boards/{{board}}/snapshots lists them")
    past = Past(ledger, live.board, archive)
    # The cursors of a snapshot are not those of the ranking, nor of another snapshot.
    ranking = Ranking(live.id, archive.slot.window, f"{archive.slot.window_id} snapshot {archive.id}", archive.slot.segment)
    if wanted.cursor is None:
        page = await past.page(ranking, wanted.offset, wanted.limit, numbering)
    elif wanted.offset:
        raise InvalidPage("give offset or cursor, not both")
    else:
        page = await past.page_after(ranking, cursors.opened(ranking, wanted.cursor), wanted.limit, numbering)
    ranks = number_rows(numbering, page.first, page.rows)
    standings = [
        Standing(rank, row.player, None, live.board.shown(row.score), since_of(row.since), 0)
        for rank, row in zip(ranks, page.rows, strict=True)
    ]
    if live.board.tiers:
        unique = range(page.first.unique, page.first.unique + len(standings))
        await put_tiers(past, RankedList(live.board, ranking, standings, unique, archive.players, live.board.shown))
    standings = await labels.shown(standings, None)
    more = page.rows and page.first.unique - 1 + len(page.rows) < archive.kept
    info = _info(archive)
    return Snapshot(
        live.title,
        info.id,
        info.window,
        info.window_id,
        info.segment,
        info.taken,
        info.total_players,
        info.digest,
        standings,
        cursors.sealed(ranking, page.rows[-1]) if more else None,
    )


def _info(archive: Archive) -> SnapshotInfo:
    slot = archive.slot
    return SnapshotInfo(
        archive.id, slot.window, slot.window_id, slot.segment or None, time_of(archive.taken), archive.players, archive.digest
    )
