"""Two players tie at the top: who is ahead, and the three ways to number their ranks.

    keepscore serve --config examples/game/boards.toml --engine redis://127.0.0.1:6379/0 --ledger sqlite:///game.db
    python examples/game/play.py http://127.0.0.1:8080

It may be run twice: its batch has an idempotency key, and counts once.
"""

from __future__ import annotations

import json
import sys
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
BOARD = "/v1/boards/game"

#: Player, points, time: in the order in which they arrive, which is not that in which they were made.
WON = [
    ("player_3", 1500, "2024-01-15T09:30:00Z"),
    ("player_1", 1500, "2024-01-15T09:00:00Z"),
    ("player_2", 1200, "2024-01-15T10:00:00Z"),
    ("player_2", 100, "2024-01-15T10:05:00Z"),
]
RANKINGS = {
    "game:leaderboard:daily:20240115": "window=daily&window_id=2024-01-15",
    "game:leaderboard:weekly:2024W03": "window=weekly&window_id=2024-W03",
    "game:leaderboard:alltime": "window=all_time",
}


def call(path: str, body: object = None, **headers: str) -> dict:
    """Send a request and return its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def main() -> None:
    """Send what was won and print each ranking, with the three ranks of every player."""
    entries = [{"player_id": player, "amount": points, "at": at} for player, points, at in WON]
    sent = call(f"{BOARD}/scores/batch?backfill=true", {"scores": entries}, **{"Idempotency-Key": "game"})
    print(f"{sent['accepted']} games {'had been sent before' if sent.get('replayed') else 'sent'}")
    for key, window in RANKINGS.items():
        print(f"\n{key}\n  unique  sparse  dense  player     score  since")
        pages = [call(f"{BOARD}/top?{window}&rank={kind}")["standings"] for kind in ("unique", "standard", "dense")]
        for one, sparse, dense in zip(*pages, strict=True):
            ranks = f"{one['rank']:>8}{sparse['rank']:>8}{dense['rank']:>7}"
            print(f"{ranks}  {one['player_id']:<9} {one['score']:>6}  {one['since']}")


if __name__ == "__main__":
    main()
