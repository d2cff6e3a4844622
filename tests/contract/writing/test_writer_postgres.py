"""Submissions on PostgreSQL while connections are cut: what was acknowledged is there once, what was not at most once."""

import asyncio
import random
from collections import Counter

import asyncpg

from keepscore import Board, Leaderboards
from keepscore.errors import LedgerUnavailable
from tests.support.postgres_servers import shared_postgres

CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'keepscore %'
"""


async def test_connections_are_cut_under_load():
    url = shared_postgres().new_database()
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    acknowledged, tried = set(), 0
    cutting = True

    async def submit(lb, client):
        nonlocal tried
        while cutting:
            tried += 1
            game = f"{client}-{tried}"
            try:
                receipt = await lb.increment("points", f"p{client}", 1, game_id=game, idempotency_key=game if client % 2 else None)
            except LedgerUnavailable:
                await asyncio.sleep(0.01)
            else:
                assert receipt.total_players is not None
                acknowledged.add(game)

    async with Leaderboards.open(url, boards=[Board("points", operator="sum")]) as lb:
        clients = [asyncio.ensure_future(submit(lb, client)) for client in range(8)]
        other = await asyncpg.connect(url)
        for _ in range(25):
            await asyncio.sleep(chance.uniform(0.01, 0.08))
            await other.execute(CUT)
        cutting = False
        await asyncio.gather(*clients)
        recorded = Counter(row[0] for row in await other.fetch("SELECT game_id FROM events"))
        await other.close()
        assert acknowledged
        assert acknowledged <= set(recorded)
        assert set(recorded.values()) == {1}
        assert len(acknowledged) < tried, "some were refused"
        # The next submission finds out about the last group, if nobody has.
        await lb.increment("points", "p0", 1)
        assert (await lb.admin.verify("points")).differences == []
        assert sum(standing.score for standing in (await lb.top("points")).standings) == len(recorded) + 1
