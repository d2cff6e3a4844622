"""WebSockets: many subscriptions on one connection, and what a client may do wrong."""

from __future__ import annotations

import asyncio

import pytest

from keepscore import Board
from keepscore.access.gate import Gate
from keepscore.access.keyring import Keyring
from keepscore.access.rate_limits import LimitRates, RateLimits
from keepscore.domain.caps import LiveCaps
from keepscore.service.guards import Guards
from keepscore.service.http.table import COSTS
from keepscore.service.live.sockets import MAX_FRAME_BYTES
from tests.service.live.rig import Socket, app_of, connected, following, opened, refusal, rows

BOARDS = Board("global"), Board("xp", operator="sum"), Board("open", read="public")


async def test_many_subscriptions_on_one_connection():
    async with opened(*BOARDS) as lb:
        position = (await lb.submit("global", "ada", 10)).position
        async with connected(app_of(lb)) as socket:
            await socket.say({"id": 1, "subscribe": {"board": "global", "top": 3, "resume_from": position}})
            state = await socket.hear()
            assert (state["id"], state["state"]["recovered"], rows(state["state"]["standings"])) == (1, True, [(1, "ada", 10)])
            await socket.say({"id": "mine", "subscribe": {"board": "xp", "player_id": "ada", "mode": "cache"}})
            assert (await socket.hear())["id"] == "mine"
            await lb.submit("global", "bob", 20)
            change = await socket.hear()
            assert (change["id"], rows(change["change"]["standings"])) == (1, [(1, "bob", 20), (2, "ada", 10)])
            await lb.increment("xp", "ada", 4)
            assert rows((await socket.hear())["state"]["standings"]) == [(1, "ada", 4)]
            await socket.say({"id": 1, "unsubscribe": True})
            assert await socket.hear() == {"id": 1, "unsubscribed": True}
            await lb.submit("global", "cyd", 30)
            await lb.increment("xp", "ada", 1)
            assert (await socket.hear())["id"] == "mine", "nothing comes of what is not followed any more"
        assert not lb.runtime.live.subscribers


