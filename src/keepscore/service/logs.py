"""The log: lines for people or for programs, the id of the request in them, and the access log."""

from __future__ import annotations

import json
import logging
from time import perf_counter
from typing import Any

from keepscore.domain.durations import time_of
from keepscore.service.http.layer import Answer, Prepared, Request, Route
from keepscore.service.http.messages import with_headers
from keepscore.service.http.problems import problem_answer
from keepscore.service.http.request_ids import CURRENT_REQUEST, request_id_of
from keepscore.service.http.table import Endpoint

__all__ = ["access_link", "set_up_log"]

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
#: Fields that lines of the access log have beside the common ones.
ACCESS_FIELDS = ("method", "path", "status", "ms")

access = logging.getLogger("keepscore.access")


def set_up_log(level: str, form: str) -> None:
    """Write all lines from a level on to stderr, as text or as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(TEXT))
    handler.addFilter(_add_request_id)
    logging.basicConfig(level=level.upper(), handlers=[handler])


def _add_request_id(record: logging.LogRecord) -> bool:
    if not hasattr(record, "request_id"):
        record.request_id = CURRENT_REQUEST.get()
    return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, request_id, and what else a line has."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        line: dict[str, Any] = {
            "time": time_of(round(record.created * 1000)).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for field in ("request_id", *ACCESS_FIELDS):
            if getattr(record, field, None) is not None:
                line[field] = getattr(record, field)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def access_link(route: Route, endpoint: Endpoint) -> Endpoint:
    """Log each request with its id, and return the id as X-Request-Id."""

    async def logged(request: Request[Any, Any]) -> Answer | Prepared:
        request_id = request_id_of(request.headers)
        token = CURRENT_REQUEST.set(request_id)
        began = perf_counter()
        try:
            answer = await endpoint(request)
        except Exception as error:
            answer = problem_answer(error, request_id)
        else:
            answer = with_headers(answer, ((b"x-request-id", request_id.encode()),))
        finally:
            CURRENT_REQUEST.reset(token)
        status = 200 if isinstance(answer, Prepared) else answer.status
        _log_access(request, status, (perf_counter() - began) * 1000, request_id)
        return answer

    async def connected(request: Request[Any, Any]) -> Answer | Prepared:
        began = perf_counter()
        try:
            return await endpoint(request)
        finally:
            _log_access(request, 101, (perf_counter() - began) * 1000, request_id_of(request.headers))

    return connected if route.method == "WS" else logged


def _log_access(request: Request[Any, Any], status: int, ms: float, request_id: str) -> None:
    method = request.scope.get("method", "WS")
    # As it was sent: what is percent-encoded cannot forge a line.
    path = (request.scope.get("raw_path") or request.scope["path"].encode()).decode("latin-1")
    fields = {"method": method, "path": path, "status": status, "ms": round(ms, 3), "request_id": request_id}
    access.info("%s %s %d %.1f ms %s", method, json.dumps(path)[1:-1], status, ms, request_id, extra=fields)
