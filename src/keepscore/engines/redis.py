"""The engine in Redis: sorted sets, changed by one atomic script call a batch. Many processes may share it.

Redis keeps the rankings, the watermarks and the list of a board's rankings; a process knows definitions only. What happens in Redis is
in the scripts of `lua/`; where things lie is in `layouts.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from math import inf
from typing import Any

import msgspec

from keepscore.boards import Board, RankKind
from keepscore.engines.base import Batch, Gap, Loaded, Outcome, Page, Pruned, Ranking, RankingEngine
from keepscore.engines.layouts import RankingKeys, check_tag, companions, fingerprint, layout_of, layouts_of
from keepscore.engines.redis_answers import REPLACED, marks_from, places_from
from keepscore.engines.redis_answers import unpack as _unpack
from keepscore.engines.redis_batches import Sent, foreign, other_type, received, send, settled
from keepscore.engines.redis_boards import KnownBoard, KnownBoards, check_types, index_scores, keys_in, rankings_in, unlink
from keepscore.engines.redis_client import Call, RedisClient
from keepscore.engines.redis_flaws import flaws
from keepscore.engines.redis_pruning import pruned_from, remove_rows
from keepscore.engines.redis_questions import Questions
from keepscore.engines.redis_shadows import Shadows
from keepscore.engines.redis_spool import drop_entries, hold_lock, read_entries, release_lock
from keepscore.engines.redis_url import parse_redis_url
from keepscore.errors import EngineUnavailable, KeyTaken
from keepscore.keys import check_keys
from keepscore.ordering import Place, Ranks, Row
from keepscore.scoring import State

__all__ = ["RedisEngine"]

#: Late players that are told at a time.
CHUNK = 5000
#: Commands that are under way at a time.
TOGETHER = 16
#: How often a step is tried that others may come in between.
TRIES = 20

_pack = msgspec.msgpack.Encoder().encode


class RedisEngine(RankingEngine):
    """Rankings in the Redis at a URL."""

    spools = True

    def __init__(self, url: str, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self.address = parse_redis_url(url)
        self._client = RedisClient(self.address)
        self._clock = clock
        self._boards = KnownBoards()
        self._shadows = Shadows(self._client, self._boards)
        self._questions = Questions(self.places)

    # -- life -----------------------------------------------------------------------------------------------------------

    async def open(self, ledger: str) -> None:
        self._boards.ledger = ledger
        await self._client.open()

    async def close(self) -> None:
        self._questions.stop()
        await self._client.close()

    def fits(self, old: Board, new: Board) -> bool:
        return fingerprint(old) == fingerprint(new)

    def keeps_since(self, board: Board, window: str) -> bool:
        layout = layout_of(board, window)
        return layout.times or layout.kind == "composite"

    async def check(self, board: Board, boards: Sequence[Board]) -> None:
        check_keys(board, boards)
        await check_types(self._client, board, self._clock())
        if self._client.is_cluster:
            check_tag(board)

    def layouts(self, board: Board) -> dict[str, tuple[str, str]]:
        return {window: (layout.kind, layout.why) for window, layout in layouts_of(board).items()}

    async def adopt(self, board_id: int, board: Board) -> bool:
        known = self._boards.known(board_id, board)
        await check_types(self._client, board, self._clock())
        epoch = await self._client.command("HGET", known.marks, "epoch")
        if epoch != known.epoch.encode():
            return False
        self._boards.define(board_id, known)
        return True

    @property
    def incarnation(self) -> int:
        return self._client.incarnation

    # -- loading --------------------------------------------------------------------------------------------------------

    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int]) -> None:
        await self._shadows.load(board_id, board, states, applied)

    async def promote(self, board_id: int) -> None:
        await self._shadows.promote(board_id, self._clock())

    async def redefine(self, board_id: int, board: Board, expiries: Mapping[Ranking, int]) -> None:
        known = self._boards.known(board_id, board)
        self._boards.define(board_id, known)
        now = self._clock()
        found = await rankings_in(self._client, known)
        for ranking, expiry in expiries.items():
            keys = self._boards.at(known, ranking)
            _, indexed, _, *pruned = await self._entry(known, keys)
            if ranking in found:
                await self._client.command("HSET", known.listed, keys.field, _pack([expiry, indexed, keys.key, *pruned]))
            for key in keys[:3]:
                await (self._client.command("PEXPIRE", key, max(1, expiry - now)) if expiry else self._client.command("PERSIST", key))

    async def forget(self, board_id: int) -> None:
        known = self._boards.get(board_id)
        # Not where another process has deleted it, and maybe made one of the same name.
        mine = known is not None and await self.applied(board_id) is not None
        self._boards.forget(board_id)
        if known is not None and mine:
            keys = await keys_in(self._client, known)
            await unlink(self._client, [known.marks, known.listed, *keys])

    async def _entry(self, known: KnownBoard, keys: RankingKeys) -> list[Any]:
        text = await self._client.command("HGET", known.listed, keys.field)
        entry: list[Any] = [0, False, keys.key] if text is None else _unpack(text)
        return entry

    # -- writing --------------------------------------------------------------------------------------------------------

    async def applied(self, board_id: int, shadow: bool = False) -> dict[int, int] | None:
        known = self._boards.side(board_id, shadow)
        if known is None:
            return None
        found = await self._client.command("HGETALL", known.marks)
        return marks_from(found) if found.get(b"epoch") == known.epoch.encode() else None

    async def apply(self, batches: Sequence[Batch]) -> list[list[Outcome]]:
        # Before anything is waited for: what they are made for is what the boards mean now.
        sent = [self._sent(batch) for batch in batches]
        if not self._client.is_cluster or len(batches) == 1:
            return await self._apply(batches, sent)
        # Boards lie on several nodes, and none is to be changed where another has a gap.
        for batch in batches:
            await self._check_position(batch)
        return [(await self._apply([batch], [one]))[0] for batch, one in zip(batches, sent, strict=True)]

    async def _check_position(self, batch: Batch) -> None:
        applied = await self.applied(batch.board, batch.shadow)
        position = None if applied is None else applied.get(batch.writer, 0)
        if position is None or (position != batch.after and position < batch.upto):
            raise Gap(batch.board, position)

    async def _apply(self, batches: Sequence[Batch], sent: list[Sent]) -> list[list[Outcome]]:
        keys = [key for one in sent for key in one.keys]
        argument = _pack([self._clock(), [one.argument for one in sent]])
        for _ in range(TRIES):
            verdict, *rest = _unpack(await self._client.run(Call("apply", keys, argument)))
            if verdict == "ok":
                return [received(one, outcomes) for one, outcomes in zip(sent, rest[0] or [[] for _ in sent], strict=True)]
            if verdict == "gap":
                raise Gap(batches[rest[0] - 1].board, None if rest[1] < 0 else rest[1])
            if verdict == "type":
                raise KeyTaken(other_type(*rest))
            if verdict == "foreign":
                raise KeyTaken(foreign(*rest))
            batch, one = batches[rest[0] - 1], sent[rest[0] - 1]
            for position in rest[1]:
                known = self._boards.side(batch.board, batch.shadow)
                assert known is not None
                await index_scores(self._client, known, self._boards.at(known, one.rankings[position - 1]))
        raise EngineUnavailable("the index of scores could not be completed: try again")

    def _sent(self, batch: Batch) -> Sent:
        known = self._boards.side(batch.board, batch.shadow)
        if known is None:
            raise Gap(batch.board, None)
        keys = [known.marks, known.listed, known.spool, known.late]
        return send(batch, known.board, known.epoch, keys, lambda ranking: self._boards.at(known, ranking))

    async def spooled(self, board_id: int, limit: int) -> list[tuple[str, bytes]]:
        known = self._boards.get(board_id)
        return await read_entries(self._client, known.spool, limit) if known else []

    async def unspool(self, board_id: int, names: Sequence[str]) -> None:
        known = self._boards.get(board_id)
        if known is not None:
            await drop_entries(self._client, known.spool, names)

    async def late(self, board_id: int) -> list[tuple[Ranking, str]]:
        known = self._boards.get(board_id)
        if known is None:
            return []
        names = [name.decode() for name in await self._client.command("SRANDMEMBER", known.late, CHUNK)]
        return [(Ranking(board_id, *parts[:3]), parts[3]) for parts in (name.split("\0", 3) for name in names)]

    async def hold(self, board_id: int) -> str:
        known = self._boards.get(board_id)
        return await hold_lock(self._client, known.lock) if known else ""

    async def release(self, board_id: int, token: str) -> None:
        known = self._boards.get(board_id)
        if known and token:
            await release_lock(self._client, known.lock, token)

    async def restate(
        self,
        ranking: Ranking,
        player: str,
        state: State | None,
        shadow: bool = False,
        upto: Mapping[int, int] | None = None,
        returned: bool = False,
    ) -> bool:
        known = self._boards.side(ranking.board, shadow)
        if known is None:
            raise Gap(ranking.board, None)
        keys = self._boards.at(known, ranking)
        marks = False if upto is None else list(upto.items())
        argument = _pack([known.epoch, keys.form, keys.field, keys.name, player, state or False, marks, returned])
        return bool(await self._client.run(Call("restate", [known.marks, known.listed, known.late, *keys[:3]], argument)))

    async def settle(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State]],
        upto: Mapping[int, int],
        advanced: Mapping[int, int],
        shadow: bool = False,
    ) -> bool:
        known = self._boards.side(board_id, shadow)
        if known is None:
            return False
        keys, rankings = settled({self._boards.at(known, ranking): players for ranking, players in states.items()})
        argument = _pack([known.epoch, list(upto.items()), list(advanced.items()), rankings])
        done = int(await self._client.run(Call("settle", [known.marks, known.listed, *keys], argument)))
        if done < 0:
            raise KeyTaken(f"a key of board {known.board.name!r} holds something else: {', '.join(keys[::3])}")
        return bool(done)

    async def prune(self, ranking: Ranking, keep: int, mark: str) -> int | None:
        known = self._boards.get(ranking.board)
        if known is None:
            return 0
        keys = self._boards.at(known, ranking)
        return await remove_rows(self._client, known, keys, keep, mark)

    async def pruned(self, ranking: Ranking) -> Pruned | None:
        return pruned_from(await self._read("pruned", ranking))

    # -- reading --------------------------------------------------------------------------------------------------------

    async def states(self, ranking: Ranking, players: Sequence[str]) -> list[State | None]:
        known = self._boards.get(ranking.board)
        if known is None:
            return [None] * len(players)
        keys = self._boards.at(known, ranking)
        found = _unpack(await self._client.read(Call("states", keys[:3], _pack([keys.form, players])), replica=False))
        return [State(*state) if state else None for state in found]

    async def place(self, ranking: Ranking, player: str) -> Place | None:
        return await self._questions.ask(ranking, player)

    async def places(self, ranking: Ranking, players: Sequence[str], wanted: RankKind | None = None) -> list[Place | None]:
        found = await self._read("places", ranking, players, wanted in (None, "standard"), wanted in (None, "dense"))
        if found is None:
            return [None] * len(players)
        return places_from(found, len(players))

    async def page(self, ranking: Ranking, offset: int, limit: int) -> Page:
        return await self._page(ranking, offset, limit)

    async def page_after(self, ranking: Ranking, row: Row, limit: int) -> Page:
        page = await self._page(ranking, row, limit)
        if REPLACED in row.player and row in page.rows:
            # Redis knows it by other bytes, and could not tell where it is.
            last = max(i for i, other in enumerate(page.rows) if other == row)
            page = await self._page(ranking, page.first.unique + last, limit)
        return page

    async def _page(self, ranking: Ranking, start: int | Row, limit: int) -> Page:
        found = await self._read("page", ranking, start, limit)
        if found is None:
            return Page([], Ranks(1, 1, 1), 0)
        rows, offset, standard, dense, size, hidden = found
        unique = offset + 1 if rows else size + 1
        return Page([Row(*row) for row in rows], Ranks(unique, standard, dense), size + hidden)

    async def _read(self, script: str, ranking: Ranking, *arguments: Any) -> Any:
        """Run a script that reads a ranking, from a replica where that will do; None where the board is not known."""
        known = self._boards.get(ranking.board)
        if known is None:
            return None
        keys = self._boards.at(known, ranking)
        argument = _pack([keys.form, keys.field, known.board.order == "desc", *arguments])
        call = Call(script, [*keys[:3], known.listed, known.marks], argument)
        answer = await self._client.read(call, replica=known.board.consistency == "eventual")
        while answer == b"dense":
            await index_scores(self._client, known, keys)
            answer = await self._client.read(call, replica=False)
        if answer == b"lost":
            raise EngineUnavailable(f"the Redis at {self.address.shown} has lost the rankings of {known.board.name!r}: they are made anew")
        return _unpack(answer)

    async def count(self, ranking: Ranking, low: int | None, high: int | None) -> int:
        found = await self._read("count", ranking, False if low is None else low, False if high is None else high)
        return int(found or 0)

    async def flaws(self, ranking: Ranking, scores: Sequence[int], players: int) -> list[str]:
        known = self._boards.get(ranking.board)
        if known is None:
            return []
        keys = self._boards.at(known, ranking)
        indexed = (await self._entry(known, keys))[1] == inf
        return await flaws(self._client, keys, indexed, scores, players, known.board.order == "desc")

    async def rankings(self, board_id: int) -> list[Ranking]:
        known = self._boards.get(board_id)
        found = await rankings_in(self._client, known) if known else {}
        keys = [key for _, key in found.values()]
        sizes = []
        # Each asks through a connection of its own.
        for some in (keys[start : start + TOGETHER] for start in range(0, len(keys), TOGETHER)):
            sizes += await asyncio.gather(*(self._client.command("ZCARD", key) for key in some))
        return [ranking for ranking, size in zip(found, sizes, strict=True) if size]

    async def expire(self, now: int) -> None:
        # Redis drops keys by itself; this is for what is told of them, and for clocks that differ.
        for known in self._boards.all():
            for ranking, (expiry, key) in (await rankings_in(self._client, known)).items():
                if 0 < expiry <= now:
                    await unlink(self._client, companions(key))
                    await self._client.command("HDEL", known.listed, self._boards.at(known, ranking).field)