BAD = {
    "no JSON": ("{", None, "malformed-body"),
    "no text": ("", None, "malformed-body"),
    "a list": ([1], None, "invalid-field"),
    "no id": ({"subscribe": {"board": "global"}}, None, "invalid-field"),
    "neither": ({"id": 7}, 7, "invalid-field"),
    "both": ({"id": 7, "subscribe": {"board": "global"}, "unsubscribe": True}, 7, "invalid-field"),
    "another field": ({"id": 7, "follow": {}}, 7, "invalid-field"),
    "another field of a subscription": ({"id": 7, "subscribe": {"board": "global", "bottom": 5}}, 7, "invalid-field"),
    "no board": ({"id": 7, "subscribe": {"top": 5}}, 7, "invalid-field"),
    "an unknown board": ({"id": 7, "subscribe": {"board": "nowhere"}}, 7, "unknown-board"),
    "an unknown mode": ({"id": 7, "subscribe": {"board": "global", "mode": "all"}}, 7, "invalid-field"),
    "no position": ({"id": 7, "subscribe": {"board": "global", "resume_from": "x"}}, 7, "invalid-position"),
    "a player id that is none": ({"id": 7, "subscribe": {"board": "global", "player_id": "a\n"}}, 7, "invalid-player"),
    "nothing to end": ({"id": 7, "unsubscribe": True}, 7, "invalid-field"),
    "deep": ("[" * 5000, None, "malformed-body"),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_frame_gets_an_error_and_the_connection_goes_on(case):
    frame, number, type_ = BAD[case]
    async with opened(*BOARDS) as lb, connected(app_of(lb)) as socket:
        await socket.say(frame)
        answer = await socket.hear()
        assert (answer["id"], answer["error"]["type"]) == (number, f"urn:keepscore:{type_}")
        assert answer["error"]["detail"]
        await socket.say({"id": 1, "subscribe": {"board": "global"}})
        assert "state" in await socket.hear()


async def test_positions_and_too_many_subscriptions():
    async with opened(*BOARDS) as lb:
        epoch, _, seq = (await lb.submit("global", "ada", 10)).position.partition(":")
        async with connected(app_of(lb, caps=LiveCaps(per_connection=2))) as socket:
            await socket.say({"id": 1, "subscribe": {"board": "global", "resume_from": f"{epoch}:{int(seq) + 1}"}})
            assert (await socket.hear())["error"]["type"] == "urn:keepscore:invalid-position"
            await socket.say({"id": 1, "subscribe": {"board": "global", "resume_from": f"0123456789abcdef:{seq}"}})
            assert (await socket.hear())["state"]["recovered"] is False
            await socket.say({"id": 1, "subscribe": {"board": "xp"}})
            assert "in use" in (await socket.hear())["error"]["detail"]
            await socket.say({"id": 2, "subscribe": {"board": "xp"}})
            assert "state" in await socket.hear()
            await socket.say({"id": 3, "subscribe": {"board": "xp"}})
            assert (await socket.hear())["error"]["type"] == "urn:keepscore:too-many-subscriptions"


async def test_a_frame_over_the_cap_closes_the_connection():
    async with opened(*BOARDS) as lb, connected(app_of(lb)) as socket:
        await socket.say(" " * (MAX_FRAME_BYTES + 1))
        assert str(MAX_FRAME_BYTES) in (await socket.hear())["error"]["detail"]
        assert await socket.hear() == {}
        assert socket.closed is not None
        assert socket.closed[0] == 1009


async def test_an_origin_that_is_not_allowed():
    async with opened(*BOARDS) as lb:
        socket = Socket(app_of(lb, origins=("https://game.example.com",)), {"origin": "https://evil.example.com", "host": "localhost"})
        assert not await socket.accepted()
        assert socket.closed is not None
        assert socket.closed[0] == 1008
        async with connected(app_of(lb, origins=("https://game.example.com",)), origin="https://game.example.com", host="localhost"):
            pass


def guards_of(lb, clock) -> Guards:
    keyring = Keyring(lb.runtime.ledger, "live", clock)
    return Guards(Gate("required", keyring), RateLimits(LimitRates({}, dict.fromkeys(COSTS, 1))))


async def test_keys_and_tokens_that_end_end_what_was_opened_with_them():
    now = [1_795_000_000_000]
    async with opened(*BOARDS, clock=lambda: now[0]) as lb:
        guards = guards_of(lb, lambda: now[0])
        key = await lb.keys.create("k", scope="submit", boards=["global", "xp"])
        await guards.gate.keyring.refresh()
        app = app_of(lb, guards)
        bearer = {"authorization": f"Bearer {key.key}"}
        assert (await refusal(app, "board=global"))[0] == 401, "not everybody may read it"
        assert (await refusal(app, "board=secret", **bearer))[0] == 403, "nor every key"
        token = (await lb.keys.token("ada", ttl="1m")).token
        player = {"authorization": f"Bearer {token}"}
        assert (await refusal(app, "board=global&player_id=bob", **player))[0] == 403, "a token is for one player"
        async with following(app, "board=open") as public:
            await public.next("state")
        async with (
            following(app, "board=global&player_id=ada", **player) as own,
            following(app, "board=global", **bearer) as stream,
            connected(app, **bearer) as socket,
        ):
            await own.next("state")
            await stream.next("state")
            await socket.say({"id": 1, "subscribe": {"board": "xp"}})
            assert "state" in await socket.hear()
            await socket.say({"id": 2, "subscribe": {"board": "secret"}})
            assert (await socket.hear())["error"]["type"] == "urn:keepscore:forbidden"
            now[0] += 61_000
            _, data, _ = await own.next("error")
            assert "expired" in data["detail"]
            assert (await own.next())[0] == "end"
            await lb.keys.revoke(key.id)
            await guards.gate.keyring.refresh()
            _, data, _ = await stream.next("error")
            assert (data["type"], "revoked" in data["detail"]) == ("urn:keepscore:unauthenticated", True)
            assert "revoked" in (await socket.hear())["error"]["detail"]
            assert await socket.hear() == {}
            assert socket.closed is not None
            assert socket.closed[0] == 1008
        await asyncio.sleep(0)
        assert not lb.runtime.live.subscribers


async def test_a_shadowed_player_follows_themselves():
    now = [1_795_000_000_000]
    async with opened(*BOARDS, clock=lambda: now[0]) as lb:
        guards = guards_of(lb, lambda: now[0])
        await lb.keys.create("k", scope="submit")
        await guards.gate.keyring.refresh()
        app = app_of(lb, guards)
        for player, score in (("ada", 10), ("bob", 20), ("cyd", 30)):
            await lb.submit("global", player, score)
        await lb.moderation.shadow("cyd", "a cheat")
        tokens = {player: {"authorization": f"Bearer {(await lb.keys.token(player)).token}"} for player in ("ada", "cyd")}
        async with following(app, "board=global", **tokens["cyd"]) as own, following(app, "board=global", **tokens["ada"]) as other:
            assert rows((await own.next())[1]["standings"]) == [(1, "cyd", 30), (2, "bob", 20), (3, "ada", 10)]
            assert rows((await other.next())[1]["standings"]) == [(1, "bob", 20), (2, "ada", 10)]
            await lb.submit("global", "cyd", 40)
            await lb.submit("global", "ada", 25)
            seen = {}
            while seen.get("ada") != (2, 25):
                seen |= {player: (rank, score) for rank, player, score in rows((await own.next())[1]["standings"])}
            assert seen["cyd"] == (1, 40)
            assert rows((await other.next())[1]["standings"]) == [(1, "ada", 25), (2, "bob", 20)]


async def test_friends_are_followed_as_the_player_sees_them_and_not_by_just_anybody():
    async with opened(*BOARDS) as lb:
        guards = guards_of(lb, lambda: 1_795_000_000_000)
        key = await lb.keys.create("k", scope="read")
        await guards.gate.keyring.refresh()
        app = app_of(lb, guards)
        await lb.friends.replace("ada", ["bob"])
        await lb.players.put("ada", {"visibility": "hidden"})
        for player, score in (("ada", 10), ("bob", 20)):
            await lb.submit("open", player, score)
        assert (await refusal(app, "board=open&friends_of=ada"))[0] == 401
        async with connected(app) as socket:
            await socket.say({"id": 1, "subscribe": {"board": "open", "friends_of": "ada"}})
            assert (await socket.hear())["error"]["type"] == "urn:keepscore:unauthenticated"
        async with following(app, "board=open&friends_of=ada", authorization=f"Bearer {key.key}") as stream:
            assert rows((await stream.next())[1]["standings"]) == [(1, "bob", 20), (2, "ada", 10)]


async def test_a_group_is_followed_by_keys_and_by_its_members_as_long_as_they_are():
    async with opened(*BOARDS) as lb:
        guards = guards_of(lb, lambda: 1_795_000_000_000)
        key = await lb.keys.create("k", scope="admin")
        group = await lb.groups.create("Us", "ada")
        await lb.groups.add(group.group_id, "bob")
        tokens = {player: (await lb.keys.token(player)).token for player in ("bob", "eve")}
        await guards.gate.keyring.refresh()
        app, query = app_of(lb, guards), f"board=open&group={group.group_id}"
        for player, score in (("ada", 10), ("bob", 20), ("eve", 30)):
            await lb.submit("open", player, score)
        assert (await refusal(app, query))[0] == 401
        assert (await refusal(app, query, authorization=f"Bearer {tokens['eve']}"))[0] == 403
        assert (await refusal(app, "board=open&group=nope", authorization=f"Bearer {key.key}"))[1]["type"].endswith("unknown-group")
        assert (await refusal(app, f"{query}&top=3", authorization=f"Bearer {key.key}"))[0] == 422
        async with (
            following(app, query, authorization=f"Bearer {key.key}") as stream,
            following(app, query, authorization=f"Bearer {tokens['bob']}") as member,
        ):
            for one in (stream, member):
                assert rows((await one.next("state"))[1]["standings"]) == [(2, "bob", 20), (3, "ada", 10)]
            await lb.submit("open", "ada", 40)
            for one in (stream, member):
                assert rows((await one.next("change"))[1]["standings"]) == [(1, "ada", 40), (3, "bob", 20)]
            await lb.groups.remove(group.group_id, "bob")
            assert (await stream.next("change"))[1]["removed"] == ["bob"]
            assert (await member.next("error"))[1]["type"] == "urn:keepscore:forbidden"
            await lb.groups.delete(group.group_id)
            assert (await stream.next("error"))[1]["type"] == "urn:keepscore:unknown-group"
