"""Batches on their way to the script `apply`, and its answers; states on their way to `settle`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keepscore.boards import Board
from keepscore.engines.base import Batch, Change, Outcome, Ranking, Update
from keepscore.engines.layouts import RankingKeys
from keepscore.scoring import State

__all__ = ["Sent", "foreign", "other_type", "received", "send", "settled"]


#: What there is to tell of most updates that nobody has asked ranks of.
UNEVENTFUL = Outcome([], [])


class Sent(NamedTuple):
    """A batch on its way: its keys, its rankings in the order of the keys, how many updates it has, and what the script gets."""

    keys: list[str]
    rankings: list[Ranking]
    size: int
    argument: tuple[Any, ...]


def send(batch: Batch, board: Board, epoch: str, keys: list[str], where: Callable[[Ranking], RankingKeys]) -> Sent:
    """What goes to Redis of a batch; `keys` are the board's own, `where` tells those of a ranking."""
    columns = list(zip(*batch.updates, strict=True)) or [()] * len(Update._fields)
    players, kinds, amounts, times, came, *_, ranked = columns
    positions: dict[Ranking, int] = {}
    known: dict[tuple[int, tuple[int, ...]], int] = {}
    routes: list[Any] = []
    taken = []
    last: tuple[Any, Any] = None, None
    for rankings, wholes, expiries in zip(*columns[5:8], strict=True):
        # Nearly all updates share one tuple of rankings, and those of one moment their expiries.
        if rankings is not last[0] or expiries is not last[1]:
            last = rankings, expiries
            route = known.get((id(rankings), expiries))
            if route is None:
                route = known[id(rankings), expiries] = len(known) + 1
                routes.append([[positions.setdefault(name, len(positions) + 1) for name in rankings], expiries, wholes])
        taken.append(route)
    updates = players, [kind == "score" for kind in kinds], amounts, times, came, taken, ranked if any(ranked) else False
    described = []
    for ranking in positions:
        names = where(ranking)
        keys += names[:3]
        described.append((names.form, names.field, names.name))
    head = (epoch, batch.writer, batch.after, batch.upto, board.operator, board.order == "desc", batch.rank)
    scale = False if board.half_life is None else board.half_life.scale
    return Sent(keys, list(positions), len(players), (*head, described, routes, updates, scale, batch.spool))


def received(sent: Sent, outcomes: Any) -> list[Outcome]:
    """What the script told of each update."""
    if outcomes is True:
        return [UNEVENTFUL] * sent.size
    return [
        Outcome(
            [
                Change(score, updated, None if previous < 0 else previous, rank, unique, total)
                for score, updated, previous, rank, unique, total in changes
            ],
            [sent.rankings[position - 1] for position in restate],
        )
        for changes, restate in outcomes
    ]


def foreign(key: str, size: int) -> str:
    """What to do about a sorted set of somebody else."""
    return (
        f"the key {key!r} in Redis holds a sorted set of {size} that Keepscore has not made: take it over with 'keepscore import "
        "redis://… --key KEY --board BOARD', or give the board another key template"
    )


def other_type(key: str, kind: str) -> str:
    """What to do about a key of another type."""
    return f"the key {key!r} in Redis holds a {kind}, not what Keepscore puts there: rename it, or give the board another key template"


def settled(states: Mapping[RankingKeys, Mapping[str, State]]) -> tuple[list[str], list[Any]]:
    """Players' states as the script `settle` takes them: the keys and the rankings."""
    rows = {at: [part for player, state in players.items() for part in (player, *state)] for at, players in states.items()}
    return [key for at in rows for key in at[:3]], [(at.form, at.field, at.name, own) for at, own in rows.items()]
