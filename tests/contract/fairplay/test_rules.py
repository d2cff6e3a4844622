"""Rules of boards: what breaks one is refused, whatever comes between, and nothing of it is recorded."""

import asyncio
import random
from contextlib import AsyncExitStack, suppress

import pytest

from keepscore import Board, Entry
from keepscore.errors import GameCounted, InvalidScore, LedgerAway, RuleBroken
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import DAY, HOUR, MINUTE, NOON, SECOND, Clock, differences, recorded
from tests.support.opening import leaderboards

BOARDS = [
    Board("often", operator="sum", rules={"max_submissions": [{"daily": 3}, "2/1h"]}),
    Board("steep", operator="sum", rules={"max_increase": [50, "100/1h"]}),
    Board("best", windows=["daily", "all_time"], rules={"max_increase": 100}),
    Board("games", operator="sum", rules={"require": ["game_id"]}),
    Board("tried", operator="sum", rules={"max_attempts": "3/1h", "max_increase": 10}),
    Board("played", rules={"score_per_second": 10, "builds": ["1.4.*"]}),
    Board("linking", operator="sum", also=["often"], rules={"max_increase": 5}),
    Board("free", operator="sum"),
]


@pytest.fixture(params=PLACES)
def opening(request, tmp_path, clock):
    """Opens leaderboards at one place, again and again."""
    ledger, engine = PLACES[request.param]
    place = ledger(tmp_path), engine()
    return lambda boards=BOARDS: leaderboards(*place, boards, clock)


@pytest.fixture
def clock():
    return Clock(NOON)


async def refused(sent, rule, value):
    with pytest.raises(RuleBroken) as caught:
        await sent
    assert (caught.value.rule, caught.value.value) == (rule, value)


def entries(*amounts, player="ada", **fields):
    return [Entry(player_id=player, amount=amount, **fields) for amount in amounts]


async def test_counts_hold_after_a_restart(opening, clock):
    async with opening() as lb:
        await lb.increment("often", "ada", 1)
        await lb.increment("often", "ada", 1)
        await refused(lb.increment("often", "ada", 1), "max_submissions", 3)
    async with opening() as lb:
        await refused(lb.increment("often", "ada", 1), "max_submissions", 3)
        await lb.increment("often", "eve", 1)
        clock.now += HOUR
        await lb.increment("often", "ada", 1)
        clock.now += HOUR
        await refused(lb.increment("often", "ada", 1), "max_submissions", 4)
        clock.now += DAY
        assert (await lb.increment("often", "ada", 1)).score == 4
        assert len(await recorded(lb, "often")) == 5
        assert await differences(lb) == []


async def test_increases_are_limited_by_submission_and_by_time(opening, clock):
    async with opening() as lb:
        await refused(lb.increment("steep", "ada", 51), "max_increase", 51)
        await lb.increment("steep", "ada", 50)
        await lb.increment("steep", "ada", 45)
        await refused(lb.increment("steep", "ada", 6), "max_increase", 101)
        # An absolute score is what it adds.
        await refused(lb.submit("steep", "ada", 101), "max_increase", 101)
        assert (await lb.submit("steep", "ada", 100)).score == 100
    async with opening() as lb:
        await refused(lb.increment("steep", "ada", 1), "max_increase", 101)
        await lb.submit("best", "ada", 1000)
        await refused(lb.submit("best", "ada", 1101), "max_increase", 101)
        clock.now += 2 * DAY
        # A new day makes nobody forget what the player can do.
        await refused(lb.submit("best", "ada", 1101), "max_increase", 101)
        assert (await lb.submit("best", "ada", 1100)).score == 1100
        assert await differences(lb) == []


async def test_many_at_once_see_each_other(opening):
    async with opening() as lb:
        sent = [lb.increment("often", player, 1) for player in ("ada", "eve") for _ in range(10)]
        answers = await asyncio.gather(*sent, return_exceptions=True)
        assert sum(isinstance(answer, RuleBroken) for answer in answers) == 16
        events = await recorded(lb, "often")
        assert sorted(event.player for event in events) == ["ada", "ada", "eve", "eve"]
        assert [event.n for event in events] == [1, 2, 3, 4]
        assert await differences(lb) == []


