"""Score events in both ledgers, and the idempotency keys that are claimed with them."""

import pytest

from keepscore.domain.boards import Board
from keepscore.domain.scoring import Event
from keepscore.errors import LedgerUnavailable
from keepscore.storage.ledgers.claims import Answered, Claim, DuplicateKeys
from tests.contract.driving import unnumbered


def event(n, player="p", writer=1, board=1, **fields):
    return Event(board, writer, n, player, "score", 10 * n, 1000 + n, 2000 + n, **fields)


async def everything(ledger, board=1, after=None):
    return unnumbered([e async for chunk in ledger.events.read(board, after or {}) for e in chunk])


async def test_an_event_comes_back_as_it_went_in(ledger):
    events = [
        event(1, 'Ünï 🏆 "q" a/b\''),
        event(2, segments={"region": "eu", "team": "ä"}, game_id="g-1", metadata={"list": [1, None, "x"], "deep": {"y": 1.5}}),
        Event(1, 1, 3, "p", "increment", -(2**53 - 1), 0, 5, metadata=[]),
        Event(1, 1, 4, "p", "correction", 2**53 - 1, 253_402_300_799_999, 5, game_id="", metadata=0),
        event(5, metadata=False),
        event(6, metadata=""),
    ]
    await ledger.events.append(events, [], {})
    assert await everything(ledger) == events
    assert unnumbered(await ledger.events.of_player(1, "p")) == events[1:]


async def test_events_come_in_the_order_of_writer_and_number(ledger):
    mixed = [event(1, writer=3), event(1, writer=1), event(2, writer=3), event(1, writer=2), event(2, writer=1)]
    for one in mixed:
        await ledger.events.append([one], [], {})
    assert [(e.writer, e.n) for e in await everything(ledger)] == [(1, 1), (1, 2), (2, 1), (3, 1), (3, 2)]
    assert [(e.writer, e.n) for e in await ledger.events.of_player(1, "p")] == [(1, 1), (1, 2), (2, 1), (3, 1), (3, 2)]


async def test_events_of_some_players(ledger):
    await ledger.events.append([event(n, f"p{n % 3}") for n in range(1, 10)] + [event(1, "p1", board=2)], [], {})
    found = await ledger.events.of_players(1, ["p2", "nobody", "p1"])
    assert {player: [e.n for e in events] for player, events in found.items()} == {"p2": [2, 5, 8], "nobody": [], "p1": [1, 4, 7]}
    assert await ledger.events.of_players(1, []) == {}


async def test_events_behind_positions(ledger):
    await ledger.events.append([event(n, writer=w) for w in (1, 2, 3) for n in (1, 2, 3)], [], {})
    found = await everything(ledger, after={1: 2, 2: 3, 9: 7})
    assert [(e.writer, e.n) for e in found] == [(1, 3), (3, 1), (3, 2), (3, 3)]
    assert await everything(ledger, after={1: 3, 2: 3, 3: 3}) == []


async def test_a_long_history_comes_in_chunks_and_none_is_missing(ledger):
    await ledger.events.append([event(n, f"p{n % 7}") for n in range(1, 25_001)], [], {})
    await ledger.events.append([event(1, writer=2)], [], {})
    chunks = [chunk async for chunk in ledger.events.read(1, {1: 4})]
    assert len(chunks) > 2
    assert all(0 < len(chunk) <= 20_000 for chunk in chunks)
    numbers = [(e.writer, e.n) for chunk in chunks for e in chunk]
    assert numbers == [(1, n) for n in range(5, 25_001)] + [(2, 1)]


async def test_events_that_are_gone_end_what_is_read_of_a_writer(ledger):
    """The ledger may be exchanged for an older one after its positions were read."""
    await ledger.events.append([event(1), event(2)], [], {})

    async def numbers(writer, after):
        return [e.n async for chunk in ledger.events.of_writer(1, writer, after, 9) for e in chunk]

    assert await numbers(1, 0) == [1, 2]
    assert await numbers(1, 2) == []
    assert await numbers(7, 0) == []


