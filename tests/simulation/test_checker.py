"""A simulation that finds nothing proves something only if it finds what is there: parts that are broken on purpose."""

import pytest

from tests.simulation.engine import SimulatedEngine
from tests.simulation.ledger import SimulatedLedger
from tests.simulation.schedule import run_schedule
from tests.support.wrapping import wrap


class EngineThatAppliesTwice(SimulatedEngine):
    """Takes whatever it is sent, although it has it already."""

    def applied_now(self, batches):
        for batch in batches:
            board = self._side(batch.shadow)._boards.get(batch.board)
            if board is not None and board.applied.get(batch.writer, 0) >= batch.upto:
                board.applied[batch.writer] = batch.after
        return super().applied_now(batches)


class EngineThatPassesOverGaps(SimulatedEngine):
    """Takes what it is sent, although something before it is missing."""

    def applied_now(self, batches):
        for batch in batches:
            board = self._side(batch.shadow)._boards.get(batch.board)
            if board is not None and board.applied.get(batch.writer, 0) < batch.upto:
                board.applied[batch.writer] = batch.after
        return super().applied_now(batches)


class EngineThatKeepsNothing(SimulatedEngine):
    """Applies what it is to keep for the ledger, and does not keep it."""

    def applied_now(self, batches):
        return super().applied_now([batch._replace(spool="") for batch in batches])


class EngineThatForgetsWhoIsLate(SimulatedEngine):
    """Knows nobody who has to be restated but those that it told of at once."""

    async def needs_restate(self, board_id):
        return []


class EngineWithoutLocks(SimulatedEngine):
    """Lets everybody hold a board at once."""

    async def hold(self, board_id):
        return ""


class LedgerThatSaysYes(SimulatedLedger):
    """Acknowledges now and then what it does not record."""

    def __init__(self, process, database):
        super().__init__(process, database)
        wrap(self.events, "append", self._say_yes)

    async def _say_yes(self, append, events, claims, answers, queued=()):
        return await append(events, claims, answers, queued) if events[0].amount % 10 else 0


class LedgerThatForgetsKeys(SimulatedLedger):
    """Takes every key for a new one."""

    def __init__(self, process, database):
        super().__init__(process, database)
        wrap(self.events, "append", self._forget_keys)

    async def _forget_keys(self, append, events, claims, answers, queued=()):
        return await append(events, [], {})


class LedgerThatCutsTransactions(SimulatedLedger):
    """Records a linked board's event in a transaction of its own."""

    def __init__(self, process, database):
        super().__init__(process, database)
        wrap(self.events, "append", self._cut)

    async def _cut(self, append, events, claims, answers, queued=()):
        seq = await append(events[:1], claims, answers)
        return await append(events[1:], [], {}) if events[1:] else seq


class LedgerThatRestoresHalf(SimulatedLedger):
    """Leaves out events that the engine has kept for it."""

    def __init__(self, process, database):
        super().__init__(process, database)
        wrap(self.events, "restore", self._halve)

    async def _halve(self, restore, events):
        return await restore(events[::2])


class LedgerThatCountsBackwards(SimulatedLedger):
    """Gives later groups of events lower numbers."""

    def __init__(self, process, database):
        super().__init__(process, database)
        wrap(self.events, "take_seqs", self._count_backwards)

    def _count_backwards(self, take_seqs, connection, count):
        return 1_000_000 - take_seqs(connection, count)


class LedgerThatLosesStandings(SimulatedLedger):
    """Leaves players out of checkpoints."""

    def __init__(self, process, database):
        super().__init__(process, database)
        wrap(self.checkpoints, "write", self._lose_one)

    async def _lose_one(self, write, board_id, checkpoint, slot, states):
        await write(board_id, checkpoint, slot, states[1:])


def is_found(*complaints, **parts):
    """Whether a few schedules bring all of these complaints."""
    found = ""
    for seed in range(1, 201):
        found += "\n".join(run_schedule(seed, **parts).objections)
        if all(complaint in found for complaint in complaints):
            return True
    return False


@pytest.mark.parametrize("engine", [EngineThatAppliesTwice, EngineThatPassesOverGaps])
def test_broken_rankings_are_found(engine):
    assert is_found("verify: ", "oracle: ", engine=engine)


@pytest.mark.parametrize(
    ("engine", "complaint"),
    [
        (EngineThatKeepsNothing, "acknowledged before it was recorded"),
        (EngineThatForgetsWhoIsLate, "does not catch up"),
        (EngineWithoutLocks, "although everybody sent the same"),
    ],
)
def test_broken_engines_are_found(engine, complaint):
    assert is_found(complaint, engine=engine)


@pytest.mark.parametrize(
    ("ledger", "complaint"),
    [
        (LedgerThatSaysYes, "acknowledged before it was recorded"),
        (LedgerThatForgetsKeys, "2 times on"),
        (LedgerThatCutsTransactions, "not on all of "),
        (LedgerThatRestoresHalf, "and it was acknowledged"),
        (LedgerThatLosesStandings, "checkpoint: "),
        (LedgerThatCountsBackwards, "order: "),
    ],
)
def test_broken_ledgers_are_found(ledger, complaint):
    assert is_found(complaint, ledger=ledger)
