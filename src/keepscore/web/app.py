"""The service: all routes and pages in one ASGI application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import resources

from keepscore.answers import encode
from keepscore.leaderboards import Leaderboards
from keepscore.web.compat import Compat
from keepscore.web.http import Answer, App, NoBody, NoQuery, Request, Route, Text
from keepscore.web.openapi import describe
from keepscore.web.routes import Api

__all__ = ["make_app"]

#: Pages and what they need, by address: file and type.
PAGES = {
    "/": ("index.html", b"text/html; charset=utf-8"),
    "/docs": ("docs.html", b"text/html; charset=utf-8"),
    "/static/keepscore.css": ("keepscore.css", b"text/css; charset=utf-8"),
    "/static/board.js": ("board.js", b"text/javascript; charset=utf-8"),
    "/static/docs.js": ("docs.js", b"text/javascript; charset=utf-8"),
}

#: The pages load nothing from elsewhere, and run no script but their own.
PAGE_HEADERS = (
    (b"cache-control", b"no-cache"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
)


def make_app(leaderboards: Leaderboards, default_board: str) -> App:
    """The application on some leaderboards. `default_board` is the one behind `/api/v1/leaderboard`."""
    routes = [*Api(leaderboards).routes(), *Compat(leaderboards, default_board).routes()]
    description = Text(encode(describe(routes)), b"application/json")
    pages = [Route("GET", path, _constant(_page(*page)), "A page") for path, page in PAGES.items()]
    return App([*routes, *pages, Route("GET", "/openapi.json", _constant(description), "This description")])


def _page(name: str, kind: bytes) -> Text:
    return Text(resources.files(__package__).joinpath("static", name).read_bytes(), kind)


def _constant(text: Text) -> Callable[[Request[NoQuery, NoBody]], Awaitable[Answer]]:
    async def handler(request: Request[NoQuery, NoBody]) -> Answer:
        return Answer(text, headers=PAGE_HEADERS)

    return handler
