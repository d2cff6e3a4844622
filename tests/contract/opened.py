"""Leaderboards on a file, with a clock that tests set and parts that they replace."""

import shutil
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from keepscore.domain.scoring import Event
from keepscore.storage.ledgers.sqlite.ledger import SqliteLedger
from tests.contract.driving import live_board, start
from tests.support.opening import leaderboards
from tests.support.wrapping import wrap

#: 2026-11-15T12:00:00Z, a Sunday.
NOON = 1_794_744_000_000
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


class CountingLedger(SqliteLedger):
    """Remembers how many events each append brought."""

    def __init__(self, path):
        super().__init__(path)
        self.appended = []
        wrap(self.events, "append", self._count)

    async def _count(self, append, events, claims, answers, queued=()):
        self.appended.append(len(events))
        return await append(events, claims, answers, queued)


@asynccontextmanager
async def opened(path, clock, *boards, engine=None, ledger=SqliteLedger, keeper="manual"):
    """Leaderboards whose parts are of the given classes."""
    async with leaderboards(ledger(str(path)), "embedded://" if engine is None else engine(), boards, clock, keeper) as lb:
        lb.path = path
        yield lb


async def live_of(lb, name):
    (found,) = [record for record in await lb.runtime.ledger.boards.current() if record.board.name == name]
    return live_board(found.board, found.id, found.version)


async def snapshot(lb, name):
    """All that the engine has of a board, for `restore`."""
    live = await live_of(lb, name)
    rankings = await lb.runtime.engine.rankings(live.id)
    states = {r: {row.player: row[1:] for row in (await lb.runtime.engine.page(r, 0, 10_000)).rows} for r in rankings}
    return states, await lb.runtime.engine.applied(live.id)


async def restore(lb, name, saved):
    """Put the engine back to where it was, as a restored backup does."""
    await start(lb.runtime.engine, await live_of(lb, name), *saved)


def killed(lb, name="killed.db"):
    """What a process that is killed now would leave of its ledger: a copy."""
    to = lb.path.with_name(name)
    for suffix in ("", "-wal"):
        if (source := lb.path.with_name(lb.path.name + suffix)).exists():
            shutil.copy(source, to.with_name(to.name + suffix))
    return to


def at(ms):
    return datetime.fromtimestamp(ms / 1000, UTC)


async def standings(lb, board, **view):
    return [(s.rank, s.player_id, s.score) for s in (await lb.top(board, **view)).standings]


async def recorded(lb, board) -> list[Event]:
    """All events of a board, in the ledger's order."""
    (found,) = [record for record in await lb.runtime.ledger.boards.current() if record.board.name == board]
    return [event async for events in lb.runtime.ledger.events.read(found.id, {}) for event in events]


async def differences(lb):
    return [difference for info in await lb.admin.boards() for difference in (await lb.admin.verify(info.board.name)).differences]
