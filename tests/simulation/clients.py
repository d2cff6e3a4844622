"""Clients that submit by the dice and remember every answer."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime
from random import Random
from typing import Any

from keepscore import Board
from keepscore.domain.results.standings import Receipt
from keepscore.errors import KeepscoreError, OutcomeUnknown, Unavailable
from tests.simulation.world import ConnectionLost, Process, World

__all__ = ["Client", "Request"]


#: How often something is sent that has to be taken.
TRIES = 3


class Request:
    """One thing that a client wants to be counted once, and what it was told about it."""

    def __init__(
        self, game: str, board: Board, kind: str, player: str, amount: int, options: dict[str, Any] | None = None, key: str | None = None
    ) -> None:
        self.game = game
        self.board = board
        self.kind = kind
        self.player = player
        self.amount = amount
        self.options = options or {}
        self.key = key
        self.answers: list[Receipt | Exception] = []
        #: When each of them was asked for.
        self.moments: list[float] = []
        #: When it was sent first, and when it was first acknowledged.
        self.begun = self.ended = math.inf
        #: What was wrong with an answer when it came.
        self.objections: list[str] = []

    def __str__(self) -> str:
        return f"{self.kind} {self.game} on {self.board.name}: {self.player} {self.amount}{f' key {self.key}' if self.key else ''}"

    @property
    def receipts(self) -> list[Receipt]:
        """The answers that acknowledge it."""
        return [answer for answer in self.answers if isinstance(answer, Receipt)]

    @property
    def refused(self) -> bool:
        """Whether all answers said that it was not taken, and none that this is not known."""
        unknown = (ConnectionLost, OutcomeUnknown)
        return bool(self.answers) and all(isinstance(a, KeepscoreError) and not isinstance(a, unknown) for a in self.answers)

    def may_be_lost(self, world: World) -> bool:
        """Whether nobody has acknowledged it since an older ledger came back, or the client sent it before that."""
        told = [moment for moment, answer in zip(self.moments, self.answers, strict=True) if isinstance(answer, Receipt)]
        return all(moment <= world.restored for moment in told or self.moments)

    async def insist(self, world: World, to: Process | None = None) -> None:
        """Send it while nothing goes wrong. What is left of earlier trouble may cost a try."""
        for _ in range(TRIES):
            await self.send(world, to)
            if not self.answers or not isinstance(self.answers[-1], Unavailable):
                return
        self.objections.append(f"not taken, although nothing is wrong: {self.answers[-1]}")

    async def send(self, world: World, to: Process | None = None) -> None:
        """Send it to some process, once; remember the answer."""
        living = world.living()
        if not living:
            return
        process = to or world.dice.choice(living)
        world.note(f"{process} ← {self}")
        self.begun = min(self.begun, world.loop.time())
        call = process.lb.submit if self.kind == "score" else process.lb.increment
        moment = world.loop.time()
        options = {**self.options, "game_id": self.game, "idempotency_key": self.key}
        try:
            answer: Receipt | Exception = await process.do(lambda: call(self.board.name, self.player, self.amount, **options))
        except Exception as exc:
            answer = exc
        world.note(f"{process} answers {self.game}: {_told(answer)}")
        if moment > world.restored:
            self._look(answer, world)
        if isinstance(answer, Receipt):
            self.ended = min(self.ended, world.loop.time())
        self.answers.append(answer)
        self.moments.append(moment)

    async def read(self, world: World) -> None:
        """Look at the player through some process. A strong board shows at least what was ranked before, or nothing at all."""
        ranked = any(receipt.pending is not True for receipt in self.receipts)
        if (
            not ranked
            or world.is_moderated
            or self.board.consistency != "strong"
            or self.board.operator != "best"
            or not (living := world.living())
        ):
            return
        process = world.dice.choice(living)
        try:
            found = (await process.do(lambda: process.lb.rank(self.board.name, self.player))).score
        except (Unavailable, ConnectionLost):
            return
        except KeepscoreError as exc:
            if not self.may_be_lost(world):
                self.objections.append(f"ranked, and {process} says: {exc}")
            return
        world.note(f"{process} shows {self.player} with {found}")
        is_worse = found > self.amount if self.board.order == "asc" else found < self.amount
        if is_worse and not self.may_be_lost(world):
            self.objections.append(f"ranked, and {process} shows {found}")

    def expect(self, score: int) -> None:
        """The last answer should tell that score."""
        answer = self.answers[-1]
        if isinstance(answer, Receipt) and answer.score != score:
            self.objections.append(f"it is {answer.score}, although everybody sent the same")

    def _look(self, answer: Receipt | Exception, world: World) -> None:
        """Is the answer true at the moment when it comes?"""
        if isinstance(answer, Receipt):
            found = {board for (board,) in world.database.execute("SELECT board FROM events WHERE game_id = ?", (self.game,))}
            if answer.spooled is True:
                found |= world.server.boards_that_keep(self.game)
            if len(found) <= len(self.board.also):
                self.objections.append("acknowledged before it was recorded")
            # A replay tells where the player stands in the windows of now, which may be nowhere.
            unranked = any(window.rank is None for window in answer.windows.values())
            if unranked != (answer.pending is True) and answer.replayed is not True and not world.is_moderated:
                self.objections.append(f"rank {answer.rank}, pending {answer.pending}")
            if self.receipts and answer.replayed is not True and not self.may_be_lost(world):
                self.objections.append("acknowledged twice, and not as a replay")
        elif not isinstance(answer, KeepscoreError | ConnectionLost):
            self.objections.append(f"an error that nobody meant: {answer!r}")


def _told(answer: Receipt | Exception) -> str:
    if isinstance(answer, Receipt):
        replayed = " (replayed)" if answer.replayed is True else ""
        spooled = " (spooled)" if answer.spooled is True else ""
        return f"score {answer.score} rank {'pending' if answer.pending is True else answer.rank}{replayed}{spooled}"
    return f"{type(answer).__name__} {answer}"


class Client:
    """Submits for a while, several requests at a time now and then."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._name = name
        self._dice = Random(world.dice.random())
        self.requests: list[Request] = []

    async def run(self, count: int) -> None:
        """Make that many requests."""
        pace = self._dice.choice((0.002, 0.05, 0.3))
        while len(self.requests) < count:
            await asyncio.gather(*[self._send() for _ in range(self._dice.choice((1, 1, 1, 2, 4)))])
            await asyncio.sleep(self._dice.random() * pace)

    async def _send(self) -> None:
        request = self.made()
        await request.send(self._world)
        for _ in range(3):
            await request.read(self._world)
            # Whoever has a key tries again, sometimes although there was an answer.
            if request.key is None or (request.receipts and self._dice.random() < 0.8):
                return
            await asyncio.sleep(self._dice.random())
            await request.send(self._world)

    def made(self) -> Request:
        """The next request."""
        dice = self._dice
        board = dice.choice(self._world.boards)
        kind = "increment" if board.operator in ("sum", "last") and dice.random() < 0.7 else "score"
        options: dict[str, Any] = {}
        if board.segments and dice.random() < 0.5:
            options["segments"] = {"region": dice.choice(("eu", "us"))}
        if dice.random() < 0.4:
            late = dice.choice((1, 500, 1000, 2000))
            options["at"] = datetime.fromtimestamp((self._world.clock() - late) / 1000, UTC)
        game = f"{self._name}{len(self.requests) + 1}"
        key = f"key-{game}" if dice.random() < 0.5 else None
        request = Request(game, board, kind, dice.choice(("ann", "bob", "cem")), dice.randrange(1, 50), options, key)
        self.requests.append(request)
        return request
