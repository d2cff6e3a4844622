"""Segments that follow the player: submissions count where the profile says, and a profile that changes moves its player.

A score is recorded with the values that the profile has. A change of the profile is a `move` on each board on which the player is
ranked: its player is restated in the slices of before and of now. So is one whose score is late, or who is judged, since the values of then
may be others.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence

from keepscore.domain.profiles import Card
from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import RESTATING, VERDICTS
from keepscore.errors import EngineUnavailable, LedgerUnavailable
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.projection.stores import Stores
from keepscore.reading.cards import Cards
from keepscore.storage.ledgers.claims import SUBMISSION, Claim
from keepscore.writing.groups import PendingRequest
from keepscore.writing.scopes import Submission, move
from keepscore.writing.writer import Writer

__all__ = ["Following"]

#: Players who are moved at a time.
CHUNK_PLAYERS = 500
#: Values of before that a move looks after, the latest.
MAX_PLACES = 100

#: How often players are moved whose profiles keep changing.
MAX_TRIES = 20

#: Milliseconds within which events of hosts that do not know of each other's changes may be mixed.
RECENT_MS = 60_000

#: A board's number, and a player.
_Who = tuple[int, str]


class Following:
    """Implements `writing.protocols.SegmentSource`, and moves players."""

    def __init__(self, stores: Stores, cards: Cards) -> None:
        self._catalog, self._ledger, self._engine, self._clock = stores
        self._cards = cards
        #: The cards of the players of the group that is being planned: meanwhile, somebody may make the process forget them.
        self._group: dict[str, Card] = {}
        #: The events of these players, as far as the group needs them; the values that its submissions have named.
        self._pasts: dict[_Who, list[Event]] = {}
        self._named: dict[_Who, dict[str, str]] = {}

    # -- submissions ----------------------------------------------------------------------------------------------------

    async def prepare(self, submissions: Sequence[Submission]) -> None:
        """Learn what the values of these depend on, as far as that is possible."""
        self._group, self._pasts, self._named = {}, {}, {}
        wanted: dict[LiveBoard, dict[str, None]] = {}
        everyone = [side for submission in submissions for side in submission.sides]
        for submission in everyone:
            for live in self._boards(submission):
                if self._is_past(live, submission) or (live is submission.live and self._sticks(live, submission)):
                    wanted.setdefault(live, {})[submission.player] = None
        try:
            self._group = await self._cards.learn_of(submission.player for submission in everyone)
            for live, players in wanted.items():
                everybody = list(players)
                for first in range(0, len(everybody), CHUNK_PLAYERS):
                    for player, past in (await pasts_of(self._ledger, live, everybody[first : first + CHUNK_PLAYERS])).items():
                        self._pasts[live.id, player] = past.events
        except LedgerUnavailable:
            # What is remembered has to do.
            return

    def fill(self, submission: Submission) -> None:
        """Let a submission count in the slices in which its player is, or raise the error that says why that is not known."""
        if submission.kind == "move":
            card = self._cards.remembered(submission.player) or self._group.get(submission.player)
            if card is not None and submission.profile_version not in (None, card.version):
                raise _unknown(submission.player)
            return
        for side in submission.sides:
            self._fill(side)

    def forget(self, players: Iterable[str]) -> None:
        """Forget the cards of these players: their profiles have changed since they were prepared."""
        self._cards.forget(players)

    def _fill(self, submission: Submission) -> None:
        live, player = submission.live, submission.player
        following = [board for board in self._boards(submission) if board.reads_profiles]
        traits: Mapping[str, object] | None = None
        if following:
            card = self._cards.remembered(player) or self._group.get(player)
            if card is None:
                raise _unknown(player)
            traits, submission.profile_version = card.traits, card.version
        if submission.kind not in VERDICTS:
            segments = self._stuck(live, submission) if live.is_sticky else submission.segments
            if traits is not None and live.reads_profiles:
                segments = live.board.slicing.filled(segments, traits, submission.is_decided and bool(segments))
            submission.follow(segments, traits)
        late = [board for board in following if self._is_past(board, submission)]
        if late and traits is not None:
            submission.places = {board.id: self._places(board, submission, traits) for board in late}

    def _boards(self, submission: Submission) -> list[LiveBoard]:
        if submission.kind in VERDICTS or submission.is_decided:
            return [submission.live]
        return [submission.live, *self._catalog.links(submission.live)]

    def _is_past(self, live: LiveBoard, submission: Submission) -> bool:
        """Return whether the values of its windows may be others than those of now."""
        if not live.is_following or submission.kind == "move":
            return False
        return (
            submission.kind in VERDICTS
            or submission.is_decided
            or any(span.end <= self._clock() for span in live.position(submission.at).spans)
        )

    def _sticks(self, live: LiveBoard, submission: Submission) -> bool:
        """Return whether the values of its player's previous submission are wanted."""
        sticky = live.board.slicing.sticky
        return bool(sticky) and submission.kind not in RESTATING and not any(name in (submission.segments or {}) for name in sticky)

    def _stuck(self, live: LiveBoard, submission: Submission) -> dict[str, str] | None:
        """Return what a submission names, or what the one before it has named."""
        who, sticky = (live.id, submission.player), live.board.slicing.sticky
        if self._sticks(live, submission):
            named = self._named.get(who)
            if named is None and who not in self._pasts:
                raise _unknown(submission.player)
            if named is None:
                named = next((one for one in _values(self._pasts[who]) if any(name in one for name in sticky)), {})
            return {**(submission.segments or {}), **{name: value for name, value in named.items() if name in sticky}} or None
        self._named[who] = submission.segments or {}
        return submission.segments

    def _places(self, live: LiveBoard, submission: Submission, traits: Mapping[str, object]) -> list[dict[str, str]]:
        past = self._pasts.get((live.id, submission.player))
        if past is None:
            raise _unknown(submission.player)
        return _places(live, [submission.segments or {}, *_values(past)], traits)

    # -- profiles -------------------------------------------------------------------------------------------------------

    async def move(self, players: Iterable[str], writer: Writer, is_sure: bool = True) -> None:
        """See that players are in the slices that their profiles say, on every board on which they are ranked.

        Unless it `is_sure`, others may have recorded scores with the values of before, and may have moved them.
        """
        everybody = list(dict.fromkeys(players))
        if not is_sure:
            self._cards.forget(everybody)
        for live in self._catalog:
            for first in range(0, len(everybody) if live.is_following else 0, CHUNK_PLAYERS):
                await self._move(live, await self._ranked(live, everybody[first : first + CHUNK_PLAYERS]), writer, is_sure)

    async def _ranked(self, live: LiveBoard, players: list[str]) -> list[str]:
        """Return those of some players who are ranked in an open window. Where the engine does not answer, that may be everybody.

        One who is hidden moves, too: what is folded when they are shown again counts where they are then.
        """
        try:
            found = [await self._engine.places(whole, players) for whole in live.position(self._clock()).wholes]
        except EngineUnavailable:
            return players
        ranked = zip(players, *found, strict=True)
        return [player for player, *places in ranked if live.hides(player) or any(place is not None for place in places)]

    async def _move(self, live: LiveBoard, players: list[str], writer: Writer, is_sure: bool) -> None:
        """Move players on a board, again where a profile has changed meanwhile."""
        for _ in range(MAX_TRIES):
            if not players:
                return
            players = await self._try_to_move(live, players, writer, is_sure)
        raise _unknown(players[0])

    async def _try_to_move(self, live: LiveBoard, players: list[str], writer: Writer, is_sure: bool) -> list[str]:
        """Move players on a board; return those whose profiles have changed meanwhile."""
        now = self._clock()
        cards = await self._cards.learn_of(players)
        moves = []
        for player, past in (await pasts_of(self._ledger, live, players)).items():
            if not past.events and not past.states:
                continue
            card, values = cards[player], _values(past.events)
            places = _places(live, values or [{}], card.traits)
            if not values or places[0] != values[0] or (not is_sure and _differs(live, past.events, now)):
                moves.append(move(live, player, now, now, places))
                moves[-1].profile_version = card.version
        if not moves:
            return []
        # With a claim, as only the ledger can take it.
        claim = Claim(SUBMISSION, str(live.id), f"move:{secrets.token_hex(16)}", b"move")
        done = await writer.submit(PendingRequest(list(enumerate(moves)), [], claim, False, True, writer.answer(), patient=False))
        return [moves[refused.index].player for refused in done.rejected if refused.type == LedgerUnavailable.type]


