"""One timer for the waits of many tasks."""

from __future__ import annotations

import asyncio

import pytest

from keepscore.errors import BodyTooSlow
from keepscore.service.http.deadlines import Deadlines


async def waiting(deadlines: Deadlines, event: asyncio.Event) -> str:
    with deadlines:
        await event.wait()
    return "done"


async def test_only_those_that_wait_too_long_are_ended() -> None:
    deadlines, never, soon = Deadlines(0.02), asyncio.Event(), asyncio.Event()
    slow = [asyncio.create_task(waiting(deadlines, never)) for _ in range(3)]
    quick = asyncio.create_task(waiting(deadlines, soon))
    await asyncio.sleep(0)
    soon.set()
    assert await quick == "done"
    for task in slow:
        with pytest.raises(BodyTooSlow, match=r"within 0.02 s \(server.body_timeout\)"):
            await task
        assert not task.cancelled()
    # The timer starts again for those who come later.
    with pytest.raises(BodyTooSlow):
        await waiting(deadlines, never)


async def test_a_task_goes_on_after_its_wait_was_ended() -> None:
    deadlines = Deadlines(0.01)

    async def work() -> str:
        try:
            return await waiting(deadlines, asyncio.Event())
        except BodyTooSlow:
            await asyncio.sleep(0)
            return "answered"

    assert await asyncio.create_task(work()) == "answered"


async def test_whoever_else_cancels_a_task_cancels_it() -> None:
    deadlines = Deadlines(60)
    task = asyncio.create_task(waiting(deadlines, asyncio.Event()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_work_itself_is_told() -> None:
    with pytest.raises(ValueError, match="bad"), Deadlines(60):
        raise ValueError("bad")
