"""What lists show of players beside their scores, as the ledger has it: fetched together, and remembered for a while.

A list waits only a moment for cards, and does without those that do not come: they are there for the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from sys import getsizeof

import msgspec

from keepscore.caches import ByteCache, bytes_of
from keepscore.domain.profiles import NO_CARD, Card, card_of
from keepscore.errors import KeepscoreError
from keepscore.projection.changes import Changes
from keepscore.projection.stores import Stores
from keepscore.storage.ledgers.players import PlayerRecord

__all__ = ["CARDS_BYTES", "CARD_MS", "Cards", "profile_in"]

#: Bytes of cards that are remembered, and for how long, in milliseconds.
CARDS_BYTES, CARD_MS = 64 << 20, 300_000
#: Seconds that a list waits for cards.
WAIT_S = 0.25
#: Milliseconds for which the ledger is not asked again after it could not answer.
REST_MS = 1000
#: Players that are asked for at a time.
CHUNK_PLAYERS = 5000
#: Milliseconds in which a profile may be recorded after the moment that it was given.
DELAY_MS = 5000
#: Changes of others that are taken up one by one; where there are more, all cards are forgotten.
MAX_CHANGES = 10_000

log = logging.getLogger(__name__)


def profile_in(record: PlayerRecord) -> dict[str, object]:
    """Return the fields of a profile as the ledger has it."""
    fields: dict[str, object] = {} if record.profile is None else msgspec.json.decode(record.profile)
    return fields if record.name is None else {"name": record.name, **fields}


def _card(record: PlayerRecord | None) -> Card:
    return NO_CARD if record is None else card_of(profile_in(record), record.version)


class Cards:
    """The cards that one process shows."""

    def __init__(self, stores: Stores, changes: Changes) -> None:
        self._ledger = stores.ledger
        self._clock = stores.clock
        self._changes = changes
        #: Cards, each with the moment until which it is taken as it is.
        self._cards: ByteCache[str, tuple[Card, int]] = ByteCache(CARDS_BYTES)
        #: Whether the ledger may have profiles at all.
        self._has_some = True
        #: Whether some player is not shown to everybody, as far as this process knows.
        self.has_secrets = False
        self._since = 0
        #: What `learn` saw the last time, as it looks back further than that.
        self._seen: set[tuple[str, int]] = set()
        #: Who is to be asked for next, and who was changed while the ledger was asked.
        self._wanted: set[str] = set()
        self._changed: set[str] = set()
        self._fetching: asyncio.Task[None] | None = None
        self._rests_until = 0

    # -- reading --------------------------------------------------------------------------------------------------------

    def known(self, player: str) -> Card | None:
        """Return a player's card without waiting; None: the ledger has to be asked."""
        if not self._has_some:
            return NO_CARD
        found = self._cards.get(player)
        if found is not None and self._clock() < found[1]:
            return found[0]
        if self._clock() < self._rests_until:
            return NO_CARD if found is None else found[0]
        return None

    async def of(self, players: Iterable[str]) -> Callable[[str], Card] | None:
        """Return a function that gives the card of each of some players; None: nobody has one.

        It never fails, and waits for a moment at most.
        """
        if not self._has_some:
            return None
        found: dict[str, Card] = {}
        missing: list[str] = []
        for player in players:
            card = self.known(player)
            if card is None:
                missing.append(player)
            else:
                found[player] = card
        if missing:
            await self._fetch(missing)
            for player in missing:
                entry = self._cards.get(player)
                # What is remembered for too long is better than nothing.
                found[player] = NO_CARD if entry is None else entry[0]
        return lambda player: found.get(player, NO_CARD)

    def remembered(self, player: str) -> Card | None:
        """Return a player's card, however old it is; None: it is not known."""
        if not self._has_some:
            return NO_CARD
        found = self._cards.get(player)
        return None if found is None else found[0]

    def forget(self, players: Iterable[str]) -> None:
        """Forget cards: the ledger may have others."""
        self._has_some = True
        for player in players:
            self._cards.pop(player)

    async def learn_of(self, players: Iterable[str]) -> dict[str, Card]:
        """Return the cards of players, those that are not remembered as the ledger has them now."""
        known = {player: self.known(player) for player in players}
        cards = {player: card for player, card in known.items() if card is not None}
        missing = [player for player, card in known.items() if card is None]
        for first in range(0, len(missing), CHUNK_PLAYERS):
            some = missing[first : first + CHUNK_PLAYERS]
            found = {record.player: record for record in await self._ledger.players.find(some)}
            for player in some:
                card = _card(found.get(player))
                # It may have been changed here while the ledger was asked.
                cards[player] = max(card, self.remembered(player) or card, key=attrgetter("version"))
                self._remember(player, cards[player])
        return cards

    async def _fetch(self, players: list[str]) -> None:
        """Ask the ledger for cards, together with all who ask meanwhile."""
        try:
            async with asyncio.timeout(WAIT_S):
                # Where it is being asked already, these are not among those.
                for _ in range(2):
                    self._wanted.update(player for player in players if self.known(player) is None)
                    if not self._wanted:
                        break
                    if self._fetching is None or self._fetching.done():
                        self._fetching = asyncio.create_task(self._ask())
                    await asyncio.shield(self._fetching)
        except TimeoutError:
            log.info("a list was shown without some names: the ledger did not answer in %s s", WAIT_S)

    async def _ask(self) -> None:
        while self._wanted:
            some = [self._wanted.pop() for _ in range(min(len(self._wanted), CHUNK_PLAYERS))]
            self._changed.clear()
            try:
                found = {record.player: record for record in await self._ledger.players.find(some)}
            except KeepscoreError as exc:
                log.warning("names are not shown for now: %s", exc)
                self._rests_until = self._clock() + REST_MS
                self._wanted.clear()
                return
            for player in some:
                if player not in self._changed:
                    self._remember(player, _card(found.get(player)))

    def _remember(self, player: str, card: Card) -> None:
        self.has_secrets = self.has_secrets or card.visibility != "public"
        size = 400 + bytes_of(card) + sum(getsizeof(name) + getsizeof(value) for name, value in card.traits.items())
        self._cards.put(player, (card, self._clock() + CARD_MS), size)

    # -- changes --------------------------------------------------------------------------------------------------------

    def put(self, cards: Mapping[str, Card]) -> None:
        """Show other cards from now on: they were changed here."""
        is_new = False
        for player, card in cards.items():
            known = self._cards.get(player)
            # A page may be remembered for longer than the card.
            is_new = is_new or known is None or known[0] != card
            self._remember(player, card)
        self._changed.update(cards)
        self._has_some = self._has_some or any(card is not NO_CARD for card in cards.values())
        if is_new:
            self._changes.announce()

    async def learn(self) -> None:
        """Take up what others have changed since the last time."""
        learned = self._clock()
        if self._since == 0:
            self._has_some = bool(await self._ledger.players.changed(0, 1))
        else:
            found = await self._ledger.players.changed(self._since - DELAY_MS, MAX_CHANGES)
            self._forget({player for player, _ in set(found) - self._seen}, is_all=len(found) == MAX_CHANGES)
            self._seen = set(found)
        self._since = learned

    def _forget(self, players: set[str], is_all: bool) -> None:
        if not players:
            return
        self._has_some = True
        self._changed |= players
        if is_all:
            self._cards.clear()
        for player in players:
            self._cards.pop(player)
        self._changes.announce()

    async def relearn(self) -> None:
        """Forget all cards: the ledger may not have them any more."""
        self._cards.clear()
        self._changed |= self._wanted
        self._seen.clear()
        self._since, self._has_some = 0, True
        self._changes.announce()
        await self.learn()
