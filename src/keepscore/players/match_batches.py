"""What a batch of matches has: each a duel or a match of teams, with an id that counts once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from keepscore.domain.ratings.matches import Match, contest, duel
from keepscore.domain.values import check_player, check_text
from keepscore.errors import InvalidField

__all__ = ["MAX_BATCH_MATCHES", "GivenMatch", "check_batch", "given_match"]

#: Matches of one batch.
MAX_BATCH_MATCHES = 1000
#: What a match of a batch may have.
FIELDS = ("a", "b", "result", "teams", "ranks", "match_id", "at")


class GivenMatch(NamedTuple):
    """A match of a batch, and its time, if it says so."""

    match: Match
    at: datetime | str | None


def check_batch(matches: Sequence[object]) -> None:
    """Refuse a batch that is empty, or too large."""
    if not 1 <= len(matches) <= MAX_BATCH_MATCHES:
        raise InvalidField(f"matches has {len(matches)} entries: give 1 to {MAX_BATCH_MATCHES}")


def given_match(entry: object, name: str) -> GivenMatch:
    """Return a match of a batch, or raise the error that says what is wrong with it. `name` is the id of one that has none."""
    if not isinstance(entry, Mapping):
        raise InvalidField(f"{str(entry)[:40]!r} is no match: give a table with {', '.join(FIELDS)}")
    given: dict[str, Any] = {str(field): value for field, value in entry.items() if value is not None}
    if unknown := [field for field in given if field not in FIELDS]:
        raise InvalidField(f"a match has no {unknown[0][:40]!r}: it has {', '.join(FIELDS)}")
    match_id, at = given.get("match_id", name), given.get("at")
    if not isinstance(match_id, str):
        raise InvalidField(f"match_id = {str(match_id)[:40]} is no text")
    if at is not None and not isinstance(at, str | datetime):
        raise InvalidField(f"at = {str(at)[:40]} is no time: write it as in '2026-11-15T19:30:00Z'")
    return GivenMatch(_match(given, check_text("match_id", match_id, InvalidField)), at)


def _match(given: Mapping[str, Any], match_id: str) -> Match:
    is_duel, is_contest = bool({"a", "b", "result"} & set(given)), bool({"teams", "ranks"} & set(given))
    if is_duel == is_contest or not ({"a", "b", "result"} <= set(given) or "teams" in given):
        raise InvalidField("a match needs a, b and result, or teams and ranks: give one or the other")
    if is_duel:
        return duel(match_id, check_player(given["a"]), check_player(given["b"]), given["result"])
    teams, ranks = given["teams"], given.get("ranks")
    if not isinstance(teams, list | tuple) or not all(isinstance(team, list | tuple) for team in teams):
        raise InvalidField(f"teams = {str(teams)[:80]} cannot be used: give two teams or more, each with its players")
    if ranks is not None and not isinstance(ranks, list | tuple):
        raise InvalidField(f"ranks = {str(ranks)[:40]} cannot be used: give the place of each team")
    return contest(match_id, [[check_player(player) for player in team] for team in teams], ranks)