async def test_voided_events_no_longer_count_and_restored_ones_do(opening):
    async with opening() as lb:
        for _ in range(2):
            await lb.increment("often", "ada", 1, game_id="g")
        void = await lb.moderation.void("often", "a bot", game_id="g")
        await lb.increment("often", "ada", 1)
        await lb.moderation.undo(void.void_id, "it was no bot")
        await refused(lb.increment("often", "ada", 1), "max_submissions", 4)
        await lb.submit("best", "ada", 5000, game_id="huge")
        await lb.moderation.void("best", "a bot", game_id="huge")
        assert (await lb.submit("best", "ada", 10)).score == 10
        await refused(lb.submit("best", "ada", 111), "max_increase", 101)


async def test_a_game_counts_once_for_each_player(opening, clock):
    async with opening() as lb:
        await refused(lb.increment("games", "ada", 1), "require", None)
        first = await lb.increment("games", "ada", 5, game_id="g1", idempotency_key="k")
        await lb.increment("games", "eve", 5, game_id="g1")
        with pytest.raises(GameCounted, match="'g1' counted before"):
            await lb.increment("games", "ada", 5, game_id="g1")
        await lb.moderation.void("games", "a bot", game_id="g1")
        # When its key is forgotten, the event still tells.
        clock.now += 30 * DAY
        await lb.runtime.keeper.job("forget keys").run(clock.now)
    async with opening() as lb:
        with pytest.raises(GameCounted):
            await lb.increment("games", "ada", 5, game_id="g1")
        assert first.score == 5


async def test_of_one_game_at_once_one_counts_also_on_two_hosts(tmp_path, clock):
    ledger, engine = PLACES["postgres"]
    place = ledger(tmp_path), engine()
    async with AsyncExitStack() as stack:
        hosts = [await stack.enter_async_context(leaderboards(*place, BOARDS, clock)) for _ in range(2)]
        sent = [lb.increment("games", "ada", 1, game_id=f"g{n}") for n in range(5) for lb in hosts * 3]
        answers = await asyncio.gather(*sent, return_exceptions=True)
        assert sum(isinstance(answer, GameCounted) for answer in answers) == 25
        assert (await hosts[0].rank("games", "ada")).score == 5
        # What another host has taken counts.
        for lb in hosts:
            await lb.increment("often", "ada", 1)
        for lb in hosts:
            await refused(lb.increment("often", "ada", 1), "max_submissions", 3)
        for lb in hosts:
            await refused(lb.increment("tried", "ada", 11), "max_increase", 11)
            await refused(lb.increment("tried", "eve", 11), "max_increase", 11)
        await hosts[0].increment("tried", "ada", 1)
        await refused(hosts[1].increment("tried", "ada", 1), "max_attempts", 4)
        assert await differences(hosts[0]) == []


async def test_attempts_are_counted_when_they_are_refused(opening, clock):
    async with opening() as lb:
        await refused(lb.increment("tried", "ada", 11), "max_increase", 11)
        await lb.increment("tried", "ada", 1)
    async with opening() as lb:
        await refused(lb.increment("tried", "ada", 12), "max_increase", 12)
        for _ in range(3):
            # What is beyond the most attempts is not counted, so that it ends.
            await refused(lb.increment("tried", "ada", 1), "max_attempts", 4)
        await lb.increment("tried", "eve", 1)
        clock.now += HOUR
        await lb.increment("tried", "ada", 1)
        await lb.check_many("tried", entries(11, 11, 11, 11))
        await lb.increment("tried", "ada", 1)
        assert len(await recorded(lb, "tried")) == 4
        clock.now += 400 * DAY
        await lb.runtime.keeper.job("forget keys").run(clock.now)
        assert await lb.runtime.ledger.attempts.of_players(lb.runtime.catalog["tried"].id, ["ada"], 0) == []


async def test_a_retry_gets_its_first_answer_and_breaks_nothing(opening):
    async with opening() as lb:
        await lb.increment("often", "ada", 1, idempotency_key="a")
        await lb.increment("games", "ada", 1, idempotency_key="g", game_id="g1")
        again = lb.increment("often", "ada", 1, idempotency_key="a"), lb.increment("often", "ada", 2)
        first, second = await asyncio.gather(*again)
        assert (first.replayed, first.score, second.score) == (True, 1, 3)
        assert (await lb.increment("often", "ada", 1, idempotency_key="a")).replayed is True
        assert (await lb.increment("games", "ada", 1, idempotency_key="g", game_id="g1")).replayed is True
        await refused(lb.increment("often", "ada", 1, idempotency_key="b"), "max_submissions", 3)
    async with opening() as lb:
        assert (await lb.increment("often", "ada", 1, idempotency_key="a")).score == 1
        # One that was refused is free to be sent again.
        await refused(lb.increment("often", "ada", 1, idempotency_key="b"), "max_submissions", 3)


