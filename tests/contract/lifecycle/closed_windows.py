"""Leaderboards whose keeper works when it is told to, and the archives that windows should have."""

from keepscore import Entry
from keepscore.storage.ledgers.slots import Slot
from tests.contract.opened import DAY, HOUR, NOON, at, live_of, recorded
from tests.support import oracle

MIDNIGHT = NOON + 12 * HOUR


async def close(lb, now=None):
    """Let the keeper close what is due; what it did."""
    run = await lb.admin.run_keeper(None if now is None else at(now))
    (job,) = [job for job in run.jobs if job.name == "close"]
    assert job.error is None, job.error
    return job.result


async def archives(lb, board="b", kind="closed", **wanted):
    live = await live_of(lb, board)
    return {
        (a.slot, a.number): (a, await lb.runtime.ledger.archives.rows(a.id, 0, 10_000))
        for a in await lb.runtime.ledger.archives.find(live.id, kind=kind, **wanted)
    }


async def expected(lb, board, window, window_id, keep=10_000):
    """The archive that a window should have, from the plain fold of all of its events."""
    live = await live_of(lb, board)
    found = {}
    events = await recorded(lb, board)
    for ranking, states in oracle.fold(live, events).items():
        if ranking[1:3] == (window, window_id):
            rows = oracle.ranked(live.board, states)
            found[Slot(*ranking[1:]), 1] = (
                len(rows),
                [(*oracle.ranks(live.board, rows, i), row.player, row.score, row.since) for i, row in enumerate(rows[:keep])],
            )
    return found


def plain(archived):
    return {name: (archive.players, rows) for name, (archive, rows) in archived.items()}


async def fill(lb, board="b", players=30, spread=DAY, **fields):
    """Scores of the day before now, with equal ones among them."""
    sliced = (await lb.admin.board(board)).board.segments

    def entry(n):
        moment = at(lb.runtime.clock() - n * spread // (players + 1))
        return Entry(player_id=f"p{n:03}", score=n % 7, at=moment, segments={"region": "eu" if n % 3 else "us"} if sliced else None)

    entries = [entry(n) for n in range(players)]
    assert (await lb.submit_many(board, entries, **fields)).rejected == []
