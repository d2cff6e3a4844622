"""Rules that run over the past of a board: what they would have caught. Nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from keepscore.domain.back_testing import Caught, tested
from keepscore.domain.durations import time_of
from keepscore.domain.inputs import Progress
from keepscore.domain.results.back_testing import CaughtScore, RuleTest
from keepscore.domain.scoring import Event
from keepscore.errors import InvalidField, RolledUp
from keepscore.fairplay.effects import expected_changes
from keepscore.fairplay.selection import MAX_EVENTS
from keepscore.lifecycle.archiving import bring_together
from keepscore.lifecycle.parts import JobParts
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.openings import pasts_of
from keepscore.projection.sequence import events_of
from keepscore.projection.stores import Stores
from keepscore.storage.pace import Turns

__all__ = ["BackTests"]

#: Submissions that are shown, and changes.
MAX_EXAMPLES, MAX_CHANGES = 100, 1000
#: Players whose events are read at a time.
CHUNK_PLAYERS = 500
#: Rules that go by something that the ledger does not keep.
UNTESTABLE = {"score_per_second": "when a play began is not recorded", "anomalies": "they go by what was known at the time"}


class BackTests:
    """Tries rules on what was sent to boards."""

    def __init__(self, parts: JobParts) -> None:
        self._parts = parts
        self._stores = Stores(parts.catalog, parts.ledger, parts.engine, parts.clock)

    async def run(self, board: str, rules: Mapping[str, Any], progress: Progress) -> RuleTest:
        """Return what rules would have caught. O(events of the board)."""
        live = self._stores.catalog[board]
        ruled = _with_rules(live, rules)
        upto = await bring_together(self._parts, live)
        players = await self._players(live, progress)
        answer = RuleTest(live.name, 0, 0, 0, {}, 0, 0, 0, 0, [], [], 0)
        counting: list[Event] = []
        by_rule: Counter[str] = Counter()
        assert ruled.limits is not None, "there is a rule"
        turns = Turns()
        for first in range(0, len(players), CHUNK_PLAYERS):
            progress("testing players", first, len(players))
            for player, past in (await pasts_of(self._stores.ledger, live, players[first : first + CHUNK_PLAYERS])).items():
                if turns.is_over():
                    await turns.pass_on()
                opened = {(ranking.window, ranking.window_id): state for ranking, state in past.states.items() if not ranking.segment}
                known = [event for event in past.events if event.n <= upto.get(event.writer, 0)]
                found = tested(ruled, ruled.limits, known, opened)
                answer.submissions += found.submissions
                answer.missed += found.missed
                answer.players += bool(found.caught)
                for one in found.caught:
                    self._count(live, answer, player, one)
                    by_rule.update({reason.rule for reason in one.reasons})
                    if not one.is_void and len(counting) <= MAX_EVENTS:
                        counting += one.events
        progress("testing players", len(players), len(players))
        answer.by_rule = dict(by_rule)
        if len(counting) <= MAX_EVENTS:
            changes = await expected_changes(self._stores, live, counting, self._stores.clock())
            answer.changes, answer.total_changes = changes[:MAX_CHANGES], len(changes)
        return answer

    def _count(self, live: LiveBoard, answer: RuleTest, player: str, one: Caught) -> None:
        answer.caught += 1
        answer.agreed += one.is_void
        answer.counting += not one.is_void
        answer.approved += one.is_approved
        if len(answer.examples) < MAX_EXAMPLES:
            event = one.events[0]
            told = f"{event.writer}-{event.n}", player, live.board.shown(event.amount), time_of(event.at)
            answer.examples.append(CaughtScore(*told, one.reasons, not one.is_void))

    async def _players(self, live: LiveBoard, progress: Progress) -> list[str]:
        found: dict[str, None] = {}
        count, total = 0, sum((await self._stores.ledger.events.positions(live.id)).values())
        async for events in events_of(self._stores.ledger, live, {}):
            count += len(events)
            progress("reading events", count, max(count, total))
            found.update(dict.fromkeys(event.player for event in events))
        return sorted(found)


def _with_rules(live: LiveBoard, rules: Mapping[str, Any]) -> Any:
    """Return a board with other rules, or raise the error that says what is wrong with them."""
    if live.board.is_rollup:
        raise RolledUp(f"board {live.name!r} is made from {', '.join(live.board.made_from)}: test rules on those")
    for rule, why in UNTESTABLE.items():
        if rule in rules:
            raise InvalidField(f"{rule} cannot be tested over the past: {why}")
    # What happens to those that are caught makes no difference here.
    ruled = msgspec.structs.replace(live.board, rules={name: value for name, value in rules.items() if name != "on_break"})
    if ruled.limits is None:
        raise InvalidField("rules has no rule to test: give one, such as max_increase")
    return ruled
