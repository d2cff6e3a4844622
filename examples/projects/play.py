"""Three people earn points in two projects: what the rankings of a week, a month, a year and of all time make of it.

    keepscore serve --config examples/projects/boards.toml --engine redis://127.0.0.1:6379/0 --ledger sqlite:///projects.db
    python examples/projects/play.py http://127.0.0.1:8080

It may be run twice: its batch has an idempotency key, and counts once.
"""

from __future__ import annotations

import json
import sys
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
BOARD = "/v1/boards/points"

#: User, project, points, time. The 26th was the last day of week 43.
EARNED = [
    ("101", "1", 40, "2025-10-20T08:00:00Z"),
    ("102", "1", 25, "2025-10-22T12:00:00Z"),
    ("101", "1", 10, "2025-10-26T23:59:59Z"),
    ("103", "2", 50, "2025-10-24T09:30:00Z"),
    ("102", "2", 30, "2025-10-27T00:00:00Z"),
    ("103", "1", 15, "2025-09-30T17:00:00Z"),
    ("101", "2", 70, "2024-12-31T23:00:00Z"),
]
WINDOWS = {
    "weekly:2025-w43": "window=weekly&window_id=2025-W43",
    "monthly:2025-10": "window=monthly&window_id=2025-10",
    "yearly:2025": "window=yearly&window_id=2025",
    "all_time": "window=all_time",
}


def call(path: str, body: object = None, **headers: str) -> dict:
    """Send a request and return its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def main() -> None:
    """Send what was earned, the past included, and print each ranking with its key in Redis."""
    entries = [{"player_id": user, "amount": points, "at": at, "segments": {"project": project}} for user, project, points, at in EARNED]
    sent = call(f"{BOARD}/scores/batch?backfill=true", {"scores": entries}, **{"Idempotency-Key": "projects"})
    print(f"{sent['accepted']} contributions {'had been sent before' if sent.get('replayed') else 'sent'}\n")
    for scope, segment in [("global", ""), ("1", "&segment=project:1"), ("2", "&segment=project:2")]:
        for name, window in WINDOWS.items():
            standings = call(f"{BOARD}/top?{window}{segment}")["standings"]
            row = "   ".join(f"{one['rank']}. user {one['player_id']} {one['score']:>4}" for one in standings)
            print(f"{f'leaderboard:{scope}:{name}':<36}{row}")


if __name__ == "__main__":
    main()
