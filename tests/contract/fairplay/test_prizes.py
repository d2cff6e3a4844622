"""Prizes: winners of a closed window are provisional, then final, and never change after that, on both engines and ledgers."""

import asyncio
import random
from contextlib import AsyncExitStack, suppress
from decimal import Decimal

import pytest
from msgspec import UNSET

from keepscore import Board, Entry
from keepscore.domain.certificates import verified
from keepscore.errors import (
    Conflict,
    IdempotencyKeyReused,
    InvalidField,
    InvalidPage,
    LedgerUnavailable,
    NotFound,
    RewardSettled,
    UnknownPlayer,
    UnknownPrize,
    UnknownWindow,
    WindowClosed,
    WindowFinal,
    WindowOpen,
)
from keepscore.fairplay.prize_job import DecidePrizes
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import DAY, HOUR, NOON, SECOND, Clock, at, differences
from tests.support.opening import leaderboards

PRIZE = {"winners": 3, "review": "48h", "rewards": [{"ranks": "1", "give": "gold"}, {"ranks": "2", "give": "silver"}]}
MANY = {"winners": 3000, "rewards": [{"ranks": "1-2500", "give": "x"}]}
BOARDS = [
    Board("cup", operator="sum", consistency="strong", windows=["daily", "all_time"], late="open_windows", prize=PRIZE),
    Board("once", consistency="strong", segments=["region"], decimals=2, prize={**PRIZE, "review": "1h"}),
    Board(
        "many",
        consistency="strong",
        windows={"daily": {"archive": 5}},
        prize={"winners": 3000, "rewards": [{"ranks": "1-2500", "give": "x"}]},
    ),
    Board("none", consistency="strong", windows=["daily"]),
]
DAY_ID = "2026-11-15"


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


@pytest.fixture
def clock():
    return Clock(NOON)


@pytest.fixture
def opening(place, clock):
    return lambda boards=BOARDS: leaderboards(*place, boards, clock)


async def play(lb, clock, board="cup", **scores):
    for player, score in scores.items():
        clock.now += SECOND
        await (lb.increment if board == "cup" else lb.submit)(board, player, score)


async def kept(lb, clock, forward=0):
    """Let time pass, and the keeper do what is due."""
    clock.now += forward
    for name in ("close", "decide prizes"):
        await lb.runtime.keeper.job(name).run(clock.now)


async def shown(lb, board="cup", window="daily", window_id=DAY_ID):
    found = await lb.prizes.winners(board, window, window_id)
    return found.state, [(one.rank, one.player_id, one.score, one.reward, one.reward_state) for one in found.winners]


async def closed(lb, clock, board, window, window_id):
    """Close a window, and wait until it is archived."""
    status = await lb.prizes.close(board, window, window_id, "it is over")
    if status.state == "closing":
        await kept(lb, clock, 11 * SECOND)
    return await lb.prizes.winners(board, window, window_id)


async def test_a_window_goes_from_open_to_final_by_itself(opening, clock):
    async with opening() as lb:
        await play(lb, clock, ada=30, bo=20, cy=10, di=5)
        assert await shown(lb) == ("open", [])
        clock.now += DAY
        assert await shown(lb) == ("closing", [])
        await kept(lb, clock, HOUR)
        provisional = [(1, "ada", 30, "gold", "provisional"), (2, "bo", 20, "silver", "provisional"), (3, "cy", 10, None, None)]
        assert await shown(lb) == ("provisional", provisional)
        found = await lb.prizes.winners("cup", "daily", DAY_ID)
        assert (found.final_at, found.statement, found.total_winners) == (None, None, 3)
        assert (found.review_until - found.closed_at).total_seconds() == 48 * 3600
        with pytest.raises(WindowOpen, match="is provisional"):
            await lb.prizes.claim("cup", "daily", DAY_ID, "ada")
    async with opening() as lb:
        await kept(lb, clock, 2 * DAY)
        final = [(1, "ada", 30, "gold", "pending"), (2, "bo", 20, "silver", "pending"), (3, "cy", 10, None, None)]
        assert await shown(lb) == ("final", final)
        entries = (await lb.audit.entries(action="finalize")).entries
        assert [(entry.board, entry.detail["window_id"]) for entry in entries] == [("cup", DAY_ID)]
        check = await lb.prizes.verify("cup", "daily", DAY_ID)
        assert (check.ok, check.winners) == (True, 3)
        # Again, it changes nothing.
        await kept(lb, clock, DAY)
        assert (await lb.prizes.finalize("cup", "daily", DAY_ID)).final_at == (await lb.prizes.winners("cup", "daily", DAY_ID)).final_at
        assert len((await lb.audit.entries(action="finalize")).entries) == 1
        assert await differences(lb) == []


