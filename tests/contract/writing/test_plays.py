"""Plays count once, on both engines, whatever comes between."""

import asyncio

import pytest

from keepscore import Board, Entry
from keepscore.errors import InvalidPlayToken, LedgerAway, PlayTokenUsed
from tests.contract.opened import DAY

SUM = Board("b", operator="sum")


async def total(lb):
    return (await lb.rank("b", "ada")).score


async def test_a_play_counts_once_also_after_a_restart(lbs):
    async with lbs(SUM) as lb:
        token = (await lb.begin_play("b", "ada", build="1.4")).play_token
        first = await lb.increment("b", "ada", 5, play_token=token, idempotency_key="k")
        assert (await lb.increment("b", "ada", 5, play_token=token, idempotency_key="k")).replayed is True
        with pytest.raises(PlayTokenUsed):
            await lb.increment("b", "ada", 5, play_token=token)
    async with lbs(SUM) as lb:
        with pytest.raises(PlayTokenUsed):
            await lb.increment("b", "ada", 5, play_token=token)
        again = await lb.increment("b", "ada", 5, play_token=token, idempotency_key="k")
        assert (again.replayed, again.score, first.score) == (True, 5, 5)
        assert await total(lb) == 5


async def test_of_many_at_once_one_counts_and_numbers_have_no_gaps(lbs):
    async with lbs(SUM) as lb:
        token = (await lb.begin_play("b", "ada")).play_token
        sent = [lb.increment("b", "ada", 1, play_token=token if n % 2 else None) for n in range(20)]
        found = await asyncio.gather(*sent, return_exceptions=True)
        assert sum(isinstance(one, PlayTokenUsed) for one in found) == 9
        assert await total(lb) == 11
        numbers = [event.n for event in (await lb.history.all_events("b")).events]
        assert numbers == list(range(1, 12))
        assert (await lb.admin.verify("b")).differences == []


async def test_a_batch_rejects_only_what_was_played(lbs):
    async with lbs(SUM) as lb:
        used, new = [(await lb.begin_play("b", "ada")).play_token for _ in range(2)]
        await lb.increment("b", "ada", 1, play_token=used)
        entries = [Entry(player_id="ada", amount=1, play_token=token) for token in (used, new, new)]
        entries += [Entry(player_id="ada", amount=1), Entry(player_id="ada", amount=1, play_token=used, idempotency_key="own")]
        checked = await lb.check_many("b", entries)
        assert checked.accepted == 5
        answer = await lb.submit_many("b", entries, results=True)
        assert (answer.accepted, [one.index for one in answer.rejected], len(answer.results)) == (2, [0, 2, 4], 2)
        assert await total(lb) == 3


async def test_a_play_is_for_its_player_board_and_time(lbs, clock):
    async with lbs(SUM, Board("c", operator="sum")) as lb:
        token = (await lb.begin_play("b", "ada")).play_token
        for board, player in (("b", "eve"), ("c", "ada")):
            with pytest.raises(InvalidPlayToken):
                await lb.increment(board, player, 1, play_token=token)
        clock.now += DAY
        with pytest.raises(InvalidPlayToken, match="expired"):
            await lb.increment("b", "ada", 1, play_token=token)


async def test_a_play_is_not_kept_for_a_ledger_that_is_away(lbs, monkeypatch):
    async with lbs(SUM) as lb:
        token = (await lb.begin_play("b", "ada")).play_token
        append = lb.runtime.ledger.events.append

        async def away(*_):
            raise LedgerAway("gone")

        monkeypatch.setattr(lb.runtime.ledger.events, "append", away)
        with pytest.raises(LedgerAway):
            await lb.increment("b", "ada", 1, play_token=token)
        monkeypatch.setattr(lb.runtime.ledger.events, "append", append)
        assert (await lb.increment("b", "ada", 1, play_token=token)).score == 1
