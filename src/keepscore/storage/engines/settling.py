"""Work for many: everybody gets an answer or the error, whatever becomes of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import TypeVar

from keepscore.errors import EngineUnavailable

__all__ = ["settle", "try_each"]

T = TypeVar("T")


async def settle(futures: Sequence[asyncio.Future[T]], asked: Awaitable[Sequence[T]]) -> None:
    """Give each future its answer, which may be an error. No future is left waiting forever."""
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
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)


async def try_each(steps: Iterable[Awaitable[None]]) -> None:
    """Take all steps, one after the other, though some find their server away; then raise the first of these errors."""
    first: EngineUnavailable | None = None
    for step in steps:
        try:
            await step
        except EngineUnavailable as exc:
            first = first or exc
    if first is not None:
        raise first