async def test_a_batch_rejects_what_breaks_a_rule(opening):
    async with opening() as lb:
        sent = entries(50, 51, 50, 1) + entries(50, player="eve") + entries(50, 1, player="bo", idempotency_key=None)
        checked = await lb.check_many("steep", sent)
        answer = await lb.submit_many("steep", sent, results=True, idempotency_key="batch")
        assert (answer.accepted, [one.index for one in answer.rejected]) == (5, [1, 3])
        assert {one.type for one in answer.rejected} == {RuleBroken.type}
        assert (checked.accepted, checked.rejected) == (answer.accepted, answer.rejected)
        again = await lb.submit_many("steep", sent, results=True, idempotency_key="batch")
        assert (again.replayed, again.rejected) == (True, answer.rejected)
        own = [Entry(player_id="cy", amount=50, idempotency_key=f"k{n}") for n in range(3)]
        for duplicates in (0, 2):
            assert (await lb.check_many("steep", own)).accepted == 2
            answer = await lb.submit_many("steep", own)
            assert (answer.accepted, [one.index for one in answer.rejected], answer.duplicates or 0) == (2, [2], duplicates)
        games = [Entry(player_id="ada", amount=1, game_id=game) for game in ("a", "a", "b", None)]
        answer = await lb.submit_many("games", games)
        assert [(one.index, one.type) for one in answer.rejected] == [(1, GameCounted.type), (3, RuleBroken.type)]


async def test_plays_have_a_time_and_a_build(opening, clock):
    async with opening() as lb:
        await refused(lb.submit("played", "ada", 1), "builds", None)
        tokens = [(await lb.begin_play("played", "ada", build=build)).play_token for build in ("1.4.2", "1.4.3", "1.5.0")]
        clock.now += 10 * SECOND
        await refused(lb.submit("played", "ada", 101, play_token=tokens[0]), "score_per_second", 101)
        # A play whose score was refused is not used.
        await lb.submit("played", "ada", 100, play_token=tokens[0])
        await refused(lb.submit("played", "ada", 1, play_token=tokens[2]), "builds", "1.5.0")
        clock.now += 10 * SECOND
        assert (await lb.submit("played", "ada", 200, play_token=tokens[1])).score == 200


async def test_linked_boards_apply_only_their_own_rules(opening):
    async with opening() as lb:
        for _ in range(5):
            await lb.increment("linking", "ada", 1)
        await refused(lb.increment("linking", "ada", 6), "max_increase", 6)
        assert (await lb.rank("often", "ada")).score == 5
        # What came by a link is a part of the player's past.
        await refused(lb.increment("often", "ada", 1), "max_submissions", 6)


async def test_imports_and_boards_without_rules_are_free(opening, clock, monkeypatch):
    async with opening() as lb:
        keys = [f"{n:032x}" for n in range(3)]
        assert (await lb.runtime.imports.take("steep", entries(500, 500, 500), None, keys)).accepted == 3
        await refused(lb.increment("steep", "ada", 1), "max_increase", 1501)
        monkeypatch.setattr(lb.runtime.ledger.events, "of_players", None)
        assert (await lb.increment("free", "ada", 500)).score == 500


async def test_rules_of_a_new_definition_hold_at_once_and_rebuild_nothing(opening, clock):
    async with opening() as lb:
        for _ in range(5):
            await lb.increment("free", "ada", 1)
        await lb.admin.change_board("free", {"rules": {"max_submissions": {"daily": 6}}})
        await lb.increment("free", "ada", 1)
        await refused(lb.increment("free", "ada", 1), "max_submissions", 7)
        await lb.admin.change_board("free", {"rules": None})
        assert (await lb.increment("free", "ada", 1)).score == 7


