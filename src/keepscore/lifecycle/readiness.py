"""Whether the process can serve, and what does not work."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from keepscore.errors import EngineUnavailable, KeepscoreError, LedgerUnavailable, RankingLost
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking
from keepscore.writing.parts import WriteParts

__all__ = ["Readiness"]

#: Unreadable events that are named.
MAX_UNREADABLE = 10


class Readiness:
    """Tries ledger and engine out, and tells what waits. `unloaded` are boards that could not be loaded at the start."""

    def __init__(self, parts: WriteParts, unloaded: Mapping[int, EngineUnavailable]) -> None:
        self._catalog, self._ledger, self._engine, self._clock = parts.stores
        self._behind = parts.behind
        self._spool = parts.spool
        self._watch = parts.watch
        self._quarantine = parts.healing.quarantine
        self._unloaded = unloaded

    async def reasons(self) -> list[str]:
        """Return why not everything works, if that is so; raise the error where no board can take a score."""
        boards = list(self._catalog)
        ledger = await self._ledger_error()
        engine = {live.name: error for live in boards if (error := await self._board_error(live)) is not None}
        # With one of the two, eventual boards take scores.
        stopped = [live for live in boards if live.is_strong and (ledger or live.name in engine)]
        stopped += [live for live in boards if not live.is_strong and ledger and (live.name in engine or self._engine.spool is None)]
        if ledger is not None and (not boards or len(stopped) == len(boards)):
            raise ledger
        if boards and len(stopped) == len(boards):
            raise next(iter(engine.values()))
        found = [] if ledger is None else [f"the ledger: {ledger}"]
        if self._spool.reason is not None:
            found.append(f"scores are kept in the engine for the ledger: {self._spool.reason}")
        found += _by_error(engine)
        for ranking, why in self._engine.taken().items():
            name = next((live.name for live in boards if live.id == ranking.board), "")
            found.append(f"board {name!r}, {ranking.window_id}{f', {ranking.segment}' if ranking.segment else ''}: {why}")
        found += [reason for live in boards for reason in self._quarantine.reasons(live)]
        names = {live.id: live.name for live in boards}
        found += [
            f"board {names[board]!r}: event {n} of writer {writer} cannot be read, and is left out: {why}"
            for (board, writer, n), why in list(self._ledger.events.unreadable.items())[:MAX_UNREADABLE]
            if board in names
        ]
        if self._behind.since:
            found.append("recorded scores wait to be ranked")
        return found

    async def _ledger_error(self) -> LedgerUnavailable | None:
        try:
            await self._ledger.probe(self._clock())
        except LedgerUnavailable as exc:
            return exc
        return None

    async def _board_error(self, live: LiveBoard) -> KeepscoreError | None:
        """Return what keeps the engine from ranking scores of a board."""
        try:
            self._watch.check(live)
            if not self._engine.is_shared:
                return None
            await self._engine.probe(live.id)
            if await self._engine.applied(live.id) is None:
                return EngineUnavailable("its rankings are being rebuilt")
        except RankingLost as exc:
            with suppress(EngineUnavailable):
                # The next one to catch up rebuilds it.
                await self._engine.give_up(Ranking(*exc.ranking))
            return exc
        except EngineUnavailable as exc:
            return exc
        return self._unloaded.get(live.id)


def _by_error(errors: Mapping[str, KeepscoreError]) -> list[str]:
    """Return each error once, with the boards that it concerns."""
    boards: dict[str, list[str]] = {}
    for name, error in errors.items():
        boards.setdefault(str(error), []).append(name)
    return [f"board {', '.join(map(repr, names))}: {error}" for error, names in boards.items()]
