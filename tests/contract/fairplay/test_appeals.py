"""Appeals: one for each decision and player, a reply, and decisions that are taken back."""

import asyncio

import pytest

from keepscore import Board
from keepscore.errors import (
    AlreadyAppealed,
    AlreadyDecided,
    InvalidField,
    InvalidPage,
    InvalidPlayer,
    NothingToUndo,
    UnknownAppeal,
    UnknownDecision,
    UnknownPlayer,
)
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import MINUTE, NOON, Clock, differences
from tests.support.opening import leaderboards

BOARDS = [Board("best", rules={"max_score": 100, "on_break": "quarantine"}), Board("free", operator="sum")]


@pytest.fixture(params=PLACES)
def opening(request, tmp_path, clock):
    ledger, engine = PLACES[request.param]
    place = ledger(tmp_path), engine()
    return lambda: leaderboards(*place, BOARDS, clock)


@pytest.fixture
def clock():
    return Clock(NOON)


async def test_a_player_appeals_once_and_the_decision_is_taken_back(opening, clock):
    async with opening() as lb:
        held = (await lb.submit("best", "ada", 500)).queue_id
        await lb.moderation.reject(held, "not possible")
        clock.now += MINUTE
        appeal = await lb.moderation.appeal(held, "ada", "I have a video", idempotency_key="k")
        assert (appeal.board, appeal.decision_id, appeal.state, appeal.text) == ("best", held, "open", "I have a video")
        assert (await lb.moderation.appeal(held, "ada", "I have a video", idempotency_key="k")).replayed is True
        with pytest.raises(AlreadyAppealed):
            await lb.moderation.appeal(held, "ada", "Please")
    async with opening() as lb:
        assert [one.id for one in (await lb.moderation.appeals(board="best", player_id="ada")).items] == [appeal.id]
        assert (await lb.moderation.appeals(board="free")).items == []
        granted = await lb.moderation.reply(appeal.id, "You are right", grant=True)
        assert (granted.state, granted.reply) == ("granted", "You are right")
        place = await lb.rank("best", "ada")
        assert (place.score, place.since.timestamp() * 1000) == (500, NOON)
        with pytest.raises(AlreadyDecided):
            await lb.moderation.reply(appeal.id, "Once more")
        with pytest.raises(UnknownDecision):
            await lb.moderation.appeal(held, "ada", "It counts already")
        assert (await lb.moderation.appeal_of(appeal.id)).reply == "You are right"
        assert [entry.action for entry in (await lb.audit.entries(board="best")).entries[:3]] == ["reply_to_appeal", "approve", "reject"]
        assert await differences(lb) == []


async def test_an_appeal_against_a_void(opening):
    async with opening() as lb:
        for player in ("ada", "bob"):
            await lb.increment("free", player, 5, game_id="g")
        both = (await lb.moderation.void("free", "a lag", game_id="g")).void_id
        with pytest.raises(UnknownDecision):
            await lb.moderation.appeal(both, "eve", "I was not there")
        appeal = await lb.moderation.appeal(both, "ada", "I did not lag")
        # What is about others, too, is not for one appeal to take back.
        with pytest.raises(NothingToUndo, match="2 players"):
            await lb.moderation.reply(appeal.id, "fine", grant=True)
        upheld = await lb.moderation.reply(appeal.id, "the server did")
        assert (upheld.state, upheld.reply) == ("upheld", "the server did")
        await lb.increment("free", "cem", 5)
        own = (await lb.moderation.remove("free", "cem", "a bot")).void_id
        mine = await lb.moderation.appeal(own, "cem", "I am no bot")
        with pytest.raises(UnknownPlayer):
            await lb.rank("free", "cem")
        found = await asyncio.gather(
            *[lb.moderation.reply(mine.id, "sorry", grant=True, idempotency_key="r") for _ in range(3)], return_exceptions=True
        )
        assert [one.state for one in found] == ["granted"] * 3
        assert (await lb.rank("free", "cem")).score == 5
        with pytest.raises(UnknownDecision):
            await lb.moderation.appeal(own, "cem", "It was undone")
        assert await differences(lb) == []


async def test_pages_and_bad_input(opening, clock):
    async with opening() as lb:
        for player in ("ada", "bob", "cem"):
            clock.now += MINUTE
            await lb.moderation.appeal((await lb.submit("best", player, 500)).queue_id, player, "why?")
        first = await lb.moderation.appeals(limit=2)
        rest = await lb.moderation.appeals(limit=2, cursor=first.next_cursor)
        assert [one.player_id for one in (*first.items, *rest.items)] == ["ada", "bob", "cem"]
        assert rest.next_cursor is None
        item = (await lb.submit("best", "dan", 500)).queue_id
        for error, call in (
            (UnknownDecision, lb.moderation.appeal(item, "ada", "of another")),
            (UnknownDecision, lb.moderation.appeal("q_0", "ada", "of nobody")),
            (UnknownDecision, lb.moderation.appeal("x" * 5000, "ada", "too long")),
            (InvalidPlayer, lb.moderation.appeal(item, "", "nobody")),
            (InvalidField, lb.moderation.appeal(item, "dan", " ")),
            (InvalidField, lb.moderation.appeal(item, "dan", "x" * 2001)),
            (InvalidField, lb.moderation.appeal(item, "dan", "half a pair \ud800")),
            (UnknownAppeal, lb.moderation.appeal_of("a_0")),
            (UnknownAppeal, lb.moderation.reply("a_0", "why")),
            (InvalidField, lb.moderation.reply(first.items[0].id, "")),
            (InvalidField, lb.moderation.appeals(state="lost")),
            (InvalidPage, lb.moderation.appeals(cursor="x")),
            (InvalidPage, lb.moderation.appeals(limit=0)),
        ):
            with pytest.raises(error):
                await call
        assert len((await lb.moderation.appeals()).items) == 3
