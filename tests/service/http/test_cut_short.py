"""Bodies that end before their end, and a ledger whose file is deleted: nothing is recorded, and the answer says why."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.service.running import PATIENCE, Service, refused, taken

SCORE = b'{"player_id": "ada", "score": 5}'


def answer_to(service: Service, request: bytes, half_close: bool = True) -> tuple[int, dict[str, Any]]:
    """Send a request as it is, say that nothing more comes, and return the status and the body of the answer."""
    with socket.create_connection(("127.0.0.1", service.port), PATIENCE) as one:
        one.sendall(request)
        if half_close:
            one.shutdown(socket.SHUT_WR)
        found = b""
        while part := one.recv(1 << 16):
            found += part
        head, _, body = found.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)


def posted(board: str, length: bytes, body: bytes, route: str = "scores") -> bytes:
    head = f"POST /v1/boards/{board}/{route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return head.encode() + length + b"\r\n\r\n" + body


@pytest.mark.parametrize("missing", [1, 10, 100_000])
def test_a_body_shorter_than_its_length_is_refused(service: Service, board: Any, missing: int) -> None:
    name = board()
    with service.nothing_left_behind(name):
        status, problem = answer_to(service, posted(name, b"Content-Length: %d" % (len(SCORE) + missing), SCORE))
        assert (status, problem["type"]) == (400, "urn:keepscore:body-cut-short")
        assert f"after {len(SCORE)} of {len(SCORE) + missing} bytes" in problem["detail"]


@pytest.mark.parametrize("end", [b"", b"0", b"0\r\n", b"5\r\n", b"5\r\nab", b"zz\r\n"])
def test_a_chunked_body_without_its_end_is_refused(service: Service, board: Any, end: bytes) -> None:
    name = board()
    with service.nothing_left_behind(name):
        body = b"%x\r\n%b\r\n" % (len(SCORE), SCORE) + end
        status, problem = answer_to(service, posted(name, b"Transfer-Encoding: chunked", body))
        assert (status, problem["type"]) == (400, "urn:keepscore:body-cut-short")
        assert "without its last chunk" in problem["detail"]


def test_a_batch_that_is_cut_short_is_refused_as_a_whole(service: Service, board: Any) -> None:
    name = board()
    # What has come is a whole batch by itself.
    batch = b'{"scores": [%b]}' % b", ".join([SCORE] * 1000)
    with service.nothing_left_behind(name):
        status, _ = answer_to(service, posted(name, b"Content-Length: %d" % (2 * len(batch)), batch, "scores/batch"))
        assert status == 400


def test_whole_bodies_are_taken_with_or_without_a_length(service: Service, board: Any) -> None:
    name = board()
    for length, body in (
        (b"Content-Length: %d\r\nConnection: close" % len(SCORE), SCORE),
        (b"Transfer-Encoding: chunked\r\nConnection: close", b"%x\r\n%b\r\n0\r\n\r\n" % (len(SCORE), SCORE)),
        (b"Transfer-Encoding: chunked\r\nConnection: close", b"1\r\n{\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(SCORE) - 1, SCORE[1:])),
    ):
        status, receipt = answer_to(service, posted(name, length, body), half_close=False)
        assert (status, receipt["rank"]) == (200, 1)


@pytest.mark.parametrize("how", ["the file", "the folder"])
def test_a_ledger_that_is_deleted_takes_nothing_and_readyz_says_so(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    service = Service(tmp_path, '[[board]]\nname = "b"\n', ledger=f"sqlite:///{folder}/scores.db")
    try:
        service.submit("b", "ada", 5)
        if how == "the file":
            (folder / "scores.db").unlink()
        else:
            shutil.rmtree(folder)
        for route, body in (("scores", {"player_id": "ada", "score": 6}), ("scores/batch", {"scores": [{"player_id": "ada", "score": 7}]})):
            refused(service.post("b", route, body), 503, "deleted or moved away", "restore a backup")
        refused(service.client.put("/v1/boards/new", json={}), 503, "deleted or moved away")
        refused(service.client.get("/readyz"), 503, "deleted or moved away")
        assert taken(service.client.get("/healthz"))["status"] == "live"
        assert service.order("b") == ["ada"], "what is in the engine can be read"
        assert service.get("b", "players/ada")["score"] == 5
    finally:
        service.stop(kill=True)
