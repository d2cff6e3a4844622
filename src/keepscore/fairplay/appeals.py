"""Appeals: what players say against decisions, once for each, and what moderators reply."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import NamedTuple

from keepscore.domain.actors import current_actor
from keepscore.domain.durations import time_of
from keepscore.domain.results.review import Appeal, AppealPage, AppealState
from keepscore.domain.values import check_player, check_reason
from keepscore.errors import AlreadyAppealed, AlreadyDecided, InvalidField, NothingToUndo, UnknownAppeal, UnknownDecision
from keepscore.fairplay.review import MAX_ITEMS, Review, place_of
from keepscore.fairplay.voids import Voids
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.reading.view import check_within
from keepscore.storage.ledgers.appeals import AppealFilter, AppealReply, KeptAppeal
from keepscore.storage.ledgers.audit import AuditNote

__all__ = ["MAX_TEXT_BYTES", "AppealRequest", "Appeals"]

#: Bytes of an appeal.
MAX_TEXT_BYTES = 2000
#: Characters of an id that can be a decision's.
MAX_ID = 64
STATES = ("open", "upheld", "granted")


class AppealRequest(NamedTuple):
    """Which appeals somebody asks for."""

    board: str | None
    player_id: str | None
    state: AppealState
    cursor: str | None
    limit: int


class Appeals:
    """Takes appeals, and carries out what moderators reply."""

    def __init__(self, stores: Stores, voids: Voids, review: Review) -> None:
        self._catalog, self._ledger, _, self._clock = stores
        self._voids = voids
        self._review = review

    async def board_of(self, decision_id: str, player: str) -> str:
        """Return the board of a decision about a player."""
        return (await self._decision(decision_id, player)).name

    async def add(self, decision_id: str, player_id: str, text: str) -> Appeal:
        """Record a player's appeal against a decision about a score of theirs."""
        player = check_player(player_id)
        _check_text(text)
        live = await self._decision(decision_id, player)
        appeal = KeptAppeal(f"a_{secrets.token_hex(8)}", decision_id, live.id, player, text, self._clock())
        if not await self._ledger.appeals.add(appeal):
            raise AlreadyAppealed(f"player {player!r} has appealed against {decision_id} before: once for each decision")
        return _shown(live, appeal)

    async def page(self, wanted: AppealRequest, may_use: Callable[[str], bool] = lambda _: True) -> AppealPage:
        """Return appeals about boards that a moderator may use, the oldest first."""
        if wanted.state not in STATES:
            raise InvalidField(f"state = {wanted.state[:40]!r} is not a state: allowed are {', '.join(STATES)}")
        check_within("limit", wanted.limit, 1, MAX_ITEMS)
        known = [self._catalog[wanted.board]] if wanted.board is not None else list(self._catalog)
        boards = {live.id: live for live in known if may_use(live.name)}
        after = (-1, "") if wanted.cursor is None else place_of(wanted.cursor)
        player = None if wanted.player_id is None else check_player(wanted.player_id)
        asked = AppealFilter(list(boards), wanted.state, player)
        found = await self._ledger.appeals.page(asked, after, wanted.limit + 1)
        items = found[: wanted.limit]
        cursor = f"{items[-1].at}.{items[-1].id}" if len(found) > wanted.limit else None
        return AppealPage([_shown(boards[item.board], item) for item in items], cursor)

    async def get(self, appeal_id: str) -> Appeal:
        """Return an appeal."""
        appeal = await self._ledger.appeals.get(appeal_id)
        live = None if appeal is None else next((live for live in self._catalog if live.id == appeal.board), None)
        if appeal is None or live is None:
            raise UnknownAppeal(f"there is no appeal {appeal_id[:40]!r}: 'keepscore appeals list' shows what there is")
        return _shown(live, appeal)

    async def reply(self, appeal_id: str, reply: str, grant: bool) -> Appeal:
        """Reply to an appeal; where it is granted, take the decision back first."""
        check_reason(reply)
        appeal = await self.get(appeal_id)
        if appeal.state != "open":
            raise AlreadyDecided(f"this appeal was {appeal.state} already: {appeal.reply}")
        if grant:
            await self._take_back(appeal, reply)
        now = self._clock()
        detail = {"appeal": appeal_id, "decision": appeal.decision_id, "granted": grant}
        note = AuditNote(now, "reply_to_appeal", appeal.board, detail, reply, current_actor())
        if not await self._ledger.appeals.reply(appeal_id, AppealReply("granted" if grant else "upheld", reply, now), note):
            raise AlreadyDecided("somebody else has replied to this appeal just now")
        return await self.get(appeal_id)

    async def _take_back(self, appeal: Appeal, reason: str) -> None:
        if await self._review.item_of(appeal.decision_id) is not None:
            await self._review.overturn(appeal.decision_id, reason)
            return
        found = await self._voids.find(appeal.decision_id)
        assert found is not None, "somebody has appealed against it"
        note, players = found
        if len(players) > 1:
            raise NothingToUndo(
                f"{appeal.decision_id} is about {len(players)} players, and granting an appeal takes back what is about one: undo the void "
                "yourself, and void what is to stay void again"
            )
        if note.state != "undone":
            await self._voids.undo(appeal.decision_id, reason, f"appeal {appeal.id}")

    async def _decision(self, decision_id: str, player: str) -> LiveBoard:
        """Return the board of a decision. Those about others are as unknown as those that do not exist."""
        if len(decision_id) <= MAX_ID and decision_id.isascii() and decision_id.isprintable():
            item = await self._review.item_of(decision_id)
            board = None if item is None or item.player != player or item.state == "approved" else item.board
            if item is None and (found := await self._voids.find(decision_id)) is not None:
                note, whom = found
                board = note.board_id if player in whom and note.state != "undone" else None
            live = next((live for live in self._catalog if live.id == board), None)
            if live is not None:
                return live
        raise UnknownDecision(f"there is no decision {decision_id[:40]!r} about player {player!r} that could be appealed against")


def _shown(live: LiveBoard, appeal: KeptAppeal) -> Appeal:
    told = appeal.id, appeal.decision, live.name, appeal.player, appeal.text, time_of(appeal.at)
    return Appeal(*told, appeal.state, appeal.reply, None if appeal.replied is None else time_of(appeal.replied))


def _check_text(text: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidField("text holds half a surrogate pair, which is no character: write it again") from None
    if not text.strip() or size > MAX_TEXT_BYTES or "\0" in text:
        raise InvalidField(f"text is empty, longer than {MAX_TEXT_BYTES} bytes or holds a NUL")
