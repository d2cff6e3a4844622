"""Server-sent events: the state first, then differences; resumed by position; windows that end; slow readers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from keepscore import Board, Entry
from keepscore.domain.caps import LiveCaps
from keepscore.reading.live.hub import LiveTimes
from tests.service.live.rig import QUICK, Replica, app_of, following, opened, refusal, rows

BOARDS = Board("global", windows=["all_time", "daily"], segments=["region"]), Board("xp", operator="sum")


async def test_the_state_then_differences():
    async with opened(*BOARDS) as lb:
        app = app_of(lb)
        first = await lb.submit("global", "ada", 10)
        async with following(app, "board=global&window=all_time&segment=&top=2") as stream:
            name, state, number = await stream.next()
            assert (name, state["recovered"], state["total_players"], rows(state["standings"])) == ("state", False, 1, [(1, "ada", 10)])
            assert state["position"] == number == first.position
            assert 1000 <= stream.retry <= 3000
            second = await lb.submit("global", "bob", 20)
            name, change, number = await stream.next()
            assert (name, change["removed"], change["total_players"]) == ("change", [], 2)
            assert rows(change["standings"]) == [(1, "bob", 20), (2, "ada", 10)]
            assert change["position"] == number == second.position
            await lb.submit("global", "cyd", 15)
            name, change, _ = await stream.next()
            assert (rows(change["standings"]), change["removed"]) == ([(2, "cyd", 15)], ["ada"])
            await lb.submit("global", "cyd", 5)
            await lb.submit("global", "dan", 1)
            name, change, _ = await stream.next()
            assert (change["standings"], change["removed"], change["total_players"]) == ([], [], 4)
        assert not lb.runtime.live.subscribers, "who has gone is forgotten"


async def test_resuming_from_a_position():
    async with opened(*BOARDS) as lb:
        app = app_of(lb)
        old = (await lb.submit("global", "ada", 10)).position
        await lb.submit("global", "bob", 20)
        for query, headers in ((f"board=global&resume_from={old}", {}), ("board=global", {"last_event_id": str(old)})):
            async with following(app, query, **headers) as stream:
                _, state, _ = await stream.next()
                assert (state["recovered"], rows(state["standings"])) == (True, [(1, "bob", 20), (2, "ada", 10)])
        await lb.admin.rebuild("global")
        async with following(app, f"board=global&resume_from={old}") as stream:
            assert (await stream.next())[1]["recovered"] is False, "what was shown may have been taken back"


async def test_around_a_player_and_being_overtaken():
    async with opened(*BOARDS) as lb:
        app = app_of(lb)
        for player, score in (("ada", 10), ("bob", 20), ("cyd", 30), ("dan", 5)):
            await lb.submit("global", player, score)
        async with following(app, "board=global&player_id=bob&around=1") as stream, following(app, "board=global&player_id=bob") as alone:
            assert rows((await stream.next())[1]["standings"]) == [(1, "cyd", 30), (2, "bob", 20), (3, "ada", 10)]
            assert rows((await alone.next())[1]["standings"]) == [(2, "bob", 20)]
            await lb.submit("global", "dan", 25)
            for one in (stream, alone):
                _, told, _ = await one.next("overtaken")
                assert {key: told[key] for key in ("player_id", "by", "rank", "previous_rank")} == {
                    "player_id": "bob",
                    "by": "dan",
                    "rank": 3,
                    "previous_rank": 2,
                }
        async with following(app, "board=global&player_id=nobody") as stream:
            assert (await stream.next())[1]["standings"] == [], "whoever is not ranked yet may be soon"
            await lb.submit("global", "nobody", 1)
            assert rows((await stream.next())[1]["standings"]) == [(5, "nobody", 1)]


async def test_friends_and_several_boards():
    async with opened(*BOARDS) as lb:
        app = app_of(lb)
        await lb.friends.replace("ada", ["bob"])
        for player, score in (("ada", 10), ("bob", 20), ("cyd", 30)):
            await lb.submit("global", player, score)
        async with following(app, "board=global&friends_of=ada") as stream:
            assert rows((await stream.next())[1]["standings"]) == [(2, "bob", 20), (3, "ada", 10)]
        async with following(app, "board=global,xp&player_id=ada") as stream:
            boards = {(data["board"], number) for _, data, number in [await stream.next(), await stream.next()]}
            assert {board for board, _ in boards} == {"global", "xp"}
            await lb.increment("xp", "ada", 3)
            _, data, number = await stream.next()
            assert data["board"] == "xp"
        async with following(app, "board=global,xp&player_id=ada", last_event_id=str(number)) as stream:
            assert [(await stream.next())[1]["recovered"] for _ in range(2)] == [True, True]


async def test_a_window_that_closes_and_one_that_is_reset():
    now = [round(datetime(2026, 11, 15, 23, 59, 59, tzinfo=UTC).timestamp() * 1000)]
    async with opened(*BOARDS, clock=lambda: now[0]) as lb:
        app = app_of(lb)
        await lb.submit("global", "ada", 10)
        async with following(app, "board=global&window=daily") as daily, following(app, "board=global") as always:
            await daily.next("state")
            await always.next("state")
            now[0] += 2000
            _, window, _ = await daily.next("window")
            assert (window["window"], window["window_id"], window["event"]) == ("daily", "2026-11-15", "closed")
            _, state, _ = await daily.next()
            assert (state["window_id"], state["standings"], state["recovered"]) == ("2026-11-16", [], False)
            await lb.submit("global", "bob", 5)
            assert rows((await daily.next("change"))[1]["standings"]) == [(1, "bob", 5)]
            reset = asyncio.ensure_future(lb.admin.reset("global"))
            while not reset.done():
                now[0] += 10
                await asyncio.sleep(0.01)
            _, window, _ = await always.next("window")
            assert (window["window"], window["window_id"], window["event"]) == ("all_time", "all_time.v1", "reset")
            assert (await always.next())[1]["standings"] == []


@pytest.mark.parametrize("is_awaited", [True, False])
async def test_a_slow_reader_gets_the_newest_state(is_awaited: bool):
    async with opened(*BOARDS) as lb:
        app = app_of(lb)
        await lb.submit("global", "ada", 0)
        async with following(app, "board=global", is_awaited) as slow, following(app, "board=global", is_awaited) as quick:
            await slow.next("state")
            await quick.next("state")
            slow.is_reading.clear()
            for n in range(1, 60):
                await lb.submit("global", "ada", n)
                await quick.next("change")
            slow.is_reading.set()
            seen = [await slow.next()]
            while seen[-1][1]["standings"][0]["score"] != 59:
                seen.append(await slow.next())
            assert len(seen) < 25, "never a growing buffer"
            assert any(name == "state" for name, _, _ in seen)
        async with following(app, "board=global&mode=cache", is_awaited) as cached:
            await lb.submit("global", "ada", 60)
            _, state, _ = await cached.next("state")
            while state["standings"][0]["score"] != 60:
                name, state, _ = await cached.next()
                assert name == "state"


async def test_signs_of_life_and_lost_notices():
    async with opened(*BOARDS, times=QUICK.__class__(interval_s=0.01, heartbeat_s=0.1, check_s=0.05)) as lb:
        app = app_of(lb)
        async with following(app, "board=global") as stream:
            await stream.next("state")
            assert (await stream.next())[0] == "ping"
            # Something changes the ranking, and nobody says so.
            lb.runtime.feed._listeners.clear()
            await lb.submit("global", "ada", 7)
            assert rows((await stream.next("change"))[1]["standings"]) == [(1, "ada", 7)]


async def test_subscribers_converge_while_scores_keep_coming():
    async with opened(*BOARDS) as lb:
        app, replica = app_of(lb), Replica()
        async with following(app, "board=global&top=5") as stream:
            for n in range(300):
                await lb.submit("global", f"p{n % 17}", n * 7919 % 1000)
                if n == 150:
                    await lb.admin.rebuild("global")
            top = await lb.top("global", limit=5)
            while f"{replica.position[0]}:{replica.position[1]}" != top.position:
                name, data, _ = await stream.next()
                replica.take(name, data)
            assert replica.shown() == [(one.rank, one.player_id, one.score) for one in top.standings]
            assert replica.total == top.total_players


@pytest.mark.parametrize(
    ("query", "status", "type_", "word"),
    [
        ("", 422, "invalid-field", "board"),
        ("board=nowhere", 404, "unknown-board", "nowhere"),
        ("board=global&window=weekly", 404, "unknown-window", "weekly"),
        ("board=global&segment=planet:mars", 404, "unknown-segment", "planet"),
        ("board=global&top=0", 422, "invalid-page", "top"),
        ("board=global&top=1001", 422, "invalid-page", "1001"),
        ("board=global&top=x", 422, "invalid-field", "top"),
        ("board=global&around=5", 422, "invalid-field", "player_id"),
        ("board=global&player_id=ada&around=501", 422, "invalid-page", "501"),
        ("board=global&player_id=ada&top=5", 422, "invalid-field", "exclude"),
        ("board=global&mode=all", 422, "invalid-field", "mode"),
        ("board=global&resume_from=x", 422, "invalid-position", "'x'"),
        ("board=global&who=me", 422, "invalid-field", "who"),
        (f"board={','.join(f'b{n}' for n in range(21))}", 422, "invalid-field", "21"),
    ],
)
async def test_what_cannot_be_followed(query, status, type_, word):
    async with opened(*BOARDS) as lb:
        found, problem = await refusal(app_of(lb), query)
        assert (found, problem["type"]) == (status, f"urn:keepscore:{type_}")
        assert word in problem["detail"]
        assert not lb.runtime.live.subscribers


async def test_positions_of_the_future_and_too_many_streams():
    async with opened(*BOARDS) as lb:
        app = app_of(lb, caps=LiveCaps(per_address=2))
        epoch = (await lb.submit("global", "ada", 10)).position.partition(":")[0]
        assert (await refusal(app, "board=global", last_event_id=f"{epoch}:99"))[1]["type"] == "urn:keepscore:invalid-position"
        async with following(app, "board=global") as one:
            async with following(app, "board=global") as other:
                await one.next("state")
                await other.next("state")
                status, problem = await refusal(app, "board=global")
                assert (status, problem["type"]) == (429, "urn:keepscore:too-many-subscriptions")
            async with following(app, "board=global") as third:
                await third.next("state")


async def test_a_board_that_is_deleted_ends_its_streams():
    async with opened(*BOARDS) as lb, following(app_of(lb), "board=xp") as stream:
        await stream.next("state")
        await lb.admin.delete_board("xp")
        _, data, _ = await stream.next("error")
        assert data["type"] == "urn:keepscore:unknown-board"
        assert (await stream.next())[0] == "end"


async def test_friends_who_come_and_go_and_more_than_a_lookup_takes():
    async with opened(*BOARDS) as lb:
        app = app_of(lb)
        friends = [f"p{n}" for n in range(2000)]
        await lb.submit_many("global", [Entry(player_id=player, score=score) for score, player in enumerate(friends)])
        await lb.friends.replace("ada", ["bob", "cyd"])
        for player, score in (("ada", 3001), ("bob", 3002), ("cyd", 3003)):
            await lb.submit("global", player, score)
        async with following(app, "board=global&friends_of=ada") as stream:
            assert rows((await stream.next())[1]["standings"]) == [(1, "cyd", 3003), (2, "bob", 3002), (3, "ada", 3001)]
            await lb.friends.remove("ada", "bob")
            assert (await stream.next("change"))[1]["removed"] == ["bob"]
            await lb.friends.replace("ada", friends)
            _, change, _ = await stream.next("change")
            assert (change["removed"], len(change["standings"])) == (["cyd"], 2000)


async def test_whoever_was_further_elsewhere_does_not_come_from_the_future():
    slow = LiveTimes(interval_s=0.3, heartbeat_s=15.0, check_s=0.05)
    async with opened(*BOARDS, times=slow) as lb:
        app = app_of(lb)
        await lb.submit("global", "ada", 10)
        async with following(app, "board=global") as stream:
            await stream.next("state")
            await lb.submit("global", "bob", 20)
            await stream.next("change")
            # What is followed here is told in a moment; another process may have told it already.
            told = (await lb.submit("global", "cyd", 30)).position
            async with following(app, "board=global", last_event_id=str(told)) as other:
                _, state, _ = await other.next()
                assert (state["recovered"], state["position"], len(state["standings"])) == (True, told, 3)
            epoch, _, seq = str(told).partition(":")
            assert (await refusal(app, f"board=global&resume_from={epoch}:{int(seq) + 1}"))[0] == 422
