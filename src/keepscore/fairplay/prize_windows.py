"""Windows with a prize: how far each is, who wins, and the steps from open to final.

A window is archived when it is closed, and its winners are the first rows of the last revision of that archive. Deciding them is one
transaction in the ledger: it names the archive, records the rewards, and puts a message about each into the outbox.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from keepscore.domain.actors import current_actor
from keepscore.domain.boards import Score
from keepscore.domain.certificates import Signer, unverified
from keepscore.domain.durations import text_of, time_of
from keepscore.domain.prizes import PrizeState, reward_id
from keepscore.domain.results.prizes import PrizeStatus
from keepscore.domain.windows import Span, span_of
from keepscore.errors import NotKept, Unavailable, UnknownPrize, UnknownWindow, WindowClosed, WindowOpen
from keepscore.lifecycle.archiving import ArchiveRequest, Series, archive_folded, bring_together, folded_in
from keepscore.lifecycle.jobs.closing import ON_THE_WAY_MS, closes_at
from keepscore.lifecycle.jobs.revising import RevisionRequest, revise_window
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.archives import Archive, Archived
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.prizes import REWARD_TOPIC, Granted, PrizeDecision, PrizePlace, PrizeWindow
from keepscore.storage.ledgers.slots import Slot
from keepscore.storage.pace import Turns
from keepscore.writing.idempotency import Keep

__all__ = ["PrizeWindows", "SeenWindow", "plain_score", "winner_line"]

#: Rows of an archive that are read at a time.
CHUNK_ROWS = 5000
#: How often winners are decided again where the standings were corrected meanwhile.
TRIES = 5


class SeenWindow(NamedTuple):
    """A window with a prize, as the ledger has it now."""

    live: LiveBoard
    span: Span
    state: PrizeState
    recorded: PrizeWindow | None
    #: The last revision of its final standings, and when it was closed.
    archive: Archive | None
    closed_at: int | None
    #: How many rewards it has, and how many of them are settled.
    settled: tuple[int, int] = (0, 0)

    @property
    def place(self) -> PrizePlace:
        """Which one it is."""
        return PrizePlace(self.live.id, self.span.window, self.span.id)

    @property
    def is_final(self) -> bool:
        """Whether its winners are decided."""
        return self.state in ("final", "paid")

    @property
    def final_at(self) -> int | None:
        """When its winners were decided."""
        return None if self.recorded is None else self.recorded.final_at

    @property
    def review_until(self) -> int | None:
        """Until when its winners are reviewed."""
        prize = self.live.board.prize
        return None if prize is None or self.closed_at is None else self.closed_at + prize.review_ms

    @property
    def total(self) -> int:
        """How many winners it has."""
        if self.archive is None:
            return 0
        prize = self.live.board.prize
        most = self.archive.kept if prize is None else prize.winners
        return min(self.archive.kept, most) if not self.is_final else min(self.archive.kept, self._signed_total)

    @property
    def _signed_total(self) -> int:
        statement = self.recorded.statement if self.recorded is not None else None
        return 0 if statement is None else int(unverified(statement)["winners"])

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"the {self.span.window} window {self.span.id} of board {self.live.name!r}"

    def status(self) -> PrizeStatus:
        """Return it as callers get it."""
        closed_at, review_until, final_at = map(_time, (self.closed_at, self.review_until, self.final_at))
        place = self.live.name, self.span.window, self.span.id
        return PrizeStatus(*place, self.state, closed_at, review_until, final_at, self.total, *self.settled)


def _time(moment: int | None) -> datetime | None:
    return None if moment is None else time_of(moment)


def plain_score(score: Score) -> int | str:
    """Return a score as statements and messages have it: exactly."""
    return str(score) if isinstance(score, Decimal) else score


class PrizeWindows:
    """The windows with prizes of one process."""

    def __init__(self, parts: JobParts, signer: Signer) -> None:
        self.parts = parts
        self.signer = signer
        self._catalog, self._ledger, self._clock = parts.catalog, parts.ledger, parts.clock
        #: Since when boards have had their prizes, by number and version.
        self._since: dict[tuple[int, int], int | None] = {}

    # -- looking --------------------------------------------------------------------------------------------------------

    async def see(self, board: str, window: str, window_id: str) -> SeenWindow:
        """Return a window with a prize, or raise UnknownPrize or UnknownWindow."""
        live = self._catalog[board]
        if window not in live.board.periods:
            raise UnknownWindow(f"board {live.name!r} has no window {window[:40]!r}: it has {', '.join(live.board.periods)}")
        span = span_of(live.board, window, window_id)
        place = PrizePlace(live.id, span.window, span.id)
        recorded = await self._ledger.prizes.window(place)
        is_final = recorded is not None and recorded.final_at is not None
        if live.board.prize is None and not is_final:
            raise UnknownPrize(f"board {live.name!r} has no prize: give it one with the field 'prize'")
        archives = await self._ledger.archives.find(live.id, span.window, span.id, "closed")
        wholes = sorted((archive for archive in archives if not archive.slot.segment), key=lambda archive: archive.number)
        closed_at = wholes[0].taken if wholes else None if recorded is None else recorded.closed_at
        if is_final and recorded is not None:
            archive = next((one for one in wholes if one.id == recorded.archive), None)
            settled = recorded.rewards, recorded.settled
            is_paid = 0 < recorded.rewards == recorded.settled
            return SeenWindow(live, span, "paid" if is_paid else "final", recorded, archive, closed_at, settled)
        if wholes and wholes[0].taken < (await self.since(live) or 0):
            raise UnknownPrize(f"the {span.window} window {span.id} of board {live.name!r} was closed before the board had a prize")
        state = self._state(live, span, recorded, bool(wholes))
        if state == "closing" and closes_at(live, span) <= (await self.since(live) or 0):
            raise UnknownPrize(f"the {span.window} window {span.id} of board {live.name!r} was over before the board had a prize")
        return SeenWindow(live, span, state, recorded, wholes[-1] if wholes else None, closed_at)

    def _state(self, live: LiveBoard, span: Span, recorded: PrizeWindow | None, is_archived: bool) -> PrizeState:
        if is_archived:
            return "provisional"
        if recorded is not None and recorded.closed_at is not None:
            return "closing"
        if self._clock() < span.end:
            return "open"
        if span.end <= live.closed.get(span.window, 0):
            raise UnknownWindow(f"nobody scored in the {span.window} window {span.id} of board {live.name!r}: there is nothing to win")
        return "closing"

    async def since(self, live: LiveBoard) -> int | None:
        """Return since when a board has had a prize."""
        key = live.id, live.version
        if key not in self._since:
            self._since[key] = await self._ledger.prizes.since(live.id)
        return self._since[key]

    async def rows(self, seen: SeenWindow, after: int, limit: int) -> list[Archived]:
        """Return winners behind a rank."""
        limit = min(limit, seen.total - after)
        return [] if seen.archive is None or limit <= 0 else await self._ledger.archives.rows(seen.archive.id, after, limit)

    async def row_of(self, seen: SeenWindow, player: str) -> Archived | None:
        """Return the row of a player, if the player has won."""
        found = [] if seen.archive is None else await self._ledger.archives.places(seen.archive.id, [player])
        return found[0] if found and found[0].rank <= seen.total else None

    # -- closing --------------------------------------------------------------------------------------------------------

    async def close(self, seen: SeenWindow, reason: str, keep: Keep) -> PrizeStatus:
        """Close a window before its end: it takes no more scores from now on."""
        live, span, now = seen.live, seen.span, self._clock()
        if live.board.prize is None or seen.state not in ("open", "closing") or now >= closes_at(live, span):
            raise WindowClosed(f"{seen.name} is closed already: it is {seen.state}")
        if now < span.start:
            raise WindowOpen(f"{seen.name} has not begun: it begins at {text_of(span.start)}")
        detail = {"id": live.id, "window": span.window, "window_id": span.id}
        note = AuditNote(now, "close_window", live.name, detail, reason, current_actor())
        told = seen._replace(state="closing", closed_at=now).status()
        if not await self._ledger.prizes.close(seen.place, note, keep(told)):
            raise WindowClosed(f"{seen.name} is being closed already")
        self._catalog.closed_early.setdefault(live.id, {})[span.window, span.id] = now
        if not self.parts.is_shared:
            try:
                await self.archive_closed(live, span)
            except Unavailable:
                # The keeper does it when it can.
                return told
        return (await self.see(live.name, span.window, span.id)).status()

    async def archive_closed(self, live: LiveBoard, span: Span) -> bool:
        """Archive a window that was closed early, from the ledger; return whether it is archived. O(its events)."""
        at = live.closed_early[span.window, span.id]
        # Other processes may have taken scores before they knew.
        if self._clock() < at + (ON_THE_WAY_MS if self.parts.is_shared else 0):
            return False
        ledger = self._ledger
        async with ledger.identity.pinned():
            known = {archive.slot for archive in await ledger.archives.find(live.id, span.window, span.id, "closed")}
            whole = Slot(span.window, span.id, "")
            if whole in known:
                return True
            upto = await bring_together(self.parts, live)
            folded = await folded_in(ledger, live, [span], upto)
            series = Series("closed", 1, at, min(at, span.end))
            slots = {Slot(*ranking[1:]) for ranking in folded} | {whole}
            # The whole comes last: with it, the window is archived.
            for slot in sorted(slots - known, key=lambda slot: (not slot.segment, slot)):
                ranking = Ranking(live.id, *slot)
                await archive_folded(ledger, ArchiveRequest(live, ranking, series), folded.get(ranking, {}))
        return True

    # -- deciding -------------------------------------------------------------------------------------------------------

    async def finalize(self, seen: SeenWindow, reason: str | None, keep: Keep) -> PrizeStatus:
        """Decide the winners of a closed window, once. Where that was done before, say how far it is."""
        board, window, window_id = seen.live.name, seen.span.window, seen.span.id
        for _ in range(TRIES):
            if seen.is_final:
                return seen.status()
            archive = seen.archive
            if seen.state != "provisional" or archive is None:
                raise WindowOpen(f"{seen.name} is {seen.state}: its winners can be decided once it is closed and archived")
            if await self.take_out_unranked(seen):
                seen = await self.see(board, window, window_id)
                continue
            async with self._ledger.identity.pinned():
                if await self._decide(seen, archive, reason, keep):
                    return (await self.see(board, window, window_id)).status()
            # Somebody else did it, or has corrected the standings.
            seen = await self.see(board, window, window_id)
        raise Unavailable(f"the standings of {seen.name} are corrected again and again: try again later")

    async def take_out_unranked(self, seen: SeenWindow) -> bool:
        """Correct provisional standings in which somebody would win who is hidden, shadowed or merged; return whether that was so."""
        live, known, now = seen.live, self._catalog.restrictions, self._clock()
        if seen.state != "provisional" or seen.archive is None:
            return False
        await known.refresh(self._ledger, now)
        unranked = known.players_now(live.name, now)
        if not any(row.rank <= seen.total for row in await self._ledger.archives.places(seen.archive.id, unranked)):
            return False
        wanted = RevisionRequest(seen.span.window, seen.span.id, "winners who are hidden, shadowed or merged into another player")
        async with self._ledger.identity.pinned():
            try:
                await revise_window(self.parts, live, wanted, now, lambda _: None)
            except NotKept:
                # The events are gone: whoever is in the archive wins.
                return False
        return True

    async def _decide(self, seen: SeenWindow, archive: Archive, reason: str | None, keep: Keep) -> bool:
        live, span, place, now = seen.live, seen.span, seen.place, self._clock()
        ranges, granted, messages = live.board.rewards, list[Granted](), list[str]()
        digest = hashlib.sha256()
        async for row, score in self.winners(seen):
            give = ranges.at(row.rank)
            digest.update(winner_line(row, score, give))
            if give is not None:
                reward = Granted(reward_id(*place, row.rank), row.rank, row.player, give, "pending", None)
                granted.append(reward)
                messages.append(self.message(seen, reward, score, now))
        claims = {"board": live.name, "window": span.window, "window_id": span.id, "winners": seen.total, "players": archive.players}
        claims |= {"digest": digest.hexdigest(), "revision": archive.number, "final_at": text_of(now), "iat": now // 1000}
        statement = self.signer.sign("winners", claims)
        detail = {"id": live.id, "window": span.window, "window_id": span.id, "archive": archive.id, "digest": claims["digest"]}
        note = AuditNote(now, "finalize", live.name, detail, reason, current_actor())
        told = seen._replace(state="final", settled=(len(granted), 0)).status()
        told.final_at = time_of(now)
        decision = PrizeDecision(place, archive.id, now, statement, granted, messages)
        return await self._ledger.prizes.decide(decision, note, keep(told))

    async def winners(self, seen: SeenWindow) -> AsyncIterator[tuple[Archived, Score]]:
        """Yield the winners of a window, the first first, and their scores as they are shown."""
        shown, after, turns = seen.live.board.shown, 0, Turns()
        while rows := await self.rows(seen, after, CHUNK_ROWS):
            for row in rows:
                if turns.is_over():
                    await turns.pass_on()
                yield row, shown(row.score)
            after = rows[-1].rank

    def message(self, seen: SeenWindow, reward: Granted, score: Score, now: int) -> str:
        """Return what the outbox sends about a reward."""
        data: dict[str, Any] = {"reward_id": reward.id, "board": seen.live.name, "window": seen.span.window, "window_id": seen.span.id}
        data |= {"player_id": reward.player, "rank": reward.rank, "score": plain_score(score), "reward": reward.give}
        return msgspec.json.encode({"type": REWARD_TOPIC, "timestamp": text_of(now), "data": data}).decode()


def winner_line(row: Archived, score: Score, give: str | None) -> bytes:
    """Return what the digest of a final list covers of one winner: a line of JSON."""
    return msgspec.json.encode([row.rank, row.player, plain_score(score), give]) + b"\n"
