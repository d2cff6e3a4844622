"""The service: all routes and pages in one ASGI application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import resources

from keepscore.answers import encode
from keepscore.leaderboards import Leaderboards
from keepscore.web.compat import Compat
from keepscore.web.http import Answer, AnyQuery, App, NoBody, Request, Route, Text
from keepscore.web.openapi import describe
from keepscore.web.past_routes import PastApi
from keepscore.web.reset_routes import ResetRoutes
from keepscore.web.routes import Api

__all__ = ["make_app"]

#: The pages; every other file of the folder is served as `/static/{file}`.
PAGES = {"index.html": "/", "docs.html": "/docs"}
#: Types by the ending of the file's name.
KINDS = {"html": b"text/html; charset=utf-8", "css": b"text/css; charset=utf-8", "js": b"text/javascript; charset=utf-8"}

#: The pages load nothing from elsewhere, and run no script but their own.
PAGE_HEADERS = (
    (b"cache-control", b"no-cache"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
)


def make_app(leaderboards: Leaderboards, default_board: str) -> App:
    """The application on some leaderboards. `default_board` is the one behind `/api/v1/leaderboard`."""
    parts = (Api(leaderboards), PastApi(leaderboards), ResetRoutes(leaderboards), Compat(leaderboards, default_board))
    routes = [route for part in parts for route in part.routes()]
    description = Text(encode(describe(routes)), b"application/json")
    reference = Route("GET", "/openapi.json", _constant(description), "This description", query=AnyQuery)
    return App([*routes, *_pages(), reference], leaderboards.refresh)


def _pages() -> list[Route]:
    files = [file for file in resources.files(__package__).joinpath("static").iterdir() if file.name.rpartition(".")[2] in KINDS]
    return [
        Route(
            "GET",
            PAGES.get(file.name, f"/static/{file.name}"),
            _constant(Text(file.read_bytes(), KINDS[file.name.rpartition(".")[2]])),
            "A page",
            query=AnyQuery,
        )
        for file in files
    ]


def _constant(text: Text) -> Callable[[Request[AnyQuery, NoBody]], Awaitable[Answer]]:
    async def handler(request: Request[AnyQuery, NoBody]) -> Answer:
        return Answer(text, headers=PAGE_HEADERS)

    return handler