async def test_the_review_changes_winners_and_the_end_of_it_does_not(opening, clock):
    async with opening() as lb:
        await play(lb, clock, ada=30, bo=20, cy=10, di=5)
        await kept(lb, clock, DAY + HOUR)
        await lb.moderation.void("cup", "a bot", player_id="ada")
        assert (await shown(lb))[1][0][:2] == (1, "ada")
        report = await lb.moderation.undo((await lb.moderation.voids())[0].void_id, "not yet")
        assert report.state == "undone"
        void = await lb.moderation.void("cup", "a bot", player_id="ada", revise=True)
        assert void.revised == [f"daily {DAY_ID}"]
        winners = [(1, "bo", 20, "gold"), (2, "cy", 10, "silver"), (3, "di", 5, None)]
        assert [row[:4] for row in (await shown(lb))[1]] == winners
        await lb.prizes.finalize("cup", "daily", DAY_ID, "checked")
        before = await lb.prizes.winners("cup", "daily", DAY_ID)
        with pytest.raises(WindowFinal, match="are final since"):
            await lb.moderation.void("cup", "a bot, too", player_id="bo", revise=True)
        with pytest.raises(WindowFinal):
            await lb.admin.revise("cup", "daily", DAY_ID, "a wish")
        assert len(await lb.moderation.voids()) == 2
        await lb.moderation.void("cup", "a bot, too", player_id="bo")
        assert await lb.prizes.winners("cup", "daily", DAY_ID) == before
        # Not by another way, either.
        ledger, live = lb.runtime.ledger, lb.runtime.catalog["cup"]
        (first, *_) = await ledger.archives.find(live.id, "daily", DAY_ID, "closed")
        async with ledger.identity.pinned():
            again = await ledger.archives.begin(live.id, first.slot, "closed", 9, clock.now)
            with pytest.raises(LedgerUnavailable):
                await ledger.archives.finish(again, 0, 0, "")
        assert (await lb.prizes.verify("cup", "daily", DAY_ID)).ok


async def test_nobody_wins_who_is_not_ranked(opening, clock):
    async with opening() as lb:
        await play(lb, clock, ann=90, bob=80, cem=70, dan=60, eve=50, fay=40)
        await kept(lb, clock, DAY)
        await lb.moderation.hide("ann", "a bot")
        await kept(lb, clock, SECOND)
        found = await lb.prizes.winners("cup", "daily", DAY_ID)
        assert [(one.rank, one.player_id, one.reward) for one in found.winners] == [
            (1, "bob", "gold"),
            (2, "cem", "silver"),
            (3, "dan", None),
        ]
        await lb.moderation.shadow("bob", "a cheat")
        await lb.moderation.merge("cem", "dan", "one person")
        assert (await lb.prizes.finalize("cup", "daily", DAY_ID, "all is checked")).state == "final"
        found = await lb.prizes.winners("cup", "daily", DAY_ID)
        assert [(one.rank, one.player_id, one.score) for one in found.winners] == [(1, "dan", 130), (2, "eve", 50), (3, "fay", 40)]
        assert (await lb.prizes.verify("cup", "daily", DAY_ID)).ok
        with pytest.raises(UnknownPlayer):
            await lb.prizes.claim("cup", "daily", DAY_ID, "bob")
        # What is final stays so.
        await lb.moderation.hide("dan", "too late")
        await kept(lb, clock, 3 * DAY)
        assert await lb.prizes.winners("cup", "daily", DAY_ID) == found
        assert await differences(lb) == []


async def test_a_window_that_is_closed_early_takes_no_more_scores(opening, clock):
    async with opening() as lb:
        await play(lb, clock, "once", ada=3, bo=2)
        await lb.submit("once", "eu", 1, segments={"region": "eu"})
        found = await closed(lb, clock, "once", "all_time", "all_time")
        assert [one.player_id for one in found.winners] == ["ada", "bo", "eu"]
        with pytest.raises(WindowClosed, match="was closed before its end"):
            await lb.submit("once", "cy", 99)
        with pytest.raises(WindowClosed, match="closed already"):
            await lb.prizes.close("once", "all_time", "all_time", "again")
        await play(lb, clock, ada=1)
        await closed(lb, clock, "cup", "daily", DAY_ID)
        # Where the board says so, late scores count in the other windows.
        await play(lb, clock, ada=5, bo=9)
        assert (await lb.rank("cup", "ada", window="all_time")).score == 6
        assert (await shown(lb))[1] == [(1, "ada", 1, "gold", "provisional")]
    async with opening() as lb:
        with pytest.raises(WindowClosed):
            await lb.submit("once", "cy", 99)
        await lb.moderation.void("once", "a bot", player_id="ada", revise=True)
        assert [one.player_id for one in (await lb.prizes.winners("once", "all_time", "all_time")).winners] == ["bo", "eu"]
        await kept(lb, clock, DAY + HOUR)
        assert (await shown(lb))[1] == [(1, "ada", 1, "gold", "provisional")]
        assert (await shown(lb, "once", "all_time", "all_time"))[0] == "final"
        assert await differences(lb) == []


