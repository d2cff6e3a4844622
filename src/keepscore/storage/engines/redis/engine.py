"""The engine in Redis: sorted sets, changed by one atomic script call a batch. Many processes may share it.

Redis keeps the rankings, the watermarks and the list of a board's rankings; a process knows definitions only. What happens in Redis is
in the scripts of `lua/`; where things lie is in `layouts.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence, Set

import msgspec

from keepscore.domain.boards import Board
from keepscore.domain.keys import check_keys
from keepscore.domain.scoring import State
from keepscore.errors import EngineUnavailable, InvalidBoard, KeyTaken, RankingLost
from keepscore.storage.engines.base import Batch, Gap, Loaded, Memory, Outcome, Ranking
from keepscore.storage.engines.redis.answers import unpack as _unpack
from keepscore.storage.engines.redis.answers import watermarks_from
from keepscore.storage.engines.redis.batches import Sent, in_parts, other_type, probing, received, send, settled, taken
from keepscore.storage.engines.redis.boards import (
    TAKEN,
    KnownBoard,
    KnownBoards,
    index_scores,
    keys_in,
    list_of,
    present_ranking,
    present_rankings,
    somebody_elses,
    unlink,
    what_is_taken,
    wrong_type,
)
from keepscore.storage.engines.redis.client import RedisClient, ScriptCall
from keepscore.storage.engines.redis.layouts import check_tag, companions, fingerprint, layout_of, layouts_of
from keepscore.storage.engines.redis.live_windows import live_at, live_from
from keepscore.storage.engines.redis.locks import RedisLocks
from keepscore.storage.engines.redis.mirror import RedisMirror
from keepscore.storage.engines.redis.positions import RedisPositions
from keepscore.storage.engines.redis.pruning import RedisPruning
from keepscore.storage.engines.redis.questions import Questions
from keepscore.storage.engines.redis.reads import RedisReads
from keepscore.storage.engines.redis.rotation import Rotation
from keepscore.storage.engines.redis.shadows import Shadows
from keepscore.storage.engines.redis.spool import RedisSpool
from keepscore.storage.engines.redis.url import parse_redis_url
from keepscore.storage.engines.settling import try_each

__all__ = ["RedisEngine"]

#: Late players returned at a time.
CHUNK_PLAYERS = 5000
#: What the names of the keys begin with on which calls are tried out.
PROBE = "keepscore:probe:"
#: How often a step is tried that others may come in between.
TRIES = 20

_pack = msgspec.msgpack.Encoder().encode


class RedisEngine(RedisReads):
    """Rankings in the Redis at a URL."""

    is_shared = True

    def __init__(self, url: str, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self.address = parse_redis_url(url)
        self._client = RedisClient(self.address)
        self._clock = clock
        self._boards = KnownBoards()
        self.positions = RedisPositions(self._client, self._boards)
        self._shadows = Shadows(self._client, self._boards, self.positions)
        self._questions = Questions(self.all_ranks)
        self.spool = RedisSpool(self._client, self._boards)
        self.locks, self.mirror = RedisLocks(self._client, self._boards), RedisMirror(self._client)
        self._rotation = Rotation(self._client, self._boards, self.positions, clock)
        self.pruning = RedisPruning(self._client, self._boards, self, self._rotation)

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
        if self._client.is_cluster:
            check_tag(board)
        known, now = self._known(0, board), self._clock()
        if why := await wrong_type(self._client, known, now) or await somebody_elses(self._client, known, now):
            raise InvalidBoard(f"board {board.name!r}: {why}")

    async def check_keys(self, board: Board) -> None:
        if why := await wrong_type(self._client, self._known(0, board), self._clock()):
            raise KeyTaken(f"board {board.name!r}: {why}")

    def layouts(self, board: Board) -> dict[str, tuple[str, str]]:
        return {window: (layout.kind, layout.why) for window, layout in layouts_of(board).items()}

    async def adopt(self, board_id: int, board: Board) -> bool:
        known = self._boards.known(board_id, board)
        epoch, order, live = await self._client.command("HMGET", known.watermarks, "epoch", "order", "live")
        known = self._boards.known(board_id, board, live_from(live))
        if epoch != known.epoch.encode() or (order is None and board.is_ordered and not board.is_rollup):
            # Another board, or one of a version that did not know the order of its events.
            return False
        self._boards.take(board_id, await what_is_taken(self._client, known))
        self._boards.define(board_id, known)
        return True

    def define(self, board_id: int, board: Board) -> None:
        self._boards.define(board_id, self._known(board_id, board))

    def _known(self, board_id: int, board: Board) -> KnownBoard:
        """Return a board as it should be by now, where nobody has looked how it is."""
        return self._boards.known(board_id, board, live_at(board, self._clock()))

    @property
    def home(self) -> str:
        hosts = ",".join(f"{host}:{port}" for host, port in self.address.hosts)
        return f"{self.address.scheme}://{hosts}/{self.address.service}/{self.address.database}"

    @property
    def is_one_step(self) -> bool:
        # Boards lie on several nodes of a Cluster.
        return not self._client.is_cluster

    @property
    def incarnation(self) -> int:
        return self._client.incarnation

    # -- loading --------------------------------------------------------------------------------------------------------

    async def load(self, board_id: int, board: Board, states: AsyncIterator[Loaded], applied: Mapping[int, int], seq: int = 0) -> None:
        # One that could not be put into its place, or dropped, would be left over.
        await self._try_out(board_id, self._boards.known(board_id, board))
        await self._shadows.load(board_id, board, states, applied, seq)

    def left_out(self, board_id: int) -> Mapping[tuple[Ranking, str], str]:
        return self._shadows.left_out.get(board_id, {})

    async def promote(self, board_id: int, was_here: bool = False) -> None:
        await self._shadows.promote(board_id, self._clock(), was_here)

    async def redefine(self, board_id: int, board: Board, expiries: Mapping[Ranking, int]) -> None:
        old = self._boards.get(board_id)
        self._boards.define(board_id, self._boards.known(board_id, board, old.live) if old else self._known(board_id, board))
        for ranking, expiry in expiries.items():
            await self._rotation.retime(ranking, expiry)

    async def rotate(self) -> None:
        await try_each([self._rotation.rotate(board_id) for board_id in self._boards.ids()])

    async def disown(self, board_id: int) -> None:
        known = self._boards.get(board_id)
        if known is not None:
            await self._client.command("HDEL", known.watermarks, "epoch")

    async def forget(self, board_id: int) -> None:
        known = self._boards.get(board_id)
        # Not where another process has deleted it, and maybe made one of the same name.
        mine = known is not None and await self.applied(board_id) is not None
        self._boards.forget(board_id)
        if known is not None and mine:
            keys = await keys_in(self._client, known)
            await unlink(self._client, [known.watermarks, known.listed, known.positions, *keys])

    # -- writing --------------------------------------------------------------------------------------------------------

    async def applied(self, board_id: int, shadow: bool = False) -> dict[int, int] | None:
        known = self._boards.side(board_id, shadow)
        if known is None:
            return None
        found = await self._client.command("HGETALL", known.watermarks)
        if found.get(b"epoch") == known.epoch.encode():
            return watermarks_from(found)
        is_moved = not shadow and await self._rotation.is_moved(board_id, known.epoch)
        return await self.applied(board_id) if is_moved else None

    async def apply(self, batches: Sequence[Batch]) -> list[list[Outcome]]:
        parts = [in_parts(batch) for batch in batches]
        # Before anything is waited for: what they are made for is what the boards mean now.
        sent = [[self._sent(part) for part in own] for own in parts]
        for batch in batches:
            await self._rotation.rotate(batch.board)
        if not self._client.is_cluster and all(len(own) == 1 for own in parts):
            return await self._apply(batches, [one for (one,) in sent])
        if len(batches) > 1:
            # Boards lie on several nodes, or come in parts, and none is to be changed where another has a gap.
            await asyncio.gather(*(self._check_position(batch) for batch in batches))
        applying = (self._apply_parts(own, ones) for own, ones in zip(parts, sent, strict=True))
        answers = await asyncio.gather(*applying, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return [answer for answer in answers if not isinstance(answer, BaseException)]

    async def _apply_parts(self, parts: list[Batch], sent: list[Sent]) -> list[Outcome]:
        """Apply the parts of a batch, one after the other."""
        outcomes = [(await self._apply([part], [one]))[0] for part, one in zip(parts, sent, strict=True)]
        # Where a part was applied before, nobody knows what it did.
        return [outcome for some in outcomes for outcome in some] if all(outcomes) else []

    async def _check_position(self, batch: Batch) -> None:
        applied = await self.applied(batch.board, batch.shadow)
        position = None if applied is None else applied.get(batch.writer, 0)
        if position is None or (position != batch.after and position < batch.upto):
            raise Gap(batch.board, position)

    async def _apply(self, batches: Sequence[Batch], sent: list[Sent]) -> list[list[Outcome]]:
        for _ in range(TRIES):
            keys = [key for one in sent for key in one.keys]
            argument = _pack([self._clock(), [one.argument for one in sent], False])
            verdict, *rest = _unpack(await self._client.run(ScriptCall("apply", keys, argument)))
            if verdict == "ok":
                for one, told in zip(sent, rest[0], strict=True):
                    self.positions.moved(one.rankings, told)
                return [received(one, told) for one, told in zip(sent, rest[0], strict=True)]
            if verdict == "gap":
                if rest[1] < 0 and await self._is_moved(batches[rest[0] - 1], sent[rest[0] - 1]):
                    sent = [self._sent(batch) for batch in batches]
                    continue
                raise Gap(batches[rest[0] - 1].board, None if rest[1] < 0 else rest[1])
            if verdict == "type":
                raise self._misfit(sent, *rest)
            if verdict == "taken":
                raise await self._taken(sent[rest[0] - 1].rankings[rest[1] - 1])
            batch, one = batches[rest[0] - 1], sent[rest[0] - 1]
            for position in rest[1]:
                known = self._boards.side(batch.board, batch.shadow)
                assert known is not None
                await index_scores(self._client, known, self._boards.at(known, one.rankings[position - 1]))
        raise EngineUnavailable("the index of scores could not be completed: try again")

    async def _is_moved(self, batch: Batch, sent: Sent) -> bool:
        return not batch.shadow and await self._rotation.is_moved(batch.board, sent.argument[0])

    async def probe(self, board_id: int, rankings: Collection[Ranking] = (), healed: bool = False) -> None:
        known = self._boards.get(board_id)
        if known is not None:
            looked_at = list(rankings) or present_rankings(board_id, known.board, self._clock())
            both = self._try_out(board_id, known), self._look(known, looked_at, healed)
            # Of two errors the first one tells more: it names the command that is refused.
            for error in await asyncio.gather(*both, return_exceptions=True):
                if error is not None:
                    raise error

    async def _look(self, known: KnownBoard, rankings: list[Ranking], healed: bool = False) -> None:
        """Note which of some rankings have no place, or raise an error where that is so for the board, or something is lost."""
        places = [self._boards.at(known, ranking) for ranking in rankings]
        keys = [known.watermarks, known.listed, known.spool, known.needs_restate, *(key for at in places for key in at[:3])]
        argument = _pack([known.epoch, self._clock(), [(at.form, at.field, at.name) for at in places], healed])
        verdict, *rest = _unpack(await self._client.run(ScriptCall("look", keys, argument)))
        if verdict == "type":
            raise KeyTaken(other_type(*rest))
        if verdict == "lost":
            raise self._lost(known, rankings[rest[0] - 1])
        if verdict == "gone" and rankings and await self._rotation.is_moved(rankings[0].board, known.epoch):
            present = self._boards.get(rankings[0].board)
            assert present is not None
            await self._look(present, rankings, healed)
        if verdict == "ok":
            self._boards.note(rankings, {rankings[position - 1]: taken(*what) for position, *what in rest[0]})

    async def _try_out(self, board_id: int, known: KnownBoard) -> None:
        """Raise EngineUnavailable where Redis refuses something that applying scores to a board, or rebuilding it, needs."""
        now = self._clock()
        ranking = present_ranking(board_id, known.board, now)
        if ranking is None:
            return
        apart = known._replace(
            **{name: PROBE + getattr(known, name) for name in ("watermarks", "listed", "spool", "needs_restate", "positions")}, prefix=PROBE
        )
        batch = probing(ranking, now, known.board.rank)
        keys = [apart.watermarks, apart.listed, apart.spool, apart.needs_restate, apart.positions]
        sent = send(batch, known.board, (known.epoch, self.positions.place(known)), keys, lambda ranking: self._boards.at(apart, ranking))
        verdict, *_ = _unpack(await self._client.run(ScriptCall("probe", sent.keys, _pack([now, [sent.argument], True]))))
        if verdict != "ok":
            raise EngineUnavailable(f"Redis did not apply a score that was tried out on board {known.board.name!r}: {verdict}")

    def _misfit(self, sent: list[Sent], key: str, kind: str) -> KeyTaken:
        """Return the error for a key of another type, and note it where the key lies beside a ranking."""
        why = other_type(key, kind)
        for ranking in (ranking for one in sent for ranking in one.rankings):
            known = self._boards.get(ranking.board)
            if known is not None and key in self._boards.at(known, ranking)[:3]:
                self._boards.note([ranking], {ranking: why})
        return KeyTaken(why)

    def _sent(self, batch: Batch) -> Sent:
        known = self._boards.side(batch.board, batch.shadow)
        if known is None:
            raise Gap(batch.board, None)
        keys = [known.watermarks, known.listed, known.spool, known.needs_restate, known.positions]
        return send(batch, known.board, (known.epoch, self.positions.place(known)), keys, lambda ranking: self._boards.at(known, ranking))

    async def highest_writer(self) -> int:
        return int(await self._client.command("ZSCORE", self._writers, "highest") or 0)

    async def note_writer(self, number: int) -> None:
        await self._client.command("ZADD", self._writers, "GT", number, "highest")

    @property
    def _writers(self) -> str:
        return f"keepscore:writers:{self._boards.ledger}"

    async def memory(self) -> Memory:
        return await self._client.memory()

    async def needs_restate(self, board_id: int) -> list[tuple[Ranking, str]]:
        known = self._boards.get(board_id)
        if known is None:
            return []
        names = [name.decode() for name in await self._client.command("SRANDMEMBER", known.needs_restate, CHUNK_PLAYERS)]
        return [(Ranking(board_id, *parts[:3]), parts[3]) for parts in (name.split("\0", 3) for name in names)]

    async def restate_all(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State | None]],
        shadow: bool = False,
        upto: Mapping[int, int] | None = None,
        returned: Set[tuple[Ranking, str]] = frozenset(),
    ) -> bool:
        known = self._boards.side(board_id, shadow)
        if known is None:
            raise Gap(board_id, None)
        keys, rankings = [known.watermarks, known.listed, known.needs_restate, known.positions], []
        for ranking, players in states.items():
            at = self._boards.at(known, ranking)
            keys += at[:3]
            rows = [(player, state or False, (ranking, player) in returned) for player, state in players.items()]
            rankings.append((at.form, at.field, at.name, rows))
        argument = _pack([known.epoch, False if upto is None else list(upto.items()), rankings, self.positions.place(known)])
        if await self._client.run(ScriptCall("restate", keys, argument)):
            return True
        is_moved = not shadow and await self._rotation.is_moved(board_id, known.epoch)
        return is_moved and await self.restate_all(board_id, states, shadow, upto, returned)

    async def settle(
        self,
        board_id: int,
        states: Mapping[Ranking, Mapping[str, State | None]],
        upto: Mapping[int, int],
        advanced: Mapping[int, int],
        shadow: bool = False,
    ) -> bool:
        known = self._boards.side(board_id, shadow)
        if known is None:
            return False
        keys, rankings = settled({self._boards.at(known, ranking): players for ranking, players in states.items()})
        argument = _pack([known.epoch, list(upto.items()), list(advanced.items()), rankings, self.positions.place(known)])
        done = int(await self._client.run(ScriptCall("settle", [known.watermarks, known.listed, known.positions, *keys], argument)))
        if done < 0:
            raise await self._taken(next(iter(states)))
        if not done and not shadow and await self._rotation.is_moved(board_id, known.epoch):
            return await self.settle(board_id, states, upto, advanced)
        return bool(done)

    async def give_up(self, ranking: Ranking) -> None:
        known = self._boards.get(ranking.board)
        if known is None:
            return
        if ranking in self._boards.taken:
            try:
                await self._look(known, [ranking])
            except RankingLost:
                self._boards.note([ranking], {})
        if ranking not in self._boards.taken:
            await self._client.run(self._reading("lose", known, self._boards.at(known, ranking)))

    def taken(self) -> Mapping[Ranking, str]:
        return self._boards.taken

    async def expire(self, now: int) -> None:
        # Redis drops keys by itself; this is for what the list says about them, and for clocks that differ.
        await try_each(self._expire(known, now) for known in self._boards.all())

    async def _expire(self, known: KnownBoard, now: int) -> None:
        for ranking, entry in (await list_of(self._client, known)).items():
            # One that is live may be renamed any moment.
            if 0 < entry.expiry <= now and known.live.get(ranking.window) != ranking.window_id:
                if entry.players != TAKEN:
                    await unlink(self._client, companions(entry.key))
                await self._client.run(ScriptCall("drop", [known.listed, known.positions], _pack(self._boards.at(known, ranking).field)))
