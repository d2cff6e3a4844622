"""Boards inside a program: a game server that keeps its scores in a file beside it."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from keepscore import Board, Entry, Leaderboards


async def main() -> None:
    """Play a few rounds and show what a game would show."""
    folder = Path(tempfile.mkdtemp())
    boards = [Board("arena", windows=["daily", "all_time"], segments=["region"], rank="standard")]
    async with Leaderboards.open(ledger=f"sqlite:///{folder}/scores.db", boards=boards) as lb:
        await lb.submit_many("arena", [Entry(player_id=f"bot{i}", score=1000 + 10 * i) for i in range(50)])
        receipt = await lb.submit("arena", "alice", 1335, segments={"region": "eu"}, idempotency_key="match-17:alice")
        print(f"alice is number {receipt.rank} of {receipt.total_players} today: among the best {100 - receipt.percentile:.0f} %")

        near = await lb.rank("arena", "alice", around=2)
        for standing in near.around:
            print(f"{standing.rank:>4}  {standing.player_id:<8} {standing.score}")

        friends = await lb.lookup("arena", ["alice", "bot7", "bot49", "nobody"])
        print("friends:", ", ".join(standing.player_id for standing in friends.standings), "· not playing:", ", ".join(friends.missing))


if __name__ == "__main__":
    asyncio.run(main())