async def test_a_window_that_was_closed_is_not_cut_by_a_reset(opening, clock):
    async with opening() as lb:
        await play(lb, clock, "once", ada=3)
        await lb.admin.reset("once")
        clock.now += SECOND
        await play(lb, clock, "once", bo=2)
        await closed(lb, clock, "once", "all_time", "all_time")
        for act in (lb.admin.reset, lb.admin.undo_reset):
            with pytest.raises(WindowClosed, match="cannot be reset"):
                await act("once")
        assert [row[1] for row in (await shown(lb, "once", "all_time", "all_time"))[1]] == ["bo"]


async def anything(lb, clock, dice):
    """Do something that might change a closed window, if it could."""
    player = f"p{dice.randrange(6)}"
    back = [Entry(player_id=player, amount=dice.randrange(1, 500), at=at(NOON - dice.randrange(HOUR)))]
    deeds = {
        "backfill": lambda: lb.submit_many("cup", back, backfill=True),
        "late": lambda: lb.increment("cup", player, 100, at=at(NOON)),
        "void": lambda: lb.moderation.void("cup", "a bot", player_id=player),
        "revising void": lambda: lb.moderation.void("cup", "a bot", player_id=player, revise=True),
        "revise": lambda: lb.admin.revise("cup", "daily", DAY_ID, "a wish"),
        "remove": lambda: lb.moderation.remove("cup", player, "a bot"),
        "undo": lambda: _undo(lb, dice),
        "hide": lambda: lb.moderation.hide(player, "a bot"),
        "restore": lambda: lb.moderation.restore(player, "no bot"),
        "hold": lambda: lb.prizes.hold("cup", "daily", DAY_ID, player, "why"),
        "release": lambda: lb.prizes.release("cup", "daily", DAY_ID, player, "why"),
        "claim": lambda: lb.prizes.claim("cup", "daily", DAY_ID, player),
        "finalize": lambda: lb.prizes.finalize("cup", "daily", DAY_ID),
        "rebuild": lambda: lb.admin.rebuild("cup"),
        "define": lambda: lb.admin.change_board("cup", {"prize": {**PRIZE, "winners": dice.randrange(2, 5)}}),
        "keeper": lambda: kept(lb, clock, dice.choice([SECOND, HOUR, DAY])),
    }
    with suppress(Conflict, NotFound):
        await deeds[dice.choice(sorted(deeds))]()


async def _undo(lb, dice):
    if standing := [void for void in await lb.moderation.voids() if void.state == "standing"]:
        await lb.moderation.undo(dice.choice(standing).void_id, "no bot")


@pytest.mark.parametrize("seed", range(3))
async def test_what_is_final_never_changes(opening, clock, seed):
    dice = random.Random(seed)
    async with opening() as lb:
        await play(lb, clock, **{f"p{n}": dice.randrange(1, 100) for n in range(6)})
        await kept(lb, clock, DAY + HOUR)
        for _ in range(10):
            await anything(lb, clock, dice)
        await lb.prizes.finalize("cup", "daily", DAY_ID)
        final = await lb.prizes.winners("cup", "daily", DAY_ID)
        decided = [(one.rank, one.player_id, one.score, one.reward) for one in final.winners]
        for _ in range(25):
            await anything(lb, clock, dice)
            now = await lb.prizes.winners("cup", "daily", DAY_ID)
            assert [(one.rank, one.player_id, one.score, one.reward) for one in now.winners] == decided
            assert (now.final_at, now.statement) == (final.final_at, final.statement)
        assert (await lb.prizes.verify("cup", "daily", DAY_ID)).ok
        assert (await lb.audit.verify()).ok


