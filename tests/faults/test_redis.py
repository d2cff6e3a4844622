"""Redis is away, empty, older than it was, or somewhere else, under load: what was acknowledged is ranked, once."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.rig import cut_off, is_primary, until
from tests.service.running import Service
from tests.support.redis_load import Answer, Load, call
from tests.support.redis_servers import Cluster, RedisServer, cluster, sentinels, single

#: Seconds that a call to Redis may take.
DEADLINE = 0.5
#: Seconds after which all is ranked again once Redis answers: a pause of the breaker, one of the keeper, and the work itself.
RECOVERY = 4.5

_numbers = itertools.count(1)


class Rig:
    """A service on some Redis, and boards for one test at a time."""

    def __init__(self, folder: Path, url: str) -> None:
        self.service = Service(folder, f'[engine]\nurl = "{url}?deadline={DEADLINE}"\n')

    def define(self, name: str, **fields: object) -> str:
        """Define a board, as soon as Redis can be used."""
        until(lambda: call(self.service.url, "PUT", f"/v1/boards/{name}", fields).status in (200, 201), RECOVERY)
        return name

    def load(self, strong: bool = False) -> Load:
        """Clients of new boards: a sum, the last score, the best one; one that takes nothing without its engine if asked."""
        number = next(_numbers)
        boards = {f"sums-{number}": "sum", f"lasts-{number}": "last", f"bests-{number}": "best"}
        for name, operator in boards.items():
            extra = {"max_score": 100_000, "resolution": "1s"} if operator == "best" else {"windows": ["all_time", "daily"]}
            self.define(name, operator=operator, **extra)
        if strong:
            boards[self.define(f"prize-{number}", operator="sum", consistency="strong", ties="player")] = "sum"
        return Load(self.service.url, boards)

    def settles(self, load: Load, seconds: float = RECOVERY) -> float:
        """Without any further submission, all is ranked, once; gives after how many seconds."""
        took = until(load.is_shown, seconds)
        load.check(self.service.ledger)
        for board in load.boards:
            until(lambda board=board: self.verifies(board), RECOVERY)
        return took

    def verifies(self, board: str) -> bool:
        """Whether a board could be verified, which must find nothing but events that are not applied yet."""
        answer = call(self.service.url, "POST", f"/v1/boards/{board}/verify")
        found = answer.body.get("differences", [])
        assert answer.status == 503 or all(one["problem"] == "watermark" for one in found), answer
        return answer.status == 200 and not found


@contextmanager
def rig_on(folder: Path, url: str) -> Iterator[Rig]:
    rig = Rig(folder, url)
    try:
        yield rig
        assert "Traceback" not in rig.service.log.read_text()
    finally:
        rig.service.stop()


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """A Redis that saves when it is told to, and forgets all else."""
    with single() as running:
        yield running


@pytest.fixture(scope="module")
def rig(server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rig_on(tmp_path_factory.mktemp("redis"), server.url) as made:
        yield made


def reads(rig: Rig, load: Load, seconds: float) -> list[Answer]:
    """What readers of a board get, for a while."""
    board = next(iter(load.boards))
    paths = [f"/v1/boards/{board}/{route}" for route in ("top", "players/p1", "ranks/1", "count")]
    answers, end = [], time.monotonic() + seconds
    for path in itertools.cycle(paths):
        answers.append(call(rig.service.url, "GET", path))
        if time.monotonic() > end:
            return answers
        time.sleep(0.05)
    return answers


def test_redis_stands_still(rig: Rig, server: RedisServer) -> None:
    with rig.load(strong=True).running() as load:
        load.reach(60)
        paused = time.monotonic()
        server.pause()
        try:
            read = reads(rig, load, 4)
        finally:
            load.stop()
            server.resume()
    took = rig.settles(load)
    # Some were on their way when it stopped; what is kept of a page may be told for a second.
    during = {name: [a for s in load.sent if s.board == name for a in s.answers if a.moment > paused + 0.1] for name in load.boards}
    for name, answers in during.items():
        assert answers
        if name.startswith("prize"):
            assert {answer.status for answer in answers} == {503}
        else:
            assert {(answer.status, answer.body["pending"], answer.body["rank"]) for answer in answers} == {(202, True, None)}
    # A player who scored after the checkpoint is not in it.
    later = [answer for answer in read if answer.moment > paused + 1.1]
    assert {answer.status for answer in later} <= {200, 404}
    assert {answer.body["stale"] for answer in later if answer.status == 200} == {True}
    slowest = max(answer.seconds for answer in (*read, *itertools.chain(*during.values())))
    print(f"slowest answer {slowest:.2f} s, all ranked after {took:.2f} s")
    assert slowest < 3 * DEADLINE
    load.retry()
    load.check(rig.service.ledger)


def test_redis_is_killed_and_comes_back_empty(rig: Rig, server: RedisServer) -> None:
    with rig.load(strong=True).running() as load:
        load.reach(60)
        server.kill()
        load.reach(30)
        server.start()
        load.reach(30)
    assert load.statuses.keys() <= {200, 202, 503}
    until(lambda: all(load.shown(board) is not None for board in load.boards), RECOVERY)
    load.retry()
    rig.settles(load)


def test_connections_of_before_a_restart_are_no_trouble_after_it(rig: Rig, server: RedisServer) -> None:
    board = rig.define("slices", segments=["region"])
    scores = [{"player_id": "alice", "score": number, "segments": {"region": f"r{number}"}} for number in range(40)]
    assert call(rig.service.url, "POST", f"/v1/boards/{board}/scores/batch", {"scores": scores}).status == 200
    # Looks at all rankings at once, on a connection each.
    until(lambda: rig.verifies(board), RECOVERY)
    server.kill()
    server.start()
    until(lambda: call(rig.service.url, "GET", f"/v1/boards/{board}/players/alice").status == 200, RECOVERY)
    until(lambda: rig.verifies(board), RECOVERY)


def test_what_is_recorded_is_not_refused(rig: Rig, server: RedisServer) -> None:
    """The ranks after a gap cannot be told, as Redis does not let them be read: the submission counts, and the answer says so."""
    board = rig.define("recorded")
    for player in ("alice", "bob"):
        rig.service.submit(board, player, 5)
    marks = f"keepscore:{{{board}}}:{board}:applied"
    ((writer, last),) = [pair for pair in server.ask("HGETALL", marks).items() if pair[0] != b"epoch"]
    server.ask("ACL SETUSER", "default", "-zrevrank")
    try:
        server.ask("HSET", marks, writer, int(last) - 1)
        answer = call(rig.service.url, "POST", f"/v1/boards/{board}/scores", {"player_id": "carol", "score": 7})
    finally:
        server.ask("ACL SETUSER", "default", "+zrevrank")
    until(lambda: rig.verifies(board), RECOVERY)
    assert rig.service.order(board)[0] == "carol"
    assert answer.status in (200, 202), answer


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_redis_loses_everything_while_it_runs(rig: Rig, server: RedisServer, busy: bool) -> None:
    with rig.load().running() as load:
        load.reach(60)
        if not busy:
            load.stop()
            assert load.is_shown()
        server.ask("FLUSHALL")
        if busy:
            load.reach(60)
    rig.settles(load)
    assert load.statuses.keys() == {200}


def test_a_verification_meanwhile_holds_nobody_up(rig: Rig, server: RedisServer) -> None:
    board, other = rig.define("verified"), rig.define("other")
    rig.service.submit(board, "alice", 5)
    with ThreadPoolExecutor(1) as pool:
        server.ask("FLUSHALL")
        found = pool.submit(call, rig.service.url, "POST", f"/v1/boards/{board}/verify")
        answers = []
        while not found.done():
            answers.append(call(rig.service.url, "POST", f"/v1/boards/{other}/scores", {"player_id": "bob", "score": len(answers)}))
            time.sleep(0.02)
    assert {answer.status for answer in answers} <= {200}
    assert max(answer.seconds for answer in answers) < 1
    assert (found.result().status, found.result().body.get("differences")) in ((200, []), (503, None)), "what is missing comes back"


@pytest.mark.parametrize("parts", [["key"], ["times"], ["rankings", "applied"]], ids="-".join)
def test_redis_loses_some_keys_under_load(rig: Rig, server: RedisServer, parts: list[str]) -> None:
    """No answer is wrong meanwhile: a player's best score never falls, and a rank is never that of an empty board."""
    with rig.load(strong=True).running() as load:
        load.reach(60)
        for board in load.boards:
            names = {"key": f"keepscore:{{{board}}}:all_time:all_time", "times": f"keepscore:times:keepscore:{{{board}}}:all_time:all_time"}
            server.ask("DEL", *(names.get(part, f"keepscore:{{{board}}}:{board}:{part}") for part in parts))
        lost = time.monotonic()
        load.reach(60)
    assert load.statuses.keys() <= {200, 202}
    later = [answer for answer in load.answers if answer.moment > lost and answer.status == 200 and answer.body.get("total_players")]
    assert later
    assert all(answer.body["total_players"] > 3 for answer in later), "nobody is told that the board is empty"
    rig.settles(load)


