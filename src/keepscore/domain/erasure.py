"""What is left of a player who is erased: scores under a pseudonym, and nothing that was written by or about the person. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import RESTATING

__all__ = ["ERASED", "Renaming", "is_pseudonym", "named_in", "person_mark"]

#: What stands in the place of a text that is gone.
ERASED = "erased"

#: The kinds of events whose notes the service has written itself, and needs.
_RATED = frozenset({"match", "rerate", "initial"})
_PSEUDONYM = re.compile(r"erased-[0-9a-f]{16}")
#: The ids of decisions that add events.
_DECISION = re.compile(r"[a-z]_[0-9a-f]{16}")


def person_mark(secret: bytes, player: str) -> str:
    """Return what tells whether an id was erased before, without the id."""
    return hmac.new(secret, b"erased\0" + player.encode(), hashlib.sha256).hexdigest()[:32]


def is_pseudonym(player: str) -> bool:
    """Return whether an id is written as those of erased players are.

    >>> is_pseudonym("erased-65dab81927423e3b"), is_pseudonym("erased")
    (True, False)
    """
    return _PSEUDONYM.fullmatch(player) is not None


class Renaming(NamedTuple):
    """A player, and the pseudonym that comes in the place of the id."""

    player: str
    pseudonym: str

    @classmethod
    def made(cls, secret: bytes, player: str, life: int) -> Renaming:
        """Return the pseudonym of an id that is erased for the n-th time.

        >>> Renaming.made(b"secret", "ada", 1).pseudonym
        'erased-65dab81927423e3b'
        """
        text = hmac.new(secret, f"pseudonym\0{life}\0{player}".encode(), hashlib.sha256).hexdigest()
        return cls(player, f"erased-{text[:16]}")

    def renamed(self, value: Any) -> Any:
        """Return a value of JSON in which every text and every name of a field that is the id is the pseudonym.

        >>> Renaming("ada", "erased-1").renamed({"against": ["ada", "bo"], "adas": 1})
        {'against': ['erased-1', 'bo'], 'adas': 1}
        """
        if isinstance(value, str):
            return self.pseudonym if value == self.player else value
        if isinstance(value, list):
            return [self.renamed(one) for one in value]
        if isinstance(value, Mapping):
            return {self.renamed(name): self.renamed(one) for name, one in value.items()}
        return value

    def within(self, text: str) -> str:
        """Return a text with the pseudonym wherever the id stands by itself.

        >>> Renaming("ada", "erased-1").within("all_time ada, daily ada-2")
        'all_time erased-1, daily ada-2'
        """
        return re.sub(rf"(?<![\w-]){re.escape(self.player)}(?![\w-])", lambda _: self.pseudonym, text)

    def metadata(self, kind: str, metadata: Any) -> Any:
        """Return what an event of the player keeps of its metadata: notes of the service, nothing of a game's."""
        if kind in RESTATING or kind in _RATED:
            return self.renamed(metadata)
        if isinstance(metadata, dict) and _DECISION.fullmatch(str(metadata.get("decision"))):
            return self.renamed({name: value for name, value in metadata.items() if name in ("decision", "event", "player_id")})
        return None

    def game_id(self, kind: str, game_id: str | None) -> str | None:
        """Return what an event of the player keeps of the name of its game: a game is others', too, unless it has the id in it."""
        if game_id is None or kind in RESTATING or kind in _RATED:
            return game_id
        return None if self.player in game_id else game_id


def named_in(events: Iterable[Event]) -> set[str]:
    """Return the other players that events of matches name."""
    notes = [event.metadata for event in events if event.kind in _RATED and isinstance(event.metadata, dict)]
    notes += [note["metadata"] for note in notes if isinstance(note.get("metadata"), dict)]
    teams = [team for note in notes for team in (note.get("against", ()), *note.get("teams", ()))]
    return {str(one) for team in teams for one in team}
