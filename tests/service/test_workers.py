"""Several processes that serve one port, on Redis and one SQLite ledger."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.service.redis_places import on, open_redis, until, verified
from tests.service.running import Service, run
from tests.support.ports import free_port
from tests.support.redis_load import Load, call

WORKERS = 3
BOARDS = """
[[board]]
name = "sums"
operator = "sum"
windows = ["all_time", "daily"]

[[board]]
name = "lasts"
operator = "last"

[[board]]
name = "bests"
max_score = 1000000
resolution = "1s"

[[board]]
name = "firsts"
operator = "first"
ties = "player"

[[board]]
name = "plain"
ties = "player"
rank = "dense"
"""
OPERATORS = {"sums": "sum", "lasts": "last", "bests": "best", "firsts": "first", "plain": "best"}


def start(directory: Path, database: int) -> Service:
    """A service whose workers are all ready, in a database of its own."""
    service = Service(directory, on(open_redis().url.removesuffix("/0") + f"/{database}", BOARDS), "--workers", str(WORKERS))
    until(lambda: "is ready at" in service.log.read_text())
    return service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with three workers, all of which live on."""
    running = start(tmp_path_factory.mktemp("workers"), 1)
    yield running
    running.stop()
    assert running.process.returncode == 0
    assert "Traceback" not in running.log.read_text()


