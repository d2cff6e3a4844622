"""Boards of ten players on both engines, and a client of the Redis that has them."""

import secrets

from keepscore import Board
from keepscore.storage.engines.base import Ranking


def board(**options):
    """A board of a name of its own."""
    return Board(f"b{secrets.token_hex(4)}", windows=["all_time", "daily"], segments=["region"], **options)


async def filled(lb, name):
    """The whole and all-time ranking of a board with ten players."""
    for n in range(10):
        await lb.submit(name, f"p{n}", 10 * n, segments={"region": "eu"})
    await lb.top(name)
    live = lb.runtime.catalog[name]
    return Ranking(live.id, "all_time", "all_time", "")
