"""Live connections to a real server: messages that are sent at once, readers that are slow, and WebSockets from their handshake on."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.service.live.rig import Replica
from tests.service.running import Service
from tests.support.live_connections import RealEvents, RealSocket

CONFIG = '[live]\ninterval = "10ms"\n[[board]]\nname = "global"\noperator = "last"\n'
#: Rows that all change in each round, and rounds: more than buffers of the server and the system take.
ROWS, ROUNDS = 1000, {"events": 75, "sockets": 35}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory):
    service = Service(tmp_path_factory.mktemp("real"), CONFIG)
    yield service
    service.stop()


async def slow_and_quick(kind: str, service: Service) -> list[RealEvents | RealSocket]:
    if kind == "events":
        return [await RealEvents().open(service.port, f"board=global&top={ROWS}") for _ in range(2)]
    found: list[RealEvents | RealSocket] = []
    for _ in range(2):
        one = await RealSocket().open(service.port)
        await one.say({"id": 1, "subscribe": {"board": "global", "top": ROWS}})
        found.append(one)
    return found


@pytest.mark.parametrize("kind", ["events", "sockets"])
async def test_a_slow_reader_gets_the_newest_state_and_holds_up_nobody(service: Service, kind: str):
    slow, quick = await slow_and_quick(kind, service)
    replicas = Replica(), Replica()
    for one, replica in zip((slow, quick), replicas, strict=True):
        replica.take(*await one.next())
    last = f"p{ROWS - 1:0>100}"
    async with httpx.AsyncClient(base_url=service.url) as writer:
        for n in range(ROUNDS[kind]):
            body = {"scores": [{"player_id": f"p{player:0>100}", "score": n * 1000 + player} for player in range(ROWS)]}
            answer = await writer.post("/v1/boards/global/scores/batch", json=body)
            assert answer.status_code == 200, answer.text
            while replicas[1].rows.get(last, {}).get("score") != n * 1000 + ROWS - 1:
                replicas[1].take(*await asyncio.wait_for(quick.next(), 20))
        top = (await writer.get("/v1/boards/global/top", params={"limit": ROWS})).json()
    heard = 0
    while replicas[0].rows.get(last, {}).get("score") != top["standings"][0]["score"]:
        replicas[0].take(*await slow.next())
        heard += 1
    assert heard < ROUNDS[kind], "never a growing buffer"
    expected = [(one["rank"], one["player_id"], one["score"]) for one in top["standings"]]
    assert replicas[0].shown() == replicas[1].shown() == expected
    slow.close()
    quick.close()


async def test_a_web_socket_from_its_handshake_to_its_end(service: Service):
    service.define("mine", operator="sum")
    socket = await RealSocket().open(service.port)
    await socket.say({"id": 1, "subscribe": {"board": "mine", "top": 3}})
    await socket.say({"id": "two", "subscribe": {"board": "nowhere"}})
    heard = [await socket.hear(), await socket.hear()]
    assert heard[0]["state"]["standings"] == []
    assert heard[1]["error"]["type"] == "urn:keepscore:unknown-board"
    service.increment("mine", "ada", 5)
    kind, change = await socket.next()
    assert (kind, [one["player_id"] for one in change["standings"]]) == ("change", ["ada"])
    await socket.say({"id": 1, "unsubscribe": True})
    assert await socket.hear() == {"id": 1, "unsubscribed": True}
    socket._writer.write(b"\x82\x80mask")  # An empty binary frame: no JSON.
    assert (await socket.hear())["error"]["type"] == "urn:keepscore:malformed-body"
    await socket.say({"id": 1, "subscribe": {"board": "mine", "top": 3, "segment": "x" * 17_000}})
    assert (await socket.hear())["error"]["type"] == "urn:keepscore:malformed-body"
    assert await socket.hear() == {"closed": 1009}
    socket.close()
