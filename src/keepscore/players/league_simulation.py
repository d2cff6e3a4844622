"""Past windows of a board, as a proposed league needs them: who came when, and how it ended."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from typing import Any

from keepscore.domain.boards import board_from_dict
from keepscore.domain.leagues.simulation import PlayedWindow, Simulation
from keepscore.domain.ordering import KeyCodec
from keepscore.domain.results.leagues import LeagueSimulation
from keepscore.domain.verdicts import RESTATING
from keepscore.domain.windows import Span, span_at
from keepscore.lifecycle.archiving import folded_in
from keepscore.projection.live_boards import LiveBoard
from keepscore.reading.view import check_within
from keepscore.storage.engines.base import Ranking
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.pace import Pace, Turns

__all__ = ["MAX_WINDOWS", "simulated"]

#: Windows of one simulation.
MAX_WINDOWS = 520


async def simulated(ledger: Ledger, live: LiveBoard, given: Mapping[str, Any], windows: int, now: int) -> LeagueSimulation:
    """Return what a league would have made of the last windows of a board that have ended. O(events of the board)."""
    check_within("windows", windows, 1, MAX_WINDOWS)
    # A league that the board cannot have is refused as its definition would be.
    league = board_from_dict({**live.board.to_dict(), "league": dict(given)}).league
    assert league is not None, "it was given"
    first = await ledger.events.first_time(live.id)
    spans = [] if first is None else _past_spans(live, league.window, windows, now, first)
    simulation = Simulation(league)
    seasons = [simulation.play(window) for window in await _played(ledger, live, spans) if window.arrivals]
    players, ended = sum(one.players for one in seasons), sum(one.players for one in seasons[:-1])
    moved, lost = sum(one.promoted + one.demoted for one in seasons), sum(one.lost for one in seasons)
    shares = round(moved / players, 4) if players else 0.0, round(lost / ended, 4) if ended else 0.0
    return LeagueSimulation(live.name, league.window, seasons, simulation.tiers(), *shares)


def _past_spans(live: LiveBoard, window: str, most: int, now: int, first: int) -> list[Span]:
    """Return the last windows that have ended and may have events, the earliest first."""
    found: list[Span] = []
    moment = now
    while moment >= first and len(found) < most:
        span = span_at(live.board, window, moment)
        if span is None:
            season = live.board.season
            end = 0 if season is None else round(season[1].timestamp() * 1000)
            # Behind the only season; before it there is nothing.
            if end > moment or not end:
                break
            moment = end - 1
            continue
        if span.end <= now:
            found.append(span)
        moment = span.start - 1
    return found[::-1]


async def _played(ledger: Ledger, live: LiveBoard, spans: list[Span]) -> list[PlayedWindow]:
    """Return who has played in some windows, and how these ended."""
    if not spans:
        return []
    upto = await ledger.events.positions(live.id)
    folded = await folded_in(ledger, live, spans, upto, Pace())
    starts = [span.start for span in spans]
    arrived: list[dict[str, tuple[int, int, int]]] = [{} for _ in spans]
    plays: list[Counter[str]] = [Counter() for _ in spans]
    turns = Turns()
    async for events in ledger.events.read(live.id, {}):
        for event in events:
            if turns.is_over():
                await turns.pass_on()
            place = bisect_right(starts, event.at) - 1
            if event.kind in RESTATING or place < 0 or event.at >= spans[place].end:
                continue
            key = event.seq or 0, event.writer, event.n
            arrived[place][event.player] = min(arrived[place].get(event.player, key), key)
            plays[place][event.player] += 1
    found = []
    codec, is_high = KeyCodec(live.board), live.board.order == "desc"
    for place, span in enumerate(spans):
        states = folded.get(Ranking(live.id, span.window, span.id, ""), {})
        keys = {player: codec.encode(player, *state) for player, state in states.items()}
        # Of events that are folded and dropped, only the states are left.
        came = {player: arrived[place].get(player, (0, 0, 0)) for player in keys}
        order = [player for _, player in sorted((when, player) for player, when in came.items())]
        ranking = sorted(keys, key=keys.__getitem__, reverse=is_high)
        found.append(PlayedWindow(span.id, span.start, order, ranking, plays[place]))
    return found
