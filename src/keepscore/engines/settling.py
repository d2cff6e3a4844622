"""Questions that share one call: everybody gets an answer or the error, whatever becomes of the call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from keepscore.errors import EngineUnavailable

__all__ = ["settle"]

T = TypeVar("T")


async def settle(futures: Sequence[asyncio.Future[T]], asked: Awaitable[Sequence[T]]) -> None:
    """Give each future its answer of those that are asked for. Nobody is left to wait for ever."""
    try:
        answers = list(zip(futures, await asked, strict=True))
    except BaseException as exc:
        for future in futures:
            if not future.done():
                future.set_exception(exc if isinstance(exc, Exception) else EngineUnavailable("the engine is being closed"))
        if not isinstance(exc, Exception):
            raise
        return
    for future, answer in answers:
        if not future.done():
            future.set_result(answer)
