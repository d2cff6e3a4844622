"""A service that is told to stop while clients send scores."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.service.running import Service, taken
from tests.support.redis_servers import single

#: Seconds that the service has to stop, and that a slow machine may add to them.
STOP_S, SLACK_S = 3, 4


class Client(threading.Thread):
    """Sends one score after the other over one connection, and again where an idle connection turns out to be closed."""

    def __init__(self, number: int, port: int) -> None:
        super().__init__()
        self.number, self.port = number, port
        self.acknowledged: list[str] = []
        self.others: Counter[str] = Counter()

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        n, is_reused = 1, False
        while True:
            body = json.dumps({"player_id": f"c{self.number}-{n}", "score": n})
            try:
                connection.request("POST", "/v1/boards/b/scores", body, {"content-type": "application/json"})
                answer = connection.getresponse()
                answer.read()
            except ConnectionRefusedError:
                # The service has ended.
                return
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if not is_reused:
                    self.others[type(error).__name__] += 1
                is_reused = False
                continue
            if answer.status == 200:
                self.acknowledged.append(f"c{self.number}-{n}")
            else:
                self.others[str(answer.status)] += 1
            is_reused = answer.getheader("connection") != "close"
            n += 1


@pytest.mark.parametrize("kind", ["embedded", "redis"])
def test_a_service_stops_in_time_and_loses_nothing(tmp_path: Path, kind: str) -> None:
    with single() as redis:
        engine = f'[engine]\nurl = "{redis.url}"\n' if kind == "redis" else ""
        service = Service(tmp_path, f'{engine}[server]\nstop_timeout = "{STOP_S}s"\n')
        service.define("b", windows=["daily", "weekly", "all_time"])
        for start in range(0, 10_000, 5000):
            entries = [{"player_id": f"p{n}", "score": n} for n in range(start, start + 5000)]
            taken(service.post("b", "scores/batch", {"scores": entries}))
        clients = [Client(number, service.port) for number in range(8)]
        for client in clients:
            client.start()
        while not all(client.acknowledged for client in clients):
            time.sleep(0.01)
        told = time.monotonic()
        service.process.terminate()
        assert service.process.wait(STOP_S + SLACK_S) == 0
        print(f"stopped within {time.monotonic() - told:.1f} s")
        for client in clients:
            client.join()
        assert sum((client.others for client in clients), Counter()) == {}
        service.client.close()
        service.start()
        acknowledged = [player for client in clients for player in client.acknowledged]
        for start in range(0, len(acknowledged), 1000):
            some = acknowledged[start : start + 1000]
            found = taken(service.post("b", "players/lookup", {"player_ids": some}))
            assert {standing["player_id"] for standing in found["standings"]} == set(some)
        assert service.get("b", "count")["count"] >= 10_000 + len(acknowledged)
        service.stop()
