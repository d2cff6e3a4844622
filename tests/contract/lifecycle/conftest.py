from contextlib import asynccontextmanager
from functools import cached_property

import pytest
import redis

from tests.contract.backends import redis_url
from tests.contract.opened import DAY, NOON, Clock, opened
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres


class Shop:
    """Leaderboards on an engine of each kind, with a keeper that works when it is told to."""

    def __init__(self, folder, engine, clock):
        self.path, self.engine, self.clock = folder / "scores.db", engine, clock

    @cached_property
    def ledger(self):
        return shared_postgres().new_database() if self.engine == "postgres" else f"sqlite:///{self.path}"

    def open(self, *boards, ledger=None):
        url = redis_url() if self.engine == "redis" else "embedded://"
        events = self.ledger if ledger is None else ledger(str(self.path), shared=self.engine == "redis")
        lb = leaderboards(events, url, boards, self.clock)
        lb.path = self.path
        return lb


@pytest.fixture(params=["embedded", "redis"])
def shop(request, tmp_path, clock):
    return Shop(tmp_path, request.param, clock)


@pytest.fixture(params=["embedded", "redis", "postgres"])
def everywhere(request, tmp_path, clock):
    """The same, with a ledger in PostgreSQL, too."""
    return Shop(tmp_path, request.param, clock)


@pytest.fixture(params=["embedded", "redis"])
def on_each_engine(request, tmp_path):
    """Leaderboards on an engine; `lb.bare` is a client of its Redis, if it has one."""

    @asynccontextmanager
    async def embedded(*boards):
        async with opened(tmp_path / "scores.db", Clock(NOON), *boards) as lb:
            lb.bare = None
            yield lb

    @asynccontextmanager
    async def on_redis(*boards):
        with redis.Redis.from_url(redis_url()) as bare:
            bare.flushall()
            async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", redis_url(), boards, clock=Clock(NOON - DAY)) as lb:
                lb.bare = bare
                yield lb

    return embedded if request.param == "embedded" else on_redis
