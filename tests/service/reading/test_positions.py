"""A position is in a submission's answer, in reads and in their tags; `min_seq` waits for one."""

import threading

import httpx
import pytest

from keepscore import Board, Leaderboards
from keepscore.errors import PositionNotReached
from keepscore.reading import waiting
from keepscore.service.http.problems import status_of


@pytest.fixture
def board(client: httpx.Client) -> str:
    client.put("/v1/boards/seen", json={"windows": ["weekly", "all_time"]}).raise_for_status()
    return "/v1/boards/seen"


def submit(client: httpx.Client, board: str, player: str, score: int) -> dict:
    return client.post(f"{board}/scores", json={"player_id": player, "score": score}).raise_for_status().json()


def test_the_same_position_everywhere(client, board):
    receipt = submit(client, board, "ada", 10)
    assert receipt["position"] == receipt["windows"]["weekly"]["position"] != receipt["windows"]["all_time"]["position"]
    lookup = client.post(f"{board}/players/lookup", json={"player_ids": ["ada"]}).json()
    assert lookup["position"] == receipt["position"]
    for path in ("top", "players/ada", "ranks/1", "count"):
        answer = client.get(f"{board}/{path}")
        assert answer.json()["position"] == receipt["position"], path
        assert receipt["position"] in answer.headers["etag"], path
        assert client.get(f"{board}/{path}", headers={"if-none-match": answer.headers["etag"]}).status_code == 304, path
        elsewhere = client.get(f"{board}/{path}?window=all_time")
        assert elsewhere.headers["etag"] != answer.headers["etag"]
    epoch, _, seq = receipt["position"].partition(":")
    assert submit(client, board, "ada", 5)["position"] == receipt["position"], "nothing changed"
    later = submit(client, board, "ada", 11)["position"]
    assert later.partition(":")[0] == epoch
    assert int(later.partition(":")[2]) > int(seq)
    assert client.get(f"{board}/top", headers={"if-none-match": answer.headers["etag"]}).status_code == 200


def test_reads_wait_for_a_position(client, board):
    epoch, _, seq = submit(client, board, "ada", 10)["position"].partition(":")
    wanted = f"{epoch}:{int(seq) + 1}"
    timer = threading.Timer(0.1, submit, (client, board, "bob", 20))
    timer.start()
    found = client.get(f"{board}/top", params={"min_seq": wanted}).json()
    timer.join()
    assert [one["player_id"] for one in found["standings"]] == ["bob", "ada"]
    for path in ("top", "players/ada", "ranks/1", "count"):
        assert client.get(f"{board}/{path}", params={"min_seq": wanted}).status_code == 200
        assert client.get(f"{board}/{path}", params={"min_seq": seq}).status_code == 200, "a seq alone is of any epoch"


@pytest.mark.parametrize("wrong", ["", "x", "12:x", "-1", "1.5", "zz:1", f"ab12:{10**17}", "a" * 500])
def test_what_is_no_position(client, board, wrong):
    answer = client.get(f"{board}/top", params={"min_seq": wrong})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:keepscore:invalid-position")


def test_a_position_of_another_epoch(client, board):
    receipt = submit(client, board, "ada", 10)
    seq = receipt["position"].partition(":")[2]
    for other in (f"0123456789abcdef:{seq}", receipt["windows"]["all_time"]["position"]):
        answer = client.get(f"{board}/top", params={"min_seq": other})
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:keepscore:position-lost")
        assert other in answer.json()["detail"]


async def test_a_position_of_the_future(monkeypatch):
    monkeypatch.setattr(waiting, "WAIT_S", 0.05)
    async with Leaderboards.open("sqlite:///:memory:", boards=[Board("seen")]) as lb:
        epoch, _, seq = (await lb.submit("seen", "ada", 10)).position.partition(":")
        with pytest.raises(PositionNotReached, match=f"the ranking is at {epoch}:{seq}") as told:
            await lb.top("seen", min_seq=f"{epoch}:{int(seq) + 1}")
        # It is the request that is wrong, not the service.
        assert status_of(told.value) == 409
        assert (await lb.rank("seen", "ada", min_seq=f"{epoch}:{seq}")).rank == 1


def test_a_rebuild_begins_another_epoch(client, board):
    before = submit(client, board, "ada", 10)["position"]
    client.post(f"{board}/rebuild").raise_for_status()
    after = client.get(f"{board}/top").json()["position"]
    assert after.partition(":")[0] != before.partition(":")[0]
