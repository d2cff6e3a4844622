"""The way to the servers and back, and what can go wrong on it.

One thing is taken care of: what was acknowledged while the ledger was away lives in the engine alone until the ledger has it. To lose it
there takes two faults at once, which nobody promises to survive. So nothing is lost from an engine that keeps something for the ledger.
Nor does it lose anything once an older ledger has come back: it knows the numbers of writers then that the ledger has lost.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from keepscore.errors import EngineUnavailable, KeepscoreError, LedgerAway, LedgerUnavailable

if TYPE_CHECKING:
    from tests.simulation.world import Process, World

__all__ = ["FAULTS", "Network"]

T = TypeVar("T")
Place = Literal["engine", "ledger"]

#: What may befall one call, or the world while it is on its way.
FAULTS = (
    "crash before",  # the process dies, and the call with it
    "crash after",  # the process dies, and its call is executed
    "refused",
    "reply lost",
    "late",  # the caller gives up, and the call is executed some time later
    "slow",
    "wipe",  # the engine comes back empty
    "replicate",  # a replica of the engine is complete now, and falls behind from here on
    "failover",  # that replica takes over
    "engine out",
    "ledger out",
)
#: What causes a board to be rebuilt, and so heals much else: not in most schedules.
LOSSES = (
    "lose",  # rankings are gone, and the engine goes on
    "fail",  # a script fails midway
)
#: Seconds that a place is away for, at most.
OUTAGES = {"engine": (0.1, 1, 5), "ledger": (0.3, 2, 6)}


class Network:
    """Carries the calls of all processes. Each schedule has its own mixture of faults."""

    def __init__(self, world: World, dice: Random) -> None:
        self._world = world
        self._dice = dice
        self.is_calm = True
        self._rate = dice.choice((0.005, 0.02, 0.05, 0.1))
        self._faults = [fault for fault in FAULTS if dice.random() < 0.6]
        self._pace = dice.choice((0.0005, 0.003, 0.01))
        self._faults += [fault for fault in LOSSES if dice.random() < 0.2]
        #: Until when each place is away.
        self.away = {"engine": 0.0, "ledger": 0.0}
        #: Calls that are executed after their caller has given up.
        self.late = 0

    async def flap(self) -> None:
        """Let the ledger go away again and again, for a while each time."""
        while True:
            await asyncio.sleep(self._dice.random() * self._dice.choice((0.05, 0.5)))
            self._go_away("ledger")
            await asyncio.sleep(self.away["ledger"] - self._world.loop.time())

    def _go_away(self, place: Place) -> None:
        self.away[place] = self._world.loop.time() + self._dice.random() * self._dice.choice(OUTAGES[place])
        self._world.note(f"the {place} is away until {self.away[place]:.4f}")

    def calm(self) -> None:
        """Nothing goes wrong from now on."""
        self.is_calm = True
        self.away = {"engine": 0.0, "ledger": 0.0}
        self._world.server.is_failing = False

    async def pause(self) -> None:
        """A moment on the way."""
        loop = self._world.loop
        over = loop.create_future()
        loop.call_later(self._dice.random() * self._pace, over.set_result, None)
        await over

    async def call(self, process: Process, place: Place, what: str, execute: Callable[[], T]) -> T:
        """Execute something at a place, and bring back what it answers."""
        await self.pause()
        fault = None
        if not self.is_calm and self._faults and self._dice.random() < self._rate:
            fault = self._dice.choice(self._faults)
            self._world.note(f"{process} → {place} {what}: {fault}")
            await self._befall(process, place, fault, execute)
        if self._world.loop.time() < self.away[place]:
            raise _error(place, f"the {place} is away", known=True)
        answer = self._executed(process, place, what, execute)
        if self._dice.random() < 0.3:
            await self.pause()
        return answer

    def _executed(self, process: Process, place: Place, what: str, execute: Callable[[], T]) -> T:
        if not self._world.tracing:
            return execute()
        try:
            answer = execute()
        except Exception as exc:
            self._world.note(f"{process} → {place} {what}: {type(exc).__name__} {exc}")
            raise
        self._world.note(f"{process} → {place} {what}")
        return answer

    async def _befall(self, process: Process, place: Place, fault: str, execute: Callable[[], Any]) -> None:
        world = self._world
        if fault in ("crash after", "reply lost") and world.loop.time() >= self.away[place]:
            self._quietly(execute)
        if fault in ("crash before", "crash after"):
            process.crash()
            await world.loop.create_future()
        if fault in ("refused", "reply lost", "late"):
            if fault == "late":
                self.late += 1
                delay = self._dice.random() * self._dice.choice((0.05, 3))
                world.loop.call_later(delay, self._overdue, place, execute, context=contextvars.Context())
            await asyncio.sleep(self._dice.random() * self._dice.choice((0.02, 0.5)))
            raise _error(place, fault, known=fault == "refused")
        if fault == "slow":
            await asyncio.sleep(self._dice.random() * 2)
        elif fault in ("engine out", "ledger out"):
            self._go_away("engine" if fault == "engine out" else "ledger")
        elif fault == "replicate":
            world.server.replicate()
        elif fault in ("wipe", "failover", "lose", "fail") and not world.server.is_spooling and not world.restores:
            getattr(world.server, fault)()

    def _overdue(self, place: Place, execute: Callable[[], Any]) -> None:
        self.late -= 1
        if self._world.loop.time() >= self.away[place]:
            self._world.note(f"a late call arrives at the {place}")
            self._quietly(execute)

    @staticmethod
    def _quietly(execute: Callable[[], Any]) -> None:
        """Nobody hears what the call answers."""
        try:
            execute()
        except Exception:
            return


def _error(place: Place, what: str, known: bool) -> KeepscoreError:
    """The error of a call; `known`: it is known that it was not executed."""
    if place == "engine":
        error = EngineUnavailable(what)
        error.nothing_kept = known
        return error
    return LedgerAway(what) if known else LedgerUnavailable(what)
