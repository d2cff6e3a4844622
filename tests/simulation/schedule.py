"""One schedule from its seed: trouble, then quiet, then the verdict."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import NamedTuple

from tests.simulation.checker import behind, objections
from tests.simulation.clients import Client, Request
from tests.simulation.engine import SimulatedEngine
from tests.simulation.ledger import SimulatedLedger
from tests.simulation.world import Process, World

__all__ = ["Verdict", "run_schedule"]

#: Seconds that the keepers have to bring everything in order, that they have to restate players, and between two looks.
PATIENCE, RESTATING, PAUSE = 60, 4, 0.5


class Verdict(NamedTuple):
    """What a schedule came to."""

    seed: int
    objections: list[str]
    trace: list[str]
    requests: int
    acknowledged: int
    crashes: int


def run_schedule(
    seed: int,
    engine: type[SimulatedEngine] = SimulatedEngine,
    ledger: type[SimulatedLedger] = SimulatedLedger,
    tracing: bool = False,
    amends: bool = True,
) -> Verdict:
    """Run one schedule. The same seed gives the same schedule, wherever it runs.

    `amends`: in the end, players are restated whose restatement went with a process that crashed or with an engine that fell back
    behind it, or was left behind by a late call. Nobody else knows of them.
    """
    logging.getLogger("keepscore").setLevel(logging.CRITICAL)
    world = World(seed, engine, ledger, tracing)
    # What there is stays until the end; to look through it for garbage meanwhile takes a third of the time.
    gc.disable()
    try:
        requests, found = world.loop.run(_schedule(world, amends))
    finally:
        world.end()
        gc.enable()
    return Verdict(seed, found, world.trace, len(requests), sum(1 for r in requests if r.receipts), world.crashes)


async def _schedule(world: World, amends: bool) -> tuple[list[Request], list[str]]:
    await world.start_process()
    world.network.is_calm = False
    clients = [Client(world, name) for name in "abc"[: world.dice.choice((1, 2, 3))]]
    wanted = world.dice.choice((1, 2, 2, 3))
    supervisor = asyncio.get_running_loop().create_task(_supervise(world, wanted))
    await asyncio.gather(*[client.run(world.dice.choice((3, 6, 12))) for client in clients])
    world.network.calm()
    world.note("quiet from now on")
    supervisor.cancel()
    requests = [request for client in clients for request in client.requests]
    if not world.living():
        await world.start_process()
    if not await _settled(world):
        return requests, ["the engine does not catch up with the ledger"]
    # Whoever was not answered, or wants to be sure, asks again; and every process takes something new.
    for request in requests:
        if request.key and (not request.receipts or world.dice.random() < 0.3):
            await request.insist(world)
    for process in world.living():
        requests.append(clients[0].made())
        await requests[-1].insist(world, process)
    if not await _settled(world):
        return requests, ["the engine does not catch up with the ledger after retries"]
    process = world.living()[0]
    if amends and (world.crashes or world.server.generation or world.network.was_late):
        await process.do(lambda: _make_amends(world, process))
    return requests, await objections(world, process, requests)


async def _make_amends(world: World, process: Process) -> None:
    for ranking, player in list(world.server.owed):
        live = next(live for live in process.lb._catalog if live.id == ranking.board)
        world.note(f"{player} was never restated in {ranking}")
        await process.lb._applier._restate(live, player, [ranking])


async def _supervise(world: World, wanted: int) -> None:
    """Start processes when there are too few."""
    while True:
        if len(world.living()) < wanted:
            await world.start_process()
        await asyncio.sleep(world.dice.random() * 0.5)


async def _settled(world: World) -> bool:
    """Wait until the engine is where the ledger is and late calls have come in."""
    for look in range(int(PATIENCE / PAUSE)):
        await asyncio.sleep(PAUSE)
        if not world.network.late and not behind(world) and (not world.server.owed or look * PAUSE >= RESTATING):
            return True
    return False
