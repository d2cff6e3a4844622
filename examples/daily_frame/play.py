"""A week of a puzzle that is played once a day: the day, the country, the week and the experience points.

    keepscore serve --config examples/daily_frame/boards.toml --engine redis://127.0.0.1:6379/0 --ledger sqlite:///daily_frame.db
    python examples/daily_frame/play.py http://127.0.0.1:8080

It may be run twice: its batches have idempotency keys, and count once.
"""

from __future__ import annotations

import json
import sys
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"

#: Player, country, score, time: the games of two days, the 22nd in week 8. The last is a second game: 640 stays what counts.
GAMES = [
    ("ana", "BR", 700, "2025-02-21T18:00:00Z"),
    ("tom", "US", 900, "2025-02-21T19:00:00Z"),
    ("ana", "BR", 850, "2025-02-22T08:00:00Z"),
    ("rui", "BR", 640, "2025-02-22T09:00:00Z"),
    ("tom", "US", 500, "2025-02-22T10:00:00Z"),
    ("rui", "BR", 950, "2025-02-22T21:00:00Z"),
]
#: What lists show of them.
PROFILES = [{"player_id": who, "name": who.title(), "country": country} for who, country in (("ana", "BR"), ("rui", "BR"), ("tom", "US"))]
#: Who played whom, and how it ended for the first: 1 is a win, 0.5 a draw, 0 a loss.
DUELS = [("ana", "tom", 1), ("rui", "ana", 0.5), ("tom", "rui", 0)]
RANKINGS = {
    "lb:daily_frame:2025-02-22": "daily_frame/top?window_id=2025-02-22",
    "lb:daily_frame:2025-02-22:country:BR": "daily_frame/top?window_id=2025-02-22&segment=country:BR",
    "lb:daily_frame:week:2025-W08": "daily_frame_week/top?window_id=2025-W08",
    "lb:alltime:xp": "xp/top",
    "lb:duels:elo": "duels/top",
}


def call(path: str, body: object = None, **headers: str) -> dict:
    """Send a request and return its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}/v1/{path}", data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def main() -> None:
    """Send the games, the past included, and print each ranking with its key in Redis."""
    games = [{"player_id": who, "score": score, "at": at, "segments": {"country": country}} for who, country, score, at in GAMES]
    call("players/batch", {"players": PROFILES})
    sent = call("boards/daily_frame/scores/batch?backfill=true", {"scores": games}, **{"Idempotency-Key": "daily_frame"})
    print(f"{sent['accepted']} games {'had been sent before' if sent.get('replayed') else 'sent'}")
    duels = [{"a": a, "b": b, "result": result, "match_id": f"duel-{n}"} for n, (a, b, result) in enumerate(DUELS)]
    call("boards/duels/matches/batch", {"matches": duels})
    for key, path in RANKINGS.items():
        print(
            f"{key:<39}"
            + "   ".join(
                f"{one['rank']}. {one['name'] or one['player_id']} {one['score']:>4}" for one in call(f"boards/{path}")["standings"]
            )
        )
    versus = call("boards/duels/players/ana/matches/tom")
    print(f"{'Ana against Tom':<39}{versus['wins']} won, {versus['draws']} drawn, {versus['losses']} lost")
    with urllib.request.urlopen(f"{URL}/leaderboard/friends?userIds=ana,tom,zoe&mode=daily_frame&date=2025-02-22", timeout=30) as answer:
        print(f"{'friends of 2025-02-22':<39}" + "   ".join(f"{one['userId']} {one['score']}" for one in json.load(answer)))


if __name__ == "__main__":
    main()