def _differs(live: LiveBoard, events: Iterable[Event], now: int) -> bool:
    """Return whether the latest events do not agree on the values of the profile: the engine may have seen them in another order."""
    recent = [event for event in events if event.kind not in VERDICTS and event.received >= now - RECENT_MS]
    profile = {rule.name for rule in live.board.slicing.profile}
    return len({_frozen({k: v for k, v in (event.segments or {}).items() if k in profile}) for event in recent}) > 1


def _values(events: Iterable[Event]) -> list[dict[str, str]]:
    """Return the values that events have named, each once, the latest first."""
    latest = sorted(
        (event for event in events if event.kind not in VERDICTS),
        key=lambda event: (event.seq is None, event.seq or 0, event.writer, event.n),
        reverse=True,
    )
    found: list[dict[str, str]] = []
    for event in latest:
        values = event.segments or {}
        if values not in found:
            found.append(values)
        if len(found) == MAX_PLACES:
            break
    return found


def _places(live: LiveBoard, values: Sequence[dict[str, str]], traits: Mapping[str, object]) -> list[dict[str, str]]:
    """Return the values that a player has now, and all in which the player may have been, or may be now."""
    slicing = live.board.slicing
    now = slicing.filled(values[0], traits) or {}
    named = [{name: value for name, value in one.items() if name in slicing.rules and not slicing.rules[name].is_profile} for one in values]
    followed = [
        slicing.values(traits),
        *({name: value for name, value in one.items() if name in slicing.rules and slicing.rules[name].is_profile} for one in values),
    ]
    # Every slice of a combination may have some of what was sent before.
    mixed = {**dict.fromkeys(map(_frozen, named))} if slicing.is_mixed else {_frozen(named[0]): None}
    found = [now]
    for own in dict.fromkeys(map(_frozen, followed)):
        for one in mixed:
            place = dict((*one, *own))
            if place not in found:
                found.append(place)
    return found


def _frozen(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(values.items()))


def _unknown(player: str) -> LedgerUnavailable:
    return LedgerUnavailable(f"the profile of player {player!r}, which says where the score counts, is not known now: try again")