async def test_holds_and_claims(opening, clock):
    async with opening() as lb:
        await play(lb, clock, ada=30, bo=20, cy=10)
        await kept(lb, clock, DAY + HOUR)
        day = ("cup", "daily", DAY_ID)
        held = await lb.prizes.hold(*day, "ada", "we look at it", idempotency_key="k")
        assert (held.reward_state, held.rank, held.reward) == ("held", 1, "gold")
        assert (await lb.prizes.hold(*day, "ada", "we look at it", idempotency_key="k")).replayed is True
        with pytest.raises(IdempotencyKeyReused):
            await lb.prizes.hold(*day, "bo", "we look at it", idempotency_key="k")
        with pytest.raises(UnknownPlayer, match="gets no reward"):
            await lb.prizes.hold(*day, "cy", "why")
        with pytest.raises(UnknownPlayer, match="not a winner"):
            await lb.prizes.hold(*day, "zoe", "why")
        with pytest.raises(InvalidField):
            await lb.prizes.hold(*day, "bo", " ")
        status = await lb.prizes.finalize(*day)
        assert (status.state, status.rewards, status.settled) == ("final", 2, 0)
        with pytest.raises(RewardSettled, match="it is held"):
            await lb.prizes.claim(*day, "ada")
        assert [message.id for message in await lb.runtime.ledger.outbox.due(clock.now, 10)] != [held.reward_id]
        first = await lb.prizes.claim(*day, "bo")
        clock.now += HOUR
        assert await lb.prizes.claim(*day, "bo") == first
        assert first.reward_state == "claimed"
        with pytest.raises(RewardSettled, match="it is claimed"):
            await lb.prizes.hold(*day, "bo", "too late")
        with pytest.raises(RewardSettled, match="is not held back"):
            await lb.prizes.release(*day, "bo", "why")
        assert await lb.runtime.ledger.outbox.due(clock.now, 10) == []
        released = await lb.prizes.release(*day, "ada", "all is fine")
        assert (released.reward_state, released.reward_id) == ("pending", held.reward_id)
        (message,) = await lb.runtime.ledger.outbox.due(clock.now, 10)
        assert message.id == held.reward_id
        # One that has left cannot be claimed or held any more.
        assert await lb.runtime.ledger.outbox.begin(message.id, 0, clock.now + HOUR)
        for act in (lb.prizes.claim(*day, "ada"), lb.prizes.hold(*day, "ada", "why")):
            with pytest.raises(RewardSettled, match="on its way"):
                await act
        await lb.runtime.ledger.outbox.acknowledge(message.id, clock.now)
        await lb.runtime.ledger.outbox.acknowledge(message.id, clock.now + 1)
        state, rows = await shown(lb)
        assert (state, [row[4] for row in rows]) == ("paid", ["paid", "claimed", None])
        with pytest.raises(RewardSettled, match="it is paid"):
            await lb.prizes.claim(*day, "ada")


async def test_claims_at_once_settle_once(opening, clock):
    async with opening() as lb:
        await play(lb, clock, ada=30)
        await kept(lb, clock, DAY + HOUR)
        await asyncio.gather(*(lb.prizes.finalize("cup", "daily", DAY_ID) for _ in range(4)))
        answers = await asyncio.gather(*(lb.prizes.claim("cup", "daily", DAY_ID, "ada") for _ in range(8)))
        assert len({answer.settled_at for answer in answers}) == 1
        assert len((await lb.audit.entries(action="claim_reward")).entries) == 1
        assert len((await lb.audit.entries(action="finalize")).entries) == 1


