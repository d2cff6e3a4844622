"""Two accounts of one player: everything of a guest counts as the account's, and can be split again.

A merge is a restriction of the guest, who is ranked nowhere then and takes no further scores, and copies of the guest's events for the
account, with their own times. A split lets the copies no longer count, and the guest be ranked again.
"""

from __future__ import annotations

import secrets

from keepscore.domain.durations import time_of
from keepscore.domain.restrictions import Restriction
from keepscore.domain.results.moderation import Merge, MergedBoard
from keepscore.domain.verdicts import that_count
from keepscore.errors import EventsDropped, InvalidField, NothingToUndo, PlayerMerged, UnknownPlayer
from keepscore.fairplay.additions import added_by
from keepscore.fairplay.restricting import Restricting
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import PlayerPast, player_past, said

__all__ = ["Merging"]


class Merging:
    """Merges accounts, and splits them again."""

    def __init__(self, restricting: Restricting) -> None:
        parts = restricting.parts
        self._catalog, self._ledger, self._clock = parts.catalog, parts.ledger, parts.clock
        self._known = parts.catalog.restrictions
        self._restricting = restricting

    async def merge(self, guest: str, into: str, reason: str, dry_run: bool) -> Merge:
        """Let all events of a guest count as an account's; return once they do."""
        now = self._clock()
        await self._known.refresh(self._ledger, now, at_once=True)
        self._check(guest, into, now)
        boards = []
        for live in self._boards():
            past = await player_past(self._ledger, live, guest)
            self._check_whole(live, past)
            if events := that_count(past.events):
                boards.append(MergedBoard(live.name, len(events)))
        if not boards and not any([await self._is_known(player) for player in (guest, into)]):
            raise UnknownPlayer(f"there are no players {guest!r} and {into!r}: check the ids")
        merge_id = None if dry_run else f"m_{secrets.token_hex(8)}"
        answer = Merge(merge_id, dry_run, guest, into, boards, reason, time_of(now))
        if merge_id is None:
            return answer
        detail = {"merge": merge_id, "from": guest, "into": into}
        await self._ledger.audit.note("merge", "", detail, now, reason)
        one = Restriction(merge_id, "merge", guest, reason, now, "applying", into=into)
        await self._restricting.put(one)
        await self._restricting.finish(one)
        return answer

    async def split(self, guest: str, reason: str) -> Merge:
        """Take a merge back: the guest is ranked again, and the account without the guest's events."""
        now = self._clock()
        await self._known.refresh(self._ledger, now, at_once=True)
        one = self._known.merge_of(guest, now)
        if one is None or one.into is None:
            raise NothingToUndo(f"player {guest!r} is not merged into another: there is nothing to split")
        boards = []
        for live in self._boards():
            past = await player_past(self._ledger, live, one.into)
            if events := added_by(one.restriction_id, past.events):
                boards.append(MergedBoard(live.name, len(events)))
        await self._ledger.audit.note("split", "", {"merge": one.restriction_id, "from": guest, "into": one.into}, now, reason)
        one.state, one.lifted = "lifting", now
        await self._restricting.put(one)
        await self._restricting.finish(one)
        return Merge(one.restriction_id, False, guest, one.into, boards, reason, time_of(now))

    async def _is_known(self, player: str) -> bool:
        """Return whether anything is stored about a player. A query for each board."""
        if await self._ledger.erasure.knows(player):
            return True
        return any([bool(await self._ledger.events.of_player(live.id, player)) for live in self._boards()])

    def _check(self, guest: str, into: str, now: int) -> None:
        if guest == into:
            raise InvalidField(f"from = {guest!r} and into are the same player: name two")
        for player in (guest, into):
            if (known := self._known.merge_of(player, now)) is not None:
                raise PlayerMerged(f"player {player!r} was merged into {known.into!r}: split them first, or name that one")
        if (other := next((one for one in self._known.all() if one.into == guest and not one.is_over(now)), None)) is not None:
            raise PlayerMerged(f"player {other.player!r} was merged into {guest!r}: split them first, and merge each into {into!r}")

    def _boards(self) -> list[LiveBoard]:
        return [live for live in self._catalog if not live.board.is_rollup]

    @staticmethod
    def _check_whole(live: LiveBoard, past: PlayerPast) -> None:
        if past.states:
            raise EventsDropped(
                f"events of board {live.name!r} of before {said(past.at)} are folded and dropped (keep_events): the player has some of "
                "them, and cannot be merged any more"
            )
