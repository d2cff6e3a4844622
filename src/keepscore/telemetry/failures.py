"""Errors that nobody expects of a driver: told as errors of ours, and logged so that they are found."""

from __future__ import annotations

import logging
import traceback

__all__ = ["log_once"]

log = logging.getLogger(__name__)

#: The kinds of errors that were logged, each with the line where it arose.
_logged: set[tuple[type[Exception], str, int | None]] = set()


def log_once(what: str, error: Exception) -> None:
    """Log an error with its traceback, the first time that one of its kind arises in its place."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    key = type(error), place.filename, place.lineno
    if key not in _logged:
        _logged.add(key)
        log.error("%s: %s. It is logged once", what, type(error).__name__, exc_info=error)
