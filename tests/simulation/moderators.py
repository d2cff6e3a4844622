"""A moderator who decides by the dice: voids, undoes, hides, shadows, restores, and decides about what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import Any

from keepscore.errors import KeepscoreError
from tests.simulation.world import ConnectionLost, Process, World

__all__ = ["moderate"]

PLAYERS = ("ann", "bob", "cem")

#: What somebody does, in words, and the call of it.
Act = tuple[str, Callable[[], Awaitable[Any]]]


async def moderate(world: World, dice: Random) -> None:
    """Decide again and again, through any process."""
    pace = dice.choice((0.02, 0.1, 0.5))
    kinds = (_void, _void, _undo, _undo, _restrict, _restore, _decide)
    while True:
        await asyncio.sleep(dice.random() * pace)
        living = world.living()
        act = _chosen(world, dice, dice.choice(kinds), living) if living else None
        if act is None:
            continue
        process, (what, call) = act
        world.note(f"{process} ← {what}")
        try:
            answer = await process.do(call)
        except (KeepscoreError, ConnectionLost) as exc:
            answer = exc
        world.note(f"{process} answers {what}: {answer}")


def _chosen(world: World, dice: Random, kind: Any, living: list[Process]) -> tuple[Process, Act] | None:
    process = dice.choice(living)
    act = kind(world, dice, process.lb.moderation)
    return None if act is None else (process, act)


def _rows(world: World, sql: str) -> list[str]:
    return [name for (name,) in world.database.execute(sql)]


def _void(world: World, dice: Random, moderation: Any) -> Act:
    board = dice.choice(world.boards)
    fields = dice.choice(({"player_id": dice.choice(PLAYERS)}, {"game_id": f"{dice.choice('abc')}{dice.randrange(9)}"}))
    key = f"v{dice.randrange(3)}" if dice.random() < 0.3 else None
    return f"void {fields} on {board.name}", partial(moderation.void, board.name, "a bot", idempotency_key=key, **fields)


def _undo(world: World, dice: Random, moderation: Any) -> Act | None:
    names = _rows(world, "SELECT name FROM ledger WHERE name LIKE 'void:%' ORDER BY name")
    if not names:
        return None
    void_id = dice.choice(names).removeprefix("void:")
    return f"undo {void_id}", partial(moderation.undo, void_id, "no bot")


def _restrict(world: World, dice: Random, moderation: Any) -> Act:
    player, boards = dice.choice(PLAYERS), dice.choice((None, [dice.choice(world.boards).name]))
    verb = dice.choice(("hide", "hide", "shadow"))
    return f"{verb} {player} on {boards}", partial(getattr(moderation, verb), player, "a bot", boards=boards)


def _restore(world: World, dice: Random, moderation: Any) -> Act:
    player = dice.choice(PLAYERS)
    return f"restore {player}", partial(moderation.restore, player, "no bot")


def _decide(world: World, dice: Random, moderation: Any) -> Act | None:
    waiting = _rows(world, "SELECT id FROM queue WHERE state = 'open' ORDER BY received, id")
    if not waiting:
        return None
    verb, queue_id = dice.choice(("approve", "reject")), dice.choice(waiting)
    return f"{verb} {queue_id}", partial(getattr(moderation, verb), queue_id, "seen")
