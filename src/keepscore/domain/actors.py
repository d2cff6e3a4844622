"""Who is at work: the service says so for each request, and the audit asks when something is recorded.

The answer follows a request through the tasks that it starts, but not into other threads: ask before work is given to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

__all__ = ["Actor", "acting", "current_actor"]


class Actor(NamedTuple):
    """Whoever does something, and the network address they do it from, where it is known."""

    name: str
    address: str | None = None


_current: ContextVar[Actor | None] = ContextVar("actor", default=None)


@contextmanager
def acting(as_: str, address: str | None = None) -> Iterator[Actor]:
    """Let all that is done within be done by somebody.

    >>> with acting("key 5hVqT0aWm3Kd operations", "192.0.2.7"):
    ...     current_actor()
    Actor(name='key 5hVqT0aWm3Kd operations', address='192.0.2.7')
    """
    actor = Actor(as_, address)
    token = _current.set(actor)
    try:
        yield actor
    finally:
        _current.reset(token)


def current_actor() -> Actor | None:
    """Return who is at work; None: this process itself."""
    return _current.get()
