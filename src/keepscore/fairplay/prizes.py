"""`lb.prizes`: who wins, closing and deciding windows, holding rewards back, claims and certificates."""

from __future__ import annotations

import hashlib
from datetime import datetime

from keepscore.domain.actors import current_actor
from keepscore.domain.boards import Score
from keepscore.domain.certificates import PublicKey, verified
from keepscore.domain.durations import text_of, time_of
from keepscore.domain.erasure import is_pseudonym
from keepscore.domain.nouns import counted
from keepscore.domain.prizes import RewardState, reward_id
from keepscore.domain.results.prizes import Certificate, PrizeStatus, RewardStatus, Winner, Winners, WinnersCheck
from keepscore.domain.values import check_player, check_reason
from keepscore.errors import InvalidField, InvalidPage, RewardSettled, UnknownPlayer, WindowOpen
from keepscore.fairplay.prize_windows import PrizeWindows, SeenWindow, plain_score, winner_line
from keepscore.reading.view import check_limit
from keepscore.storage.ledgers.archives import Archived
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.prizes import Granted, Hold, Released
from keepscore.writing.idempotency import Claims, Keep, claim_on

__all__ = ["Prizes"]


class Prizes:
    """What there is to win on boards with a prize. A window goes from open over closing and provisional to final and paid."""

    def __init__(self, windows: PrizeWindows, claims: Claims) -> None:
        self._windows = windows
        self._claims = claims
        self._store = windows.parts.ledger.prizes
        self._clock = windows.parts.clock

    async def winners(self, board: str, window: str, window_id: str, *, limit: int = 100, cursor: str | None = None) -> Winners:
        """Return the winners of a window, up to 1,000 at a time, and how far it is. Before it is closed, there are none."""
        check_limit(limit)
        after = _place(cursor)
        seen = await self._windows.see(board, window, window_id)
        rows = await self._windows.rows(seen, after, limit)
        states = await self._states(seen, rows)
        ranges, shown = seen.live.board.rewards, seen.live.board.shown
        found = []
        for row in rows:
            granted = states.get(row.rank)
            give = granted.give if granted is not None else None if seen.is_final else ranges.at(row.rank)
            found.append(Winner(row.rank, row.player, shown(row.score), give, _reward_state(granted, give)))
        status = seen.status()
        times = status.closed_at, status.review_until, status.final_at
        more = str(rows[-1].rank) if rows and rows[-1].rank < seen.total else None
        statement = None if seen.recorded is None else seen.recorded.statement
        return Winners(board, window, window_id, seen.state, *times, seen.total, found, more, statement)

    async def _states(self, seen: SeenWindow, rows: list[Archived]) -> dict[int, Granted]:
        """Return rewards by rank: those that are decided, or, before, those that are held back."""
        if not rows:
            return {}
        if seen.is_final:
            return {one.rank: one for one in await self._store.rewards(seen.place, (rows[0].rank, rows[-1].rank))}
        held, ranges = await self._store.holds(seen.place), seen.live.board.rewards
        return {
            row.rank: Granted("", row.rank, row.player, give, "held", None)
            for row in rows
            if row.player in held and (give := ranges.at(row.rank)) is not None
        }

    async def close(self, board: str, window: str, window_id: str, reason: str, *, idempotency_key: str | None = None) -> PrizeStatus:
        """Close a window before its end: it takes no more scores, and its winners are provisional once it is archived."""
        check_reason(reason)

        async def work(keep: Keep) -> PrizeStatus:
            return await self._windows.close(await self._windows.see(board, window, window_id), reason, keep)

        claim = claim_on("prize", board, idempotency_key, ("close", window, window_id, reason))
        return await self._claims.once(claim, PrizeStatus, work)

    async def finalize(
        self, board: str, window: str, window_id: str, reason: str | None = None, *, idempotency_key: str | None = None
    ) -> PrizeStatus:
        """Decide the winners of a closed window now, whatever is left of its review. The keeper does it when the review is over."""
        if reason is not None:
            check_reason(reason)

        async def work(keep: Keep) -> PrizeStatus:
            return await self._windows.finalize(await self._windows.see(board, window, window_id), reason, keep)

        claim = claim_on("prize", board, idempotency_key, ("finalize", window, window_id, reason))
        return await self._claims.once(claim, PrizeStatus, work)

    async def hold(
        self, board: str, window: str, window_id: str, player_id: str, reason: str, *, idempotency_key: str | None = None
    ) -> RewardStatus:
        """Hold a winner's reward back until it is released: it is neither sent nor claimed."""
        check_player(player_id)
        check_reason(reason)

        async def work(keep: Keep) -> RewardStatus:
            seen, row = await self._rewarded(board, window, window_id, player_id)
            told = await self._told(seen, row)
            was, told.reward_state = told.reward_state, "held"
            note = self._note(seen, "hold_reward", player_id, reason)
            if not await self._store.hold(seen.place, Hold(player_id, reason, note.at), note, keep(told)):
                raise RewardSettled(f"the reward of player {player_id!r} cannot be held back: it is {_said(was)}")
            return told

        claim = claim_on("prize", board, idempotency_key, ("hold", window, window_id, player_id, reason))
        return await self._claims.once(claim, RewardStatus, work)

    async def release(
        self, board: str, window: str, window_id: str, player_id: str, reason: str, *, idempotency_key: str | None = None
    ) -> RewardStatus:
        """Release a reward that was held back."""
        check_player(player_id)
        check_reason(reason)

        async def work(keep: Keep) -> RewardStatus:
            seen, row = await self._rewarded(board, window, window_id, player_id)
            told = await self._told(seen, row)
            was, told.reward_state = told.reward_state, "pending" if seen.is_final else "provisional"
            note = self._note(seen, "release_reward", player_id, reason)
            granted = Granted(told.reward_id, row.rank, row.player, told.reward, "pending", None)
            released = Released(player_id, self._windows.message(seen, granted, told.score, note.at))
            if not await self._store.release(seen.place, released, note, keep(told)):
                raise RewardSettled(f"the reward of player {player_id!r} is not held back: it is {was}")
            return told

        claim = claim_on("prize", board, idempotency_key, ("release", window, window_id, player_id, reason))
        return await self._claims.once(claim, RewardStatus, work)

    async def claim(self, board: str, window: str, window_id: str, player_id: str) -> RewardStatus:
        """Claim the reward of a winner, once: whoever claims it again gets the same answer."""
        check_player(player_id)
        seen, row = await self._rewarded(board, window, window_id, player_id)
        if not seen.is_final:
            raise WindowOpen(f"{seen.name} is {seen.state}: rewards can be claimed when its winners are final")
        told = await self._told(seen, row)
        if told.reward_state == "pending":
            note = self._note(seen, "claim_reward", player_id, None)
            await self._store.claim(told.reward_id, note, None)
            told = await self._told(seen, row)
        if told.reward_state != "claimed":
            raise RewardSettled(f"the reward of player {player_id!r} cannot be claimed: it is {_said(told.reward_state)}")
        return told

    async def certificate(self, board: str, window: str, window_id: str, player_id: str) -> Certificate:
        """Return a signed statement of a winner's final rank, which anyone can verify with the public key."""
        check_player(player_id)
        seen, row = await self._won(board, window, window_id, player_id)
        if not seen.is_final or seen.final_at is None:
            raise WindowOpen(f"{seen.name} is {seen.state}: there are certificates when its winners are final")
        granted = await self._store.reward_of(seen.place, player_id)
        give, score = None if granted is None else granted.give, seen.live.board.shown(row.score)
        claims = {"board": board, "window": window, "window_id": window_id, "player_id": player_id, "rank": row.rank}
        claims |= {"score": plain_score(score), "reward": give, "players": seen.archive.players if seen.archive else 0}
        claims |= {"final_at": text_of(seen.final_at), "iat": seen.final_at // 1000}
        signed = self._windows.signer.sign("certificate", claims)
        return Certificate(board, window, window_id, player_id, row.rank, score, give, time_of(seen.final_at), signed)

    async def public_key(self) -> PublicKey:
        """Return the key that verifies certificates, receipts and final lists."""
        return self._windows.signer.public_key()

    async def verify(self, board: str, window: str, window_id: str) -> WinnersCheck:
        """Compare the final list of a window with what was signed when it was decided. O(winners)."""
        seen = await self._windows.see(board, window, window_id)
        if not seen.is_final or seen.recorded is None or seen.recorded.statement is None:
            raise WindowOpen(f"{seen.name} is {seen.state}: its list is signed when its winners are final")
        problem = await self._problem(seen, seen.recorded.statement)
        return WinnersCheck(board, window, window_id, seen.total, problem is None, problem)

    async def _problem(self, seen: SeenWindow, statement: str) -> str | None:
        try:
            _, claims = verified(statement, self._windows.signer.public_key().pem, "winners")
        except InvalidField as exc:
            return str(exc)
        if (claims["board"], claims["window"], claims["window_id"]) != (seen.live.name, seen.span.window, seen.span.id):
            return "the statement is about another window"
        digest, count, erased = hashlib.sha256(), 0, 0
        gives = {one.rank: one for one in await self._store.rewards(seen.place, (1, seen.total))}
        async for row, score in self._windows.winners(seen):
            granted, count = gives.get(row.rank), count + 1
            erased += is_pseudonym(row.player)
            if granted is not None and granted.player != row.player:
                return f"the reward of rank {row.rank} is another player's"
            digest.update(winner_line(row, score, None if granted is None else granted.give))
        if count != claims["winners"]:
            return f"{count} winners are kept, and {claims['winners']} were signed"
        if digest.hexdigest() == claims["digest"]:
            return None
        if erased:
            return f"{counted(erased, 'winner')} of the list that was signed may have been erased since: a pseudonym cannot be compared"
        return "the list is not the one that was signed"

    # -- helpers --------------------------------------------------------------------------------------------------------

    async def _won(self, board: str, window: str, window_id: str, player: str) -> tuple[SeenWindow, Archived]:
        seen = await self._windows.see(board, window, window_id)
        if seen.archive is None:
            raise WindowOpen(f"{seen.name} is {seen.state}: nobody has won yet")
        row = await self._windows.row_of(seen, player)
        if row is None:
            raise UnknownPlayer(f"player {player!r} is not a winner of {seen.name}")
        return seen, row

    async def _rewarded(self, board: str, window: str, window_id: str, player: str) -> tuple[SeenWindow, Archived]:
        seen, row = await self._won(board, window, window_id, player)
        granted = await self._store.reward_of(seen.place, player) if seen.is_final else None
        if granted is None and (seen.is_final or seen.live.board.rewards.at(row.rank) is None):
            raise UnknownPlayer(f"player {player!r} is a winner of {seen.name} with rank {row.rank}, which gets no reward")
        return seen, row

    async def _told(self, seen: SeenWindow, row: Archived) -> RewardStatus:
        granted = await self._store.reward_of(seen.place, row.player) if seen.is_final else None
        state: RewardState
        if granted is not None:
            give, state, settled_at = granted.give, _state(granted), granted.settled_at
        else:
            give, settled_at = seen.live.board.rewards.at(row.rank) or "", None
            state = "held" if row.player in await self._store.holds(seen.place) else "provisional"
        return RewardStatus(
            seen.live.name,
            seen.span.window,
            seen.span.id,
            row.player,
            row.rank,
            _shown(seen, row),
            give,
            reward_id(*seen.place, row.rank),
            state,
            _time(settled_at),
        )

    def _note(self, seen: SeenWindow, action: str, player: str, reason: str | None) -> AuditNote:
        detail = {"id": seen.live.id, "window": seen.span.window, "window_id": seen.span.id, "player": player}
        return AuditNote(self._clock(), action, seen.live.name, detail, reason, current_actor())


def _shown(seen: SeenWindow, row: Archived) -> Score:
    return seen.live.board.shown(row.score)


def _time(moment: int | None) -> datetime | None:
    return None if moment is None else time_of(moment)


def _state(granted: Granted) -> RewardState:
    states: dict[str, RewardState] = {"held": "held", "pending": "pending", "paid": "paid", "claimed": "claimed"}
    return states[granted.state]


def _reward_state(granted: Granted | None, give: str | None) -> RewardState | None:
    if granted is not None:
        return _state(granted)
    return None if give is None else "provisional"


def _said(state: str) -> str:
    return "on its way by webhook" if state == "pending" else state


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 9:
        raise InvalidPage(f"cursor = {cursor[:40]!r} is not one that this service gave: take next_cursor as it is")
    return int(cursor)
