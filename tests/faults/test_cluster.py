"""Nodes of a Redis Cluster are away, stand still, lag or lose their slots, under load."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.rig import is_primary, until
from tests.faults.test_redis import DEADLINE, RECOVERY, Rig, owner, owner_or_none, reads, rig_on, slot_of
from tests.support.redis_load import Answer, call
from tests.support.redis_servers import Cluster, RedisServer, cluster

#: Seconds that a Cluster needs to agree on who is there.
AGREEMENT = 20

_names = (f"board-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """A Cluster that serves the slots that it has, though others have no owner."""
    with cluster(settings=["cluster-require-full-coverage no"]) as running:
        yield running


@pytest.fixture
def rig(nodes: Cluster, tmp_path: Path) -> Iterator[Rig]:
    until(nodes.formed, AGREEMENT)
    with rig_on(tmp_path, nodes.url) as made:
        yield made


def board_on(nodes: Cluster, server: RedisServer) -> str:
    """A name whose board lies on a primary."""
    return next(name for name in _names if owner(nodes, slot_of(nodes, name)) is server)


def replica_of(nodes: Cluster, primary: RedisServer) -> RedisServer:
    def follows(node: RedisServer) -> bool:
        found = node.ask("INFO", "replication")
        return bool(found["role"] == "slave" and found["master_port"] == primary.port)

    return next(node for node in nodes.nodes if follows(node))


def add(rig: Rig, board: str, player: str = "ann", amount: int = 1) -> Answer:
    return call(rig.service.url, "POST", f"/v1/boards/{board}/increments", {"player_id": player, "amount": amount})


@pytest.mark.parametrize("how", ["killed", "paused"])
def test_all_nodes_are_away_and_come_back(rig: Rig, nodes: Cluster, how: str) -> None:
    with rig.load(strong=True).running() as load:
        load.reach(60)
        for node in nodes.nodes:
            (node.kill if how == "killed" else node.pause)()
        gone = time.monotonic()
        try:
            read = reads(rig, load, 4)
        finally:
            load.stop()
            for node in nodes.nodes:
                (node.start if how == "killed" else node.resume)()
    during = {
        name: Counter(a.status for s in load.sent if s.board == name for a in s.answers if a.moment > gone + 0.1) for name in load.boards
    }
    for name, statuses in during.items():
        assert statuses.keys() == ({503} if name.startswith("prize") else {202}), during
    # A player who scored after the checkpoint is not in it.
    assert {answer.status for answer in read if answer.moment > gone + 1.1} <= {200, 404}
    assert max(answer.seconds for answer in (*read, *load.answers)) < 4 * DEADLINE
    until(nodes.formed, AGREEMENT)
    until(lambda: all(load.shown(board) is not None for board in load.boards), AGREEMENT)
    load.retry()
    rig.settles(load)


def test_boards_on_other_nodes_than_a_dead_one_are_served(rig: Rig, nodes: Cluster) -> None:
    dead, *living = [node for node in nodes.nodes if is_primary(node)]
    gone, here, there = board_on(nodes, dead), board_on(nodes, living[0]), board_on(nodes, living[1])
    for name in (gone, here, there):
        rig.define(name, operator="sum", consistency="strong")
        assert add(rig, name).status == 200
    other = rig.define(board_on(nodes, dead), operator="last")
    answers: dict[str, list[Answer]] = {name: [] for name in (gone, here, there, other)}
    stopping = threading.Event()

    def write(name: str) -> None:
        while not stopping.wait(0.02):
            answers[name].append(add(rig, name))
            if name != other:
                answers[name].append(call(rig.service.url, "GET", f"/v1/boards/{name}/players/ann"))

    stopped = [replica_of(nodes, dead), dead]
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, name) for name in answers]
        for node in stopped:
            node.pause()
        moment = time.monotonic()
        time.sleep(6)
        stopping.set()
        for done in writing:
            done.result()
    for node in stopped:
        node.resume()
    statuses = {name: Counter(answer.status for answer in found if answer.moment > moment + 0.1) for name, found in answers.items()}
    print(statuses)
    assert statuses[here].keys() == statuses[there].keys() == {200}
    assert statuses[gone].keys() <= {503, 200}
    assert statuses[other].keys() <= {202}
    # Whatever was under way when it died may wait for it once, and no more.
    slow = [answer for name in (here, there) for answer in answers[name] if answer.seconds > DEADLINE / 2]
    assert len(slow) <= 8, [round(answer.seconds, 2) for answer in slow]
    until(nodes.formed, AGREEMENT)
    until(lambda: all(rig.verifies(name) for name in answers), AGREEMENT)


def test_a_strong_board_is_never_old_after_the_takeover_of_a_replica_that_lags(rig: Rig, nodes: Cluster) -> None:
    stale = []
    for _ in range(4):
        primary = next(node for node in nodes.nodes if is_primary(node))
        replica, board = replica_of(nodes, primary), rig.define(board_on(nodes, primary), operator="sum", consistency="strong")
        assert add(rig, board).status == 200
        primary.ask("ACL SETUSER", "default", "-psync", "-sync")
        primary.ask("CLIENT KILL", "TYPE", "replica")
        until(lambda replica=replica: replica.ask("INFO", "replication")["master_link_status"] == "down", 5)
        acknowledged = 1 + sum(add(rig, board).status == 200 for _ in range(20))
        assert rig.service.get(board, "players/ann")["score"] == acknowledged == 21
        replica.ask("CLUSTER FAILOVER", "TAKEOVER")
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            for path in ("players/ann", "top", "ranks/1"):
                answer = call(rig.service.url, "GET", f"/v1/boards/{board}/{path}")
                assert answer.status in (200, 503), answer
                shown = [s["score"] for s in answer.body.get("standings", [answer.body])] if answer.status == 200 else [acknowledged]
                stale += [score for score in shown if score != acknowledged]
        primary.ask("ACL SETUSER", "default", "+psync", "+sync")
        until(nodes.formed, AGREEMENT)
        until(lambda board=board: rig.verifies(board), AGREEMENT)
    assert not stale, f"{len(stale)} stale answers"


def test_a_slot_loses_its_owner_and_gets_another(rig: Rig, nodes: Cluster) -> None:
    first, second = [node for node in nodes.nodes if is_primary(node)][:2]
    board, other = (
        rig.define(board_on(nodes, first), operator="sum"),
        rig.define(board_on(nodes, first), operator="sum", consistency="strong"),
    )
    slot = slot_of(nodes, board)
    for name in (board, other):
        assert add(rig, name).status == 200
    for node in nodes.nodes:
        if is_primary(node):
            node.ask("CLUSTER DELSLOTS", slot)
    until(lambda: owner_or_none(nodes, slot) is None, 5)
    # Whoever asks now where the slots are does not hear of this one.
    first.ask("CLIENT KILL", "TYPE", "normal")
    for _ in range(10):
        assert add(rig, board).status == 202
        assert add(rig, other).status == 200, "the node serves its other slots"
    second.ask("CLUSTER ADDSLOTS", slot)
    second.ask("CLUSTER BUMPEPOCH")
    until(lambda: add(rig, board).status == 200, RECOVERY)
    until(lambda: rig.verifies(board), RECOVERY)
