"""Metrics in the format of Prometheus: what this process and its sibling workers have counted, and a look at the service's state."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from time import perf_counter
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from keepscore import __version__
from keepscore.domain.results import standings as answers
from keepscore.errors import KeepscoreError
from keepscore.leaderboards import Leaderboards
from keepscore.lifecycle.vitals import Vitals
from keepscore.service.http.layer import Answer, Link, NoBody, NoQuery, Prepared, Request, Route, Text
from keepscore.service.http.problems import status_of
from keepscore.service.http.table import UNROUTED, Endpoint
from keepscore.service.routes.compat_shapes import Updated
from keepscore.service.shares import Shares
from keepscore.telemetry.counters import BOUNDS_SECONDS, REQUEST_SECONDS, REQUESTS, SUBMISSIONS, Counter, Gauge, LatencyHistogram

__all__ = ["GAUGES", "MetricsApi", "metrics_link"]

#: The board label of all boards that are not told apart.
OTHER = "other"
#: The upper bound of the first bucket, in seconds: most requests are in it.
LEAST = BOUNDS_SECONDS[0]
#: The route label of all pages.
PAGE = "page"

#: What is looked at when somebody asks, and what it means.
GAUGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "keepscore_info": ("The version of the service.", ("version",)),
    "keepscore_ready": ("1 if boards take scores, as /readyz says.", ()),
    "keepscore_degraded": ("1 if something is broken, as /readyz says.", ()),
    "keepscore_behind": ("1 if recorded scores wait for the engine.", ()),
    "keepscore_spooling": ("1 if the ledger is down and the engine keeps scores for it.", ()),
    "keepscore_spool_entries": ("Groups of events that the engine keeps for the ledger.", ()),
    "keepscore_pending_events": ("Events that the ledger has and the engine lacks.", ("board",)),
    "keepscore_players": ("Players in the current ranking of a window.", ("board", "window")),
    "keepscore_boards": ("Boards that have a label of their own.", ()),
    "keepscore_webhooks_pending": ("Webhooks that wait to be acknowledged.", ()),
    "keepscore_webhooks_failing": ("Webhooks whose last try failed.", ()),
    "keepscore_engine_memory_used_bytes": ("Memory that the engine's server uses.", ()),
    "keepscore_engine_memory_limit_bytes": ("Memory that the engine's server may use.", ()),
}


def metrics_link(is_board: Callable[[str], bool], default_board: str) -> Link:
    """Return the link that counts and times requests, and counts submissions by board and outcome."""

    def link(route: Route, endpoint: Endpoint) -> Endpoint:
        if route.method == "WS":
            return endpoint
        # Pages are not told apart.
        path = route.path if route.tag or route is UNROUTED else PAGE
        buckets = REQUEST_SECONDS.values[str(route.scope), route.cost, route.method, path]
        counts, requests, good = buckets.counts, REQUESTS.values, (route.method, path, "200")

        async def counted(request: Request[Any, Any]) -> Answer | Prepared:
            began = perf_counter()
            try:
                answer = await endpoint(request)
            except Exception as error:
                buckets.observe(perf_counter() - began)
                requests[route.method, path, str(status_of(error))] += 1
                raise
            # What `observe` does, without a call: this is the way of nearly all requests.
            seconds = perf_counter() - began
            counts[0 if seconds <= LEAST else bisect_left(BOUNDS_SECONDS, seconds)] += 1
            buckets.sum += seconds
            if isinstance(answer, Prepared) or answer.status == 200:
                requests[good] += 1
            else:
                requests[route.method, path, str(answer.status)] += 1
            return answer

        return counted

    def submission_link(route: Route, endpoint: Endpoint) -> Endpoint:
        counted = link(route, endpoint)
        if route.answers.get(200) not in (answers.Receipt, answers.BatchReceipt, Updated):
            return counted
        has_board = "{board}" in route.path

        async def submitted(request: Request[Any, Any]) -> Answer | Prepared:
            board = request.path[0] if has_board else default_board
            try:
                answer = await counted(request)
            except Exception as error:
                SUBMISSIONS.add(board if is_board(board) else OTHER, "refused" if status_of(error) < 500 else "failed")
                raise
            if isinstance(answer, Answer):
                _count_submissions(board if is_board(board) else OTHER, answer, request)
            return answer

        return submitted

    return submission_link


def _count_submissions(board: str, answer: Answer, request: Request[Any, Any]) -> None:
    found = answer.content
    if answer.status >= 400:
        SUBMISSIONS.add(board, "refused" if answer.status < 500 else "failed")
        return
    if getattr(request.query, "dry_run", False):
        return
    outcome = "replayed" if found.replayed is True else "spooled" if found.spooled is True else "pending" if found.pending is True else ""
    if not isinstance(found, answers.BatchReceipt):
        SUBMISSIONS.add(board, outcome or "accepted")
        return
    again = found.duplicates if isinstance(found.duplicates, int) else 0
    for name, n in ((outcome or "accepted", found.accepted - again), ("replayed", again), ("refused", len(found.rejected))):
        if n:
            SUBMISSIONS.add(board, name, n=n)


class MetricsApi:
    """The handler of `/metrics`."""

    def __init__(self, leaderboards: Leaderboards, shares: Shares) -> None:
        self._lb = leaderboards
        self._shares = shares

    def routes(self) -> list[Route]:
        """Return the one route."""
        return [
            Route(
                "GET",
                "/metrics",
                self.metrics,
                "Get metrics for Prometheus",
                scope="admin",
                answers={200: Text},
                tag="Service",
                description="Covers all workers of this host, in the text format of Prometheus.",
            )
        ]

    async def metrics(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return all metrics."""
        try:
            reasons: list[str] | None = await self._lb.ready()
        except KeepscoreError:
            reasons = None
        vitals = await self._lb.runtime.vitals.look()
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Families([*_counted(self._shares.merged(), vitals.boards), *_seen(vitals, reasons)]))
        return Answer(Text(generate_latest(registry), CONTENT_TYPE_LATEST.encode()), headers=((b"cache-control", b"no-store"),))


