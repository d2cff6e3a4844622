"""Which ledger it is, in both: one that may be another than before takes nothing until it is confirmed."""

import pytest

from keepscore.domain.scoring import Event, State
from keepscore.errors import LedgerReplaced
from keepscore.storage.ledgers.archives import Archived
from keepscore.storage.ledgers.slots import Slot

WHOLE = Slot("all_time", "all_time", "")


def event(n):
    return Event(1, 1, n, "p", "score", n, n, n)


async def test_a_ledger_that_was_just_opened_is_confirmed(ledger):
    assert ledger.identity.is_confirmed
    await ledger.identity.look_confirmed()
    ledger.identity.check_confirmed()


async def test_one_that_is_not_confirmed_takes_nothing_that_follows_from_what_was_read(ledger):
    point = await ledger.checkpoints.begin(1, 1, {}, None, 0)
    archive = await ledger.archives.begin(1, WHOLE, "closed", 1, 0)
    ledger.identity.confirmed -= 1
    assert not ledger.identity.is_confirmed
    for refused in (
        ledger.events.append([event(1)], [], {}),
        ledger.events.restore([event(1)]),
        ledger.checkpoints.begin(1, 1, {}, None, 0),
        ledger.checkpoints.write(1, point.number, WHOLE, [("p", State(1, 1))]),
        ledger.checkpoints.trim(1, WHOLE, 9, 9),
        ledger.checkpoints.finish(1, point.number, {}),
        ledger.archives.begin(1, WHOLE, "closed", 2, 0),
        ledger.archives.write(archive, [Archived(1, 1, 1, "p", 1, 1)]),
        ledger.archives.finish(archive, 1, 1, "d"),
        ledger.openings.announce(1, 5, 5, 5),
        ledger.identity.look_confirmed(),
    ):
        with pytest.raises(LedgerReplaced):
            await refused
    assert await ledger.events.positions(1) == {}
    ledger.identity.confirmed = ledger.identity.incarnation
    await ledger.events.append([event(1)], [], {})
    assert await ledger.events.positions(1) == {1: 1}


async def test_who_has_read_one_ledger_writes_nothing_into_the_next(ledger):
    async with ledger.identity.pinned():
        await ledger.events.append([event(1)], [], {})
        ledger.identity.incarnation += 1
        ledger.identity.confirmed = ledger.identity.incarnation
        with pytest.raises(LedgerReplaced):
            await ledger.events.append([event(2)], [], {})
    await ledger.events.append([event(2)], [], {})
    assert await ledger.events.positions(1) == {1: 2}
