"""The pages: home, boards, embeds, badges, and the files that they are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from html import escape
from importlib import resources
from typing import Any, Literal, NamedTuple

import msgspec

from keepscore.domain.results.standings import Top
from keepscore.errors import KeepscoreError, UnknownPlayer
from keepscore.leaderboards import Leaderboards
from keepscore.service.demo import Demo
from keepscore.service.http.layer import Answer, AnyQuery, NoBody, Request, Route, Text
from keepscore.service.routes.stated import PlayerText, SegmentName, WindowChoice

__all__ = ["PageMode", "PageOptions", "PageRoutes", "page_headers"]

#: Whether visitors find pages, and whether they may play on them.
PageMode = Literal["demo", "public", "off"]

#: The types of files, by the ending of their names.
KINDS = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
#: What the reference needs, which is there in every mode.
REFERENCE = frozenset({"docs.html", "docs.js", "dom.js", "keepscore.css", "icon.svg"})
#: How wide a character of a badge is, in pixels.
CHARACTER_PX = 7


class PageOptions(NamedTuple):
    """Which pages there are, and which other pages may show them in a frame."""

    mode: PageMode = "public"
    embed_origins: Sequence[str] = ()


class BadgeQuery(msgspec.Struct, forbid_unknown_fields=True):
    """What a badge shows: a player's rank or, without one, who leads."""

    player_id: PlayerText | None = None
    window: WindowChoice = None
    segment: SegmentName = None


class PageRoutes:
    """Handlers of one service. They hold no data but what everybody may read."""

    def __init__(self, leaderboards: Leaderboards, is_private: Callable[[str], bool], options: PageOptions) -> None:
        self._lb = leaderboards
        #: Whether not everybody may read a board, by its name.
        self._is_private = is_private
        self._mode = options.mode
        self._headers = page_headers("'none'")
        self._framed = page_headers(" ".join(("'self'", *options.embed_origins)))
        self._demo = Demo(leaderboards) if options.mode == "demo" else None
        folder = resources.files("keepscore.service").joinpath("pages")
        self._files = {
            file.name: file.read_bytes()
            for file in folder.iterdir()
            if file.name.rpartition(".")[2] in KINDS and (options.mode != "off" or file.name in REFERENCE)
        }

    def routes(self) -> list[Route]:
        """Return them all."""
        found = [_page("/docs", self._constant("docs.html"), "The reference of the API")]
        found += [
            _page(f"/static/{name}", self._constant(name), "A file of the pages") for name in self._files if not name.endswith(".html")
        ]
        if self._mode == "off":
            return found
        return [
            *found,
            _page("/", self.home, "All boards"),
            _page("/boards/{board}", self.board, "The page of a board"),
            _page("/console", self._constant("console.html"), "The console, for moderators and administrators"),
            _page("/embed/{board}", self.embed, "A board to show in other pages"),
            Route("GET", "/badge/{board}", self.badge, "A badge of a board", scope="read", players=True, query=BadgeQuery),
        ]

    async def home(self, request: Request[AnyQuery, NoBody]) -> Answer:
        """Return the home page."""
        self._wake()
        return self._html("home.html", _card(request, "Keepscore", "Live leaderboards: who leads, who climbs, who is next."))

    async def board(self, request: Request[AnyQuery, NoBody]) -> Answer:
        """Return the page of a board, with a card for those who share the link."""
        self._wake()
        name = request.path[0]
        return self._html("board.html", _card(request, f"{name} · Keepscore", await self._summary(name), f"/badge/{name}"))

    async def embed(self, request: Request[AnyQuery, NoBody]) -> Answer:
        """Return a board alone, for a frame in another page."""
        return self._html("embed.html", "", self._framed)

    async def badge(self, request: Request[BadgeQuery, NoBody]) -> Answer:
        """Return a badge: a picture with who leads, or with a player's rank."""
        board, query = request.path[0], request.query
        if query.player_id is None:
            top = await self._lb.top(board, limit=1, window=query.window, segment=query.segment)
            text = _leader(top) or "no players yet"
        else:
            text = await self._rank(board, query.player_id, query)
        headers = ((b"cache-control", b"max-age=60"), *self._framed[1:])
        return Answer(Text(_badge(board, text).encode(), KINDS["svg"]), headers=headers)

    async def _rank(self, board: str, player: str, query: BadgeQuery) -> str:
        try:
            place = await self._lb.rank(board, player, window=query.window, segment=query.segment)
        except UnknownPlayer:
            return "not ranked"
        return f"#{place.rank:,} of {place.total_players:,}"

    async def _summary(self, name: str) -> str:
        """Return who leads, if everybody may know."""
        if self._is_private(name):
            return "A live leaderboard."
        try:
            top = await self._lb.top(name, limit=1)
        except KeepscoreError:
            return "A live leaderboard."
        leader = _leader(top)
        return f"{leader}. {top.total_players:,} players, live." if leader else "Nobody has played here yet."

    def _wake(self) -> None:
        if self._demo is not None:
            self._demo.wake()

    def _html(self, name: str, card: str, headers: tuple[tuple[bytes, bytes], ...] | None = None) -> Answer:
        page = self._files[name].replace(b"{mode}", self._mode.encode()).replace(b"<!--card-->", card.encode())
        return Answer(Text(page, KINDS["html"]), headers=headers or self._headers)

    def _constant(self, name: str) -> Callable[[Request[AnyQuery, NoBody]], Awaitable[Answer]]:
        text = Text(self._files[name], KINDS[name.rpartition(".")[2]])

        async def handler(request: Request[AnyQuery, NoBody]) -> Answer:
            return Answer(text, headers=self._headers)

        return handler


