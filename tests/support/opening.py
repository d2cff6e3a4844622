"""Leaderboards with parts that a test brings along, and a keeper that it drives by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from keepscore import Board, Leaderboards
from keepscore.connect import engine_from_url, ledger_from_url
from keepscore.domain.durations import duration_ms
from keepscore.domain.friends import ONE_WAY, FriendRules
from keepscore.domain.mirrors import NO_MIRROR, MirrorKeys
from keepscore.leaderboards import now_ms
from keepscore.runtime import KeeperMode, RuntimeSettings
from keepscore.storage.engines.base import RankingEngine
from keepscore.storage.ledgers.base import Ledger

__all__ = ["leaderboards"]


def leaderboards(
    ledger: str | Ledger,
    engine: str | RankingEngine = "embedded://",
    boards: Iterable[Board] = (),
    clock: Callable[[], int] = now_ms,
    keeper: KeeperMode = "manual",
    keep_events: str = "forever",
    friends: FriendRules = ONE_WAY,
    mirror: MirrorKeys = NO_MIRROR,
) -> Leaderboards:
    """Return leaderboards on a ledger and an engine, or on those at URLs. A manual keeper does its jobs when a test calls them."""

    def connect() -> tuple[Ledger, RankingEngine]:
        rankings = engine_from_url(engine, clock) if isinstance(engine, str) else engine
        return ledger_from_url(ledger, shared=rankings.is_shared) if isinstance(ledger, str) else ledger, rankings

    keep_events_ms = None if keep_events == "forever" else duration_ms(keep_events)
    settings = RuntimeSettings(boards=tuple(boards), keep_events_ms=keep_events_ms, keeper=keeper, friends=friends, mirror=mirror)
    return Leaderboards(connect, clock, settings)
