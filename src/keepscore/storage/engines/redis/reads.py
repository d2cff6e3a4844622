"""Reads of rankings in Redis: one script call each, from a replica where that will do. A loss is noticed, and raised."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any

import msgspec

from keepscore.domain.boards import RankKind
from keepscore.domain.ordering import Place, Ranks, Row
from keepscore.domain.scoring import State
from keepscore.errors import KeyTaken, RankingLost
from keepscore.storage.engines.base import Look, Page, Ranking, RankingEngine, Sight
from keepscore.storage.engines.redis.answers import REPLACED, places_from
from keepscore.storage.engines.redis.answers import unpack as _unpack
from keepscore.storage.engines.redis.boards import (
    KnownBoard,
    KnownBoards,
    filled_rankings,
    index_scores,
    present_ranking,
    rankings_in,
    what_is_taken,
)
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall
from keepscore.storage.engines.redis.flaws import flaws
from keepscore.storage.engines.redis.layouts import RankingKeys
from keepscore.storage.engines.redis.positions import RedisPositions
from keepscore.storage.engines.redis.questions import Questions
from keepscore.storage.engines.redis.rotation import Rotation
from keepscore.storage.engines.redis.sights import nothing_seen, sight_from, told_look
from keepscore.storage.engines.redis.url import RedisAddress

__all__ = ["RedisReads"]

#: What a reader wants of dense ranks, for which a ranking needs an index of its scores.
UNWANTED, IF_THERE, NEEDED = range(3)

_pack = msgspec.msgpack.Encoder().encode


class RedisReads(RankingEngine):
    """The reading part of the engine in Redis."""

    address: RedisAddress
    _client: RedisClient
    _clock: Callable[[], int]
    _boards: KnownBoards
    _questions: Questions
    _rotation: Rotation
    positions: RedisPositions

    async def states(self, ranking: Ranking, players: Sequence[str]) -> list[State | None]:
        found = (await self.states_in({ranking: players}))[ranking]
        return [found[player] for player in players]

    async def states_in(self, wanted: Mapping[Ranking, Collection[str]]) -> dict[Ranking, dict[str, State | None]]:
        answers = await self._read_all("states", list(wanted), [list(players) for players in wanted.values()])
        return {
            ranking: {
                player: State(*state) if state else None for player, state in zip(players, found or [None] * len(players), strict=True)
            }
            for (ranking, players), found in zip(wanted.items(), answers, strict=True)
        }

    async def peaks(self, rankings: Sequence[Ranking]) -> list[int]:
        return [found or 0 for found in await self._read_all("peaks", rankings, [None] * len(rankings))]

    async def _read_all(self, script: str, rankings: Sequence[Ranking], given: Sequence[Any]) -> list[Any]:
        """Run a script that reads several rankings of one board; None for each where the board is not known, or somebody else's."""
        known = self._boards.get(rankings[0].board) if rankings else None
        if known is None:
            return [None] * len(rankings)
        places = [self._boards.at(known, ranking) for ranking in rankings]
        told = [(at.form, at.field, what) for at, what in zip(places, given, strict=True)]
        keys = [known.listed, known.watermarks, *(key for at in places for key in at[:3])]
        answers = _unpack(await self._client.read(ScriptCall(script, keys, _pack([known.epoch, self._clock(), told])), replica=False))
        for ranking, answer in zip(rankings, answers, strict=True):
            if answer == "lost":
                if await self._rotation.is_moved(ranking.board, known.epoch):
                    return await self._read_all(script, rankings, given)
                raise self._lost(known, ranking)
        return [None if answer == "taken" else answer for answer in answers]

    async def place(self, ranking: Ranking, player: str, wanted: RankKind | None = None) -> Place | None:
        return await self._questions.ask(ranking, wanted == "dense", player)

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        if wanted is None:
            return await self.all_ranks(ranking, False, players)
        return await self._places(ranking, players, wanted == "standard", NEEDED if wanted == "dense" else UNWANTED)

    async def all_ranks(self, ranking: Ranking, is_dense: bool, players: Sequence[str]) -> list[Place | None]:
        """Return where some players stand, by all rank numbers; the dense one where it is needed, or the index is there."""
        return await self._places(ranking, players, True, NEEDED if is_dense else IF_THERE)

    async def _places(self, ranking: Ranking, players: Sequence[str], standard: bool, dense: int) -> list[Place | None]:
        found = await self.read("places", ranking, players, standard, dense)
        return [None] * len(players) if found is None else places_from(found, len(players), self.positions.noted(ranking, *found[6:]))

    async def page(self, ranking: Ranking, offset: int, limit: int, wanted: RankKind | None = None) -> Page:
        return await self._page(ranking, offset, limit, wanted)

    async def page_after(self, ranking: Ranking, row: Row, limit: int, wanted: RankKind | None = None) -> Page:
        page = await self._page(ranking, row, limit, wanted)
        if REPLACED in row.player and row in page.rows:
            # Redis knows it by other bytes, and could not tell where it is.
            last = max(i for i, other in enumerate(page.rows) if other == row)
            page = await self._page(ranking, page.first.unique + last, limit, wanted)
        return page

    async def _page(self, ranking: Ranking, start: int | Row, limit: int, wanted: RankKind | None) -> Page:
        found = await self.read("page", ranking, start, limit, wanted == "dense")
        if found is None:
            return Page([], Ranks(1, 1, 1), 0)
        rows, offset, standard, dense, size, hidden, *position = found
        unique = offset + 1 if rows else size + 1
        ranks = Ranks(unique, standard, dense)
        return Page([Row(*row) for row in rows], ranks, size + hidden, self.positions.noted(ranking, *position))

    async def see(self, looks: Sequence[Look]) -> list[Sight]:
        known = self._boards.get(looks[0].ranking.board)
        if known is None:
            return [nothing_seen(look) for look in looks]
        places = [self._boards.at(known, look.ranking) for look in looks]
        keys = [known.listed, known.watermarks, *(key for at in places for key in at[:3])]
        told = [told_look(at, look) for at, look in zip(places, looks, strict=True)]
        call = ScriptCall("see", keys, _pack([known.epoch, self._clock(), known.board.order == "desc", told]))
        answers = _unpack(await self._client.read(call, replica=known.board.consistency == "eventual"))
        if "lost" in answers:
            # A replica may be behind.
            answers = _unpack(await self._client.read(call, replica=False))
        while "dense" in answers:
            await index_scores(self._client, known, places[answers.index("dense")])
            answers = _unpack(await self._client.read(call, replica=False))
        if "lost" in answers:
            if await self._rotation.is_moved(looks[0].ranking.board, known.epoch):
                return await self.see(looks)
            raise self._lost(known, looks[answers.index("lost")].ranking)
        if "taken" in answers:
            raise await self._taken(looks[answers.index("taken")].ranking)
        return [sight_from(answer) for answer in answers]

    async def read(self, script: str, ranking: Ranking, *arguments: Any, replica: bool = True) -> Any:
        """Run a script that reads a ranking, from a replica where that will do; None where the board is not known."""
        known = self._boards.get(ranking.board)
        if known is None:
            return None
        keys = self._boards.at(known, ranking)
        call = self._reading(script, known, keys, known.board.order == "desc", *arguments)
        answer = await self._client.read(call, replica=replica and known.board.consistency == "eventual")
        if answer == b"lost":
            # A replica may be behind.
            answer = await self._client.read(call, replica=False)
        while answer == b"dense":
            await index_scores(self._client, known, keys)
            answer = await self._client.read(call, replica=False)
        if answer == b"lost":
            if await self._rotation.is_moved(ranking.board, known.epoch):
                return await self.read(script, ranking, *arguments, replica=replica)
            raise self._lost(known, ranking)
        if answer == b"taken":
            raise await self._taken(ranking)
        return _unpack(answer)

    def _lost(self, known: KnownBoard, ranking: Ranking) -> RankingLost:
        where = f"the Redis at {self.address.shown}"
        return RankingLost(f"{where} has lost something of board {known.board.name!r}: it is being rebuilt", ranking)

    def _reading(self, script: str, known: KnownBoard, keys: RankingKeys, *arguments: Any) -> ScriptCall:
        given = known.epoch, keys.field, self._clock()
        return ScriptCall(script, [*keys[:3], known.listed, known.watermarks, known.positions], _pack([keys.form, given, *arguments]))

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        found = await self.read("count", ranking, False if low is None else low, False if high is None else high)
        return int(found or 0)

    async def flaws(self, ranking: Ranking, scores: Sequence[int], players: int) -> list[str]:
        known = self._boards.get(ranking.board)
        if known is None:
            return []
        keys = self._boards.at(known, ranking)
        entry = (await rankings_in(self._client, known)).get(ranking)
        indexed = entry is not None and entry.indexed == inf
        return await flaws(self._client, keys, indexed, scores, players, known.board.order == "desc")

    async def rankings(self, board_id: int) -> list[Ranking]:
        known, now = self._boards.get(board_id), self._clock()
        if known is None:
            return []
        present = present_ranking(board_id, known.board, now)
        if present is not None and not (await self.applied(board_id) is not None and await self._client.command("EXISTS", known.listed)):
            raise self._lost(known, present)
        return await filled_rankings(self._client, known, now)

    async def _taken(self, ranking: Ranking) -> KeyTaken:
        """Return the error that says what lies in the place of a ranking."""
        known = self._boards.get(ranking.board)
        if known is not None:
            self._boards.take(ranking.board, await what_is_taken(self._client, known))
        return KeyTaken(self._boards.taken.get(ranking, "what was in the place of a ranking is gone: try again"))
