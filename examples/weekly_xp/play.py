"""Awards of experience points over the end of an ISO week: the total has all of them, each week its own.

    keepscore serve --config examples/weekly_xp/boards.toml --engine redis://127.0.0.1:6379/0 --ledger sqlite:///xp.db
    python examples/weekly_xp/play.py http://127.0.0.1:8080

It may be run twice: each award has an idempotency key, the number of its transaction, and counts once.
"""

from __future__ import annotations

import json
import sys
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
BOARD = "/v1/boards/xp"

#: Transaction, user, points, time. Week 18 of 2026 ended with May 3.
AWARDS = [
    ("tx-1", "ada", 120, "2026-04-26T20:00:00Z"),
    ("tx-2", "ada", 50, "2026-04-27T00:00:00Z"),
    ("tx-3", "ben", 80, "2026-04-29T13:15:00Z"),
    ("tx-4", "eve", 80, "2026-05-01T07:45:00Z"),
    ("tx-5", "ada", 25, "2026-05-03T23:59:59Z"),
    ("tx-6", "ben", 60, "2026-05-04T00:00:00Z"),
]
RANKINGS = {
    "leaderboard:global": "window=all_time",
    "leaderboard:weekly:2026-W17": "window=weekly&window_id=2026-W17",
    "leaderboard:weekly:2026-W18": "window=weekly&window_id=2026-W18",
    "leaderboard:weekly:2026-W19": "window=weekly&window_id=2026-W19",
}


def call(path: str, body: object = None) -> dict:
    """Send a request and return its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def main() -> None:
    """Send the awards, the past included, and print each ranking with its key in Redis."""
    awards = [{"player_id": user, "amount": points, "at": at, "idempotency_key": key} for key, user, points, at in AWARDS]
    sent = call(f"{BOARD}/scores/batch?backfill=true", {"scores": awards})
    print(f"{sent['accepted']} awards sent, {sent.get('duplicates', 0)} of them not for the first time\n")
    for key, window in RANKINGS.items():
        standings = call(f"{BOARD}/top?{window}&limit=100")["standings"]
        print(f"{key:<30}" + "   ".join(f"{one['rank']}. {one['player_id']} {one['score']:>4} XP" for one in standings))


if __name__ == "__main__":
    main()