@pytest.mark.parametrize("fault", ["full", "acl"])
def test_redis_refuses_writes_under_load(rig: Rig, server: RedisServer, fault: str) -> None:
    """Full, or without a command in the middle of a script: strong boards record nothing, others rank later, and readiness tells."""
    begin, end = {
        "full": (("CONFIG SET", "maxmemory", "1"), ("CONFIG SET", "maxmemory", "0")),
        "acl": (("ACL SETUSER", "default", "-zadd"), ("ACL SETUSER", "default", "+zadd")),
    }[fault]
    with rig.load(strong=True).running() as load:
        load.reach(60)
        server.ask(*begin)
        refused = time.monotonic()
        try:
            load.reach(60)
            ready = call(rig.service.url, "GET", "/readyz")
        finally:
            server.ask(*end)
        load.reach(30)
    during = {name: [a for s in load.sent if s.board == name for a in s.answers if a.moment > refused + 0.1] for name in load.boards}
    for name, answers in during.items():
        assert {answer.status for answer in answers} <= ({200, 503} if name.startswith("prize") else {200, 202}), name
    assert (ready.status, ready.body["status"]) == (200, "degraded")
    assert any(("OOM" if fault == "full" else "can't run this command") in reason for reason in ready.body["reasons"]), ready.body
    load.retry()
    rig.settles(load)
    until(lambda: call(rig.service.url, "GET", "/readyz").body == {"status": "ready", "reasons": []}, RECOVERY)


