"""Boards in a FastAPI program: opened and closed with it. Run it with `uvicorn fastapi_app:app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from keepscore import Board, Leaderboards

boards = Leaderboards.open(boards=[Board("global")])


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the boards when the program starts, so that mistakes show then, and close them when it ends."""
    async with boards:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/scores/{player}/{score}")
async def submit(player: str, score: int) -> dict[str, Any]:
    """Submit a score."""
    return (await boards.submit("global", player, score)).to_dict()


@app.get("/top")
async def top(limit: int = 10) -> dict[str, Any]:
    """Show the first players."""
    return (await boards.top("global", limit=limit)).to_dict()