def workers(service: Service) -> list[int]:
    """The processes that serve."""
    listed = subprocess.run(["ps", "-axwwo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [int(pid) for pid, parent, args in rows if int(parent) == service.process.pid and "spawn_main" in args]


def asked(service: Service, path: str) -> tuple[int, Any]:
    """Which process answers on a new connection, and what."""
    with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        return server_of(connection.sock, workers(service)), json.loads(answer.read())


def server_of(client: socket.socket, among: Sequence[int]) -> int:
    """Return the process at the other end of a connection on this machine."""
    (_, mine), (_, theirs) = client.getsockname(), client.getpeername()
    ends = f":{theirs:04X}", f":{mine:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    # The kernel may list a connection twice, while others come and go.
    sockets = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(ends[0]) and row[2].endswith(ends[1])}
    for pid in among:
        with suppress(OSError):
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if str(file.readlink()) in sockets:
                        return pid
    return 0


def of_all(service: Service, path: str) -> dict[int, Any]:
    """What each worker answers."""
    found: dict[int, Any] = {}
    for _ in range(400):
        who, answer = asked(service, path)
        if who:
            found[who] = answer
        if len(found) == WORKERS:
            return found
    raise AssertionError(f"only {len(found)} workers answer")


def replace_one(service: Service) -> None:
    """Kill a worker and wait until another one answers in its place."""
    before = workers(service)
    assert len(before) == WORKERS
    others = {who for who, _ in (asked(service, "/v1/boards/sums/count") for _ in range(60))}
    os.kill(before[0], signal.SIGKILL)
    until(lambda: len({*workers(service)} - {before[0]}) == WORKERS)

    def is_new() -> bool:
        # While it is dying, it may still take a connection.
        with suppress(OSError, http.client.HTTPException):
            return asked(service, "/v1/boards/sums/count")[0] not in others
        return False

    until(is_new, 20)


def test_concurrent_submissions_on_boards_of_all_operators(service: Service) -> None:
    load = Load(service.url, OPERATORS, clients=4, limit=100, reconnect=True)
    load.start()
    load.join()
    assert load.statuses == {200: 400}
    assert len(of_all(service, "/v1/boards/sums/count")) == WORKERS
    until(load.is_shown, 3)
    load.check(service.ledger)
    verified(service, beside=True)


def test_a_retry_through_any_worker_counts_once(service: Service) -> None:
    service.define("retried", operator="sum")
    body = {"player_id": "alice", "amount": 5}
    keys = [f"retry-{number}" for number in range(10)] * 6
    with ThreadPoolExecutor(4) as pool:
        path = "/v1/boards/retried/increments"
        answers = list(pool.map(lambda key: call(service.url, "POST", path, body, {"Idempotency-Key": key}), keys))
    assert {answer.status for answer in answers} == {200}
    assert sum("replayed" not in answer.body for answer in answers) == 10
    for answer in of_all(service, "/v1/boards/retried/players/alice").values():
        assert answer["score"] == 50


def test_a_board_put_through_one_worker_is_there_through_all(service: Service) -> None:
    for number in range(6):
        made = call(service.url, "PUT", f"/v1/boards/new-{number}", {"operator": "sum", "max_score": 1000, "resolution": "1s"})
        assert made.status == 201, made
        for count in range(1, 13):
            answer = call(service.url, "POST", f"/v1/boards/new-{number}/increments", {"player_id": "alice", "amount": 1})
            assert (answer.status, answer.body["score"]) == (200, count), answer
    for answer in of_all(service, "/v1/boards/new-0/players/alice").values():
        assert answer["score"] == 12


def test_a_board_that_was_deleted_is_gone_through_all(service: Service) -> None:
    service.define("gone", operator="sum")
    with Load(service.url, {"gone": "sum"}, clients=2, reconnect=True).running() as load:
        load.reach(20)
        assert call(service.url, "DELETE", "/v1/boards/gone").status == 204
        until(lambda: {call(service.url, "GET", "/v1/boards/gone/top").status for _ in range(20)} == {404}, 3)
        load.reach(20)
    # What was recorded just before is recorded, and ranked no more.
    assert load.statuses.keys() - {202} == {200, 404}, load.statuses
    service.define("gone", operator="sum")
    assert {answer["count"] for answer in of_all(service, "/v1/boards/gone/count").values()} == {0}


def test_a_board_is_defined_again_through_another_worker(service: Service) -> None:
    """Whoever is asked knows what the others have just done."""
    service.define("again", operator="sum")
    for number in range(8):
        answer = call(service.url, "POST", "/v1/boards/again/increments", {"player_id": "alice", "amount": 5})
        assert (answer.status, answer.body["score"]) == (200, 5), (number, answer)
        assert call(service.url, "DELETE", "/v1/boards/again").status == 204, number
        assert call(service.url, "PUT", "/v1/boards/again", {"operator": "sum"}).status == 201, number


def test_a_score_that_is_sent_at_once_through_all_workers_is_not_added_up(service: Service) -> None:
    """An absolute score on a sum board is worked out from the score that there is, by one worker at a time."""
    service.define("totals", operator="sum", windows=["all_time", "daily"])
    for score in (100, 250, 70):
        with ThreadPoolExecutor(12) as pool:
            body = {"player_id": "alice", "score": score}
            sent = [pool.submit(call, service.url, "POST", "/v1/boards/totals/scores", body) for _ in range(24)]
        answers = [future.result() for future in sent]
        assert {answer.status for answer in answers} == {200}
        assert {answer.body["score"] for answer in answers} == {score}
    assert {answer["score"] for answer in of_all(service, "/v1/boards/totals/players/alice").values()} == {70}


def test_a_change_for_an_older_version_is_refused_by_all_workers(service: Service) -> None:
    service.define("versions")
    for version in range(1, 9):
        changed = call(service.url, "PUT", "/v1/boards/versions", {"max_score": version, "version": version})
        assert (changed.status, changed.body.get("version")) == (200, version + 1), changed
        assert call(service.url, "PUT", "/v1/boards/versions", {"max_score": 99, "version": version}).status == 409, version


def test_a_change_of_meaning_under_load_loses_nothing(service: Service) -> None:
    service.define("shift", operator="last", windows=["all_time", "daily"])
    with Load(service.url, {"shift": "sum"}, clients=3, reconnect=True).running() as load:
        for fields in (
            {"operator": "sum"},
            {"operator": "sum", "ties": "player"},
            {"operator": "last"},
            {"operator": "sum", "order": "asc"},
        ):
            load.reach(60)
            changed = call(service.url, "PUT", "/v1/boards/shift?confirm=true", {"windows": ["all_time", "daily"], **fields})
            assert changed.status == 200, changed
        load.reach(60)
    assert load.statuses.keys() == {200}, [answer for answer in load.answers if answer.status != 200][:3]
    until(load.is_shown, 3)
    load.check(service.ledger)
    verified(service)


def test_a_name_is_seen_by_all_workers(service: Service) -> None:
    service.define("named")
    service.submit("named", "alice", 5)
    for name in ("Alice", None):
        assert call(service.url, "PUT", "/v1/players/alice", {"name": name}).status == 200

        def has_name(name: str | None = name) -> bool:
            return {answer["name"] for answer in of_all(service, "/v1/boards/named/players/alice").values()} == {name}

        assert until(has_name, 5) < 2.0


def test_a_page_is_at_most_a_second_behind(service: Service) -> None:
    service.define("pages")
    of_all(service, "/v1/boards/pages/top")
    assert call(service.url, "POST", "/v1/boards/pages/scores", {"player_id": "alice", "score": 1}).status == 200
    known, behind = time.monotonic(), 0.0
    while time.monotonic() < known + 1.6:
        moment = time.monotonic()
        if not asked(service, "/v1/boards/pages/top")[1]["standings"]:
            behind = moment - known
    assert behind <= 1.1


def test_a_bound_that_is_reached_at_once_through_all_workers(service: Service) -> None:
    """Each worker knows the bound, not what the others are about to add: what is acknowledged counts, and no more is taken."""
    service.define("bounded", operator="sum", max_score=100, resolution="1s")
    path, counts = "/v1/boards/bounded/increments", {}
    for player in ("p1", "p2", "p3"):
        body = {"player_id": player, "amount": 30}
        with ThreadPoolExecutor(6) as pool:
            statuses = list(pool.map(lambda _, body=body: call(service.url, "POST", path, body).status, range(6)))
        assert set(statuses) <= {200, 422}
        counts[player] = 30 * statuses.count(200)
        assert counts[player] >= 90
        assert call(service.url, "POST", path, body).status == 422
    assert {standing["player_id"]: standing["score"] for standing in service.get("bounded", "top")["standings"]} == counts


def test_verify_beside_running_writes_finds_nothing(service: Service) -> None:
    with Load(service.url, OPERATORS, clients=3, reconnect=True, pause=0.004).running() as load:
        load.reach(30)
        for _ in range(2):
            verified(service)
            verified(service, beside=True)
    assert load.statuses.keys() == {200}


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    service = start(tmp_path, 2)
    try:
        with Load(service.url, {"sums": "sum", "lasts": "last", "bests": "best"}, clients=3, reconnect=True).running() as load:
            for _ in range(2):
                load.reach(60)
                replace_one(service)
            load.reach(60)
        assert load.statuses.keys() <= {200, 0}, load.statuses
        load.retry()
        # What a dead worker had recorded and not ranked is ranked by the others after some seconds.
        until(load.is_shown, 10)
        load.check(service.ledger)
        verified(service)
        before = workers(service)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0
        for pid in before:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        log = service.log.read_text()
        assert log.count("has died") == 2
        assert "Traceback" not in log
    finally:
        service.stop()


def test_workers_that_are_killed_together_are_replaced_together(tmp_path: Path) -> None:
    service = start(tmp_path, 2)
    try:
        service.increment("sums", "alice", 1)
        before = workers(service)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        until(lambda: len({*workers(service)} - {*before}) == WORKERS)

        def all_answer() -> bool:
            with suppress(OSError, http.client.HTTPException):
                return len({asked(service, "/v1/boards/sums/count")[0] for _ in range(20)}) == WORKERS
            return False

        until(all_answer, 20)
        assert service.get("sums", "players/alice")["score"] == 1
        log = service.log.read_text()
        assert (log.count("has died"), "Traceback" in log) == (WORKERS, False), log
    finally:
        service.stop()


def newest(service: Service, board: str) -> tuple[int, str]:
    """The newest version of a board in the ledger, and its order."""
    with closing(sqlite3.connect(f"file:{service.ledger}?mode=ro", uri=True)) as database:
        sql = "SELECT version, definition FROM boards WHERE name = ? ORDER BY version DESC LIMIT 1"
        version, definition = database.execute(sql, (board,)).fetchone()
    return version, json.loads(definition)["order"]


def test_what_was_changed_while_running_stays_changed(service: Service) -> None:
    """The file says how boards begin; what reads it later, a command or a new worker, changes nothing that was PUT since."""
    changed = call(service.url, "PUT", "/v1/boards/plain?confirm=true", {"ties": "player", "rank": "dense", "order": "asc"})
    assert changed.status == 200
    assert newest(service, "plain") == (changed.body["version"], "asc")
    replace_one(service)
    assert newest(service, "plain") == (changed.body["version"], "asc"), "a new worker changed it"
    assert run("top", "plain", "--config", str(service.config), cwd=service.directory).returncode == 0
    assert newest(service, "plain") == (changed.body["version"], "asc"), "a command changed it"


def test_workers_with_the_embedded_engine_are_refused(tmp_path: Path) -> None:
    done = run("serve", "--workers", "2", "--port", str(free_port()), "--ledger", "sqlite:///scores.db", cwd=tmp_path)
    assert done.returncode == 2
    assert all(word in done.stderr for word in ("workers = 2", "embedded", "workers = 1", "redis://")), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "scores.db").exists()


def test_workers_that_cannot_start_are_refused_with_the_reason(tmp_path: Path) -> None:
    config = tmp_path / "keepscore.toml"
    config.write_text(on(f"redis://127.0.0.1:{free_port()}/0", BOARDS), encoding="utf-8")
    done = run("serve", "--workers", "2", "--port", str(free_port()), "--ledger", "sqlite:///scores.db", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr
