"""Boards with decay, over HTTP, on a clock that the tests set: shown scores shrink, ranks stay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from keepscore import Board, Leaderboards
from keepscore.domain.results.standings import Receipt
from keepscore.domain.scoring import Kind
from keepscore.errors import EngineUnavailable, InvalidScore
from keepscore.service.app import make_app
from keepscore.writing.checks import SubmissionRequest, check_submission
from keepscore.writing.groups import PendingRequest
from tests.contract.driving import restate
from tests.service.redis_places import open_redis

HOUR, DAY = 3_600_000, 86_400_000
#: 2026-11-15T12:00:00Z.
NOON = 1_794_744_000_000
WEEK = {"half_life": "7d"}

ENGINES = {"embedded": lambda: "embedded://", "redis": lambda: open_redis().url}


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now


class Running:
    """A service in this process, on a clock."""

    def __init__(self, leaderboards: Leaderboards, clock: Clock, client: httpx.AsyncClient) -> None:
        self.lb = leaderboards
        self.clock = clock
        self.client = client

    async def get(self, path: str, **options: Any) -> Any:
        """What a read answers."""
        answer = await self.client.get(path, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, status: int = 200, **body: Any) -> Any:
        """What a write answers."""
        answer = await self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def top(self, board: str) -> list[tuple[int, str, Any]]:
        """The ranking."""
        return [(s["rank"], s["player_id"], s["score"]) for s in (await self.get(f"/v1/boards/{board}/top"))["standings"]]


Open = Callable[..., Any]


@asynccontextmanager
async def opened(engine: str, path: Path, clock: Clock, *boards: Board) -> AsyncIterator[Running]:
    """A service with these boards; the first is the one behind /api/v1/leaderboard."""
    async with Leaderboards.open(f"sqlite:///{path}", engine, boards, clock) as lb:
        transport = httpx.ASGITransport(make_app(lb, boards[0].name))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield Running(lb, clock, client)


@pytest.fixture(params=ENGINES)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens a service on one ledger, again and again; the clock goes on."""
    return partial(opened, ENGINES[request.param](), tmp_path / "scores.db", Clock())


@pytest.mark.parametrize("operator", ["best", "sum", "last"])
async def test_a_shown_score_halves_after_a_half_life_and_the_rank_stays(run: Open, operator: str) -> None:
    name, field = f"halves-{operator}", "score" if operator == "best" else "amount"
    address = f"/v1/boards/{name}"
    async with run(Board(name, operator=operator, decay=WEEK)) as service:
        send = partial(service.post, address + ("/scores" if operator == "best" else "/increments"))
        assert (await send(player_id="alice", **{field: 1000}))["score"] == 1000
        assert (await send(player_id="bob", **{field: 400}))["rank"] == 2
        service.clock.now += 7 * DAY
        assert await service.top(name) == [(1, "alice", 500), (2, "bob", 200)]
        place = await service.get(f"{address}/players/alice?around=1")
        assert (place["rank"], place["score"], [s["score"] for s in place["around"]]) == (1, 500, [500, 200])
        around = await service.get(f"{address}/ranks/1?around=1")
        assert [s["score"] for s in around["standings"]] == [500, 200]
        found = await service.post(f"{address}/players/lookup", player_ids=["bob", "alice"])
        assert [s["score"] for s in found["standings"]] == [500, 200]
        for bounds, count in {"": 2, "?min=201": 1, "?min=200&max=200": 1, "?max=199": 0, "?min=501": 0}.items():
            assert (await service.get(f"{address}/count{bounds}"))["count"] == count
        # 300 now is more than the 200 that are left of 400.
        receipt = await send(player_id="bob", **{field: 301})
        now = {"best": 301, "sum": 501, "last": 501}[operator]
        assert (receipt["score"], receipt["rank"], receipt["updated"]) == (now, 2 if operator == "best" else 1, True)
        service.clock.now += 70 * DAY
        assert [score for _, _, score in await service.top(name)] == [0, 0]
        assert (await service.get(f"{address}/count?min=1"))["count"] == 0
        assert (await service.lb.admin.verify(name)).ok


async def test_the_routes_of_existing_clients_show_what_is_left(run: Open) -> None:
    async with run(Board("compat", operator="last", decay=WEEK)) as service:
        base = "/api/v1/leaderboard"
        assert (await service.post(f"{base}/score", player_id=1, score=100, leaderboard_type="global"))["score"] == 100
        service.clock.now += 7 * DAY
        assert (await service.post(f"{base}/score/increment", player_id=1, score_delta=10, leaderboard_type="global"))["score"] == 60
        service.clock.now += 7 * DAY
        assert [p["score"] for p in (await service.get(f"{base}/top?n=5"))["players"]] == [30]
        assert (await service.get(f"{base}/rank/1"))["score"] == 30
        assert [p["score"] for p in (await service.get(f"{base}/around/1"))["players"]] == [30]


async def test_decimals_are_kept_and_rounded_to(run: Open) -> None:
    async with run(Board("fine", decimals=2, decay=WEEK)) as service:
        assert (await service.post("/v1/boards/fine/scores", player_id="a", score=10.24))["score"] == 10.24
        service.clock.now += 7 * DAY
        assert (await service.top("fine"))[0][2] == 5.12
        assert (await service.get("/v1/boards/fine/count?min=5.12&max=5.12"))["count"] == 1


async def test_pages_are_not_kept_for_longer_than_a_second(run: Open) -> None:
    async with run(Board("kept", decay={"half_life": "1h"}), Board("plain")) as service:
        for board in ("kept", "plain"):
            await service.post(f"/v1/boards/{board}/scores", player_id="a", score=1_000_000)
        first = {board: await service.client.get(f"/v1/boards/{board}/top") for board in ("kept", "plain")}
        service.clock.now += 1000
        again = await service.client.get("/v1/boards/kept/top", headers={"If-None-Match": first["kept"].headers["etag"]})
        assert again.status_code == 200
        assert again.json()["standings"][0]["score"] == round(1_000_000 * 2 ** (-1 / 3600))
        if not service.lb.runtime.engine.is_shared:
            same = await service.client.get("/v1/boards/plain/top", headers={"If-None-Match": first["plain"].headers["etag"]})
            assert same.status_code == 304


async def test_cursors_go_on_while_scores_shrink(run: Open) -> None:
    async with run(Board("pages", decay=WEEK)) as service:
        for n in range(1, 8):
            await service.post("/v1/boards/pages/scores", player_id=f"p{n}", score=n * 100)
        seen: list[tuple[int, int]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await service.get(f"/v1/boards/pages/top?limit=3{cursor and '&cursor=' + cursor}")
            seen += [(s["rank"], s["score"]) for s in page["standings"]]
            cursor = page["next_cursor"]
            service.clock.now += 7 * DAY
        assert seen == [(1, 700), (2, 600), (3, 500), (4, 200), (5, 150), (6, 100), (7, 25)]


async def test_a_late_score_is_worth_what_is_left_of_it(run: Open) -> None:
    async with run(Board("late", operator="sum", decay={"half_life": "1d"}, windows=["all_time", "yearly"])) as service:
        send = partial(service.post, "/v1/boards/late/increments", player_id="a")
        assert (await send(amount=100, at="2026-11-13T12:00:00Z"))["score"] == 25
        assert (await send(amount=10))["score"] == 35
        assert (await send(amount=10, at="2026-11-14T12:00:00Z"))["windows"]["yearly"]["score"] == 40


async def test_linked_boards_decay_by_themselves(run: Open) -> None:
    async with run(Board("game", also=["xp"]), Board("xp", operator="sum", decay=WEEK, max_score=1000)) as service:
        for score in (100, 50):
            await service.post("/v1/boards/game/scores", player_id="a", score=score)
        assert await service.top("xp") == [(1, "a", 150)]
        service.clock.now += 7 * DAY
        assert (await service.top("game"), await service.top("xp")) == ([(1, "a", 100)], [(1, "a", 75)])
        for score in (-1, 1001):
            refused = await service.post("/v1/boards/game/scores", 422, player_id="a", score=score)
            assert f"score = {score} is outside the bounds of board 'xp'" in refused["detail"]


async def test_what_a_board_with_decay_does_not_take(run: Open) -> None:
    boards = [Board("total", operator="sum", decay=WEEK, min_score=2, max_score=100), Board("peak", decay=WEEK)]
    async with run(*boards) as service:
        refused = await service.post("/v1/boards/total/scores", 422, player_id="a", score=5)
        assert "is a sum with decay: send an amount" in refused["detail"]
        for amount in (-1, 1, 101):
            refused = await service.post("/v1/boards/total/increments", 422, player_id="a", amount=amount)
            assert f"amount = {amount} is outside the bounds of board 'total': 2 to 100" in refused["detail"]
        refused = await service.post("/v1/boards/peak/scores", 422, player_id="a", score=-1)
        assert "0 to 9007199254740991, as it has decay" in refused["detail"]
        # Single amounts are bounded, not what they add up to.
        for _ in range(3):
            receipt = await service.post("/v1/boards/total/increments", player_id="a", amount=100)
        assert receipt["score"] == 300


async def test_all_is_as_it_was_after_a_restart_and_a_change_rebuilds(run: Open) -> None:
    board = Board("again", operator="sum", decay=WEEK)
    async with run(board) as service:
        for n, player in enumerate("abcabcab", 1):
            await service.post("/v1/boards/again/increments", player_id=player, amount=n * 100)
            service.clock.now += DAY
        before = await service.top("again")
    async with run(board) as service:
        assert await service.top("again") == before
        assert (await service.lb.admin.verify("again")).ok
        shown = await service.get("/v1/boards/again")
        assert shown["decay"] == {"half_life": "7d"}
        without = {**shown, "decay": None}
        assert (await service.client.put("/v1/boards/again", json=without)).status_code == 200
        assert await service.top("again") == [(1, "b", 1500), (2, "a", 1200), (3, "c", 900)]
        await service.post("/v1/boards/again/increments", player_id="c", amount=-800)
        del shown["version"]
        assert (await service.client.put("/v1/boards/again?confirm=true", json=shown)).status_code == 200
        # What is below 0 is worth nothing.
        assert await service.top("again") == before
        assert (await service.lb.admin.verify("again")).ok


async def test_a_wrong_level_is_found_and_told_as_a_score(run: Open) -> None:
    board = Board("wrong", operator="sum", decay=WEEK)
    async with run(board) as service:
        await service.post("/v1/boards/wrong/increments", player_id="a", amount=100)
        (ranking,) = await service.lb.runtime.engine.rankings(1)
        (state,) = await service.lb.runtime.engine.states(ranking, ["a"])
        assert state is not None
        await restate(service.lb.runtime.engine, ranking, "a", state._replace(score=state.score + 1))
        assert (await service.lb.admin.verify("wrong")).ok
        await restate(service.lb.runtime.engine, ranking, "a", state._replace(score=state.score + board.half_life.scale))
        (difference,) = (await service.lb.admin.verify("wrong")).differences
        assert difference.ledger.startswith("100 (level ")
        assert difference.engine.startswith("200 (level ")


async def test_an_amount_that_is_recorded_and_not_ranked_yet_has_no_score(run: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(batches: object) -> None:
        raise EngineUnavailable("the engine is away")

    async with run(Board("pending", operator="sum", decay=WEEK)) as service:
        send = partial(service.post, "/v1/boards/pending/increments", player_id="a", amount=100)
        with monkeypatch.context() as broken:
            broken.setattr(service.lb.runtime.engine, "apply", away)
            receipt = await send(202, at="2026-11-08T12:00:00Z")
        assert (receipt["score"], receipt["rank"], receipt["pending"]) == (None, None, True)
        assert (await send())["score"] == 150


async def test_what_waits_while_a_board_gets_decay_is_taken_by_the_new_definition(run: Open) -> None:
    boards = [Board("wait-sum", operator="sum"), Board("wait-last", operator="last"), Board("wait-best")]
    async with run(*boards) as service:
        lb = service.lb
        olds = {board.name: lb.runtime.catalog[board.name] for board in boards}
        for board in boards:
            await lb.admin.put_board(Board(board.name, operator=board.operator, decay=WEEK), confirm=True)

        async def late(name: str, kind: Kind, amount: int) -> Receipt:
            """Submit what was checked by the old definition."""
            submission = check_submission(olds[name], SubmissionRequest("a", kind, amount), NOON, ranked=True)
            answer = asyncio.get_running_loop().create_future()
            receipt: Receipt = await lb.runtime.writer.submit(PendingRequest([(0, submission)], [], None, True, False, answer))
            return receipt

        with pytest.raises(InvalidScore, match="send an amount"):
            await late("wait-sum", "score", 5)
        with pytest.raises(InvalidScore, match="amount = -5 is outside the bounds of board 'wait-last'"):
            await late("wait-last", "increment", -5)
        assert (await late("wait-sum", "increment", 5)).score == 5
        with pytest.raises(InvalidScore, match="score = -5 is outside the bounds of board 'wait-best'"):
            await late("wait-best", "score", -5)
        assert (await late("wait-best", "score", 7)).score == 7
        assert all([(await lb.admin.verify(board.name)).ok for board in boards])


@pytest.mark.parametrize(("ties", "layout"), [("first", "timed"), ("last", "timed"), ("player", "plain")])
async def test_the_layout_in_redis_says_why(tmp_path: Path, ties: str, layout: str) -> None:
    board = Board(f"layout-{ties}", ties=ties, decay=WEEK, max_score=10, windows=["daily"])
    async with opened(open_redis().url, tmp_path / "scores.db", Clock(), board) as service:
        found = (await service.get(f"/v1/boards/{board.name}"))["layouts"]["daily"]
        assert found["layout"] == layout
        assert "decay" in found["why"]