def page_headers(framed_by: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of pages, which load nothing from elsewhere but pictures of players, and run no script but their own."""
    policy = f"default-src 'self'; img-src 'self' data: https:; base-uri 'none'; form-action 'self'; frame-ancestors {framed_by}"
    return (
        (b"cache-control", b"no-cache"),
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"strict-origin-when-cross-origin"),
        (b"x-content-type-options", b"nosniff"),
    )


def _page(path: str, handler: Callable[[Request[Any, Any]], Awaitable[Answer]], summary: str) -> Route:
    return Route("GET", path, handler, summary, scope="open", cost="light", query=AnyQuery)


def _card(request: Request[AnyQuery, NoBody], title: str, text: str, image: str = "/static/icon.svg") -> str:
    """Return what a page says of itself where its link is shared."""
    origin = f"{request.scope.get('scheme', 'http')}://{request.header(b'host') or 'localhost'}"
    told = {"og:title": title, "og:description": text, "og:type": "website", "og:image": origin + image, "twitter:card": "summary"}
    tags = [f'<meta property="{name}" content="{escape(value)}">' for name, value in told.items()]
    return "\n".join([f"<title>{escape(title)}</title>", f'<meta name="description" content="{escape(text)}">', *tags])


def _leader(top: Top) -> str:
    if not top.standings:
        return ""
    first = top.standings[0]
    return f"{first.name or first.player_id} leads with {first.score:,}"


def _badge(board: str, text: str) -> str:
    """Return a badge as SVG."""
    left, right = (20 + CHARACTER_PX * len(part) for part in (board, text))
    label = escape(f"{board}: {text}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="24" role="img" aria-label="{label}"><title>{label}</title>'
        f'<rect width="{left + right}" height="24" rx="5" fill="#16202e"/><path d="M{left} 0h{right - 5}a5 5 0 0 1 5 5v14a5 5 0 0 1-5 5h-'
        f'{right - 5}z" fill="#0f766e"/><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2}" y="16">{escape(board)}</text><text x="{left + right / 2}" y="16">{escape(text)}</text></g></svg>'
    )
