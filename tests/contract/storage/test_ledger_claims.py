"""Idempotency keys in both ledgers: who claims one first, who takes over, and what stays."""

import asyncio

import pytest

from keepscore.domain.boards import Board
from keepscore.domain.scoring import Event
from keepscore.errors import InProgress
from keepscore.storage.ledgers.claims import Answered, Claim, Effect
from keepscore.storage.ledgers.players import PlayerRecord
from keepscore.storage.ledgers.slots import Slot

ONE = Claim("board", "b", "k", b"f")


async def test_a_key_is_claimed_once(ledger):
    assert await ledger.claims.find(ONE) is None
    assert (
        sorted(await asyncio.gather(*[ledger.claims.make(ONE, owner, 0) for owner in range(1, 6)]), key=lambda known: known is None)[-1]
        is None
    )
    known = await ledger.claims.find(ONE)
    assert known == Answered(b"f", None, known.owner, 0)
    assert await ledger.claims.make(ONE._replace(fingerprint=b"other"), 9, 0) == known


async def test_scopes_and_keys_are_no_joined_text(ledger):
    claims = [Claim(*scope, b"f") for scope in (("a", "b", "c"), ("a", "b:c", ""), ("a:b", "c", ""), ("a", "", "b:c"), ("", "a", "b:c"))]
    assert [await ledger.claims.make(claim, 1, 0) for claim in claims] == [None] * 5
    await ledger.events.append([Event(1, 1, 1, "p", "score", 1, 1, 1)], [Claim("submission", "1", "k", b"f")], {})
    assert await ledger.claims.make(Claim("board", "1", "k", b"f"), 1, 0) is None


async def test_a_claim_is_finished_or_given_up_by_its_owner(ledger):
    await ledger.claims.make(ONE, 1, 0)
    await ledger.claims.give_up(ONE, 2)
    with pytest.raises(InProgress, match="'k'"):
        await ledger.claims.finish(ONE, 2, b"wrong")
    assert await ledger.claims.find(ONE) == Answered(b"f", None, 1)
    await ledger.claims.give_up(ONE, 1)
    assert await ledger.claims.make(ONE, 2, 0) is None
    await ledger.claims.finish(ONE, 2, b"answer")
    await ledger.claims.give_up(ONE, 2)
    assert await ledger.claims.find(ONE) == Answered(b"f", b"answer")


async def test_a_claim_is_taken_over_from_one_that_does_not_beat(ledger):
    await ledger.claims.make(ONE, 1, 0)
    known = await ledger.claims.find(ONE)
    await ledger.claims.beat([ONE, ONE._replace(key="unknown")], 1)
    assert not await ledger.claims.take_over(ONE, 2, known), "it lives"
    known = await ledger.claims.find(ONE)
    await ledger.claims.beat([ONE], 2)
    assert await ledger.claims.find(ONE) == known, "another's beat is none"
    assert sorted(await asyncio.gather(*[ledger.claims.take_over(ONE, owner, known) for owner in (2, 3, 4)])) == [False, False, True]
    with pytest.raises(InProgress):
        await ledger.claims.finish(ONE, 1, b"late")


@pytest.mark.parametrize("what", ["board", "deletion", "name", "archive"])
async def test_an_effect_is_recorded_with_its_answer_by_the_owner_alone(ledger, what):
    await ledger.boards.put(Board("gone"), True, 0)
    archive = await ledger.archives.begin(1, Slot("daily", "2026-01-01", ""), "closed", 1, 0)
    work = {
        "board": lambda effect: ledger.boards.put(Board("b"), True, 0, None, "put_board", effect),
        "deletion": lambda effect: ledger.boards.delete("gone", 1, effect),
        "name": lambda effect: ledger.players.change(["p"], lambda _: ([PlayerRecord("p", "Pat")], effect), 0),
        "archive": lambda effect: ledger.archives.finish(archive, 0, 0, "d", effect),
    }[what]

    async def seen():
        names = [record.board.name for record in await ledger.boards.current()]
        return names, await ledger.players.find(["p"]), len(await ledger.archives.find(1))

    before = await seen()
    await ledger.claims.make(ONE, 1, 0)
    with pytest.raises(InProgress):
        await work(Effect(ONE, 2, b"answer"))
    assert (await seen(), await ledger.claims.find(ONE)) == (before, Answered(b"f", None, 1))
    await work(Effect(ONE, 1, b"answer"))
    assert await seen() != before
    assert await ledger.claims.find(ONE) == Answered(b"f", b"answer", 1)
    await ledger.claims.give_up(ONE, 1)
    assert await ledger.claims.find(ONE) == Answered(b"f", b"answer", 1), "what has an effect is not given up"


async def test_all_keys_are_forgotten_but_those_of_imports(ledger):
    submission, imported = Claim("submission", "1", "k", b"f"), Claim("import", "1", "k", b"f")
    await ledger.events.append([Event(1, 1, 1, "p", "score", 1, 1, 10)], [submission, imported], {imported: b"lines"})
    await ledger.claims.make(ONE, 1, 10)
    await ledger.claims.finish(ONE, 1, b"answer")
    await ledger.claims.make(ONE._replace(key="later"), 1, 20)
    assert [await ledger.claims.forget(20, 10) for _ in range(2)] == [2, 0]
    assert [await ledger.claims.find(claim) is None for claim in (submission, imported, ONE, ONE._replace(key="later"))] == [
        True,
        False,
        True,
        False,
    ]
    assert await ledger.claims.imported(1, "", 9) == [("k", b"lines")]
    assert [await ledger.claims.imported(*which) for which in ((1, "k", 9), (2, "", 9))] == [[], []]


async def test_keys_are_forgotten_by_age(ledger):
    await ledger.boards.put(Board("b"), True, 0)
    for n in range(1, 6):
        await ledger.events.append([Event(1, 1, n, "p", "score", 1, 0, 1000 * n)], [Claim("submission", "1", f"key{n}", b"f")], {})
    assert [await ledger.claims.forget(4000, 2) for _ in range(3)] == [2, 1, 0]
    known = [await ledger.claims.find(Claim("submission", "1", f"key{n}", b"f")) is not None for n in range(1, 6)]
    assert known == [False, False, False, True, True]
