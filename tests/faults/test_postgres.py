"""PostgreSQL, Redis, the service or its clients go away in the middle of a load: not one acknowledged score is lost or counts twice."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.rig import POSTGRES_DEADLINE, RECOVERY, Rig, cut_off, is_primary, rig_on, until
from tests.support.redis_load import Answer, call
from tests.support.redis_servers import RedisServer, sentinels, single


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with single() as running:
        yield running


@pytest.fixture(scope="module")
def rig(server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rig_on(tmp_path_factory.mktemp("postgres"), server.url) as made:
        yield made


def flags(answers: list[Answer]) -> set[tuple[int, bool]]:
    """The statuses, each with whether the submission was spooled."""
    return {(answer.status, bool(answer.status == 200 and answer.body.get("spooled"))) for answer in answers}


def test_the_service_and_a_worker_are_killed(rig: Rig) -> None:
    with rig.history().running() as history:
        history.reach(80)
        rig.kill_worker()
        history.reach(60)
        rig.kill_service()
        rig.start_service()
        history.reach(60)
    assert history.statuses[0], "nothing was under way when the service was killed"
    rig.settles(history)


def test_postgres_is_killed(rig: Rig) -> None:
    with rig.history().running() as history:
        history.reach(80)
        with rig.postgres_down(signal.SIGKILL):
            history.reach(80)
        history.reach(80)
    rig.settles(history)
    # What was on its way when it was killed may be recorded: 504.
    assert flags(history.answers) - {(504, False)} == {(200, False), (200, True), (503, False)}


@pytest.mark.parametrize("killed", [False, True], ids=["the service stays", "the service is killed"])
def test_postgres_is_away_for_some_seconds(rig: Rig, killed: bool) -> None:
    with rig.history().running() as history:
        history.reach(60)
        with rig.postgres_down():
            start = time.monotonic()
            history.reach(300)
            end = time.monotonic() - 0.5
            if killed:
                rig.kill_service()
        if killed:
            rig.start_service()
        history.reach(60)
    verdict = rig.settles(history)
    # A few were on their way when it stopped.
    settled = start + 0.5
    assert flags(history.during(settled, end, strong=True)) == {(503, False)}
    assert flags(history.during(settled, end, strong=False, keyed=True)) == {(503, False)}
    assert flags(history.during(settled, end, strong=False, keyed=False)) == {(200, True)}
    assert verdict.acknowledged > 200


def test_postgres_stands_still(rig: Rig) -> None:
    with rig.history().running() as history:
        history.reach(60)
        start = time.monotonic()
        with rig.postgres_paused():
            time.sleep(8 * POSTGRES_DEADLINE)
        history.reach(60)
    rig.settles(history)
    slowest = max(answer.seconds for answer in history.answers if answer.moment > start)
    print(f"slowest answer {slowest:.2f} s")
    # One deadline for the group before, one to find out, one to reconnect, one to settle what became of it, and the work itself.
    assert slowest < 6 * POSTGRES_DEADLINE


@pytest.mark.parametrize("executed", [True, False], ids=["answers", "requests"])
def test_postgres_is_cut_off_in_the_middle_of_commits(rig: Rig, executed: bool) -> None:
    with rig.history().running() as history:
        history.reach(40)
        for _ in range(6):
            rig.postgres.lose(history.name.encode(), executed=executed)
            until(lambda: rig.postgres.left == 0)
            history.reach(10)
        rig.postgres.cut()
        history.reach(40)
    assert rig.settles(history).acknowledged > 60


def test_postgres_is_slow_and_then_half_open(rig: Rig) -> None:
    with rig.history().running() as history:
        rig.postgres.delay = 0.05
        history.reach(60)
        rig.postgres.mend()
        history.reach(20)
        start = time.monotonic()
        rig.postgres.silence()
        until(lambda: any(answer.status in (503, 504) for answer in history.answers[-50:]))
        rig.postgres.mend()
        history.reach(40)
    rig.settles(history)
    assert max(answer.seconds for answer in history.answers if answer.moment > start) < 6 * POSTGRES_DEADLINE


@pytest.mark.parametrize("executed", [True, False], ids=["answers", "requests"])
def test_redis_is_cut_off_in_the_middle_of_a_script(rig: Rig, executed: bool) -> None:
    assert rig.redis is not None
    with rig.history().running() as history:
        history.reach(40)
        for _ in range(6):
            rig.redis.lose(history.name.encode(), executed=executed)
            until(lambda: rig.redis is not None and rig.redis.left == 0)
            history.reach(10)
        rig.redis.cut()
        history.reach(40)
    assert rig.settles(history).acknowledged > 60


def test_redis_is_killed_and_comes_back_empty(rig: Rig, server: RedisServer) -> None:
    with rig.history().running() as history:
        history.reach(80)
        server.kill()
        history.reach(60)
        server.start()
        history.reach(60)
    rig.settles(history)
    assert history.statuses.keys() - {504} == {200, 202, 503}


def test_both_are_away(rig: Rig, server: RedisServer) -> None:
    with rig.history().running() as history:
        history.reach(40)
        server.pause()
        try:
            with rig.postgres_down():
                start = time.monotonic()
                history.reach(40)
                end = time.monotonic() - 1
                history.reach(1)
        finally:
            server.resume()
        history.reach(40)
    rig.settles(history)
    assert {answer.status for strong in (True, False) for answer in history.during(start + 1, end, strong)} <= {503, 504}


def test_clients_go_away(rig: Rig) -> None:
    with rig.history(leaving=0.5).running() as history:
        history.reach(300)
    rig.settles(history)
    left = [sent for sent in history.sent if not sent.keyed and sent.answers[0].status == 0]
    recorded = rig.server.sql(f"SELECT game_id FROM events WHERE game_id LIKE '{history.name}-%'", rig.database).splitlines()
    assert {entry["game_id"] for sent in left for entry in sent.entries} & set(recorded), "what nobody waited for is recorded, too"


def test_a_failover_to_a_replica_that_lags(tmp_path: Path) -> None:
    with sentinels() as found, rig_on(tmp_path, found.url, proxied=False) as rig:
        with rig.history().running() as history:
            history.reach(60)
            until(found.in_sync)
            cut_off(found)
            history.reach(60)
            found.primary.kill()
            until(lambda: found.current_primary() is not found.primary and is_primary(found.current_primary()), 20)
            until(lambda: (call(rig.service.url, "GET", "/readyz").body or {}).get("status") == "ready", RECOVERY)
            history.reach(60)
        rig.settles(history)
