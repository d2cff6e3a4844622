"""Calls of a part that a test looks at, holds up or lets fail."""

from collections.abc import Callable
from functools import partial
from typing import Any


def wrap(part: object, method: str, around: Callable[..., Any]) -> None:
    """Let calls of a method go through `around`, which gets the real method first, and then what it was called with."""
    setattr(part, method, partial(around, getattr(part, method)))
