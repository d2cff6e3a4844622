"""Linked boards while one of two services cannot reach PostgreSQL: all boards take a score, or none does."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

from tests.faults.proxy import Proxy
from tests.faults.rig import RECOVERY, until
from tests.service.running import Service, run
from tests.support.postgres_servers import PostgresServer
from tests.support.redis_servers import single

BOARDS = """
[[board]]
name = "game"
also = ["xp"]

[[board]]
name = "xp"
operator = "sum"
"""
#: Scores that are sent while the ledger is out of reach, and definitions that come from the other service meanwhile.
SCORES, DEFINITIONS = 150, 10


def test_scores_are_kept_on_all_boards_or_on_none_while_a_board_is_redefined(tmp_path: Path) -> None:
    with PostgresServer() as postgres, single() as redis, Proxy(postgres.port) as proxy:
        url = postgres.new_database()
        config = f'[engine]\nurl = "{redis.url}"\n{BOARDS}'
        for name in ("near", "far"):
            (tmp_path / name).mkdir()
        near = Service(tmp_path / "near", config, ledger=f"{url}?deadline=2")
        far = Service(tmp_path / "far", config, ledger=f"{url.replace(str(postgres.port), str(proxy.port))}?deadline=2")
        try:
            far.submit("game", "p", 1)
            proxy.refuse()
            until(lambda: far.post("xp", "increments", {"player_id": "probe", "amount": 1}).status_code == 200, RECOVERY)
            redefining = Thread(target=_redefine, args=(near,))
            redefining.start()
            kept = sum(
                far.post("game", "scores", {"player_id": "p", "score": 1, "game_id": f"g{n}"}).status_code in (200, 202)
                for n in range(SCORES)
            )
            redefining.join()
            proxy.mend()
            count = "SELECT count(*) FROM events WHERE player = 'p' AND board = (SELECT DISTINCT id FROM boards WHERE name = '{}')"
            until(lambda: int(postgres.sql(count.format("game"), url)) == kept + 1, RECOVERY)
            # What was kept for the ledger is recorded board by board.
            until(lambda: int(postgres.sql(count.format("xp"), url)) == kept + 1, RECOVERY)
            until(lambda: near.get("xp", "players/p")["score"] == kept + 1, RECOVERY)
            assert 0 < kept <= SCORES
            done = run("verify", "--url", near.url, cwd=tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
        finally:
            near.stop()
            far.stop()


def _redefine(service: Service) -> None:
    for n in range(DEFINITIONS):
        answer = service.client.put("/v1/boards/game?confirm=true", json={"also": ["xp"], "order": "asc" if n % 2 else "desc"})
        assert answer.status_code == 200, answer.text