async def test_what_is_appended_while_events_are_read_does_no_harm(ledger):
    await ledger.events.append([event(n) for n in range(1, 12_001)], [], {})
    seen = []
    async for chunk in ledger.events.read(1, {}):
        seen += [e.n for e in chunk]
        last = (await ledger.events.positions(1))[1]
        if last < 12_005:
            await ledger.events.append([event(last + 1)], [], {})
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) >= 12_000


async def test_boards_and_players_are_kept_apart(ledger):
    await ledger.events.append([event(1, "a"), event(1, "a", board=2), event(2, "b")], [], {})
    assert [(e.board, e.n) for e in await ledger.events.of_player(1, "a")] == [(1, 1)]
    assert [(e.board, e.n) for e in await everything(ledger, board=2)] == [(2, 1)]
    assert await ledger.events.of_player(1, "A") == []
    assert await everything(ledger, board=3) == []


async def test_positions(ledger):
    assert await ledger.events.positions(1) == {}
    await ledger.events.append([event(1), event(2), event(1, writer=4), event(1, board=2, writer=5)], [], {})
    assert await ledger.events.positions(1) == {1: 2, 4: 1}
    await ledger.events.append([event(3)], [], {})
    assert await ledger.events.positions(1) == {1: 3, 4: 1}
    assert await ledger.events.positions(2) == {5: 1}


async def test_no_event_is_recorded_twice(ledger):
    await ledger.events.append([event(1), event(2)], [], {})
    for again in ([event(2)], [event(2, "another")], [event(2), event(3)]):
        with pytest.raises(LedgerUnavailable):
            await ledger.events.append(again, [ONE], {})
        # Who cut the connection has to say that the ledger is still the same.
        await ledger.identity.look()
        ledger.identity.confirmed = ledger.identity.incarnation
    assert await everything(ledger) == [event(1), event(2)]
    assert await ledger.claims.find(ONE) is None
    await ledger.events.append([event(3)], [], {})
    assert await ledger.events.positions(1) == {1: 3}


async def test_events_of_many_months(ledger):
    """Also of those for which nothing was prepared, and several in one append."""
    month = 31 * 86_400_000
    events = [Event(1, 1, n, "p", "score", n, 0, n * month) for n in range(1, 30)]
    await ledger.events.append(events[:1], [ONE], {})
    await ledger.events.append(events[1:], [TWO], {ONE: b"one"})
    assert await everything(ledger) == events
    assert await ledger.claims.find(ONE) == Answered(b"f1", b"one")
    assert unnumbered(await ledger.events.of_player(1, "p")) == events


# -- idempotency keys ---------------------------------------------------------------------------------------------------

ONE, TWO = Claim("submission", "1", "k1", b"f1"), Claim("submission", "1", "k2", b"f2")


async def test_a_claim_is_made_with_its_events_or_not_at_all(ledger):
    await ledger.events.append([event(1)], [ONE], {})
    with pytest.raises(DuplicateKeys) as duplicate:
        await ledger.events.append([event(2), event(3)], [TWO, ONE], {TWO: b"lost"})
    assert duplicate.value.answered == {ONE: Answered(b"f1", None)}
    assert await everything(ledger) == [event(1)]
    # The other claim was not made either, and the numbers are free.
    await ledger.events.append([event(2)], [TWO], {})
    assert await ledger.events.positions(1) == {1: 2}


async def test_all_keys_that_were_claimed_before_are_told_with_their_answers(ledger):
    await ledger.events.append([event(1)], [ONE, TWO], {})
    await ledger.claims.save_answers({ONE: b"answer"})
    again = Claim("submission", "1", "k2", b"another request")
    with pytest.raises(DuplicateKeys) as duplicate:
        await ledger.events.append([event(2)], [ONE, Claim("submission", "1", "new", b""), again], {})
    assert duplicate.value.answered == {ONE: Answered(b"f1", b"answer"), again: Answered(b"f2", None)}


async def test_answers_are_kept_with_a_later_append(ledger):
    await ledger.events.append([event(1)], [ONE], {})
    await ledger.events.append([event(2)], [TWO], {ONE: b"\x00\xffbytes"})
    with pytest.raises(DuplicateKeys) as duplicate:
        await ledger.events.append([], [ONE], {})
    assert duplicate.value.answered == {ONE: Answered(b"f1", b"\x00\xffbytes")}


