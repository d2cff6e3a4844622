"""Restrictions of players: hide, shadow and restore them, and finish what was cut short.

A restriction is noted before rankings are restated for it, and says whether they are. Then a verdict on the player is recorded on each
board, which lets engines restate the player in the rankings of now; those of other times are restated one by one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from keepscore.domain.durations import time_of
from keepscore.domain.inputs import no_progress
from keepscore.domain.restrictions import Restriction
from keepscore.domain.results.moderation import PlayerDecision, RestrictedPlayer
from keepscore.domain.values import check_player, check_reason, check_text, moment_of
from keepscore.errors import InvalidField, InvalidTime, NothingToUndo, RolledUp
from keepscore.fairplay.additions import carry_over
from keepscore.fairplay.recording import DECISIONS
from keepscore.lifecycle.parts import JobParts
from keepscore.lifecycle.rebuild import Rebuilds
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import player_past
from keepscore.projection.rollups import roll_up_players
from keepscore.storage.engines.base import Ranking
from keepscore.storage.feeds.base import Feed
from keepscore.storage.ledgers.claims import SUBMISSION, Claim
from keepscore.writing.groups import PendingRequest
from keepscore.writing.scopes import Submission, verdicts_on_player

__all__ = ["Restricting", "RestrictionRequest", "checked_request"]


#: Boards that one decision names.
MAX_BOARDS = 1000
#: For how long after a decision a process may still rank a player whom it took for unrestricted, in milliseconds, and to spare.
LATELY_MS = 600_000


class RestrictionRequest(NamedTuple):
    """What a moderator decides about a player: on some boards (None: on all), up to a moment (None: for good)."""

    player: str
    boards: tuple[str, ...] | None
    until: int | None
    reason: str
    key: str | None = None


def checked_request(
    player_id: str, reason: str, boards: Sequence[str] | None, until: datetime | str | None, key: str | None
) -> RestrictionRequest:
    """Return what a caller has asked for, or raise the error that says what is wrong with it."""
    check_reason(reason)
    if boards is not None and (isinstance(boards, str) or not 1 <= len(boards) <= MAX_BOARDS):
        raise InvalidField(f"boards is a list of 1 to {MAX_BOARDS} names of boards, or left out for all boards")
    named = None if boards is None else tuple(dict.fromkeys(check_text("boards", str(board), InvalidField) for board in boards))
    end = None if until is None else moment_of(until, "until")
    return RestrictionRequest(check_player(player_id), named, end, reason, key)


class Restricting:
    """Hides, shadows and restores players."""

    def __init__(self, parts: JobParts, rebuilds: Rebuilds, feed: Feed) -> None:
        self.parts = parts
        self._catalog, self._ledger, self._clock = parts.catalog, parts.ledger, parts.clock
        self._known = parts.catalog.restrictions
        self._rebuilds = rebuilds
        self._feed = feed

    async def restrict(self, kind: Literal["hide", "shadow"], wanted: RestrictionRequest) -> PlayerDecision:
        """Hide or shadow a player; return once rankings show it. What was decided before on these boards has ended."""
        self._check_boards(wanted.boards)
        now = self._clock()
        if wanted.until is not None and wanted.until <= now:
            raise InvalidTime(f"until = {time_of(wanted.until).isoformat()} is over: give a moment to come, or leave it out")
        await self._known.refresh(self._ledger, now, at_once=True)
        restriction_id = _new_id(kind, wanted)
        known = next((one for one in self._known.of(wanted.player) if one.restriction_id == restriction_id), None)
        if known is not None:
            # The same request, which was cut short, or whose answer was lost.
            await self.finish(known)
            return _decision(known.restriction_id, kind, wanted, known.since)
        before = [one for one in self._known.of(wanted.player) if one.kind != "merge" and not one.is_over(now)]
        detail = {"restriction": restriction_id, "player_id": wanted.player, "boards": _listed(wanted.boards), "until": wanted.until}
        await self._ledger.audit.note(kind, "", detail, now, wanted.reason)
        one = Restriction(restriction_id, kind, wanted.player, wanted.reason, now, "applying", wanted.boards, wanted.until)
        await self.put(one)
        for old in before:
            await self._lift(old, wanted.boards, now, "standing")
        await self.finish(one)
        return _decision(restriction_id, kind, wanted, now)

    async def restore(self, wanted: RestrictionRequest) -> PlayerDecision:
        """Let a player be ranked again, on some boards or all; return once rankings show it."""
        self._check_boards(wanted.boards)
        now = self._clock()
        await self._known.refresh(self._ledger, now, at_once=True)
        boards = [live.name for live in self._catalog] if wanted.boards is None else wanted.boards
        found = [one for one in self._known.of(wanted.player) if one.kind != "merge" and not one.is_over(now)]
        found = [one for one in found if wanted.boards is None or any(one.is_in_force(board, now) for board in boards)]
        if not found:
            where = "" if wanted.boards is None else f" on {', '.join(wanted.boards)}"
            raise NothingToUndo(f"player {wanted.player!r} is neither hidden nor shadowed{where}: there is nothing to restore")
        decision = f"r_{secrets.token_hex(8)}"
        detail = {"decision": decision, "player_id": wanted.player, "boards": _listed(wanted.boards)}
        await self._ledger.audit.note("restore", "", detail, now, wanted.reason)
        for one in found:
            await self._lift(one, wanted.boards, now, "lifting")
            await self.finish(one)
        return _decision(decision, "restore", wanted, now)

    async def _lift(self, one: Restriction, boards: Sequence[str] | None, now: int, state: Literal["standing", "lifting"]) -> None:
        if boards is None:
            one.lifted = now
        else:
            one.lifted_on |= {board: now for board in boards if board not in one.lifted_on}
        one.state = "lifted" if state == "standing" and one.is_over(now) else state
        await self.put(one)

    async def finish(self, one: Restriction) -> None:
        """Restate the player of a restriction, where that is not done yet."""
        if not one.is_unfinished:
            return
        for live in self._boards(one):
            if one.kind == "merge":
                await carry_over(self.parts, live, one)
            await self._restate(live, one)
        one.state = "standing" if one.state == "applying" or not one.is_over(self._clock()) else "lifted"
        await self.put(one)

    async def finish_all(self) -> list[str]:
        """Finish what was cut short, end what was decided up to a moment, and see that nobody is ranked who is not to be."""
        now = self._clock()
        await self._known.refresh(self._ledger, now, at_once=True)
        done = []
        if self._due(now):
            # What is under way now is not cut short: it is done when it is this one's turn.
            async with self.parts.claims.alone(DECISIONS):
                await self._known.refresh(self._ledger, now, at_once=True)
                for one in self._due(now):
                    if one.state == "standing":
                        one.state = "lifting"
                        await self.put(one)
                    await self.finish(one)
                    done.append(one.restriction_id)
        if self.parts.is_shared:
            await self._take_back(now)
        return done

    def _due(self, now: int) -> list[Restriction]:
        """Return the restrictions for which rankings are to be restated."""
        return [one for one in self._known.all() if one.is_unfinished or (one.state == "standing" and one.is_over(now))]

    async def _take_back(self, now: int) -> None:
        """Restate those whom a process has ranked before it knew. Two calls for each board.

        Whoever was restricted of late is looked for in every ranking, others only in those of all players.
        """
        for live in self._catalog:
            players = self._known.players_now(live.name, now) if not live.board.is_rollup else []
            if not players:
                continue
            lately = [player for player in players if any(one.since > now - LATELY_MS for one in self._known.of(player))]
            wanted = dict.fromkeys(await self.parts.engine.rankings(live.id), lately) if lately else {}
            wanted |= dict.fromkeys(live.position(now).wholes, players)
            found = await self.parts.engine.states_in(wanted)
            for player in players:
                if shown := [ranking for ranking, states in found.items() if states.get(player) is not None]:
                    await self._restate_all(live, player, shown)

    async def _restate(self, live: LiveBoard, one: Restriction) -> None:
        """Record a verdict on a player, and restate them in all rankings of a board, and in those of its roll-ups."""
        now = self._clock()
        kind: Literal["hide", "show"] = "hide" if one.state == "applying" else "show"
        given = Submission(live, one.player, kind, 0, now, now, None, one.restriction_id, None, backfill=True, ranked=False)
        past = await player_past(self._ledger, live, one.player)
        verdicts = list(enumerate(verdicts_on_player(given, past.events, now)))
        name = f"{kind}:{one.restriction_id}:{now}"
        # With a claim, as only the ledger can take it.
        claim = Claim(SUBMISSION, str(live.id), name, hashlib.blake2b(name.encode(), digest_size=16).digest())
        writer = self.parts.writer
        await writer.submit(PendingRequest(verdicts, [], claim, False, True, writer.answer(), patient=False))
        await self._restate_all(live, one.player)
        if live.board.is_partial:
            # How many players are not kept is counted, not looked up.
            await self._rebuilds.rebuild(live.name, no_progress)

    async def _restate_all(self, live: LiveBoard, player: str, shown: Sequence[Ranking] = ()) -> None:
        """Restate a player in all rankings of a board that the player's events are in, and in those that show the player."""
        past = await player_past(self._ledger, live, player)
        found = dict.fromkeys([*shown, *past.states, *(ranking for event in past.events for ranking in live.rankings_of(event))])
        await self._restate_in(live, player, list(found))
        for rollup in self._catalog.rollups(live):
            if rollup.board.teams_of is not None:
                await self._feed.publish(await self.parts.healing.rollups.teams.recount(rollup, found))
                continue
            rolled_up = await roll_up_players(self._ledger, rollup, [player], with_hidden=True)
            await self._restate_in(rollup, player, list(rolled_up[player]))

    async def _restate_in(self, live: LiveBoard, player: str, rankings: list[Ranking]) -> None:
        kept = [ranking for ranking in rankings if not live.is_retired(ranking)]
        await self.parts.restater.restate(live, {ranking: [player] for ranking in kept})
        await self._feed.publish(set(kept))

    async def put(self, one: Restriction) -> None:
        """Record a restriction, new or changed."""
        await self._known.put(self._ledger, one, secrets.token_bytes(8))

    def _check_boards(self, boards: Sequence[str] | None) -> None:
        """Refuse boards that there are not, and roll-ups, which follow those that they are made from."""
        for name in boards or ():
            live = self._catalog[name]
            if live.board.is_rollup:
                raise RolledUp(f"board {name!r} is made from {', '.join(live.board.made_from)}: name those")

    def _boards(self, one: Restriction) -> list[LiveBoard]:
        return [live for live in self._catalog if not live.board.is_rollup and (one.boards is None or live.name in one.boards)]

    async def listed(self, player: str | None, board: str | None) -> list[RestrictedPlayer]:
        """Return who is hidden or shadowed now, the latest decisions first."""
        now = self._clock()
        await self._known.refresh(self._ledger, now, at_once=True)
        found = [one for one in self._known.all() if one.kind != "merge" and one.since <= now and not one.is_over(now)]
        found = [one for one in found if player in (None, one.player)]
        if board is not None:
            found = [one for one in found if one.is_in_force(board, now)]
        found.sort(key=lambda one: (one.since, one.restriction_id), reverse=True)
        return [_shown(one) for one in found]


