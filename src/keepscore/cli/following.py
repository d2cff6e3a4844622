"""A board follows the sorted sets of another system, which still takes the scores: what changes there is recorded here.

Each round reads the sets and records the differences to what was recorded before, as labelled events of the ranking that each set is.
The sets are only read. The last round, at the cut-over, reads them when nobody can write to them any more.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from keepscore.cli.importing import ImportTarget
from keepscore.cli.members import BadMember, entries_of
from keepscore.cli.migration import MigrationRequest, MovedSet, label_of
from keepscore.cli.options import AnyLeaderboards
from keepscore.domain.boards import Board
from keepscore.domain.imports import PART_ROWS, NewPart, as_text, row_digest
from keepscore.domain.inputs import Entry
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.keys import ASIDE
from keepscore.domain.results.standings import BoardEvent
from keepscore.domain.scoring import Scope

if TYPE_CHECKING:
    from keepscore.cli.takeover import SortedSets

__all__ = ["Followed", "Follower"]

#: Events that are asked for at a time.
PAGE_EVENTS = 10_000
#: Changes that are sent at a time.
SENT_ROWS = 5000


class Followed(NamedTuple):
    """How far one set is followed."""

    key: str
    place: RankingPlace
    #: Players there, and here.
    players: int
    players_here: int
    #: Changes recorded in this round, and since the command started.
    recorded: int
    recorded_in_all: int
    #: Players whose scores differ: who cannot be players here, or whom only one of the two has, included.
    differences: int
    #: Seconds from the look at the set until all of it was recorded: nothing is further behind.
    behind_s: float


class _Set:
    """What is known of one set: what was recorded of it, who differs and why, and how many changes there were."""

    def __init__(self) -> None:
        self.seen: dict[str, float] | None = None
        self.bad: dict[str, str] = {}
        self.differing: set[str] = set()
        self.recorded = 0


class Follower:
    """Follows some sets, for one board."""

    def __init__(
        self,
        sets: SortedSets,
        board: Board,
        boards: AnyLeaderboards,
        request: MigrationRequest,
        tell: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._tell = tell
        self._sets, self._board, self._boards, self._request = sets, board, boards, request
        self._target = ImportTarget(boards, board.name)
        self.board = board.name
        self._known: dict[str, _Set] = {}
        # Keys of events: what comes again in a later round is another change.
        self._source, self._rounds = uuid.uuid4().hex, 0

    def look(self, plan: Sequence[MovedSet]) -> list[Followed]:
        """Record what has changed in the sets. O(players of the sets)."""
        self._rounds += 1
        return [self._look_at(one) for one in plan]

    def _look_at(self, one: MovedSet) -> Followed:
        start, known = time.monotonic(), self._known.setdefault(one.key, _Set())
        members = self._sets.read(one.key)
        count = self._boards.count(self._board.name, **_named(one.place)).count if known.seen is None else 0
        before = self._same(members, one.place, count) if known.seen is None else None
        changed = {
            member: number
            for member, number in members.items()
            if (member not in before if before is not None else known.seen is not None and known.seen.get(member) != number)
        }
        recorded = self._record(one, known, changed)
        known.seen = members
        here = self._boards.count(self._board.name, **_named(one.place)).count
        extra = max(0, here - len(members) + len(known.bad))
        differences = len(known.differing | known.bad.keys()) + extra
        return Followed(one.key, one.place, len(members), here, recorded, known.recorded, differences, round(time.monotonic() - start, 3))

    def _record(self, one: MovedSet, known: _Set, changed: Mapping[str, float]) -> int:
        """Bring the members that have changed, and see that they have arrived."""
        done = 0
        for member in changed:
            known.bad.pop(member, None)
        rest = iter(changed.items())
        while some := dict(islice(rest, SENT_ROWS)):
            good = []
            for entry in self._entries(one.key, some):
                if isinstance(entry, BadMember):
                    known.bad[entry.member] = entry.problem
                else:
                    good.append(entry)
            done += self._send(one, known, good)
            there = {entry.player_id: entry.score for entry in good if entry.player_id not in known.bad}
            found = self._scores(list(there), one.place)
            known.differing -= there.keys()
            known.differing |= {player for player, score in there.items() if found.get(player) != score}
            self._tell(f"{one.key}: {done} of {len(changed)} recorded")
        known.recorded += done
        return done

    def _send(self, one: MovedSet, known: _Set, entries: list[Entry]) -> int:
        if not entries:
            return 0
        named = f"{self._source} {self._rounds} {one.key}"
        digests = [as_text(row_digest(0, named, {"player": entry.player_id})) for entry in entries]
        answer = self._target.bring_opening_part(entries, NewPart(digests[0], as_text(0), len(entries), [], digests, named), one.place)
        known.bad |= {entries[rejection.index].player_id: rejection.detail for rejection in answer.rejected}
        return answer.accepted

    def _entries(self, key: str, members: Mapping[str, float]) -> list[Entry | BadMember]:
        return list(entries_of(members, self._request.decoding, label_of(self._sets, key)))

    def _same(self, members: Mapping[str, float], place: RankingPlace, count: int) -> set[str]:
        """Return the members whose scores are here already, where some are. O(members)."""
        if not count:
            return set()
        wanted = {entry.player_id: entry.score for entry in self._entries("", members) if isinstance(entry, Entry)}
        found = self._scores(list(wanted), place)
        return {player for player, score in wanted.items() if found.get(player) == score}

    def _scores(self, players: list[str], place: RankingPlace) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for start in range(0, len(players), PART_ROWS):
            found |= self._target.scores(players[start : start + PART_ROWS], place)
        return found

    # -- the cut-over ---------------------------------------------------------------------------------------------------

    def bad(self, key: str) -> dict[str, str]:
        """Return the members of a set that cannot be players, and why."""
        return self._known[key].bad if key in self._known else {}

    def finish(self, plan: Sequence[MovedSet], at: str) -> int:
        """Record what the sets, which lie aside and are written to no more, have got since the last round; return how many changes.

        The board takes scores itself by now: sums get the differences, others the scores, as of the moment before it did.
        """
        self._rounds += 1
        return sum(self._finish(one, at) for one in plan if self._sets.exists(ASIDE + one.key))

    def _finish(self, one: MovedSet, at: str) -> int:
        members, known = self._sets.read(ASIDE + one.key), self._known.setdefault(one.key, _Set())
        base = self.recorded(one) if known.seen is None else self._decoded(one.key, known.seen)
        now = self._decoded(one.key, members)
        changed = {player: score for player, score in now.items() if base.get(player) != score and player not in known.bad}
        label, done, rest = label_of(self._sets, one.key), 0, iter(changed.items())
        while some := dict(islice(rest, SENT_ROWS)):
            entries = [Entry(player_id=player, score=score, metadata=label) for player, score in some.items()]
            if self._board.operator == "sum":
                entries = [replace(entry, score=None, amount=some[entry.player_id] - base.get(entry.player_id, 0)) for entry in entries]
            elif self._is_open(one.place):
                entries = [replace(entry, at=at) for entry in entries]
            done += self._send(one, known, entries)
        return done

    def _is_open(self, place: RankingPlace) -> bool:
        found = self._boards.top(self._board.name, limit=1, window=place.window)
        return found.window_id == place.window_id

    def _decoded(self, key: str, members: Mapping[str, float]) -> dict[str, Any]:
        return {entry.player_id: entry.score for entry in self._entries(key, members) if isinstance(entry, Entry)}

    def recorded(self, one: MovedSet) -> dict[str, Any]:
        """Return what the ledger has of a set, by the label of its events: a command that was interrupted goes on there. O(events)."""
        label, scope = label_of(self._sets, one.key), Scope((one.place.window,), one.place.segment)
        found: dict[str, list[BoardEvent]] = {}
        cursor = None
        while True:
            page = self._boards.history.all_events(self._board.name, cursor=cursor, limit=PAGE_EVENTS)
            for event in page.events:
                if event.metadata == label and event.scope == scope:
                    found.setdefault(event.player_id, []).append(event)
            cursor = page.next_cursor
            if cursor is None:
                return {player: self._shown(events) for player, events in found.items()}

    def _shown(self, events: list[BoardEvent]) -> Any:
        """Return the score of a set that its events have told."""
        if self._board.operator == "sum":
            return sum(event.amount for event in events)
        return max(events, key=lambda event: (event.received, event.n)).amount


def _named(place: RankingPlace) -> dict[str, Any]:
    return {"window": place.window, "window_id": place.window_id, "segment": place.segment or None}
