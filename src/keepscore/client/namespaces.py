"""The namespaces of the client: `client.history`, `client.players` and `client.admin`, as `keepscore.Leaderboards` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from keepscore.client.batches import BatchCall
from keepscore.client.calls import (
    NO_KEY,
    RequestKey,
    board_of,
    boards_of,
    change,
    decoder,
    deleted,
    parts_of,
    profile_deleted,
    read,
    view_of,
)
from keepscore.client.sending import Send
from keepscore.domain.boards import Board
from keepscore.domain.imports import ImportReceipt, NewPart, Part
from keepscore.domain.inputs import Entry, Progress, no_progress
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.results.players import DeletedProfile, FoundPlayers, Profile, ProfileBatch, Segments
from keepscore.domain.results.standings import (
    BatchReceipt,
    BoardEvents,
    BoardInfo,
    Deleted,
    KeeperRun,
    KeeperStatus,
    PlayerEvents,
    PlayerHistory,
    Rebuild,
    Reset,
    Revision,
    Snapshot,
    Snapshots,
    Top,
    Verification,
    Windows,
)
from keepscore.domain.results.teams import Team
from keepscore.errors import KeepscoreError

__all__ = ["Administration", "History", "Players"]


class History:
    """Look back: windows, snapshots, players' histories, standings at past moments, events."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def windows(self, board: str, *, window: str | None = None, limit: int = 100, offset: int = 0) -> Windows:
        """Return the windows of a board that have players, newest first."""
        query = {"window": window, "limit": limit, "offset": offset}
        return await self._call(read(decoder(Windows), "boards", board, "windows", query=query))

    async def snapshots(
        self,
        board: str,
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Snapshots:
        """List the snapshots of a board, newest first; without a segment, those of everyone."""
        query = {"window": window, "window_id": window_id, "segment": segment, "limit": limit, "offset": offset}
        return await self._call(read(decoder(Snapshots), "boards", board, "snapshots", query=query))

    async def snapshot(
        self, board: str, snapshot_id: int, *, limit: int = 100, offset: int = 0, cursor: str | None = None, rank: str | None = None
    ) -> Snapshot:
        """Return a page of the standings of a snapshot: up to `limit` players, after `offset` or `cursor`."""
        query = {"limit": limit, "offset": offset, "cursor": cursor, "rank": rank}
        return await self._call(read(decoder(Snapshot), "boards", board, "snapshots", str(snapshot_id), query=query))

    async def of(
        self, board: str, player_id: str, *, window: str | None = None, limit: int = 100, viewer: str | None = None
    ) -> PlayerHistory:
        """Return a player's place in each window, and the best one ever, as a `viewer` may see it."""
        query = {"window": window, "limit": limit, "viewer": viewer}
        return await self._call(read(decoder(PlayerHistory), "boards", board, "history", player_id, query=query))

    async def as_of(
        self,
        board: str,
        at: datetime | str,
        *,
        limit: int = 100,
        window: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> Top:
        """Return the top of a ranking at a past moment, from the events that had arrived by then. Reads all events of the board."""
        query = {"at": at, "limit": limit, **view_of(window, None, segment, rank)}
        return await self._call(read(decoder(Top), "boards", board, "as-of", query=query, is_long=True))

    async def events(self, board: str, player_id: str, limit: int = 100) -> PlayerEvents:
        """Return a player's recorded events on a board, newest first."""
        return await self._call(read(decoder(PlayerEvents), "boards", board, "players", player_id, "events", query={"limit": limit}))

    async def all_events(self, board: str, *, cursor: str | None = None, limit: int = 1000) -> BoardEvents:
        """Return the recorded events of a board, up to 10,000 at a time, after a `cursor`."""
        return await self._call(read(decoder(BoardEvents), "boards", board, "events", query={"cursor": cursor, "limit": limit}))


class Players:
    """What is known of players beside their scores."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def profile(self, player_id: str) -> Profile:
        """Return what is known about a player besides scores."""
        return await self._call(read(decoder(Profile), "players", player_id))

    async def segments(
        self,
        board: str,
        *,
        name: str | None = None,
        window: str | None = None,
        window_id: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Segments:
        """Return the slices of a board's window, all or those of one segment `name`, with their sizes."""
        query = {"name": name, "window": window, "window_id": window_id, "limit": limit, "offset": offset}
        return await self._call(read(decoder(Segments), "boards", board, "segments", query=query))

    async def search(
        self,
        board: str,
        name: str,
        *,
        limit: int = 20,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        viewer: str | None = None,
    ) -> FoundPlayers:
        """Return ranked players whose names begin with some letters, in rank order, as a `viewer` may see them."""
        query = {"name": name, "limit": limit, "viewer": viewer, **view_of(window, window_id, segment, rank)}
        return await self._call(read(decoder(FoundPlayers), "boards", board, "players", query=query))

    async def team(
        self,
        board: str,
        team_id: str,
        *,
        window: str | None = None,
        window_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        viewer: str | None = None,
    ) -> Team:
        """Return where a team stands on a board that ranks teams, and a page of its members, the best first, as a `viewer` may see them."""
        query = {"window": window, "window_id": window_id, "limit": limit, "cursor": cursor, "viewer": viewer}
        return await self._call(read(decoder(Team), "boards", board, "teams", team_id, query=query))

    async def name(self, player_id: str, name: str | None, *, idempotency_key: str | None = None) -> Profile:
        """Give a player a name to show; the rest of the profile stays as it is."""
        return await self.change(player_id, {"name": name}, idempotency_key=idempotency_key)

    async def put(self, player_id: str, profile: Mapping[str, Any], *, idempotency_key: str | None = None) -> Profile:
        """Replace a player's profile: what is not named is not known any more."""
        return await self._call(change(decoder(Profile), "PUT", "players", player_id, body=profile, key=RequestKey(idempotency_key)))

    async def change(self, player_id: str, fields: Mapping[str, Any], *, idempotency_key: str | None = None) -> Profile:
        """Change some fields of a player's profile, and attributes one by one. None removes a field."""
        return await self._call(change(decoder(Profile), "PATCH", "players", player_id, body=fields, key=RequestKey(idempotency_key)))

    async def delete(self, player_id: str, *, idempotency_key: str | None = None) -> DeletedProfile:
        """Forget what is known about a player besides scores. The scores stay."""
        return await self._call(change(profile_deleted(player_id), "DELETE", "players", player_id, key=RequestKey(idempotency_key)))

    async def change_many(self, profiles: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> ProfileBatch:
        """Change up to 10,000 profiles, each as `change` does; bad ones are rejected one by one.

        Each has a `player_id` and fields of a profile. The same batch may be sent again.
        """
        body, key = {"players": profiles}, RequestKey(idempotency_key)
        return await self._call(change(decoder(ProfileBatch), "POST", "players", "batch", body=body, key=key))


class Administration:
    """What is done to boards as wholes: definitions, resets, proof, repair, imports, and the keeper."""

    def __init__(self, call: Send) -> None:
        self._call = call

    async def boards(self) -> list[BoardInfo]:
        """Return all boards, by name."""
        return await self._call(read(boards_of, "boards"))

    async def board(self, name: str) -> BoardInfo:
        """Return one board."""
        return await self._call(read(board_of, "boards", name))

    async def put_board(
        self, board: Board, *, version: int | None = None, confirm: bool = False, idempotency_key: str | None = None
    ) -> BoardInfo:
        """Define a board, or replace its definition. One that changes the meaning rebuilds the rankings from the ledger.

        Until the new rankings are complete, readers see the old ones; then this returns. A change that loses or rebuilds something
        raises ConfirmationNeeded, unless you `confirm` it or give the `version` that it is meant for. If another version came
        first, raises VersionConflict.
        """
        query, body = {"confirm": confirm or None}, {**board.to_dict(), "version": version}
        return await self._call(
            change(board_of, "PUT", "boards", board.name, query=query, body=body, key=RequestKey(idempotency_key), is_long=True)
        )

    async def change_board(
        self,
        name: str,
        fields: Mapping[str, Any],
        *,
        version: int | None = None,
        confirm: bool = False,
        idempotency_key: str | None = None,
    ) -> BoardInfo:
        """Change some fields of a board's definition, and keep the others; None sets a field back to its default.

        Confirmation and versions work as in `put_board`.
        """
        query, body = {"confirm": confirm or None}, {**fields, "version": version}
        return await self._call(
            change(board_of, "PATCH", "boards", name, query=query, body=body, key=RequestKey(idempotency_key), is_long=True)
        )

    async def delete_board(self, name: str, *, idempotency_key: str | None = None) -> Deleted:
        """Delete a board. Its events stay in the ledger; a new board of that name starts empty."""
        return await self._call(change(deleted(name), "DELETE", "boards", name, key=RequestKey(idempotency_key)))

    async def reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """End a board's rankings as a numbered version, which stays readable by its window ids, and start empty ones."""
        return await self._call(change(decoder(Reset), "POST", "boards", board, "reset", key=RequestKey(idempotency_key), is_long=True))

    async def undo_reset(self, board: str, *, idempotency_key: str | None = None) -> Reset:
        """Undo the last reset of a board, within its grace: scores from before and after it are in one ranking again."""
        return await self._call(
            change(decoder(Reset), "POST", "boards", board, "reset", "undo", key=RequestKey(idempotency_key), is_long=True)
        )

    async def verify(self, board: str, *, repair: bool = False) -> Verification:
        """Compare everything that a board shows with the fold of its events; with `repair`, fix what differs and compare again."""
        path, query = ("boards", board, "verify"), {"repair": repair}
        return await self._call(change(decoder(Verification), "POST", *path, query=query, key=NO_KEY, is_long=True))

    async def rebuild(self, board: str, *, progress: Progress = no_progress) -> Rebuild:
        """Rebuild the rankings of a board from all of its events. Readers see the old ones until it finishes.

        The service does not tell how far it is: `progress` is not called.
        """
        return await self._call(change(decoder(Rebuild), "POST", "boards", board, "rebuild", key=NO_KEY, is_long=True))

    async def revise(self, board: str, window: str, window_id: str, reason: str, *, idempotency_key: str | None = None) -> Revision:
        """Correct the final standings of a closed window: they are archived again, as the next revision, with a note in the audit."""
        path, body = ("boards", board, "windows", window, window_id, "revise"), {"reason": reason}
        return await self._call(change(decoder(Revision), "POST", *path, body=body, key=RequestKey(idempotency_key), is_long=True))

    async def keeper_status(self) -> KeeperStatus:
        """Return the jobs of the keeper: when each ran and runs next, and its result."""
        return await self._call(read(decoder(KeeperStatus), "keeper"))

    async def run_keeper(self, now: datetime | str | None = None) -> KeeperRun:
        """Run at once what is due by a past moment (default: now), and return the results."""
        return await self._call(change(decoder(KeeperRun), "POST", "keeper", "run", body={"now": now}, key=NO_KEY, is_long=True))

    async def import_scores(
        self,
        board: str,
        entries: Sequence[Entry | KeepscoreError],
        *,
        part: NewPart | None = None,
        keys: Sequence[str] = (),
        into: RankingPlace | None = None,
    ) -> ImportReceipt:
        """Import up to 10,000 entries: a part of a file, or entries with their own keys, which are never forgotten.

        With `into`, they are opening balances of that ranking, and count in no other.
        """
        batch = BatchCall(entries)
        body = {**batch.body, "part": part, "keys": keys, "into": into}
        return await self._call(
            change(batch.receipt(ImportReceipt), "POST", "boards", board, "imports", body=body, key=RequestKey(in_body=True))
        )

    async def check_import(self, board: str, entries: Sequence[Entry | KeepscoreError], *, into: RankingPlace) -> BatchReceipt:
        """Return how many entries would be taken as opening balances of a ranking, and which not. Nothing is recorded."""
        batch = BatchCall(entries)
        body, query = {**batch.body, "into": into}, {"dry_run": True}
        return await self._call(read(batch.receipt(BatchReceipt), "boards", board, "imports", query=query, body=body))

    async def imported_parts(self, board: str, *, after: str = "") -> list[Part]:
        """Return imported parts of files, by key, after a key; an empty list after the last."""
        return await self._call(read(parts_of, "boards", board, "imports", query={"after": after}))