def _new_id(kind: str, wanted: RestrictionRequest) -> str:
    """Return the id of a new restriction: random, or that of the request's key, so that a retry finds it."""
    if wanted.key is None:
        return f"r_{secrets.token_hex(8)}"
    return f"r_{hashlib.blake2b(f'{kind}:{wanted.player}:{wanted.key}'.encode(), digest_size=8).hexdigest()}"


def _listed(boards: Sequence[str] | None) -> list[str] | None:
    return None if boards is None else list(boards)


def _decision(decision: str, action: Literal["hide", "shadow", "restore"], wanted: RestrictionRequest, at: int) -> PlayerDecision:
    until = None if wanted.until is None else time_of(wanted.until)
    return PlayerDecision(decision, action, wanted.player, _listed(wanted.boards), until, wanted.reason, time_of(at))


def _shown(one: Restriction) -> RestrictedPlayer:
    until = None if one.until is None else time_of(one.until)
    boards = None if one.boards is None else [board for board in one.boards if board not in one.lifted_on]
    restored = sorted(one.lifted_on) if one.boards is None else []
    state: Literal["hidden", "shadowed"] = "hidden" if one.kind == "hide" else "shadowed"
    return RestrictedPlayer(one.restriction_id, state, one.player, boards, restored, time_of(one.since), until, one.reason)