async def sent(lb, board, entry):
    """Send an entry alone; return whether it was taken, and the error."""
    act, amount = (lb.increment, entry.amount) if entry.score is None else (lb.submit, entry.score)
    try:
        await act(board, entry.player_id, amount, game_id=entry.game_id)
    except (RuleBroken, GameCounted, InvalidScore) as exc:
        return str(exc)
    return None


@pytest.mark.parametrize("seed", range(4))
async def test_what_is_remembered_is_what_the_ledger_has(opening, clock, seed):
    """A dry run reads the ledger: whatever has happened, it tells what a submission will meet."""
    dice = random.Random(seed)
    rules = {"max_increase": [40, "90/1h"], "max_submissions": ["6/1h", {"daily": 30}], "require": ["game_id"]}
    boards = [
        Board("sum", operator="sum", windows=["daily", "all_time"], rules=rules, max_score=300),
        Board("best", windows=["daily", "all_time"], increments=True, rules=rules),
        Board("last", operator="last", rules=rules),
        Board("from", operator="sum", also=["sum", "last"]),
    ]
    voids, taken, refusals = [], 0, 0
    async with AsyncExitStack() as stack:
        lb = await stack.enter_async_context(opening(boards))
        for n in range(150):
            clock.now += dice.randrange(15 * MINUTE)
            board, player, roll = dice.choice(boards[:3]).name, f"p{dice.randrange(2)}", dice.random()
            if roll < 0.04:
                found = await lb.moderation.void(board, "a bot", game_id=f"g{dice.randrange(n + 1)}")
                voids += [found.void_id] if found.void_id else []
            elif roll < 0.06 and voids:
                await lb.moderation.undo(voids.pop(), "it was no bot")
            elif roll < 0.1:
                with suppress(InvalidScore):
                    await lb.increment("from", player, dice.randrange(20))
            elif roll < 0.12:
                await lb.runtime.imports.take(board, [Entry(player_id=player, score=30)], None, [f"{seed:016x}{n:016x}"])
            elif roll < 0.14:
                await stack.aclose()
                lb = await stack.enter_async_context(opening(boards))
            else:
                amounts = {"score": dice.randrange(200)} if dice.random() < 0.4 else {"amount": dice.randrange(50)}
                entry = Entry(player_id=player, game_id=f"g{n if dice.random() < 0.9 else dice.randrange(n + 1)}", **amounts)
                told = (await lb.check_many(board, [entry])).rejected
                error = await sent(lb, board, entry)
                assert error == (told[0].detail if told else None), n
                taken, refusals = taken + (error is None), refusals + (error is not None)
        assert taken > 20
        assert refusals > 20
        assert await differences(lb) == []


async def test_a_process_that_has_the_ledger_alone_reads_once(tmp_path, clock, monkeypatch):
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", "embedded://", BOARDS, clock) as lb:
        await lb.increment("steep", "ada", 1)
        monkeypatch.setattr(lb.runtime.ledger.events, "of_players", None)
        await lb.increment("steep", "ada", 50)
        await refused(lb.increment("steep", "ada", 50), "max_increase", 101)


async def test_nothing_is_taken_while_the_ledger_cannot_tell(opening, monkeypatch):
    async with opening() as lb:

        async def away(*_):
            raise LedgerAway("gone")

        read = lb.runtime.ledger.events.of_players
        monkeypatch.setattr(lb.runtime.ledger.events, "of_players", away)
        with pytest.raises(LedgerAway):
            await lb.increment("often", "ada", 1)
        monkeypatch.setattr(lb.runtime.ledger.events, "of_players", read)
        assert (await lb.increment("often", "ada", 1)).score == 1
        assert await differences(lb) == []


async def test_rules_go_by_what_is_left_of_dropped_events(tmp_path, clock):
    board = Board("best", windows=["all_time"], rules={"max_increase": 100})
    async with leaderboards(f"sqlite:///{tmp_path / 'scores.db'}", "embedded://", [board], clock, keep_events="30d") as lb:
        await lb.submit("best", "ada", 1000)
        clock.now += 100 * DAY
        for _ in range(3):
            await lb.admin.run_keeper()
            clock.now += 10 * MINUTE
        assert await lb.runtime.ledger.openings.current(lb.runtime.catalog["best"].id) is not None
        await refused(lb.submit("best", "ada", 1101), "max_increase", 101)
        await lb.submit("best", "ada", 1100)
