"""A receiver of webhooks on this machine, which answers as a test wants."""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

__all__ = ["SECRET", "Receiver"]

RAW = b"a secret of twenty-four."
SECRET = "whsec_" + base64.b64encode(RAW).decode()


class Receiver:
    """Takes webhooks at `url`. What `answers` holds is answered one after the other, then `usual`; 0 hangs up, -1 says nothing."""

    def __init__(self, usual: int = 204) -> None:
        self.usual = usual
        self.answers: list[int] = []
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.hanging = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.take(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hooks?from=keepscore"

    def take(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["content-length"]))
        message_id, seconds = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        expected = hmac.new(RAW, f"{message_id}.{seconds}.".encode() + body, hashlib.sha256).digest()
        assert request.headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()
        assert request.path == "/hooks?from=keepscore"
        status = self.answers.pop(0) if self.answers else self.usual
        self.received.append((message_id, msgspec.json.decode(body)))
        if status == 0:
            return request.connection.close()
        if status < 0:
            self.hanging.wait(30)
            return None
        if status == 299:
            # Answers on the way, and then another one behind the first.
            request.wfile.write(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nHTTP/1.1 500 No\r\n\r\n")
            return None
        request.send_response(status)
        request.send_header("location", "http://127.0.0.1:1/")
        request.end_headers()
        return None

    @property
    def ids(self) -> list[str]:
        return [message_id for message_id, _ in self.received]

    def close(self) -> None:
        self.hanging.set()
        self._server.shutdown()
        self._server.server_close()
