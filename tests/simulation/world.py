"""One schedule's world: a ledger, an engine, processes that come and go, and a clock."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import msgspec

from keepscore import Board
from keepscore.errors import KeepscoreError
from tests.simulation.engine import EngineServer, SimulatedEngine
from tests.simulation.ledger import SimulatedLedger, empty_database
from tests.simulation.loop import OWNER, SimulatedLoop
from tests.simulation.network import Network
from tests.support.opening import leaderboards

__all__ = ["OFF_MS", "ConnectionLost", "Process", "World"]

#: How long it takes at least to put an older ledger back, in milliseconds.
RESTORE_MS = 60_000
#: How far clocks of hosts may be off, in milliseconds.
OFF_MS = (0, 0, 50, -50, 1200, -1200)
#: 2026-11-15T23:59:58.500Z, a Sunday: a day and a week end soon.
START = 1_794_787_198_500


#: Rules of boards that are moderated.
RULES = {"max_score": 40, "min_score": -1000, "on_break": "quarantine"}


class ConnectionLost(Exception):
    """The service went away before it answered."""


class World:
    """Everything that a schedule needs. All chance comes from its dice."""

    def __init__(
        self, seed: int, engine: type[SimulatedEngine], ledger: type[SimulatedLedger], tracing: bool, is_moderated: bool = False
    ) -> None:
        self.dice = Random(seed)
        self.tracing = tracing
        self.trace: list[str] = []
        self.loop = SimulatedLoop(Random(self.dice.random()))
        self.network = Network(self, Random(self.dice.random()))
        self.server = EngineServer()
        self.database = empty_database()
        self.boards = _boards(self.dice)
        self.processes: list[Process] = []
        self.crashes = 0
        #: How often an older ledger has come back, and when it did so last.
        self.restores = 0
        #: Whether a moderator decides about what was acknowledged.
        self.is_moderated = is_moderated
        if is_moderated and seed % 2:
            # What is above waits for the moderator.
            self.boards = [msgspec.structs.replace(board, rules=RULES) for board in self.boards]
        self.restored = float("-inf")
        #: The games that were recorded under each board, writer and number, whatever became of them.
        self.identities: dict[tuple[int, int, int], set[str | None]] = {}
        self._backup = empty_database()
        self.engine = engine
        self.ledger = ledger

    def clock(self) -> int:
        """The present, in milliseconds since 1970."""
        return START + int(self.loop.time() * 1000) + self.restores * RESTORE_MS

    def note(self, what: str) -> None:
        """Remember what happened, if somebody wants to know."""
        if self.tracing:
            self.trace.append(f"{self.loop.time():9.4f}  {what}")

    def back_up(self) -> None:
        """Copy the ledger."""
        self.note("the ledger is backed up")
        self.database.backup(self._backup)

    def restore(self) -> None:
        """Put the copy into the ledger's place; everybody is cut off."""
        self.restores += 1
        self.restored = self.loop.time()
        self.note("an older ledger comes back")
        self._backup.backup(self.database)

    async def start_process(self) -> None:
        """Start a process, again and again until it runs."""
        while True:
            process = Process(self)
            self.processes.append(process)
            if await process.start():
                return
            await asyncio.sleep(0.5)

    def living(self) -> list[Process]:
        """The processes that take requests."""
        return [process for process in self.processes if process.is_open and not process.dead]

    def end(self) -> None:
        """Let nothing run any more."""
        for process in self.processes:
            process.dead = True
        self.database.close()
        self._backup.close()


class Process:
    """A real `Leaderboards` with all its tasks, which die together."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.dead = False
        self.is_open = False
        self.number = len(world.processes) + 1
        #: How far its host's clock is off, in milliseconds: it may be put right, or wrong, at any moment.
        self.off_ms = world.dice.choice(OFF_MS)
        self.lb = leaderboards(
            world.ledger(self, world.database),
            world.engine(self, world.server),
            boards=world.boards,
            clock=lambda: world.clock() + self.off_ms,
            keeper="automatic",
        )
        self._context = contextvars.copy_context()
        self._context.run(OWNER.set, self)
        self._open: dict[asyncio.Future[Any], None] = {}

    def __str__(self) -> str:
        return f"process {self.number}"

    async def start(self) -> bool:
        """Answer whether it runs now."""
        try:
            await self.do(self.lb.__aenter__)
        except (KeepscoreError, ConnectionLost) as exc:
            self.world.note(f"{self} did not start: {exc}")
            self.dead = True
            return False
        self.is_open = True
        self.world.note(f"{self} is writer {self.lb.runtime.identity.number}")
        return True

    async def do(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Have something done within the process, from outside; the answer is lost where the process dies."""
        loop = self.world.loop
        answer = loop.create_future()
        self._open[answer] = None

        async def work() -> None:
            try:
                result, error = await call(), None
            except Exception as exc:
                result, error = None, exc
            if not answer.done():
                answer.set_result((result, error))

        task = loop.create_task(work(), context=self._context.copy())
        result, error = await answer
        self._open.pop(answer)
        del task
        if error is not None:
            raise error
        return result

    def crash(self) -> None:
        """Die: nothing of this process runs any more."""
        self.dead = True
        self.world.crashes += 1
        for answer in self._open:
            if not answer.done():
                answer.set_result((None, ConnectionLost(f"{self} went away")))


def _boards(dice: Random) -> list[Board]:
    """Some boards, of all operators over many schedules."""
    choices = [
        [Board("game", windows=["daily", "all_time"], segments=["region"], also=["xp"]), Board("xp", operator="sum", segments=["region"])],
        [Board("run", operator="last", windows=["daily", "all_time"], segments=["region"])],
        [Board("coins", operator="sum", windows=["weekly", "all_time"], also=["level"]), Board("level", operator="last", ties="last")],
        [Board("play", operator="first", windows=["daily"], ties="player")],
        [Board("prize", order="asc", consistency="strong", also=["points"]), Board("points", operator="sum", windows=["daily", "weekly"])],
        [Board("cup", operator="last", consistency="strong", resolution="1s")],
    ]
    return [board for chosen in dice.sample(choices, dice.choice((1, 1, 2, 2))) for board in chosen]