async def test_thousands_win(opening, clock):
    async with opening() as lb:
        await lb.submit_many("many", [Entry(player_id=f"p{n:04}", score=10_000 - n // 2) for n in range(3100)])
        await kept(lb, clock, DAY + HOUR)
        await lb.prizes.finalize("many", "daily", DAY_ID)
        found, cursor = [], None
        while True:
            page = await lb.prizes.winners("many", "daily", DAY_ID, limit=1000, cursor=cursor)
            found += page.winners
            if (cursor := page.next_cursor) is None:
                break
        # Equal scores of one moment: the player id decides, and every rank has one winner.
        assert [one.rank for one in found] == [*range(1, 3001)]
        assert [one.player_id for one in found] == [f"p{n ^ 1:04}" for n in range(3000)]
        assert [one.reward for one in found] == ["x"] * 2500 + [None] * 500
        assert (await lb.runtime.ledger.outbox.count()).pending == 2500
        assert (await lb.prizes.verify("many", "daily", DAY_ID)).ok
        with pytest.raises(InvalidPage):
            await lb.prizes.winners("many", "daily", DAY_ID, cursor="x")
        with pytest.raises(InvalidPage):
            await lb.prizes.winners("many", "daily", DAY_ID, limit=0)


async def test_certificates_are_verified_without_the_service(opening, clock):
    async with opening() as lb:
        await play(lb, clock, "once", ada=30, bo=20)
        await closed(lb, clock, "once", "all_time", "all_time")
        with pytest.raises(WindowOpen):
            await lb.prizes.certificate("once", "all_time", "all_time", "ada")
        await lb.prizes.finalize("once", "all_time", "all_time")
        certificate = await lb.prizes.certificate("once", "all_time", "all_time", "ada")
        key = await lb.prizes.public_key()
        statement = (await lb.prizes.winners("once", "all_time", "all_time")).statement
    kind, claims = verified(certificate.certificate, key.pem)
    assert (kind, claims["rank"], claims["player_id"], claims["score"], claims["reward"]) == ("certificate", 1, "ada", "30.00", "gold")
    assert verified(statement, key.pem)[0] == "winners"
    async with opening() as lb:
        assert (await lb.prizes.public_key()).pem == key.pem
        assert (await lb.prizes.certificate("once", "all_time", "all_time", "ada")).certificate == certificate.certificate


async def test_accepted_submissions_get_a_signed_receipt(opening, clock):
    async with opening() as lb:
        first = await lb.submit("once", "ada", Decimal("30.5"), game_id="g1", idempotency_key="k")
        again = await lb.submit("once", "ada", Decimal("30.5"), game_id="g1", idempotency_key="k")
        assert again.signed_receipt == first.signed_receipt
        (batch,) = (await lb.submit_many("once", [Entry(player_id="bo", score=2)], results=True)).results
        key = (await lb.prizes.public_key()).pem
        kind, claims = verified(first.signed_receipt, key)
        assert (kind, claims["player_id"], claims["score"], claims["game_id"]) == ("receipt", "ada", "30.50", "g1")
        (event, *_) = (await lb.history.events("once", "ada")).events
        assert claims["event_id"] == f"{event.writer}-{event.n}"
        assert claims["windows"] == {"all_time": "all_time"}
        assert verified(batch.signed_receipt, key)[1]["player_id"] == "bo"
        with pytest.raises(InvalidField, match="no certificate"):
            verified(first.signed_receipt, key, "certificate")
        assert (await lb.submit("none", "ada", 1)).signed_receipt is UNSET


async def test_what_has_no_prize_says_so(opening, clock):
    async with opening() as lb:
        await play(lb, clock, "none", ada=1)
        with pytest.raises(UnknownPrize, match="has no prize"):
            await lb.prizes.winners("none", "daily", DAY_ID)
        for window, window_id in (("weekly", "2026-W46"), ("daily", "tomorrow")):
            with pytest.raises(UnknownWindow):
                await lb.prizes.winners("cup", window, window_id)
        with pytest.raises(WindowOpen, match="has not begun"):
            await lb.prizes.close("cup", "daily", "2026-11-16", "why")
        await kept(lb, clock, DAY + HOUR)
        await lb.admin.change_board("none", {"prize": {**PRIZE, "review": "0s"}})
        # What was closed before is nobody's prize.
        await kept(lb, clock, DAY)
        with pytest.raises(UnknownPrize, match="before the board had a prize"):
            await lb.prizes.winners("none", "daily", DAY_ID)
        assert (await lb.runtime.ledger.outbox.count()).pending == 0


async def test_two_keepers_decide_once(tmp_path, clock):
    ledger, engine = PLACES["postgres"]
    place = ledger(tmp_path), engine()
    async with AsyncExitStack() as stack:
        hosts = [await stack.enter_async_context(leaderboards(*place, BOARDS, clock)) for _ in range(2)]
        await play(hosts[0], clock, ada=3, bo=2)
        clock.now += DAY + HOUR + SECOND * 20
        await hosts[0].runtime.keeper.job("close").run(clock.now)
        clock.now += 3 * DAY
        jobs = [job for lb in hosts for job in lb.runtime.keeper.jobs if isinstance(job, DecidePrizes)]
        await asyncio.gather(*(job.run(clock.now) for job in jobs * 3))
        assert [await shown(lb) for lb in hosts] == [("final", [(1, "ada", 3, "gold", "pending"), (2, "bo", 2, "silver", "pending")])] * 2
        assert (await hosts[0].runtime.ledger.outbox.count()).pending == 2
        assert len((await hosts[0].audit.entries(action="finalize")).entries) == 1


async def test_windows_of_before_the_board_have_no_prize(opening, clock):
    async with opening() as lb:
        for window_id in ("2026-11-14", "2020-01-01"):
            with pytest.raises(NotFound):
                await lb.prizes.winners("cup", "daily", window_id)
        assert (await lb.prizes.winners("cup", "daily", DAY_ID)).state == "open"
