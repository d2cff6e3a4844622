"""Programs that follow: the library, the client, which resumes by itself, and the command; many workers on Redis and PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from pathlib import Path

import httpx
import pytest

from keepscore import Board
from keepscore.client import Client
from keepscore.domain.results.live import LiveChange, LiveState
from keepscore.errors import UnknownBoard
from tests.contract.both import own_redis
from tests.service.live.rig import PATIENCE_S, opened
from tests.service.running import KEEPSCORE, Service, environment
from tests.support.postgres_servers import shared_postgres

BOARD = '[[board]]\nname = "global"\n'


async def test_the_library_follows():
    async with opened(Board("global"), Board("xp")) as lb:
        messages = lb.live("global", top=2)
        state = await anext(messages)
        assert isinstance(state, LiveState)
        receipt = await lb.submit("global", "ada", 5)
        change = await asyncio.wait_for(anext(messages), PATIENCE_S)
        assert isinstance(change, LiveChange)
        assert (change.position, [one.player_id for one in change.standings]) == (receipt.position, ["ada"])
        await messages.aclose()
        assert not lb.runtime.live.subscribers
        with pytest.raises(UnknownBoard):
            await anext(lb.live("nowhere"))
        ended = lb.live("xp", mode="cache")
        await anext(ended)
        await lb.admin.delete_board("xp")
        with pytest.raises(UnknownBoard):
            await asyncio.wait_for(anext(ended), PATIENCE_S)


async def test_the_client_resumes_by_itself(tmp_path: Path):
    service = Service(tmp_path, BOARD)
    try:
        async with Client(service.url) as client:
            messages = client.live("global", top=3)
            assert isinstance(await anext(messages), LiveState)
            await client.submit("global", "ada", 5)
            assert [one.player_id for one in (await asyncio.wait_for(anext(messages), PATIENCE_S)).standings] == ["ada"]
            service.stop()
            service.start()
            await client.submit("global", "bob", 6)
            found: list[str] = []
            while found != ["bob", "ada"]:
                message = await asyncio.wait_for(anext(messages), PATIENCE_S)
                found = [one.player_id for one in message.standings]
            await messages.aclose()
            with pytest.raises(UnknownBoard):
                await anext(client.live("nowhere"))
    finally:
        service.stop()


def test_the_command_watches(tmp_path: Path):
    service = Service(tmp_path, BOARD)
    watching = subprocess.Popen(
        [KEEPSCORE, "watch", "global", "--url", service.url, "--json"], env=environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["standings"] == []
        service.submit("global", "ada", 5)
        assert json.loads(watching.stdout.readline())["standings"][0]["player_id"] == "ada"
    finally:
        watching.terminate()
        watching.communicate()
        service.stop()


async def test_two_workers_on_redis_and_postgresql(tmp_path: Path):
    """Wherever a score comes in and whoever follows where: within a second; also after Redis has lost all."""
    settings = f'[server]\nworkers = 2\n[engine]\nurl = "{own_redis()}"\n'
    service = Service(tmp_path, settings + BOARD, ledger=shared_postgres().new_database())
    try:
        async with contextlib.AsyncExitStack() as stack, httpx.AsyncClient(base_url=service.url) as writer:
            followers = [(await stack.enter_async_context(Client(service.url))).live("global") for _ in range(6)]
            for follower in followers:
                assert isinstance(await asyncio.wait_for(anext(follower), PATIENCE_S), LiveState)
            for n in range(1, 4):
                receipt = (await writer.post("/v1/boards/global/scores", json={"player_id": f"p{n}", "score": n})).json()
                for follower in followers:
                    message = await asyncio.wait_for(anext(follower), PATIENCE_S)
                    assert message.position == receipt["position"]
                    assert message.standings[0].player_id == f"p{n}"
                found = [await writer.get("/v1/boards/global/top", params={"min_seq": receipt["position"]}) for _ in range(4)]
                assert {one.json()["total_players"] for one in found} == {n}
            await writer.post("/v1/boards/global/rebuild")
            top = (await writer.get("/v1/boards/global/top")).json()
            for follower in followers:
                message = await asyncio.wait_for(anext(follower), PATIENCE_S)
                assert isinstance(message, LiveState), "another epoch begins with a state"
                assert message.position.partition(":")[0] == top["position"].partition(":")[0]
                await follower.aclose()
    finally:
        service.stop()
