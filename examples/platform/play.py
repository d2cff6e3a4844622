"""A player climbs among others, through the routes that clients of leaderboard services know.

    keepscore serve --config examples/platform/boards.toml --engine redis://127.0.0.1:6379/0 --ledger sqlite:///platform.db
    python examples/platform/play.py http://127.0.0.1:8080

It may be run twice: only higher scores count, and the bonus has an idempotency key.
"""

from __future__ import annotations

import json
import sys
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
BASE = "/api/v1/leaderboard"

#: Twelve others, each better than the one before.
OTHERS = [{"player_id": 500 + n, "score": 1050 + 100 * n, "region": "us-east" if n % 2 else "eu-west"} for n in range(12)]
PLAYER = 777


def call(path: str, body: object = None, method: str | None = None, **headers: str) -> dict:
    """Send a request and return its answer."""
    data = None if body is None else json.dumps(body).encode()
    address = URL + (path if path.startswith("/v1") else BASE + path)
    request = urllib.request.Request(address, data, {"Content-Type": "application/json", **headers}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def main() -> None:
    """Send scores, and print what each did and who is around."""
    for other in OTHERS:
        call("/score", other)
    print(f"player {PLAYER} sends      counts    rank    moved    percentile")
    for score in (900, 1700, 1200):
        now = call("/score", {"player_id": PLAYER, "score": score, "region": "us-east", "game_id": f"game-{score}"})
        print(f"{score:>16}{now['score']:>12}{now['rank']:>8}{now['rank_change']:>+9}{now['percentile']:>14.1f}")
    bonus = {"player_id": PLAYER, "score_delta": 100, "region": "us-east"}
    now = call("/score/increment", bonus, **{"Idempotency-Key": "bonus"})
    print(f"{'a bonus of 100':>16}{now['score']:>12}{now['rank']:>8}")

    place = call(f"/rank/{PLAYER}")
    print(f"\nnumber {place['rank']} of {place['total_players']}, with five above and five below (leaderboard:global)")
    show(call(f"/around/{place['rank']}?range=5")["players"])
    print("\nthe best three of us-east (leaderboard:region:us-east)")
    show(call("/top?n=3&type=regional&region=us-east")["players"])
    call(f"/v1/players/{PLAYER}", {"name": "ProGamer", "level": 50, "region": "us-east"}, "PUT")
    print(f"\namong friends (leaderboard:friends:{PLAYER}, and player:{PLAYER} has the profile)")
    call(f"/v1/players/{PLAYER}/friends", {"friend_ids": ["503", "508", "511"]}, "PUT")
    show(call(f"/top?type=friends&player_id={PLAYER}")["players"])
    print("\nthe best three of today (leaderboard:daily:YYYY-MM-DD)")
    show(call("/top?n=3&period=daily")["players"])


def show(players: list[dict]) -> None:
    """Print some players, one a line."""
    for one in players:
        print(f"{one['rank']:>4}. {one['player_id']:>6} {one['score']:>7}{'  ←' if one['player_id'] == PLAYER else ''}")


if __name__ == "__main__":
    main()
