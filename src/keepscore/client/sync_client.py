"""The client: the methods of `keepscore.Leaderboards`, on a service, blocking.

Made from `keepscore.client.client` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from keepscore.client.batches import BatchCall, sendable
from keepscore.client.calls import Call, RequestKey, change, decoder, read, reasons_of, view_of
from keepscore.client.sync_audit import SyncAudit
from keepscore.client.sync_explanations import SyncExplanations
from keepscore.client.sync_friends import SyncFriends
from keepscore.client.sync_groups import SyncGroups
from keepscore.client.sync_keys import SyncKeys
from keepscore.client.sync_leagues import SyncLeagues
from keepscore.client.sync_matches import SyncMatches
from keepscore.client.sync_moderation import SyncModeration
from keepscore.client.sync_namespaces import SyncAdministration, SyncHistory, SyncPlayers
from keepscore.client.sync_prizes import SyncPrizes
from keepscore.client.sync_sending import SyncSender
from keepscore.client.sync_webhooks import SyncWebhooks
from keepscore.domain.inputs import Entry, Number
from keepscore.domain.results.access import NewPlay, PlayerStandings
from keepscore.domain.results.distribution import Distribution
from keepscore.domain.results.friends import BoardView
from keepscore.domain.results.standings import (
    Around,
    BatchReceipt,
    Count,
    Lookup,
    PlayerPlace,
    Receipt,
    Top,
)
from keepscore.errors import KeepscoreError

__all__ = ["SyncClient"]


class SyncClient(SyncSender):
    """The boards of the service at a URL. Use it as a context manager; methods, results and errors are those of `Leaderboards`.

    A call that gets no answer is sent again, for up to half a minute. What changes something goes with an idempotency key, the caller's
    or one that is made for the call, so that it is done once.

    ```python
    with SyncClient("http://127.0.0.1:8080", key="…") as lb:
        receipt = lb.submit("global", "alice", 1500)
    ```
    """

    @property
    def keys(self) -> SyncKeys:
        """The API keys of the service."""
        return SyncKeys(self._call)

    @property
    def moderation(self) -> SyncModeration:
        """What moderators decide: events that no longer count, and undoing that."""
        return SyncModeration(self._call)

    @property
    def prizes(self) -> SyncPrizes:
        """What there is to win: winners, rewards and certificates."""
        return SyncPrizes(self._call)

    @property
    def webhooks(self) -> SyncWebhooks:
        """What waits to be delivered about rewards, and trying it again."""
        return SyncWebhooks(self._call)

    @property
    def audit(self) -> SyncAudit:
        """Who did what, and the proof that nobody has changed that."""
        return SyncAudit(self._call)

    @property
    def history(self) -> SyncHistory:
        """Look back: windows, snapshots, players' histories, standings at past moments, events."""
        return SyncHistory(self._call)

    @property
    def players(self) -> SyncPlayers:
        """What is known of players beside their scores."""
        return SyncPlayers(self._call)

    @property
    def friends(self) -> SyncFriends:
        """Who is whose friend, and how players stand among friends."""
        return SyncFriends(self._call)

    @property
    def groups(self) -> SyncGroups:
        """Private groups that players join with a code."""
        return SyncGroups(self._call)

    @property
    def matches(self) -> SyncMatches:
        """What was played on boards with a rating: record a match, and look back at those of a player."""
        return SyncMatches(self._call)

    @property
    def leagues(self) -> SyncLeagues:
        """Cohorts and seasons of players, and what a proposed league would have done."""
        return SyncLeagues(self._call)

    @property
    def explain(self) -> SyncExplanations:
        """Which score a rank needs, and which of a player's events count and why."""
        return SyncExplanations(self._call)

    @property
    def admin(self) -> SyncAdministration:
        """What is done to boards as wholes: definitions, resets, proof, repair, imports, and the keeper."""
        return SyncAdministration(self._call)

    # -- writing --------------------------------------------------------------------------------------------------------

    def submit(
        self,
        board: str,
        player_id: str,
        score: Number,
        *,
        at: datetime | str | None = None,
        segments: Mapping[str, str] | None = None,
        game_id: str | None = None,
        metadata: Any = None,
        windows: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        play_token: str | None = None,
        name: str | None = None,
        avatar_url: str | None = None,
        explain: bool = False,
    ) -> Receipt:
        """Submit a score. When this returns, it is durable; a receipt that is `pending` is not ranked yet. A `play_token` counts once.

        `name` and `avatar_url` go to the player's profile.

        On a `sum` board it is a correction: it sets the score in the board's first window, or in the first of `windows`; the same
        difference counts in the rest of these. Other windows do not change.
        """
        fields: dict[str, Any] = {"player_id": player_id, "score": sendable("score", score), "at": at, "segments": segments}
        fields |= {"game_id": game_id, "play_token": play_token} | ({} if windows is None else {"windows": list(windows)})
        fields |= {"name": name, "avatar_url": avatar_url}
        return self._call(_submission(board, ("scores", explain), fields, metadata, idempotency_key))

    def increment(
        self,
        board: str,
        player_id: str,
        amount: Number,
        *,
        at: datetime | str | None = None,
        segments: Mapping[str, str] | None = None,
        game_id: str | None = None,
        metadata: Any = None,
        idempotency_key: str | None = None,
        play_token: str | None = None,
        name: str | None = None,
        avatar_url: str | None = None,
        explain: bool = False,
    ) -> Receipt:
        """Add an amount to a player's score: on `sum` and `last` boards, and on `best` boards with `increments`.

        A `play_token` counts once.
        """
        fields = {"player_id": player_id, "amount": sendable("amount", amount), "at": at, "segments": segments, "game_id": game_id}
        fields |= {"play_token": play_token, "name": name, "avatar_url": avatar_url}
        return self._call(_submission(board, ("increments", explain), fields, metadata, idempotency_key))

    def submit_many(
        self,
        board: str,
        entries: Sequence[Entry | KeepscoreError],
        *,
        results: bool = False,
        backfill: bool = False,
        idempotency_key: str | None = None,
    ) -> BatchReceipt:
        """Submit up to 10,000 entries; bad ones are rejected one by one. With `backfill`, scores count in closed windows, too.

        An error in place of an entry becomes that entry's rejection.
        """
        batch = BatchCall(entries)
        path, query = ("boards", board, "scores", "batch"), {"results": results, "backfill": backfill}
        call = change(
            *(batch.receipt(BatchReceipt), "POST", *path),
            query=query,
            body=batch.body,
            key=RequestKey(idempotency_key, in_body=batch.has_keys and idempotency_key is None, may_spool=True),
        )
        return self._call(call)

    def check_many(self, board: str, entries: Sequence[Entry | KeepscoreError], *, backfill: bool = False) -> BatchReceipt:
        """Return how many of up to 10,000 entries `submit_many` would accept, and which it would reject. Nothing is recorded."""
        batch = BatchCall(entries)
        query = {"dry_run": True, "backfill": backfill}
        return self._call(read(batch.receipt(BatchReceipt), "boards", board, "scores", "batch", query=query, body=batch.body))

    # -- reading --------------------------------------------------------------------------------------------------------

    def top(
        self,
        board: str,
        *,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        min: int | Decimal | None = None,
        max: int | Decimal | None = None,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> Top:
        """Return a page of a ranking, by `offset` or `cursor`; with `min` or `max`, only players in that score range.

        A shadowed `viewer` is among them. With `min_seq`, the `position` of a receipt or an answer, this waits until the ranking is
        there. So do all reads.
        """
        page = {"limit": limit, "offset": offset, "cursor": cursor, "min": min, "max": max}
        query = {**page, **view_of(window, window_id, segment, rank, min_seq, viewer=viewer)}
        return self._call(read(decoder(Top), "boards", board, "top", query=query))

    def rank(
        self,
        board: str,
        player_id: str,
        *,
        around: int = 0,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> PlayerPlace:
        """Return where a player stands, with `around` players above and below, as they see it or as another `viewer` does."""
        query = {"around": around, **view_of(window, window_id, segment, rank, min_seq, viewer=viewer)}
        return self._call(read(decoder(PlayerPlace), "boards", board, "players", player_id, query=query))

    def around(
        self,
        board: str,
        center_rank: int,
        *,
        around: int = 50,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> Around:
        """Return the players around a rank; a shadowed `viewer` may be among them."""
        query = {"around": around, **view_of(window, window_id, segment, rank, min_seq, viewer=viewer)}
        return self._call(read(decoder(Around), "boards", board, "ranks", str(center_rank), query=query))

    def lookup(
        self,
        board: str,
        player_ids: Sequence[str],
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> Lookup:
        """Return the ranks of up to 1,000 players, such as a player's friends, in rank order; a shadowed `viewer` may be among them."""
        query, body = view_of(window, window_id, segment, rank, min_seq, viewer=viewer), {"player_ids": player_ids}
        return self._call(read(decoder(Lookup), "boards", board, "players", "lookup", query=query, body=body))

    def count(
        self,
        board: str,
        min: int | Decimal | None = None,
        max: int | Decimal | None = None,
        *,
        window: str | None = None,
        window_id: str | None = None,
        segment: str | None = None,
        min_seq: str | None = None,
        viewer: str | None = None,
    ) -> Count:
        """Return how many players there are, or how many have a score from `min` to `max`; a shadowed `viewer` is counted."""
        query = {"min": min, "max": max, **view_of(window, window_id, segment, min_seq=min_seq, viewer=viewer)}
        return self._call(read(decoder(Count), "boards", board, "count", query=query))

    def view(
        self,
        board: str,
        player_id: str | None = None,
        *,
        top: int = 10,
        around: int = 5,
        friends: int = 10,
        windows: Sequence[str] | None = None,
        segment: str | None = None,
        rank: str | None = None,
    ) -> BoardView:
        """Return what one screen shows: the top, the player, those around and the first friends, in some windows (None: all)."""
        query = {"player_id": player_id, "top": top, "around": around, "friends": friends, "segment": segment, "rank": rank}
        query["windows"] = None if windows is None else ",".join(windows)
        return self._call(read(decoder(BoardView), "boards", board, "view", query=query))

    def distribution(
        self, board: str, *, bins: int = 24, window: str | None = None, window_id: str | None = None, segment: str | None = None
    ) -> Distribution:
        """Return how many players have which scores, in up to `bins` equal parts of the range."""
        query = {"bins": bins, **view_of(window, window_id, segment)}
        return self._call(read(decoder(Distribution), "boards", board, "distribution", query=query))

    def begin_play(self, board: str, player_id: str, *, build: str | None = None) -> NewPlay:
        """Begin a play: a score with its token counts once. `build` is the version of the game. Nothing is recorded yet."""
        return self._call(read(decoder(NewPlay), "boards", board, "plays", body={"player_id": player_id, "build": build}))

    def standings(self, player_id: str, *, cursor: str | None = None, limit: int = 100) -> PlayerStandings:
        """Return where a player stands now on every board that the key or token may read, by the boards' names; those behind a `cursor`."""
        query = {"player_id": player_id, "cursor": cursor, "limit": limit}
        return self._call(read(decoder(PlayerStandings), "me", "standings", query=query))

    # -- whether it works -----------------------------------------------------------------------------------------------

    def ready(self) -> list[str]:
        """Return what is broken, if anything; raise an error if nothing can be served. It is asked once."""
        return self._call(read(reasons_of, "readyz", under=""), attempts=1)


def _submission(board: str, route: tuple[str, bool], fields: dict[str, Any], metadata: Any, key: str | None) -> Call[Receipt]:
    body = {**fields, "metadata": metadata, "idempotency_key": key}
    query = {"explain": True} if route[1] else None
    taken = RequestKey(key, in_body=key is not None, may_spool=True)
    return change(decoder(Receipt), "POST", "boards", board, route[0], query=query, body=body, key=taken)
