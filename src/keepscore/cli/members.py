"""The members of a sorted set on their way to one ranking of a board."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple, Protocol

import msgspec

from keepscore.domain.durations import time_of
from keepscore.domain.formulas import Formula
from keepscore.domain.imports import PART_ROWS, ImportReceipt, as_text, row_digest
from keepscore.domain.inputs import Entry
from keepscore.domain.key_places import RankingPlace

__all__ = ["BadMember", "Decoding", "Members", "OpeningTarget", "RankingState", "bring", "compare", "entries_of"]


class RankingState(Protocol):
    """A board whose rankings can be compared with sorted sets."""

    def check_opening(self, entries: list[Entry], into: RankingPlace) -> dict[int, str]:
        """Return why entries would be refused as opening balances of a ranking, by their place."""

    def scores(self, players: list[str], of: RankingPlace) -> dict[str, Any]:
        """Return the scores of those players who are in a ranking."""


class OpeningTarget(RankingState, Protocol):
    """A board that takes them, too."""

    def bring_opening(self, entries: list[Entry], keys: list[str], into: RankingPlace) -> ImportReceipt:
        """Import opening balances of a ranking, each of which has a key of its own."""


class Decoding(NamedTuple):
    """What the numbers of a set mean: formulas for the score and for its time (seconds since 1970), or one time for all."""

    score: Formula | None = None
    since: Formula | None = None
    at: str | None = None


class BadMember(NamedTuple):
    """A member that cannot be a player, and why."""

    member: str
    problem: str


class Members(NamedTuple):
    """What became of the members of a set: how many were imported or compared, and the bad ones."""

    counts: Counter[str]
    bad: list[BadMember]


def entries_of(members: Mapping[str, float], decoding: Decoding, label: Mapping[str, str]) -> Iterator[Entry | BadMember]:
    """Yield what the members of a set are as entries. All have the label as their metadata."""
    for member, number in members.items():
        try:
            score, at = _decoded(number, decoding)
        except ValueError as exc:
            yield BadMember(member, str(exc))
        else:
            yield Entry(player_id=member, score=score, at=at, metadata=dict(label))


def _decoded(number: float, decoding: Decoding) -> tuple[int | Decimal, str | None]:
    if not math.isfinite(number):
        raise ValueError(f"score = {number} is not a number")
    exact = Decimal(repr(number))
    score: int | Decimal = int(exact) if exact == exact.to_integral_value() else exact
    at = decoding.at
    if decoding.since is not None:
        try:
            at = msgspec.to_builtins(time_of(round(decoding.since.of(exact) * 1000)))
        except (OverflowError, OSError):
            raise ValueError(f"formula {decoding.since.text!r} makes no time of {exact}: it has to give seconds since 1970") from None
    return (score if decoding.score is None else decoding.score.of(exact)), at


def bring(entries: Iterable[Entry | BadMember], source: str, into: RankingPlace, board: OpeningTarget) -> Members:
    """Import entries as opening balances of a ranking. Each player counts once with each score of one source."""
    found = Members(Counter(), [])
    for good in _chunks(entries, found):
        place = f"{source} {into}"
        keys = [as_text(row_digest(0, place, {"player": entry.player_id, "score": entry.score})) for entry in good]
        answer = board.bring_opening(good, keys, into)
        again = answer.duplicates or 0
        found.counts.update(imported=answer.accepted - again, already_imported=again)
        found.bad.extend(BadMember(good[rejection.index].player_id, rejection.detail) for rejection in answer.rejected)
    return found


def compare(entries: Iterable[Entry | BadMember], into: RankingPlace, board: RankingState) -> Members:
    """Tell what an import would do: how many players are new, have another score, or the same, and who would be refused."""
    found = Members(Counter(), [])
    for some in _chunks(entries, found):
        refused = board.check_opening(some, into)
        found.bad.extend(BadMember(some[index].player_id, detail) for index, detail in refused.items())
        good = {entry.player_id: entry.score for index, entry in enumerate(some) if index not in refused}
        known = board.scores(list(good), into) if good else {}
        found.counts.update(
            "new" if player not in known else "same_score" if known[player] == score else "other_score" for player, score in good.items()
        )
    return found


def _chunks(entries: Iterable[Entry | BadMember], found: Members) -> Iterator[list[Entry]]:
    """Yield the good entries in parts, and keep the bad ones."""
    rest = iter(entries)
    while some := list(islice(rest, PART_ROWS)):
        found.bad.extend(one for one in some if isinstance(one, BadMember))
        if good := [one for one in some if isinstance(one, Entry)]:
            yield good