class _Families(Collector):
    """Metric families that are ready."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _counted(counted: Iterable[Counter | Gauge | LatencyHistogram], boards: frozenset[str]) -> Iterator[Metric]:
    """Yield what was counted. Boards beyond those that have a label of their own are summed up."""
    for one in counted:
        if isinstance(one, LatencyHistogram):
            yield _histogram(one)
            continue
        family: CounterMetricFamily | GaugeMetricFamily
        family = (CounterMetricFamily if isinstance(one, Counter) else GaugeMetricFamily)(one.name, one.meaning, labels=one.labels)
        totals: dict[tuple[str, ...], float] = {}
        for labels, value in one.values.items():
            shown = (labels[0] if labels[0] in boards else OTHER, *labels[1:]) if one.labels[:1] == ("board",) else labels
            totals[shown] = totals.get(shown, 0) + value
        for labels, value in totals.items() or ([((), 0.0)] if not one.labels else []):
            family.add_metric(labels, value)
        yield family


def _histogram(one: LatencyHistogram) -> Metric:
    family = HistogramMetricFamily(one.name, one.meaning, labels=one.labels)
    names = [*map(str, BOUNDS_SECONDS), "+Inf"]
    for labels, buckets in one.values.items():
        if not any(buckets.counts):
            continue
        family.add_metric(labels, list(zip(names, map(float, accumulate(buckets.counts)), strict=True)), buckets.sum)
    return family


def _seen(vitals: Vitals, reasons: list[str] | None) -> Iterator[Metric]:
    memory = vitals.memory
    values: dict[str, dict[tuple[str, ...], float | None]] = {
        "keepscore_info": {(__version__,): 1},
        "keepscore_ready": {(): float(reasons is not None)},
        "keepscore_degraded": {(): float(reasons != [])},
        "keepscore_behind": {(): float(vitals.is_behind)},
        "keepscore_spooling": {(): float(vitals.is_spooling)},
        "keepscore_spool_entries": {(): vitals.spooled},
        "keepscore_pending_events": _summed({(board,): n for board, n in vitals.lacking.items()}, vitals.boards),
        "keepscore_players": _summed(vitals.players, vitals.boards),
        "keepscore_boards": {(): len(vitals.boards)},
        "keepscore_webhooks_pending": {(): vitals.webhooks and vitals.webhooks.pending},
        "keepscore_webhooks_failing": {(): vitals.webhooks and vitals.webhooks.failing},
        "keepscore_engine_memory_used_bytes": {(): memory and memory.used},
        "keepscore_engine_memory_limit_bytes": {(): memory and memory.limit},
    }
    for name, (meaning, labels) in GAUGES.items():
        family = GaugeMetricFamily(name, meaning, labels=labels)
        for shown, value in values[name].items():
            if value is not None:
                family.add_metric(shown, value)
        yield family


def _summed(values: dict[tuple[str, ...], int], boards: frozenset[str]) -> dict[tuple[str, ...], float | None]:
    totals: dict[tuple[str, ...], float | None] = {}
    for labels, value in values.items():
        shown = (labels[0] if labels[0] in boards else OTHER, *labels[1:])
        totals[shown] = (totals.get(shown) or 0) + value
    return totals
