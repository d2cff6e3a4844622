"""One constant JSON answer by several HTTP layers, on the service's server with the service's settings."""

from __future__ import annotations

import sys
from typing import Any

import uvloop
from starlette.applications import Starlette
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from benchmarks.constant import BODY, constant
from keepscore.service.http.layer import App, Link, Prepared, Request, Route, start_of
from keepscore.service.http.origins import host_link, origin_link
from keepscore.service.metrics import metrics_link
from keepscore.service.serve import make_server

PATH = "/v1/boards/{board}/players/{player_id}"


async def answered(request: Request[Any, Any]) -> Prepared:
    """Answer the constant as the hottest routes do."""
    return Prepared(b'"1"', start_of(b'"1"', ()), {"type": "http.response.body", "body": BODY})


async def answered_by_starlette(request: StarletteRequest) -> Response:
    """Answer the constant."""
    return Response(BODY, media_type="application/json")


def ours(*links: Link) -> App:
    """Return our layer with one route."""
    return App([Route("GET", PATH, answered, "a constant", scope="read", tag="Rankings")], links=links)


def _of_loopback() -> list[Link]:
    """Return the links that a service on loopback has beside the metrics."""
    return [link for link in (host_link("127.0.0.1", ()), origin_link(())) if link is not None]


APPS = {
    "raw ASGI": lambda: constant,
    "ours": ours,
    "ours, with metrics": lambda: ours(metrics_link(lambda board: True, "global")),
    "ours, as on loopback": lambda: ours(metrics_link(lambda board: True, "global"), *_of_loopback()),
    "Starlette": lambda: Starlette(routes=[StarletteRoute(PATH, answered_by_starlette)]),
}

if __name__ == "__main__":
    uvloop.run(make_server(APPS[sys.argv[1]](), "127.0.0.1", int(sys.argv[2])).serve())
