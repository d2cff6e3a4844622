"""The real embedded engine as a server that several processes share, in the way of Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable, Mapping, Sequence, Set
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.ordering import Place, Row
from keepscore.domain.scoring import State
from keepscore.errors import EngineUnavailable, RankingLost
from keepscore.storage.engines.base import Batch, Gap, Loaded, LockSupport, Outcome, Page, Ranking, RankingEngine, SpoolSupport
from keepscore.storage.engines.embedded.board import EmbeddedBoard
from keepscore.storage.engines.embedded.engine import EmbeddedEngine
from keepscore.storage.engines.embedded.ranking import EmbeddedRanking
from keepscore.storage.engines.redis.layouts import fingerprint

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
    #: The highest number of a writer.
    writers: dict[str, int]
    #: Rankings of which something is gone.
    lost: set[Ranking]

    def copy(self) -> Data:
        """The same, apart."""
        spools = {board: dict(entries) for board, entries in self.spools.items()}
        return Data(_copied(self.boards), dict(self.epochs), spools, dict(self.locks), dict(self.writers), set(self.lost))


class EngineServer:
    """The rankings that all processes share."""

    def __init__(self) -> None:
        self.engine = EmbeddedEngine()
        #: How often something was lost. Shadows of before are gone then.
        self.generation = 0
        self._replica: Data | None = None
        #: Entries of spools and tokens of locks are counted.
        self.counter = count(1)
        #: Whether the next script to apply something fails midway.
        self.is_failing = False
        self._become(Data({}, {}, {}, {}, {}, set()))

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
        return any(board.needs_restate for board in self.data.boards.values())

    def wipe(self) -> None:
        """Come back empty."""
        self.generation += 1
        self._become(Data({}, {}, {}, {}, {}, set()))

    def lose(self) -> None:
        """Lose one ranking of each board, as an eviction or somebody else's DEL does."""
        for board in self.data.boards.values():
            if board.rankings:
                ranking = min(board.rankings)
                del board.rankings[ranking]
                self.data.lost.add(ranking)

    def break_up(self, board_id: int) -> None:
        """Forget for what a board's rankings are made, as a script does before it changes them."""
        self.data.epochs[board_id] = ""

    def fail(self) -> None:
        """Let the next script that applies something fail midway."""
        self.is_failing = True

    def fail_midway(self, batch: Batch) -> None:
        """Do half of what a script does."""
        half = batch._replace(updates=batch.updates[: (len(batch.updates) + 1) // 2], upto=batch.after + 1, spool="")
        _at_once(self.engine.apply([half]))
        self.engine._boards[batch.board].applied[batch.writer] = batch.after
        self.break_up(batch.board)

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
        copy.seen, copy.needs_restate = board.seen, set(board.needs_restate)
        for name, ranking in board.rankings.items():
            other = copy.rankings[name] = EmbeddedRanking(board.board)
            other.keys, other.ladder, other.expiry = dict(ranking.keys), ranking.ladder.copy(), ranking.expiry
    return copies


def _at_once(call: Coroutine[Any, Any, T]) -> T:
    """What a coroutine answers that awaits nothing."""
    try:
        call.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    raise AssertionError("a step of the engine waited for something")


class SimulatedEngine(RankingEngine, SpoolSupport, LockSupport):
    """One process's connection to the server."""

    is_shared = True

    def __init__(self, process: Process, server: EngineServer) -> None:
        self.spool = self.locks = self
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

    @property
    def home(self) -> str:
        return "simulated"

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

    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int], seq: int = 0) -> None:
        generation = self._server.generation
        await self._own.load(board_id, board, states, applied, seq)
        self._begun[board_id] = generation
        await self._call(f"load {board.name}", lambda: None)

    async def promote(self, board_id: int, was_here: bool = False) -> None:
        shadow = self._own._shadows.get(board_id)
        if shadow is None:
            raise EngineUnavailable("the rankings were replaced in the meantime: try again")
        epoch = fingerprint(shadow.board)

        def step() -> None:
            self._server.engine._boards.pop(board_id, None)
            self._server.data.epochs.pop(board_id, None)
            if self._knows(board_id, shadow=True):
                self._server.data.lost.difference_update([ranking for ranking in self._server.data.lost if ranking.board == board_id])
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

    async def disown(self, board_id: int) -> None:
        await self._call(f"disown {board_id}", lambda: self._server.data.epochs.pop(board_id, None))

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
            if not batch.shadow and any(ranking in self._server.data.lost for update in batch.updates for ranking in update.rankings):
                self._server.break_up(batch.board)
                raise Gap(batch.board, None)
        first = batches[0]
        if (
            self._server.is_failing
            and not first.shadow
            and self._server.data.boards[first.board].applied.get(first.writer, 0) == first.after
        ):
            self._server.is_failing = False
            self._server.fail_midway(first)
            raise EngineUnavailable("a script failed midway")
        answers = _at_once(self._side(batches[0].shadow).apply(batches))
        for batch, outcomes in zip(batches, answers, strict=True):
            # One that was applied before has no outcomes, and is kept already.
            if batch.spool and outcomes:
                self._server.data.spools.setdefault(batch.board, {})[f"{next(self._server.counter):09}"] = batch.spool
        return answers

    async def highest_writer(self) -> int:
        return int(await self._call("highest writer", lambda: self._server.data.writers.get("highest", 0)))

    async def note_writer(self, number: int) -> None:
        def step() -> None:
            self._server.data.writers["highest"] = max(number, self._server.data.writers.get("highest", 0))

        await self._call(f"note writer {number}", step)

    async def entries(self, board_id: int, limit: int, after: str = "") -> list[tuple[str, bytes]]:
        def step() -> list[tuple[str, bytes]]:
            entries = self._server.data.spools.get(board_id, {})
            return [(name, text.encode()) for name, text in islice(((n, t) for n, t in entries.items() if n > after), limit)]

        found: list[tuple[str, bytes]] = await self._call(f"spooled {board_id}", step)
        return found

    async def drop(self, board_id: int, names: Sequence[str], needs_restate: Iterable[tuple[Ranking, str]] = (), seq: int = 0) -> None:
        def step() -> None:
            for name in names:
                self._server.data.spools.get(board_id, {}).pop(name, None)
            if found := self._server.data.boards.get(board_id):
                found.needs_restate |= set(needs_restate)
                found.seen = found.seen._replace(seq=max(seq, found.seen.seq))

        await self._call(f"unspool {board_id} {names}", step)

    async def size(self, board_id: int) -> int:
        return int(await self._call(f"size {board_id}", lambda: len(self._server.data.spools.get(board_id, {}))))

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

    async def needs_restate(self, board_id: int) -> list[tuple[Ranking, str]]:
        return sorted(await self._ask(f"needs_restate {board_id}", lambda engine: engine.needs_restate(board_id)))

    async def settle(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State | None]],
        upto: Mapping[int, int],
        advanced: Mapping[int, int],
        shadow: bool = False,
    ) -> bool:
        def step() -> bool:
            return self._knows(board_id, shadow) and _at_once(self._side(shadow).settle(board_id, states, upto, advanced, shadow))

        return bool(await self._call(f"settle {board_id}", step))

    async def restate_all(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State | None]],
        shadow: bool = False,
        upto: Mapping[int, int] | None = None,
        returned: Set[tuple[Ranking, str]] = frozenset(),
    ) -> bool:
        def step() -> bool:
            side = self._side(shadow)
            return self._knows(board_id, shadow) and _at_once(side.restate_all(board_id, states, shadow, upto, returned))

        return bool(await self._call(f"restate {board_id} {states}", step))

    async def expire(self, now: int) -> None:
        await self._ask("expire", lambda engine: engine.expire(now))

    # -- reading --------------------------------------------------------------------------------------------------------

    async def _read(self, what: str, ranking: Ranking, call: Any) -> Any:
        """Ask something of a ranking that is whole."""
        return await self._read_all(f"{what} {ranking[1:]}", [ranking], call)

    async def _read_all(self, what: str, rankings: Iterable[Ranking], call: Any) -> Any:
        def step() -> Any:
            for ranking in rankings:
                if self._is_lost(ranking):
                    raise RankingLost("something is lost", ranking)
            return _at_once(call(self._server.engine))

        return await self._call(what, step)

    def _is_lost(self, ranking: Ranking) -> bool:
        return not self._knows(ranking.board) or ranking in self._server.data.lost

    async def give_up(self, ranking: Ranking) -> None:
        def step() -> None:
            if self._is_lost(ranking) and self._knows(ranking.board):
                self._server.break_up(ranking.board)

        await self._call(f"give_up {ranking[1:]}", step)

    async def states(self, ranking: Ranking, players: Sequence[str]) -> list[State | None]:
        found: list[State | None] = await self._read(f"states {players}", ranking, lambda engine: engine.states(ranking, players))
        return found

    async def states_in(self, wanted: Mapping[Ranking, Collection[str]]) -> dict[Ranking, dict[str, State | None]]:
        found: dict[Ranking, dict[str, State | None]] = await self._read_all(
            f"states {wanted}", wanted, lambda engine: engine.states_in(wanted)
        )
        return found

    async def peaks(self, rankings: Sequence[Ranking]) -> list[int]:
        found: list[int] = await self._read_all(f"peaks {rankings}", rankings, lambda engine: engine.peaks(rankings))
        return found

    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        (found,) = await self.places(ranking, [player])
        return found

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        found: list[Place | None] = await self._read(f"places {players}", ranking, lambda engine: engine.places(ranking, players))
        return found

    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        found: Page = await self._read("page", ranking, lambda engine: engine.page(ranking, offset, limit))
        return found

    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        found: Page = await self._read("page_after", ranking, lambda engine: engine.page_after(ranking, row, limit))
        return found

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        return int(await self._read("count", ranking, lambda engine: engine.count(ranking, low, high)))

    async def rankings(self, board_id: int) -> list[Ranking]:
        def step() -> list[Ranking]:
            if not self._knows(board_id):
                raise RankingLost("something is lost", Ranking(board_id, "all_time", "all_time", ""))
            lost = [ranking for ranking in self._server.data.lost if ranking.board == board_id]
            return sorted({*_at_once(self._server.engine.rankings(board_id)), *lost})

        found: list[Ranking] = await self._call(f"rankings {board_id}", step)
        return found
