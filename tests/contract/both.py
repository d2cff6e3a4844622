"""Leaderboards whose rankings are in a Redis, in a database that is empty at first."""

import itertools
from contextlib import asynccontextmanager

import redis

from tests.contract.backends import redis_url
from tests.support.opening import leaderboards

_databases = itertools.cycle(range(1, 16))


def own_redis():
    """A database that is empty; other tests use the first."""
    url = f"{redis_url().removesuffix('/0')}/{next(_databases)}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@asynccontextmanager
async def over_redis(path, url, clock, *boards):
    async with leaderboards(f"sqlite:///{path}", url, boards, clock) as lb:
        lb.path = path
        yield lb
