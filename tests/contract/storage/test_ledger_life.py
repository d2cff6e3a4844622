"""The life of both ledgers: what is there after a reopening, probes, and announcements."""

import pytest

from keepscore.domain.boards import Board, Window
from keepscore.domain.scoring import Event
from keepscore.storage.ledgers.players import PlayerRecord
from tests.contract.driving import unnumbered

FULL = Board("full", operator="last", decimals=2, windows={"daily": Window(ttl="7d", archive="all")}, segments=["region"])


async def test_everything_is_there_after_a_reopening(place):
    ledger = place()
    writer = await ledger.open(0)
    full = await ledger.boards.put(FULL, True, 0)
    gone = await ledger.boards.put(Board("gone"), True, 0)
    await ledger.boards.delete("gone", 1)
    events = [Event(full.id, writer, n, "p", "score", n, n, n, {"region": "eu"}, "g", {"x": n}) for n in (1, 2, 3)]
    await ledger.events.append(events, [], {})
    await ledger.players.change(["p"], lambda _: ([PlayerRecord("p", "Pat")], None), 0)
    await ledger.probe(7)
    await ledger.close()

    again = place()
    second = await again.open(0)
    assert second != writer
    assert await again.boards.current() == [full]
    assert unnumbered([e async for chunk in again.events.read(full.id, {}) for e in chunk]) == events
    assert await again.events.positions(full.id) == {writer: 3}
    assert await again.players.find(["p"]) == [PlayerRecord("p", "Pat", None, 1)]
    assert (await again.boards.put(Board("new"), True, 1)).id not in (full.id, gone.id)
    await again.close()


async def test_probe_leaves_no_trace_in_what_is_read(ledger):
    await ledger.probe(1)
    await ledger.probe(2)
    assert (await ledger.boards.current(), await ledger.players.find(["p"]), await ledger.events.positions(1)) == ([], [], {})


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://[::1]:1"])
async def test_announce_may_be_repeated(ledger, url):
    await ledger.announce("http://elsewhere:1")
    await ledger.announce(url)
