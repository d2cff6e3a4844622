"""The real embedded engine as a server that several processes share, in the way of Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from keepscore.boards import Board, RankKind
from keepscore.engines.base import Batch, Gap, Loaded, Outcome, Page, Ranking, RankingEngine
from keepscore.engines.embedded import EmbeddedBoard, EmbeddedEngine, EmbeddedRanking
from keepscore.engines.layouts import fingerprint
from keepscore.errors import EngineUnavailable
from keepscore.ordering import Place, Row
from keepscore.scoring import Kind, State, fold_for

if TYPE_CHECKING:
    from tests.simulation.world import Process

__all__ = ["EngineServer", "SimulatedEngine"]

T = TypeVar("T")


#: Seconds after which a lock is free again, for which it is tried to get one, and between two tries.
LOCK, PATIENCE, PAUSE = 2.0, 3.0, 0.05


class Data(NamedTuple):
    """All that the server keeps, and that a replica has a copy of."""

    boards: dict[int, EmbeddedBoard]
    #: For each board, which definition its rankings are made for.
    epochs: dict[int, str]
    #: What each board keeps for the ledger: entries by their names, the oldest first.
    spools: dict[int, dict[str, str]]
    #: Who holds a board, and until when.
    locks: dict[int, tuple[str, float]]

    def copy(self) -> Data:
        """The same, apart."""
        spools = {board: dict(entries) for board, entries in self.spools.items()}
        return Data(_copied(self.boards), dict(self.epochs), spools, dict(self.locks))


class EngineServer:
    """The rankings that all processes share."""

    def __init__(self) -> None:
        self.engine = EmbeddedEngine()
        #: How often something was lost. Shadows of before are gone then.
        self.generation = 0
        self._replica: Data | None = None
        #: Entries of spools and tokens of locks are counted.
        self.counter = count(1)
        self._become(Data({}, {}, {}, {}))

    @property
    def is_spooling(self) -> bool:
        """Whether something is kept for the ledger."""
        return any(self.data.spools.values())

    def boards_that_keep(self, game: str) -> set[int]:
        """The boards that keep an event of that game for the ledger."""
        quoted = f'"{game}"'
        return {board for board, entries in self.data.spools.items() if any(quoted in text for text in entries.values())}

    def is_late(self) -> bool:
        """Whether somebody is owed a restatement."""
        return any(board.late for board in self.data.boards.values())

    def wipe(self) -> None:
        """Come back empty."""
        self.generation += 1
        self._become(Data({}, {}, {}, {}))

    def replicate(self) -> None:
        """Bring the replica up to date, which gets no further until this is called again."""
        self._replica = self.data.copy()

    def failover(self) -> None:
        """Let the replica take over, however far behind it is."""
        if self._replica is not None:
            self.generation += 1
            self._become(self._replica.copy())

    def _become(self, data: Data) -> None:
        self.data = data
        self.engine._boards = data.boards


def _copied(boards: Mapping[int, EmbeddedBoard]) -> dict[int, EmbeddedBoard]:
    copies = {}
    for number, board in boards.items():
        copy = copies[number] = EmbeddedBoard(board.board, board.applied)
        copy.fold, copy.late = board.fold, set(board.late)
        for name, ranking in board.rankings.items():
            other = copy.rankings[name] = EmbeddedRanking(board.board)
            other.keys, other.ladder, other.expiry = dict(ranking.keys), ranking.ladder.copy(), ranking.expiry
    return copies


def _shared_last(state: State | None, kind: Kind, amount: int, at: int) -> State | None:
    """The fold of `last` where several writers apply at once: of two events of one time the ledger says which comes first."""
    return None if state is not None and at <= state.since else fold_for(Board("last", operator="last"))(state, kind, amount, at)


def _at_once(call: Coroutine[Any, Any, T]) -> T:
    """What a coroutine answers that awaits nothing."""
    try:
        call.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    raise AssertionError("a step of the engine waited for something")


class SimulatedEngine(RankingEngine):
    """One process's connection to the server."""

    spools = True

    def __init__(self, process: Process, server: EngineServer) -> None:
        self._process = process
        self._server = server
        #: The epochs that this process believes in.
        self._epochs: dict[int, str] = {}
        #: This process's shadows, with the server's generation in which they were begun.
        self._own = EmbeddedEngine()
        self._begun: dict[int, int] = {}

    async def _call(self, what: str, execute: Any) -> Any:
        return await self._process.world.network.call(self._process, "engine", what, execute)

    async def _ask(self, what: str, call: Any) -> Any:
        """One question to the engine behind the server, put when the call gets there."""
        return await self._call(what, lambda: _at_once(call(self._server.engine)))

    @property
    def incarnation(self) -> int:
        return self._server.generation

    async def open(self, ledger: str) -> None:
        """There is one ledger only."""

    async def close(self) -> None:
        """There is nothing to let go of."""

    def fits(self, old: Board, new: Board) -> bool:
        return fingerprint(old) == fingerprint(new)

    # -- boards ---------------------------------------------------------------------------------------------------------

    def _knows(self, board_id: int, shadow: bool = False) -> bool:
        if shadow:
            return self._begun.get(board_id) == self._server.generation and board_id in self._own._shadows
        epoch = self._epochs.get(board_id)
        return epoch is not None and self._server.data.epochs.get(board_id) == epoch

    async def adopt(self, board_id: int, board: Board) -> bool:
        epoch = fingerprint(board)
        found = await self._call(f"adopt {board.name}", lambda: self._server.data.epochs.get(board_id) == epoch)
        if found:
            self._epochs[board_id] = epoch
        return bool(found)

    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int]) -> None:
        generation = self._server.generation
        await self._own.load(board_id, board, states, applied)
        if board.operator == "last":
            self._own._shadows[board_id].fold = _shared_last
        self._begun[board_id] = generation
        await self._call(f"load {board.name}", lambda: None)

    async def promote(self, board_id: int) -> None:
        shadow = self._own._shadows.get(board_id)
        if shadow is None:
            raise EngineUnavailable("the rankings were exchanged meanwhile: try again")
        epoch = fingerprint(shadow.board)

        def step() -> None:
            self._server.engine._boards.pop(board_id, None)
            self._server.data.epochs.pop(board_id, None)
            if self._knows(board_id, shadow=True):
                self._server.engine._boards[board_id] = self._own._shadows.pop(board_id)
                self._server.data.epochs[board_id] = epoch

        await self._call(f"promote {shadow.board.name}", step)
        self._own._shadows.pop(board_id, None)
        self._epochs[board_id] = epoch

    async def redefine(self, board_id: int, board: Board, expiries: Mapping[Ranking, int]) -> None:
        def step() -> None:
            if found := self._server.engine._boards.get(board_id):
                found.board = board

        await self._call(f"redefine {board.name}", step)
        self._epochs[board_id] = fingerprint(board)

    async def forget(self, board_id: int) -> None:
        def step() -> None:
            if self._knows(board_id):
                self._server.engine._boards.pop(board_id, None)
                del self._server.data.epochs[board_id]

        await self._call(f"forget {board_id}", step)
        self._epochs.pop(board_id, None)

    # -- writing --------------------------------------------------------------------------------------------------------

    def _side(self, shadow: bool) -> EmbeddedEngine:
        return self._own if shadow else self._server.engine

    async def applied(self, board_id: int, shadow: bool = False) -> dict[int, int] | None:
        def step() -> dict[int, int] | None:
            return _at_once(self._side(shadow).applied(board_id, shadow)) if self._knows(board_id, shadow) else None

        found: dict[int, int] | None = await self._call(f"applied {board_id}", step)
        return found

    async def apply(self, batches: Sequence[Batch]) -> list[list[Outcome]]:
        what = "apply " + ", ".join(f"board {b.board} writer {b.writer} {b.after}→{b.upto}" for b in batches)
        answers: list[list[Outcome]] = await self._call(what, lambda: self.applied_now(batches))
        return answers

    def applied_now(self, batches: Sequence[Batch]) -> list[list[Outcome]]:
        """Apply batches, at the server."""
        for batch in batches:
            if not self._knows(batch.board, batch.shadow):
                raise Gap(batch.board, None)
        answers = _at_once(self._side(batches[0].shadow).apply(batches))
        for batch, outcomes in zip(batches, answers, strict=True):
            # One that was applied before has no outcomes, and is kept already.
            if batch.spool and outcomes:
                self._server.data.spools.setdefault(batch.board, {})[f"{next(self._server.counter):09}"] = batch.spool
        return answers

    async def spooled(self, board_id: int, limit: int) -> list[tuple[str, bytes]]:
        def step() -> list[tuple[str, bytes]]:
            entries = self._server.data.spools.get(board_id, {})
            return [(name, text.encode()) for name, text in islice(entries.items(), limit)]

        found: list[tuple[str, bytes]] = await self._call(f"spooled {board_id}", step)
        return found

    async def unspool(self, board_id: int, names: Sequence[str]) -> None:
        def step() -> None:
            for name in names:
                self._server.data.spools.get(board_id, {}).pop(name, None)

        await self._call(f"unspool {board_id} {names}", step)

    async def hold(self, board_id: int) -> str:
        loop, server = self._process.world.loop, self._server
        token = f"{self._process.number}:{next(server.counter)}"

        def step() -> bool:
            _, until = server.data.locks.get(board_id, ("", 0.0))
            if until > loop.time():
                return False
            server.data.locks[board_id] = token, loop.time() + LOCK
            return True

        deadline = loop.time() + PATIENCE
        while not await self._call(f"hold {board_id}", step):
            if loop.time() > deadline:
                raise EngineUnavailable(f"board {board_id} was held all the time")
            await asyncio.sleep(PAUSE)
        return token

    async def release(self, board_id: int, token: str) -> None:
        def step() -> None:
            locks = self._server.data.locks
            if board_id in locks and locks[board_id][0] == token:
                del locks[board_id]

        await self._call(f"release {board_id}", step)

    async def late(self, board_id: int) -> list[tuple[Ranking, str]]:
        return sorted(await self._ask(f"late {board_id}", lambda engine: engine.late(board_id)))

    async def settle(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State]],
        upto: Mapping[int, int],
        advanced: Mapping[int, int],
        shadow: bool = False,
    ) -> bool:
        def step() -> bool:
            return self._knows(board_id, shadow) and _at_once(self._side(shadow).settle(board_id, states, upto, advanced, shadow))

        return bool(await self._call(f"settle {board_id}", step))

    async def restate(
        self,
        ranking: Ranking,
        player: str,
        state: State | None,
        shadow: bool = False,
        upto: Mapping[int, int] | None = None,
        returned: bool = False,
    ) -> bool:
        def step() -> bool:
            side = self._side(shadow)
            return self._knows(ranking.board, shadow) and _at_once(side.restate(ranking, player, state, shadow, upto, returned))

        return bool(await self._call(f"restate {ranking[1:]} {player} {state}", step))

    async def expire(self, now: int) -> None:
        await self._ask("expire", lambda engine: engine.expire(now))

    # -- reading --------------------------------------------------------------------------------------------------------

    async def states(self, ranking: Ranking, players: Sequence[str]) -> list[State | None]:
        found: list[State | None] = await self._ask(f"states {ranking[1:]} {players}", lambda engine: engine.states(ranking, players))
        return found

    async def place(self, ranking: Ranking, player: str) -> Place | None:
        (found,) = await self.places(ranking, [player])
        return found

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        found: list[Place | None] = await self._ask(f"places {ranking[1:]} {players}", lambda engine: engine.places(ranking, players))
        return found

    async def page(self, ranking: Ranking, offset: int, limit: int) -> Page:
        found: Page = await self._ask(f"page {ranking[1:]}", lambda engine: engine.page(ranking, offset, limit))
        return found

    async def page_after(self, ranking: Ranking, row: Row, limit: int) -> Page:
        found: Page = await self._ask(f"page_after {ranking[1:]}", lambda engine: engine.page_after(ranking, row, limit))
        return found

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        return int(await self._ask(f"count {ranking[1:]}", lambda engine: engine.count(ranking, low, high)))

    async def rankings(self, board_id: int) -> list[Ranking]:
        found: list[Ranking] = await self._ask(f"rankings {board_id}", lambda engine: engine.rankings(board_id))
        return found
