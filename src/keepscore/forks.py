"""What a forked child does with what its parent had open.

A child has a copy of all objects, but of no threads but one, and shares sockets and files with its parent. To use or to close them there
does harm: a request goes out on the parent's connection, a shared epoll forgets a socket of the parent's, SQLite rolls back a transaction
of the parent's in shared memory. So whoever opens something asks to be told of a fork, leaves it alone in the child, and opens its own.

A lock that another thread holds at the moment of the fork stays locked in the child for ever: OpenSSL, for one, has such locks while it
prepares a connection. So whoever runs a thread brings it to rest before a fork, where it holds no lock.
"""

from __future__ import annotations

import ctypes
import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Forked", "Resting", "keep_forever", "rest_during_forks", "tell_when_forked"]


class Forked(Protocol):
    """Something that is notified of a fork."""

    def forked(self) -> None:
        """Let go of what the parent has open. Called in the child, before anything else happens there."""


class Resting(Protocol):
    """Something with a thread that rests while the process forks."""

    def rest(self) -> None:
        """Bring the thread to rest. Called in the thread that forks, before it does."""

    def resume(self) -> None:
        """Let the thread go on. Called in the parent, after the fork."""


_told: WeakSet[Forked] = WeakSet()
_resting: WeakSet[Resting] = WeakSet()


def tell_when_forked(whom: Forked) -> None:
    """Call `whom.forked()` in every child that is forked from now on, as long as the object lives."""
    _told.add(whom)


def rest_during_forks(whom: Resting) -> None:
    """Call `whom.rest()` before every fork from now on, and `whom.resume()` after it, as long as the object lives."""
    _resting.add(whom)


def keep_forever(thing: object) -> None:
    """Keep an object, and all that it refers to, to the end of the process: nothing of it is finalized, not even at exit.

    A reference in a module would not do: those are dropped when the interpreter ends.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _tell_all() -> None:
    for whom in list(_told):
        whom.forked()


def _rest_all() -> None:
    for whom in list(_resting):
        whom.rest()


def _resume_all() -> None:
    for whom in list(_resting):
        whom.resume()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_rest_all, after_in_parent=_resume_all, after_in_child=_tell_all)