async def test_keys_belong_to_a_board(ledger):
    await ledger.events.append([event(1)], [ONE], {})
    await ledger.events.append([event(1, board=2)], [Claim("submission", "2", "k1", b"f1")], {})
    assert await ledger.events.positions(2) == {1: 1}


async def test_keys_and_answers_outlive_the_process(place):
    first = place()
    await first.open(0)
    await first.events.append([event(1)], [ONE], {})
    await first.claims.save_answers({ONE: b"answer"})
    await first.close()
    second = place()
    await second.open(0)
    with pytest.raises(DuplicateKeys) as duplicate:
        await second.events.append([event(1, writer=2)], [ONE], {})
    assert duplicate.value.answered == {ONE: Answered(b"f1", b"answer")}
    assert await everything(second) == [event(1)]
    await second.close()


async def test_events_of_a_deleted_board_are_not_those_of_the_next_of_that_name(ledger):
    first = await ledger.boards.put(Board("b"), True, 0)
    await ledger.events.append([event(1, board=first.id)], [Claim("submission", str(first.id), "k", b"")], {})
    await ledger.boards.delete("b", 1)
    second = await ledger.boards.put(Board("b"), True, 2)
    assert second.id != first.id
    assert await everything(ledger, second.id) == []
    await ledger.events.append([event(1, board=second.id)], [Claim("submission", str(second.id), "k", b"")], {})
    assert [e.board for e in await everything(ledger, first.id)] == [first.id]


async def test_events_that_were_kept_elsewhere_are_recorded_once(ledger):
    first = [event(1), event(2, "q", segments={"region": "eu"}, metadata={"a": 1})]
    await ledger.events.append(first[:1], [], {})
    for _ in range(2):
        await ledger.events.restore([*first, event(3)])
    assert await everything(ledger) == [*first, event(3)]
    assert unnumbered(await ledger.events.of_player(1, "p")) == [first[0], event(3)]
    assert await ledger.events.positions(1) == {1: 3}


async def test_a_later_append_has_a_higher_number(ledger, place):
    numbers = [await ledger.events.append([event(1), event(1, board=2)], [ONE], {}), await ledger.events.append([event(2)], [], {})]
    with pytest.raises(DuplicateKeys):
        await ledger.events.append([event(3)], [ONE], {})
    numbers += [
        await ledger.events.append([event(n) for n in range(3, 400)], [], {}),
        await ledger.events.append([event(1, writer=2)], [], {}),
    ]
    found = [(e.writer, e.seq) for e in await ledger.events.of_player(1, "p")]
    assert found == [(1, numbers[0]), (1, numbers[1]), *[(1, numbers[2])] * 397, (2, numbers[3])]
    restored = await ledger.events.restore([event(399), event(400)])
    assert numbers[3] < (await ledger.events.seqs(1, {1: 400}))[1] <= restored < await ledger.events.restore([event(400)])
    assert await ledger.events.seqs(1, {1: 2, 2: 9, 3: 1}) == {1: numbers[1], 2: numbers[3]}
    assert await ledger.events.seqs(2, {1: 7}) == {1: numbers[0]}
    await ledger.close()
    again = place()
    await again.open(0)
    try:
        numbers += [restored, await again.events.append([event(401)], [], {})]
    finally:
        await again.close()
    assert numbers == sorted(set(numbers))


async def test_the_times_of_events(ledger):
    await ledger.boards.put(Board("b"), True, 0)
    assert await ledger.events.first_time(1) is None
    await ledger.events.append([Event(1, 1, n, "p", "score", 1, at, 9000) for n, at in ((1, 500), (2, 100), (3, 900))], [], {})
    assert await ledger.events.first_time(1) == 100
    assert await ledger.events.any_between(1, 400, 501)
    assert not await ledger.events.any_between(1, 101, 500)


async def test_room_is_made_once(ledger):
    now = 1_900_000_000_000
    made = await ledger.events.prepare(now)
    assert made in ([], ["events_2030_03", "events_2030_04", "events_2030_05"])
    assert await ledger.events.prepare(now) == []
