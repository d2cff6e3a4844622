"""kill -9 at random moments under load: what was acknowledged is there once, what was not at most once."""

import random
import sqlite3
import time
from collections import Counter

import pytest

from tests.faults.serving import Client, Service

#: How often the service is killed, and by how many clients at a time it is under load.
KILLS, CLIENTS = 5, 4


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path)
    yield service
    service.stop()


def rows(service, board):
    """How often each game is in the ledger, and what it brought."""
    with sqlite3.connect(f"file:{service.database}?mode=ro", uri=True) as database:
        sql = "SELECT game_id, player, kind, amount FROM events JOIN boards ON boards.id = board AND boards.name = ? AND version = 1"
        found = database.execute(sql, (board,)).fetchall()
    database.close()
    return found


@pytest.mark.timeout(120)
def test_everything_acknowledged_is_there_once(service):
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed = {seed}")
    dice = random.Random(seed)
    sent = []
    for life in range(KILLS):
        service.start()
        clients = [Client(service, f"c{life}.{n}", dice.random()) for n in range(CLIENTS)]
        # A request that was under way when the last life ended, sent again beside the load.
        unknown = [s for s in sent if s.outcome is None and s.key]
        for client in clients:
            client.start()
        for retried in unknown[:50]:
            clients[0].send(retried)
        moment = dice.randrange(50, 700)
        while sum(len(client.sent) for client in clients) < moment:
            assert any(client.is_alive() for client in clients), "the service went away by itself"
            time.sleep(0.001)
        service.kill()
        for client in clients:
            client.join(30)
            assert not client.is_alive()
            assert client.trouble == []
            sent += client.sent
    service.start()
    again = Client(service, "again", seed)
    retries = [s for s in sent if s.outcome is None and s.key]
    for one in retries:
        again.send(one)
        assert one.outcome == "acknowledged"
    # What was answered before gets its answer again, and counts no second time.
    for one in dice.sample([s for s in sent if s.key and s.outcome == "acknowledged"], 20):
        assert again.send(one)["replayed"] is True
    assert again.trouble == []
    tops = {board: service.call("GET", f"/v1/boards/{board}/top?limit=1000")[1] for board in ("game", "xp", "global")}
    running = service.verify()
    service.kill()

    acknowledged = [s for s in sent if s.outcome == "acknowledged"]
    print(f"{len(sent)} requests, {len(acknowledged)} acknowledged, {len(retries)} retried at the end")
    assert len(acknowledged) > 100
    assert any(s.outcome is None for s in sent), "no request was under way when the service was killed"
    for board, linked in (("global", None), ("game", "xp")):
        found = rows(service, board)
        counts = Counter(game for game, *_ in found)
        assert max(counts.values()) == 1
        expected = {e["game_id"]: e for s in sent if s.board == board for e in s.entries}
        assert counts.keys() <= expected.keys()
        missing = [e["game_id"] for s in acknowledged if s.board == board for e in s.entries if not counts[e["game_id"]]]
        assert missing == []
        for game, player, kind, amount in found:
            entry = expected[game]
            what = ("score", entry["score"]) if "score" in entry else ("increment", entry["amount"])
            assert (player, kind, amount) == (entry["player_id"], *what)
        # A batch is there as a whole or not at all.
        for one in sent:
            if one.board == board:
                assert len({counts[e["game_id"]] for e in one.entries}) == 1
        if linked:
            assert sorted(rows(service, linked)) == sorted(found)
            sums = Counter()
            for _, player, _, amount in found:
                sums[player] += amount
            for name in (board, linked):
                assert {s["player_id"]: s["score"] for s in tops[name]["standings"]} == sums
    assert (running.returncode, running.stderr.count("Traceback")) == (0, 0), running.stdout + running.stderr
    stopped = service.verify()
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