def test_redis_forgets_the_scripts(rig: Rig, server: RedisServer) -> None:
    with rig.load(strong=True).running() as load:
        for _ in range(5):
            load.reach(20)
            server.ask("SCRIPT FLUSH")
            load.shown(next(iter(load.boards)))
    assert load.statuses.keys() == {200}
    rig.settles(load)


@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "new process"])
def test_redis_comes_back_with_an_older_state(rig: Rig, server: RedisServer, restarted: bool) -> None:
    with rig.load().running() as load:
        load.reach(40)
        server.ask("SAVE")
        load.reach(60)
    assert load.is_shown()
    if restarted:
        # Who wrote what is missing is not there any more, and who is there has nothing to write.
        rig.service.stop()
        rig.service.start()
    before = rig.service.get(next(iter(load.boards)), "count")["count"]
    server.kill()
    server.start()
    until(lambda: server.ask("DBSIZE") > 0, 5)
    assert before > 0
    # A writer that is gone is not taken for gone at once.
    rig.settles(load, RECOVERY + 5 if restarted else RECOVERY)


def test_the_service_ends_while_redis_stands_still(rig: Rig, server: RedisServer) -> None:
    with rig.load().running() as load:
        load.reach(30)
        server.pause()
        try:
            load.reach(30)
            load.stop()
            start = time.monotonic()
            rig.service.process.send_signal(signal.SIGTERM)
            assert rig.service.process.wait(20) == 0
            assert time.monotonic() - start < 10
        finally:
            server.resume()
            rig.service.stop()
    rig.service.start()
    assert load.statuses.keys() <= {200, 202}
    rig.settles(load)


