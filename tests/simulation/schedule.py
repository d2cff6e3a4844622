"""One schedule from its seed: trouble, then quiet, then the verdict."""

from __future__ import annotations

import asyncio
import gc
import logging
from random import Random
from typing import NamedTuple
from unittest.mock import patch

from keepscore.writing.writer import WORTHWHILE_SUBMISSIONS
from tests.simulation.checker import behind, objections
from tests.simulation.clients import Client, Request
from tests.simulation.engine import SimulatedEngine
from tests.simulation.ledger import SimulatedLedger
from tests.simulation.loop import Stuck
from tests.simulation.moderators import moderate
from tests.simulation.world import OFF_MS, Process, World

__all__ = ["Verdict", "run_schedule"]

#: Seconds that the keepers have to bring everything in order, and between two looks.
PATIENCE, PAUSE = 60, 0.5
#: Seconds within which the keeper takes back what should not be ranked, and to spare.
TAKEN_BACK = 2.0
#: Milliseconds between two checkpoints, and after which a keeper takes a writer for dead: less than in life.
CHECKPOINT_MS, GAP_MS = 2000, 1000


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
    restoring: bool = False,
    judging: bool = False,
) -> Verdict:
    """Run one schedule, with an older ledger that comes back, with a moderator, or without. A seed gives the same schedule everywhere."""
    log = logging.getLogger("keepscore")
    level = log.level
    log.setLevel(logging.CRITICAL)
    world = World(seed, engine, ledger, tracing, is_moderated=judging)
    # What there is stays until the end; to look through it for garbage meanwhile takes a third of the time.
    gc.disable()
    try:
        # How long work takes is not for the seed to say.
        rests = patch("keepscore.storage.pace.LONGEST_S", 0.0)
        # Every other schedule has groups that are recorded beside others though they are small, as all are here.
        beside = patch("keepscore.writing.writer.WORTHWHILE_SUBMISSIONS", 1 if seed % 2 else WORTHWHILE_SUBMISSIONS)
        with (
            patch("keepscore.lifecycle.jobs.checkpoints.CHECKPOINT_EVERY_MS", CHECKPOINT_MS),
            patch("keepscore.lifecycle.jobs.dead_writers.GAP_MS", GAP_MS),
            rests,
            beside,
        ):
            requests, found = world.loop.run(_schedule(world, *(Random(seed) if wanted else None for wanted in (restoring, judging))))
    except Stuck as exc:
        requests, found = [], [str(exc)]
    finally:
        world.end()
        gc.enable()
        log.setLevel(level)
    return Verdict(seed, found, world.trace, len(requests), sum(1 for r in requests if r.receipts), world.crashes)


async def _schedule(world: World, restoring: Random | None, judging: Random | None) -> tuple[list[Request], list[str]]:
    await world.start_process()
    world.back_up()
    world.network.is_calm = False
    clients = [Client(world, name) for name in "abc"[: world.dice.choice((1, 2, 3))]]
    wanted = world.dice.choice((1, 2, 2, 3))
    around = [world.loop.create_task(_supervise(world, wanted))]
    if world.dice.random() < 0.35:
        around.append(world.loop.create_task(world.network.flap()))
    if restoring is not None:
        around.append(world.loop.create_task(_restore(world, restoring)))
    if judging is not None:
        around.append(world.loop.create_task(moderate(world, judging)))
    await asyncio.gather(*[client.run(world.dice.choice((3, 6, 12))) for client in clients])
    for task in around:
        task.cancel()
    world.network.calm()
    world.note("quiet from now on")
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
    requests += await _correct(world)
    if not await _settled(world):
        return requests, ["the engine does not catch up with the ledger after retries"]
    if judging is not None:
        # Whoever was ranked by a process that did not know better is taken back within a second.
        await asyncio.sleep(TAKEN_BACK)
    process = world.living()[0]
    await _look_at_all(world, process)
    return requests, await objections(world, process, requests)


async def _look_at_all(world: World, process: Process) -> None:
    """Read every ranking: what is lost, and nobody has noticed, is rebuilt by whoever looks at it."""
    for ranking in sorted(world.server.data.lost):
        live = next(live for live in process.lb.runtime.catalog if live.id == ranking.board)
        await process.do(
            lambda live=live, r=ranking: process.lb.top(live.name, window=r.window, window_id=r.window_id, segment=r.segment or None)
        )


async def _correct(world: World) -> list[Request]:
    """Send the same scores through all processes at once to sum boards, on which they are worked out from those that there are."""
    sent = []
    for board in world.boards:
        for score in (40, 25) if board.operator == "sum" else ():
            together = [Request(f"{board.name}{score}-{i}", board, "score", "dan", score) for i in range(len(world.living()))]
            await asyncio.gather(*[r.insist(world, p) for r, p in zip(together, world.living(), strict=True)])
            for request in together:
                request.expect(score)
            sent += together
    return sent


async def _supervise(world: World, wanted: int) -> None:
    """Start processes when there are too few, and set their clocks now and then."""
    while True:
        if len(world.living()) < wanted:
            await world.start_process()
        if world.dice.random() < 0.2:
            world.dice.choice(world.processes).off_ms = world.dice.choice(OFF_MS)
        await asyncio.sleep(world.dice.random() * 0.5)


async def _restore(world: World, dice: Random) -> None:
    """Have an older ledger come back now and then."""
    pace = dice.choice((0.05, 0.3, 1.5))
    while True:
        await asyncio.sleep(dice.random() * pace)
        if dice.random() < 0.7:
            world.back_up()
        await asyncio.sleep(dice.random() * pace)
        world.restore()


def _is_troubled(process: Process) -> bool:
    """Whether a process spools, or has yet to find out what the ledger has lost."""
    lb = process.lb
    return lb.runtime.spool.reason is not None or lb.runtime.watch.has_doubts or not lb.runtime.ledger.identity.is_confirmed


async def _settled(world: World) -> bool:
    """Wait until engine and ledger have the same, everybody is restated, late calls have come in, and nobody spools any more."""
    for _ in range(int(PATIENCE / PAUSE)):
        await asyncio.sleep(PAUSE)
        if not world.network.late and not behind(world) and not any(_is_troubled(process) for process in world.living()):
            return True
    return False
