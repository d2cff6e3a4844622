"""Batches on their way to the script `apply`, and its answers; states on their way to `settle`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from keepscore.domain.boards import Board, RankKind
from keepscore.domain.scoring import State
from keepscore.storage.engines.base import Batch, Change, Outcome, Ranking, Update
from keepscore.storage.engines.redis.layouts import RankingKeys

__all__ = ["Sent", "foreign", "in_parts", "other_type", "probing", "received", "send", "settled", "taken"]


#: Updates that Redis applies in one step.
PART_UPDATES = 1000
#: Milliseconds after which the keys of a probe expire that was cut short.
PROBE_MS = 60_000
#: What there is to tell of most updates that nobody has asked ranks of.
UNEVENTFUL = Outcome([], [])


class Sent(NamedTuple):
    """A batch on its way: its keys, its rankings in the order of the keys, and what the script gets."""

    keys: list[str]
    rankings: list[Ranking]
    #: Places of the unsegmented rankings of each route, and the route of each update.
    wholes: list[list[int]]
    routes: list[int]
    #: Whether each update asks for ranks.
    asked: Sequence[bool]
    argument: tuple[Any, ...]


def in_parts(batch: Batch) -> list[Batch]:
    """Split a batch into parts that go one after the other: Redis does nothing else while it applies one."""
    if len(batch.updates) <= PART_UPDATES or batch.spool or len(batch.updates) != batch.upto - batch.after:
        return [batch]
    starts = range(0, len(batch.updates), PART_UPDATES)
    parts = [batch.updates[start : start + PART_UPDATES] for start in starts]
    return [
        batch._replace(after=batch.after + start, upto=batch.after + start + len(part), updates=part)
        for start, part in zip(starts, parts, strict=True)
    ]


def send(batch: Batch, board: Board, head: tuple[str, Any], keys: list[str], where: Callable[[Ranking], RankingKeys]) -> Sent:
    """Prepare a batch for Redis; `head` are the epoch and what changes are counted with, `keys` the board's own, `where` a ranking's."""
    epoch, place = head
    columns = list(zip(*batch.updates, strict=True)) or [()] * len(Update._fields)
    players, kinds, amounts, times, came, *_, ranked = columns
    positions: dict[Ranking, int] = {}
    known: dict[tuple[int, tuple[int, ...]], int] = {}
    routes: list[Any] = []
    taken: list[int] = []
    last: tuple[Any, Any] = None, None
    route = 0
    for rankings, wholes, expiries in zip(*columns[5:8], strict=True):
        # Nearly all updates share one tuple of rankings, and those of one moment their expiries.
        if rankings is not last[0] or expiries is not last[1]:
            last = rankings, expiries
            route = known.setdefault((id(rankings), expiries), len(known) + 1)
            if route > len(routes):
                routes.append([[positions.setdefault(name, len(positions) + 1) for name in rankings], expiries, wholes])
        taken.append(route)
    sets: list[bool | str] = [kind == "score" for kind in kinds]
    if "restate" in kinds:
        sets = [kind if kind == "restate" else kind == "score" for kind in kinds]
    updates = players, sets, amounts, times, came, taken, ranked if any(ranked) else False
    described = []
    for ranking in positions:
        names = where(ranking)
        keys += names[:3]
        described.append((names.form, names.field, names.name))
    numbers = (epoch, batch.writer, batch.after, batch.upto, board.operator, board.order == "desc", batch.rank)
    scale = False if board.half_life is None else board.half_life.scale
    argument = *numbers, described, routes, updates, scale, batch.spool, batch.seqs or False, place
    return Sent(keys, list(positions), [places[:wholes] for places, _, wholes in routes], taken, ranked, argument)


def probing(ranking: Ranking, now: int, rank: RankKind) -> Batch:
    """Make a batch for the script `probe`: a player who is there, and one who is new, whose scores change."""
    moves = [("probe", 1), ("new", 0), ("new", 2), ("new", 0)]
    updates = [Update(player, "score", amount, now, now, (ranking,), 1, (now + PROBE_MS,), True) for player, amount in moves]
    return Batch(ranking.board, 0, 0, len(updates), updates, rank)


def received(sent: Sent, told: Any) -> list[Outcome]:
    """Read the script's outcome of each update; nothing where the batch was applied before."""
    if isinstance(told, bool):
        return [UNEVENTFUL] * len(sent.routes) if told else []
    columns, restates, *_ = told
    if not columns and not restates:
        return [UNEVENTFUL] * len(sent.routes)
    columns = columns or [False] * len(sent.rankings)
    changes = [_changes(column) if column else iter(()) for column in columns]
    rows = [[changes[place - 1] for place in places] for places in sent.wholes]
    outcomes = [
        Outcome([next(row) for row in rows[route - 1]], []) if asked else UNEVENTFUL
        for route, asked in zip(sent.routes, sent.asked, strict=True)
    ]
    for update, place in zip(restates[::2], restates[1::2], strict=True):
        outcome = outcomes[update - 1]
        outcomes[update - 1] = Outcome(outcome.changes, [*outcome.restate, sent.rankings[place - 1]])
    return outcomes


def _changes(columns: list[Any]) -> Iterator[Change]:
    """Yield the changes of a ranking, row by row."""
    scores, changed, befores, ranks, uniques, totals = columns
    return map(Change, scores, changed, (None if before < 0 else before for before in befores), ranks, uniques or ranks, totals)


def foreign(key: str, size: int) -> str:
    """Say what to do about a sorted set of somebody else."""
    return (
        f"the key {key!r} in Redis holds a sorted set of {size} that Keepscore has not made: take it over with 'keepscore import "
        "redis://… --key KEY --board BOARD', rename it, or give the board another key template"
    )


def other_type(key: str, kind: str) -> str:
    """Say what to do about a key of another type."""
    return f"the key {key!r} in Redis holds a {kind}, not what Keepscore puts there: rename it, or give the board another key template"


def taken(key: str, kind: str, size: int) -> str:
    """Say what to do about a key that Keepscore did not write; `size` is the size of a sorted set in place of a ranking."""
    return foreign(key, size) if size > 0 else other_type(key, kind)


def settled(states: Mapping[RankingKeys, Mapping[str, State | None]]) -> tuple[list[str], list[Any]]:
    """Return players' states as the script `settle` takes them: the keys and the rankings."""
    gone = False, False
    rows = {at: [part for player, state in players.items() for part in (player, *(state or gone))] for at, players in states.items()}
    return [key for at in rows for key in at[:3]], [(at.form, at.field, at.name, own) for at, own in rows.items()]
