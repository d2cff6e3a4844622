import functools
import inspect

import pytest
import redis
from hypothesis import settings

from tests.contract.backends import ENGINES, IN_PROCESS, LEDGERS
from tests.contract.both import over_redis, own_redis
from tests.contract.opened import NOON, Clock, opened

# Time limits for single examples fail on busy machines and say nothing about the code.
settings.register_profile("keepscore", deadline=None)
settings.load_profile("keepscore")


class Checked:
    """An engine whose invariants are verified after every call, where it can do that."""

    def __init__(self, engine):
        self._engine = engine

    def __getattr__(self, name):
        method = getattr(self._engine, name)
        if not inspect.iscoroutinefunction(method):
            return method

        @functools.wraps(method)
        async def checked(*args, **kwargs):
            try:
                return await method(*args, **kwargs)
            finally:
                verdict = getattr(self._engine, "check_invariants", lambda: None)()
                if inspect.isawaitable(verdict):
                    await verdict

        return checked


@pytest.fixture(params=ENGINES)
async def engine(request):
    async with ENGINES[request.param]() as engine:
        yield Checked(engine)


@pytest.fixture(params=IN_PROCESS)
async def volatile(request):
    """An engine whose rankings are gone with the process."""
    async with ENGINES[request.param]() as engine:
        yield Checked(engine)


@pytest.fixture(params=LEDGERS)
async def place(request, tmp_path):
    """Makes ledgers, not open yet, at one place."""
    async with LEDGERS[request.param](tmp_path) as make:
        yield make


@pytest.fixture
async def ledger(place):
    ledger = place()
    await ledger.open(0)
    yield ledger
    await ledger.close()


@pytest.fixture
def clock():
    return Clock(NOON)


@pytest.fixture
def run(tmp_path, clock):
    """Opens leaderboards on one ledger file, again and again."""
    return functools.partial(opened, tmp_path / "scores.db", clock)


@pytest.fixture
def bare():
    """An empty database, and a client that knows nothing of Keepscore."""
    with redis.Redis.from_url(own_redis()) as client:
        yield client


@pytest.fixture
def on_bare(bare, tmp_path, clock):
    """Opens leaderboards on that database, again and again, without a keeper."""
    kwargs = bare.connection_pool.connection_kwargs
    url = f"redis://{kwargs['host']}:{kwargs['port']}/{kwargs['db']}"
    return lambda *boards: over_redis(tmp_path / "scores.db", url, clock, *boards)


@pytest.fixture(params=["embedded", "redis"])
def lbs(request, tmp_path, clock):
    """Opens leaderboards on one ledger file and one engine, again and again."""
    if request.param == "embedded":
        return functools.partial(opened, tmp_path / "scores.db", clock)
    return functools.partial(over_redis, tmp_path / "scores.db", own_redis(), clock)
