"""An ASGI app that answers a constant, on the service's server with the service's settings: what all figures are compared with."""

from __future__ import annotations

import sys
from typing import Any

import uvloop

from keepscore.service.serve import make_server

BODY = b'{"player_id":"p123456","rank":1234,"score":1500,"total_players":1000000,"percentile":99.87}'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]


async def constant(scope: Any, receive: Any, send: Any) -> None:
    """Answer the constant."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    uvloop.run(make_server(constant, "127.0.0.1", int(sys.argv[1])).serve())
