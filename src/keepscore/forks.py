"""What a forked child does with what its parent had open.

A child has a copy of all objects, but of no threads but one, and shares sockets and files with its parent. To use or to close them there
does harm: a request goes out on the parent's connection, a shared epoll forgets a socket of the parent's, SQLite rolls back a transaction
of the parent's in shared memory. So whoever opens something asks to be told of a fork, leaves it alone in the child, and opens its own.
"""

from __future__ import annotations

import ctypes
import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Forked", "keep_forever", "tell_when_forked"]


class Forked(Protocol):
    """Something that is notified of a fork."""

    def forked(self) -> None:
        """Let go of what the parent has open. Called in the child, before anything else happens there."""


_told: WeakSet[Forked] = WeakSet()


def tell_when_forked(whom: Forked) -> None:
    """Call `whom.forked()` in every child that is forked from now on, as long as the object lives."""
    _told.add(whom)


def keep_forever(thing: object) -> None:
    """Keep an object, and all that it refers to, to the end of the process: nothing of it is finalized, not even at exit.

    A reference in a module would not do: those are dropped when the interpreter ends.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _tell_all() -> None:
    for whom in list(_told):
        whom.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tell_all)
