"""Scores that stand out, on boards that look for them: flagged for the moderators, or put in quarantine, with the figures.

What everybody sends to a board is counted in a histogram of the process, which is added to the one in the ledger every few seconds. The
scores at the top are read again every few seconds, too. So a submission costs no more than a look at what is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.anomalies import JUMP, LEAST_BOARD, LEAST_OWN, Anomalies, SizeHistogram, TopScores, spread_of
from keepscore.domain.results.review import Reason
from keepscore.domain.rule_checks import Facts, RulePast
from keepscore.errors import EngineUnavailable
from keepscore.fairplay.addresses import Addresses
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.storage.ledgers.marks import distribution
from keepscore.writing.scopes import Submission

__all__ = ["AnomalyWatch"]

#: Milliseconds for which the scores at the top, and the accounts of an address, are taken for known.
KNOWN_MS = 10_000
#: Bytes for remembering accounts by address.
ACCOUNTS_BYTES = 4 << 20


class _Watched:
    """What is known of a board."""

    def __init__(self, histogram: SizeHistogram) -> None:
        self.histogram = histogram
        #: What is counted since the ledger was told.
        self.added: dict[int, int] = {}
        self.top: TopScores | None = None
        self.looked = -KNOWN_MS


class AnomalyWatch:
    """Looks for scores that stand out."""

    def __init__(self, stores: Stores, addresses: Addresses) -> None:
        self._stores = stores
        self._addresses = addresses
        self._boards: dict[int, _Watched] = {}
        #: Players by board and address, and since when that is known.
        self._accounts: ByteCache[tuple[int, str], tuple[int, set[str]]] = ByteCache(ACCOUNTS_BYTES)

    async def prepare(self, live: LiveBoard, submissions: Iterable[Submission]) -> None:
        """Learn what submissions to a board are compared with, where that is not known, or was learned long ago."""
        limits, now = live.limits, self._stores.clock()
        if limits is None or limits.anomalies is None:
            return
        known = self._boards.get(live.id)
        if known is None:
            known = self._boards[live.id] = _Watched(await self._kept(live.id))
        if limits.anomalies.top and not 0 <= now - known.looked < KNOWN_MS:
            known.looked = now
            known.top = await self._top(live, limits.anomalies.top, now)
        if limits.anomalies.accounts:
            for address in {one.address for one in submissions if one.live.id == live.id and one.address is not None}:
                seen = self._accounts.get((live.id, address))
                if seen is None or not 0 <= now - seen[0] < KNOWN_MS:
                    players = set(await self._addresses.accounts(live.id, address)) | (set() if seen is None else seen[1])
                    self._accounts.put((live.id, address), (now, players), bytes_of(address) + 100 * len(players))

    async def _top(self, live: LiveBoard, places: int, now: int) -> TopScores | None:
        if live.board.operator == "sum" or live.half_life is not None:
            return None
        rankings = live.route(now, None, None).rankings
        try:
            pages = [await self._stores.engine.page(rankings[0], place - 1, 1) for place in (places, JUMP * places)] if rankings else []
        except EngineUnavailable:
            return None
        rows = [row for page in pages for row in page.rows]
        return TopScores(rows[0].score, rows[1].score) if len(rows) == 2 else None

    def reasons(self, live: LiveBoard, submission: Submission, facts: Facts, past: RulePast) -> list[Reason]:
        """Return why a submission stands out, if it does, and count it."""
        limits, known = live.limits, self._boards.get(live.id)
        if limits is None or limits.anomalies is None or known is None:
            return []
        wanted, histogram = limits.anomalies, known.histogram
        sign = 1 if live.board.order == "desc" else -1
        found = _far_from_own(live, wanted, facts, past, sign)
        if wanted.board and histogram.total >= LEAST_BOARD:
            spread = histogram.spread
            z = spread.z(facts.amount) * sign
            if z > wanted.board:
                found.append(_far(live, "board", wanted.board, z, f"the median on the board is {_shown(live, spread.median)}"))
        if known.top is not None and facts.kind == "score" and known.top.is_jump(past.score, facts.amount, sign):
            before = "nowhere" if past.score is None else str(live.board.shown(past.score))
            told = f"{live.board.shown(facts.amount)} leads from {before} into the first {wanted.top} places of board {live.name!r}"
            found.append(Reason("anomalies.top", str(wanted.top), live.board.shown(facts.amount), told))
        found += self._many_accounts(live, wanted, submission)
        histogram.add(facts.amount)
        known.added[facts.amount] = known.added.get(facts.amount, 0) + 1
        return found

    def _many_accounts(self, live: LiveBoard, wanted: Anomalies, submission: Submission) -> list[Reason]:
        seen = None if submission.address is None else self._accounts.get((live.id, submission.address))
        if seen is None or submission.player in seen[1]:
            # Each account is told once.
            return []
        seen[1].add(submission.player)
        if not wanted.accounts or len(seen[1]) <= wanted.accounts:
            return []
        told = f"scores of {len(seen[1])} accounts came to board {live.name!r} from one address"
        return [Reason("anomalies.accounts", str(wanted.accounts), len(seen[1]), told)]

    async def flush(self) -> int:
        """Add what was counted to the histograms in the ledger; return of how many boards."""
        changed = {board: known for board, known in self._boards.items() if known.added}
        for board, known in changed.items():
            added, known.added = known.added, {}
            try:
                whole = await self._kept(board)
                for amount, times in added.items():
                    whole.add(amount, times)
                await self._stores.ledger.marks.put(distribution(board), whole.counts)
            except BaseException:
                known.added = {amount: added.get(amount, 0) + known.added.get(amount, 0) for amount in (*added, *known.added)}
                raise
            # Others have told theirs meanwhile, and some have come here.
            for amount, times in known.added.items():
                whole.add(amount, times)
            known.histogram = whole
        return len(changed)

    async def _kept(self, board_id: int) -> SizeHistogram:
        counts = await self._stores.ledger.marks.get(distribution(board_id))
        return SizeHistogram(counts)


def _far_from_own(live: LiveBoard, wanted: Anomalies, facts: Facts, past: RulePast, sign: int) -> list[Reason]:
    # Most are no better than what the player has sent before: nothing has to be worked out for them.
    if not wanted.own or len(past.amounts) < LEAST_OWN or facts.amount * sign <= max(past.amounts, key=lambda one: one * sign) * sign:
        return []
    spread = spread_of(past.amounts)
    z = spread.z(facts.amount) * sign
    return [_far(live, "own", wanted.own, z, f"the player's own median is {_shown(live, spread.median)}")] if z > wanted.own else []


def _far(live: LiveBoard, field: str, limit: float, z: float, told: str) -> Reason:
    return Reason(f"anomalies.{field}", f"{limit:g}", round(z, 2), f"{z:.2f} deviations from the median, more than {limit:g}: {told}")


def _shown(live: LiveBoard, value: float) -> str:
    return f"{live.board.shown(round(value))}"
