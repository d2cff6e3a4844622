"""What this process counts about itself: plain numbers that any part may bump, and that the service shows at `/metrics`.

There is one set a process, as there is one log. To bump a number costs a dictionary access: no lock, no library. Labels are words from
fixed lists, or names of boards; never players.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import Any

__all__ = [
    "ALL",
    "BOUNDS_SECONDS",
    "ENGINE_ERRORS",
    "HEALS",
    "JOB_FAILURES",
    "JOB_RUNS",
    "JOB_SUCCESS",
    "LEDGER_ERRORS",
    "LOOP_LAG",
    "REQUESTS",
    "REQUEST_SECONDS",
    "SPOOLED_EVENTS",
    "SUBMISSIONS",
    "WEBHOOK_ATTEMPTS",
    "Buckets",
    "Counter",
    "Gauge",
    "Labels",
    "LatencyHistogram",
]

Labels = tuple[str, ...]

#: Upper bounds of the buckets of durations, in seconds.
BOUNDS_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Counter:
    """A number that only grows, for each combination of labels."""

    kind = "counter"

    def __init__(self, name: str, meaning: str, *labels: str, known: tuple[str, ...] = ()) -> None:
        self.name = name
        self.meaning = meaning
        self.labels = labels
        #: Those that are known from the start are 0: whoever watches sees the first one, too.
        self.values: defaultdict[Labels, int] = defaultdict(int, {(label,): 0 for label in known})

    def add(self, *labels: str, n: int = 1) -> None:
        """Count something."""
        self.values[labels] += n

    def dump(self) -> list[tuple[Labels, Any]]:
        """Return all numbers as plain data."""
        return list(self.values.items())

    def merge(self, dumped: list[tuple[Labels, Any]]) -> None:
        """Add what another process, or this one's predecessor, has counted."""
        for labels, value in dumped:
            self.values[tuple(labels)] += value


class Gauge:
    """A number that goes up and down. Of several processes, the highest counts."""

    kind = "gauge"

    def __init__(self, name: str, meaning: str, *labels: str) -> None:
        self.name = name
        self.meaning = meaning
        self.labels = labels
        self.values: dict[Labels, float] = {}

    def set(self, value: float, *labels: str) -> None:
        """Replace the number."""
        self.values[labels] = value

    def dump(self) -> list[tuple[Labels, Any]]:
        """Return all numbers as plain data."""
        return list(self.values.items())

    def merge(self, dumped: list[tuple[Labels, Any]]) -> None:
        """Take over what is higher elsewhere."""
        for labels, value in dumped:
            self.values[tuple(labels)] = max(value, self.values.get(tuple(labels), value))


class Buckets:
    """How often durations fell into each bucket, and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_SECONDS) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count a duration. O(log buckets)."""
        self.counts[bisect_left(BOUNDS_SECONDS, seconds)] += 1
        self.sum += seconds


class LatencyHistogram:
    """Durations, for each combination of labels."""

    kind = "histogram"

    def __init__(self, name: str, meaning: str, *labels: str) -> None:
        self.name = name
        self.meaning = meaning
        self.labels = labels
        self.values: defaultdict[Labels, Buckets] = defaultdict(Buckets)

    def dump(self) -> list[tuple[Labels, Any]]:
        """Return all numbers as plain data."""
        return [(labels, [buckets.counts, buckets.sum]) for labels, buckets in self.values.items()]

    def merge(self, dumped: list[tuple[Labels, Any]]) -> None:
        """Add what another process, or this one's predecessor, has counted."""
        for labels, (counts, total) in dumped:
            buckets = self.values[tuple(labels)]
            # In place: whoever counts holds the list.
            buckets.counts[:] = [mine + other for mine, other in zip(buckets.counts, counts, strict=True)]
            buckets.sum += total


SUBMISSIONS = Counter("keepscore_submissions", "Scores and amounts received, by outcome.", "board", "outcome")
REQUESTS = Counter("keepscore_requests", "HTTP requests that were answered.", "method", "route", "status")
REQUEST_SECONDS = LatencyHistogram("keepscore_request_seconds", "Seconds from a request to its answer.", "scope", "cost", "method", "route")
ENGINE_ERRORS = Counter(
    "keepscore_engine_errors",
    "Calls of the ranking engine that failed.",
    "kind",
    known=("unreachable", "refused", "not_tried", "quarantined"),
)
LEDGER_ERRORS = Counter("keepscore_ledger_errors", "Calls of the ledger that failed.", "kind", known=("unavailable", "full"))
SPOOLED_EVENTS = Counter("keepscore_spooled_events", "Events that the engine kept while the ledger was down.")
HEALS = Counter(
    "keepscore_heals",
    "Times that the engine lacked something, or had too much, and was put right from the ledger, by cause.",
    "cause",
    known=("missing_events", "lost_board", "old_backup", "dead_writer", "older_ledger"),
)
WEBHOOK_ATTEMPTS = Counter("keepscore_webhook_attempts", "Tries to deliver webhooks.", "outcome", known=("delivered", "failed"))
JOB_RUNS = Counter("keepscore_keeper_job_runs", "Runs of the keeper's jobs.", "job", "outcome")
JOB_FAILURES = Gauge("keepscore_keeper_job_failures", "How often in a row a job of the keeper has failed.", "job")
JOB_SUCCESS = Gauge("keepscore_keeper_job_last_success_timestamp_seconds", "When a job of the keeper last worked.", "job")
LOOP_LAG = LatencyHistogram("keepscore_loop_lag_seconds", "Seconds by which the event loop was late.")

ALL: tuple[Counter | Gauge | LatencyHistogram, ...] = (
    SUBMISSIONS,
    REQUESTS,
    REQUEST_SECONDS,
    ENGINE_ERRORS,
    LEDGER_ERRORS,
    SPOOLED_EVENTS,
    HEALS,
    WEBHOOK_ATTEMPTS,
    JOB_RUNS,
    JOB_FAILURES,
    JOB_SUCCESS,
    LOOP_LAG,
)