# -- Sentinels ------------------------------------------------------------------------------------------------------------


def test_a_failover_to_a_replica_that_lags(tmp_path: Path) -> None:
    with sentinels() as found, rig_on(tmp_path, found.url) as rig:
        load = rig.load()
        with load.running():
            load.reach(60)
            until(found.in_sync, 5)
            cut_off(found)
            load.reach(60)
            lost = found.primary.ask("INFO", "replication")["master_repl_offset"]
            assert all(replica.ask("INFO", "replication")["slave_repl_offset"] < lost for replica in found.replicas)
            found.primary.kill()
            took = until(lambda: found.current_primary() is not found.primary and is_primary(found.current_primary()), 20)
            until(lambda: load.answers[-1].status == 200, 10)
        print(f"a new primary after {took:.2f} s, {dict(load.statuses)}")
        load.retry()
        rig.settles(load)


# -- Cluster --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture
def spread(nodes: Cluster, tmp_path: Path) -> Iterator[Rig]:
    """A service on the Cluster."""
    with rig_on(tmp_path, nodes.url) as made:
        yield made


def slot_of(nodes: Cluster, board: str) -> int:
    return int(nodes.nodes[0].ask("CLUSTER KEYSLOT", f"{{{board}}}"))


def owner(nodes: Cluster, slot: int) -> RedisServer:
    """The primary that has a slot."""
    for node in nodes.nodes:
        if node.runs and is_primary(node):
            mine = node.ask("CLUSTER NODES")[f"127.0.0.1:{node.port}"]
            if any(int(first) <= slot <= int(last) for first, last in (s if len(s) == 2 else s * 2 for s in mine["slots"] if len(s) < 3)):
                return node
    raise AssertionError(f"nobody has slot {slot}")


def migrate(nodes: Cluster, slot: int, pace: Callable[[], None]) -> None:
    """Move a slot to another primary, key by key."""
    source = owner(nodes, slot)
    target = next(node for node in nodes.nodes if node is not source and is_primary(node))
    names = {node.port: node.ask("CLUSTER MYID").decode() for node in (source, target)}
    target.ask("CLUSTER SETSLOT", slot, "IMPORTING", names[source.port])
    source.ask("CLUSTER SETSLOT", slot, "MIGRATING", names[target.port])
    while keys := source.ask("CLUSTER GETKEYSINSLOT", slot, 1):
        source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 2000, "KEYS", *keys)
        pace()
    for node in (target, source, *(node for node in nodes.nodes if is_primary(node) and node not in (source, target))):
        node.ask("CLUSTER SETSLOT", slot, "NODE", names[target.port])
    until(lambda: owner(nodes, slot) is target, 5)


def test_a_slot_moves_to_another_node_of_a_cluster(spread: Rig, nodes: Cluster) -> None:
    with spread.load().running() as load:
        load.reach(60)
        for board in load.boards:
            migrate(nodes, slot_of(nodes, board), lambda: load.reach(6))
        load.reach(60)
    print(dict(load.statuses))
    load.retry()
    spread.settles(load)


def test_the_node_of_a_board_dies_and_its_replica_takes_over(spread: Rig, nodes: Cluster) -> None:
    with spread.load().running() as load:
        load.reach(60)
        slot = slot_of(nodes, next(iter(load.boards)))
        dying = owner(nodes, slot)
        dying.kill()
        took = until(lambda: owner_or_none(nodes, slot) not in (None, dying), 20)
        until(lambda: load.answers[-1].status == 200, 10)
    print(f"a new primary after {took:.2f} s, {dict(load.statuses)}")
    load.retry()
    spread.settles(load)


def owner_or_none(nodes: Cluster, slot: int) -> RedisServer | None:
    try:
        return owner(nodes, slot)
    except AssertionError:
        return None
