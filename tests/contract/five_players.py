"""A board of five players in Redis, and what the tests ask of it."""

from keepscore.errors import EngineUnavailable
from keepscore.storage.engines.base import Ranking

PLAYERS = {f"p{n}": 10 * n for n in range(1, 6)}
EXPECTED = {player: (rank, score) for rank, (player, score) in enumerate(reversed(PLAYERS.items()), 1)}


async def fill(lb, name="b", **fields):
    for player, score in PLAYERS.items():
        await lb.submit(name, player, score, **fields)


def keys_of(lb, segment=""):
    boards = lb.runtime.engine._boards
    known = boards.get(lb.runtime.catalog["b"].id)
    return known, boards.at(known, Ranking(lb.runtime.catalog["b"].id, "all_time", "all_time", segment))


async def shown(lb, **view):
    return {one.player_id: (one.rank, one.score) for one in (await lb.top("b", **view)).standings}


async def reasons(lb):
    """What readiness tells, also where no board takes a score."""
    try:
        return await lb.ready()
    except EngineUnavailable as exc:
        return [str(exc)]
