"""The service: all routes and pages in one ASGI application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from keepscore.domain.caps import DEFAULT_LIVE_CAPS, LiveCaps
from keepscore.domain.results.standings import encode
from keepscore.leaderboards import Leaderboards
from keepscore.service.access import AccessParts, AccessRules, access_link, with_body_checks
from keepscore.service.guards import Guards, no_guards
from keepscore.service.http.deadlines import Deadlines
from keepscore.service.http.layer import BODY_SECONDS, Answer, AnyQuery, App, NoBody, Request, Route, Text
from keepscore.service.http.origins import ANY, cors_link, host_link, origin_link
from keepscore.service.live.guarding import LiveGuard
from keepscore.service.logs import access_link as access_log_link
from keepscore.service.metrics import MetricsApi, metrics_link
from keepscore.service.openapi import describe
from keepscore.service.routes.appeals import AppealRoutes
from keepscore.service.routes.audit import AuditRoutes
from keepscore.service.routes.board_table import board_routes
from keepscore.service.routes.boards import Api
from keepscore.service.routes.compat import Compat
from keepscore.service.routes.console import ConsoleRoutes
from keepscore.service.routes.corrections import CorrectionRoutes
from keepscore.service.routes.explanations import ExplanationRoutes
from keepscore.service.routes.friend_scores import FriendScores
from keepscore.service.routes.friends import FriendRoutes
from keepscore.service.routes.groups import GroupRoutes
from keepscore.service.routes.history import PastApi
from keepscore.service.routes.imports import ImportRoutes
from keepscore.service.routes.keys import KeyRoutes
from keepscore.service.routes.leagues import LeagueRoutes
from keepscore.service.routes.live import LiveRoutes
from keepscore.service.routes.matches import MatchRoutes
from keepscore.service.routes.moderation import ModerationRoutes
from keepscore.service.routes.page_cache import PAGES_BYTES, PageCache
from keepscore.service.routes.pages import PageOptions, PageRoutes, page_headers
from keepscore.service.routes.players import PlayerRoutes
from keepscore.service.routes.prizes import PrizeRoutes
from keepscore.service.routes.ranking_table import ranking_routes
from keepscore.service.routes.resets import ResetRoutes
from keepscore.service.routes.restrictions import RestrictionRoutes
from keepscore.service.routes.review import ReviewRoutes
from keepscore.service.routes.rule_tests import RuleTestRoutes
from keepscore.service.routes.teams import TeamRoutes
from keepscore.service.routes.webhooks import WebhookRoutes
from keepscore.service.shares import Shares

__all__ = ["EdgeOptions", "make_app"]


class EdgeOptions(NamedTuple):
    """What the application does beside its routes. Whoever embeds it decides whom it answers: by default, everybody."""

    access_log: bool = False
    #: The address on which the server listens, and the host names and origins of pages that are allowed beside its own.
    host: str = "127.0.0.1"
    allowed_hosts: Sequence[str] = (ANY,)
    cors_origins: Sequence[str] = ()
    body_seconds: float = BODY_SECONDS
    cache_bytes: int = PAGES_BYTES
    pages: PageOptions = PageOptions()
    live_caps: LiveCaps = DEFAULT_LIVE_CAPS


OPEN_TO_ALL = EdgeOptions()


def make_app(
    leaderboards: Leaderboards,
    default_board: str,
    options: EdgeOptions = OPEN_TO_ALL,
    shares: Shares | None = None,
    guards: Guards | None = None,
) -> App:
    """Return the application on some leaderboards. `default_board` is the one behind `/api/v1/leaderboard`.

    `guards` say who may do what, and how much; without them, everybody may do everything.
    """
    gate, limits = guards or no_guards(leaderboards)
    rules, deadlines = AccessRules(leaderboards.runtime.catalog), Deadlines(options.body_seconds)
    access = AccessParts(gate, limits, rules, default_board, leaderboards.admin.refresh, deadlines)
    pages = PageCache(leaderboards.runtime.reader, access.is_private, options.cache_bytes)
    api = Api(leaderboards, pages)
    live = LiveGuard(access, leaderboards.runtime.live, options.live_caps)
    metrics = MetricsApi(leaderboards, shares or Shares())
    parts = (
        *(PastApi(leaderboards), ImportRoutes(leaderboards), ResetRoutes(leaderboards)),
        *(PlayerRoutes(leaderboards), FriendRoutes(leaderboards), GroupRoutes(leaderboards), ReviewRoutes(leaderboards)),
        *(ModerationRoutes(leaderboards), AppealRoutes(leaderboards), RuleTestRoutes(leaderboards), RestrictionRoutes(leaderboards)),
        *(CorrectionRoutes(leaderboards), AuditRoutes(leaderboards)),
        *(MatchRoutes(leaderboards), LeagueRoutes(leaderboards), PrizeRoutes(leaderboards), WebhookRoutes(leaderboards)),
        ConsoleRoutes(gate),
        LiveRoutes(leaderboards.runtime.live, live),
        *(KeyRoutes(leaderboards, gate.keyring.refresh, access.rules.is_public), Compat(leaderboards, default_board, pages), metrics),
        FriendScores(leaderboards, default_board, access.rules.is_public),
        ExplanationRoutes(leaderboards, rules),
        TeamRoutes(leaderboards),
    )
    routes = [*ranking_routes(api), *board_routes(api), *(route for part in parts for route in part.routes())]
    routes = [with_body_checks(route) for route in routes]
    # The first is the outermost.
    links = [
        cors_link(options.cors_origins),
        metrics_link(leaderboards.runtime.vitals.is_board, default_board),
        access_log_link if options.access_log else None,
        host_link(options.host, options.allowed_hosts),
        origin_link(options.cors_origins),
        access_link(access),
    ]
    shown = PageRoutes(leaderboards, access.is_private, options.pages).routes()
    wanted = [link for link in links if link is not None]
    return App([*routes, *shown, _reference(routes)], leaderboards.admin.refresh, wanted, options.body_seconds)


def _reference(routes: list[Route]) -> Route:
    description = Text(encode(describe(routes)), b"application/json")
    return Route("GET", "/openapi.json", _constant(description), "This description", scope="open", cost="light", query=AnyQuery)


def _constant(text: Text) -> Callable[[Request[AnyQuery, NoBody]], Awaitable[Answer]]:
    async def handler(request: Request[AnyQuery, NoBody]) -> Answer:
        return Answer(text, headers=page_headers("'none'"))

    return handler
