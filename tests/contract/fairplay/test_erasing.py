"""Players who are erased: scores and ranks stay under a pseudonym, and nothing else of them is left in the ledger."""

import asyncio
import sqlite3

import asyncpg
import pytest

from keepscore import Board
from keepscore.domain.actors import acting
from keepscore.errors import InvalidField, InvalidPlayer, RewardSettled, UnknownPlayer
from keepscore.storage.ledgers.base import Ledger
from tests.contract.fairplay.test_voids import PLACES
from tests.contract.opened import DAY, HOUR, NOON, SECOND, Clock, at, differences
from tests.support.opening import leaderboards

BOARDS = [
    Board("best", windows=["all_time", "daily"], segments=["region"]),
    Board("sum", operator="sum", windows=["daily", "all_time"]),
    Board("week", windows=["weekly"], rollup={"of": ["sum"], "window": "daily", "into": "weekly"}),
    Board("few", windows=["all_time"], keep_top=2),
    Board("elo", rating={"system": "elo", "k": 32, "initial": 1000}),
    Board("rules", rules={"max_score": 100, "on_break": "quarantine", "max_submissions": "3/1d"}),
]
WHO, TEXT = "whoever-it-was", "a text about somebody"


@pytest.fixture(params=PLACES)
def place(request, tmp_path):
    ledger, engine = PLACES[request.param]
    return ledger(tmp_path), engine()


@pytest.fixture
def clock():
    return Clock(NOON)


async def written(url):
    """All rows of all tables but those of the audit, as one text."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = [row for name in names if name != "audit" for row in connection.execute(f"SELECT * FROM {name}")]
        return "\n".join(value.decode("latin-1") if isinstance(value, bytes) else str(value) for row in rows for value in row)
    connection = await asyncpg.connect(url)
    try:
        names = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'audit'")
        rows = [row for (name,) in names for row in await connection.fetch(f'SELECT * FROM "{name}"')]
        return "\n".join(value.decode("latin-1") if isinstance(value, bytes) else str(value) for row in rows for value in row)
    finally:
        await connection.close()


def traces(text, *more):
    """The values in which something of the player is left."""
    return [line for line in text.splitlines() if any(one in line for one in (WHO, TEXT, *more))]


async def shown(lb):
    """All that rankings and archives show."""
    found = {}
    for board in BOARDS:
        for window in board.periods:
            for segment in (None, *(["region:eu"] if board.segments else [])):
                # Others than the first are there until they are pruned.
                top = await lb.top(board.name, window=window, segment=segment, limit=board.keep_top or 10)
                found[board.name, window, segment] = top.total_players, [(s.rank, s.player_id, s.score) for s in top.standings]
    for board in ("best", "sum"):
        top = await lb.top(board, window="daily", window_id="2026-11-15")
        found[board, "closed"] = top.total_players, [(s.rank, s.player_id, s.score) for s in top.standings]
    return found


async def play(lb, clock):
    """Let five players play on all boards for two days, one of whom leaves texts everywhere."""
    await lb.players.put(WHO, {"name": TEXT, "country": "FR"})
    await lb.friends.add(WHO, ["p1"])
    await lb.friends.add("p2", [WHO, "p1"])
    group = await lb.groups.create("friends of mine", WHO)
    await lb.groups.add(group.group_id, "p1")
    await lb.groups.create(TEXT, WHO)
    for day in range(2):
        for number, player in enumerate(("p1", WHO, "p2", "p3", "p4")):
            for board in ("best", "sum", "few"):
                clock.now += SECOND
                more = {"segments": {"region": "eu"}} if board == "best" else {}
                await lb.submit(
                    board,
                    player,
                    10 * number + day,
                    **more,
                    metadata={"said": TEXT if player == WHO else "hi"},
                    idempotency_key=f"{board}-{day}-{number}",
                )
            await lb.submit("rules", player, 200 if player == WHO else number + day, game_id=f"game of {player} {day}")
        await lb.matches.record("elo", WHO, "p1", 1, match_id=f"m{day}")
        if not day:
            clock.now += DAY
            await lb.admin.run_keeper()
    (_, item) = (await lb.moderation.queue(board="rules")).items
    rejected = await lb.moderation.reject(item.id, TEXT)
    await lb.moderation.appeal(rejected.id, WHO, TEXT)
    clock.now += HOUR
    await lb.submit("sum", WHO, 5)
    removed = await lb.moderation.void("sum", TEXT, player_id=WHO, since=at(clock.now))
    return group, removed


async def test_only_scores_are_left_of_a_player_under_a_pseudonym(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        group, removed = await play(lb, clock)
        before = await shown(lb)
        assert ("rules", "rejected", TEXT) in [(one.board, one.state, one.reason) for one in (await lb.moderation.export(WHO)).queue]
        done = await lb.moderation.erase(WHO, "it was asked for")
        names = {WHO: done.pseudonym}
        after = {view: (total, [(r, names.get(p, p), s) for r, p, s in rows]) for view, (total, rows) in before.items()}
        assert await shown(lb) == after
        assert WHO in str(before)
        assert (done.player_id, done.friends, done.groups, done.had_profile, done.boards) == (WHO, 2, 2, True, 6)
        assert (done.pseudonym[:7], done.events > 10, done.archived > 2) == ("erased-", True, True)
        assert await differences(lb) == []
        assert traces(await written(place[0])) == []
        assert (await lb.groups.get(group.group_id)).owner == "p1"
        # It is as if there had never been such a player; a void of the player's events can still be undone.
        export = await lb.moderation.export(WHO)
        assert (export.profile, export.friend_ids, export.groups, export.boards, export.appeals) == ({}, [], [], [], [])
        assert {e.metadata for b in (await lb.moderation.export(done.pseudonym)).boards if b.board == "best" for e in b.events} == {None}
        with pytest.raises(UnknownPlayer):
            await lb.rank("best", WHO)
        assert (await lb.matches.head_to_head("elo", "p1", done.pseudonym)).losses == 2
        # Once more changes nothing.
        assert await lb.moderation.erase(WHO, "again") == done
        assert await shown(lb) == after
        (noted,) = [entry for entry in (await lb.audit.entries()).entries if entry.action == "erase"]
        assert WHO not in str(noted.detail)
        assert (await lb.audit.verify()).broken is None
    async with leaderboards(*place, BOARDS, clock) as lb:
        assert await shown(lb) == after
        for board in BOARDS:
            await lb.admin.rebuild(board.name)
        assert await shown(lb) == after
        assert (await lb.rank("sum", done.pseudonym)).score == 11
        await lb.moderation.undo(removed.void_id, "it counted")
        assert (await lb.rank("sum", done.pseudonym)).score == 5
        assert await differences(lb) == []


async def test_whoever_comes_later_is_a_new_player(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        for _ in range(3):
            await lb.submit("rules", WHO, 50)
        first = await lb.moderation.erase(WHO, "asked for")
        await lb.submit("rules", WHO, 40)
        assert [(s.player_id, s.score) for s in (await lb.top("rules")).standings] == [(first.pseudonym, 50), (WHO, 40)]
        second = await lb.moderation.erase(WHO, "asked for again")
        assert second.erase_id != first.erase_id
        assert [s.player_id for s in (await lb.top("rules")).standings] == [first.pseudonym, second.pseudonym]
        assert await differences(lb) == []
        assert WHO not in await written(place[0])


async def test_addresses_that_wait_to_be_noted_are_forgotten(tmp_path, clock):
    url = PLACES["embedded"][0](tmp_path)
    async with leaderboards(url, "embedded://", BOARDS, clock) as lb:
        with acting("somebody", "192.0.2.7"):
            await lb.submit("best", WHO, 50)
            await lb.submit("best", "p1", 40)
        done = await asyncio.gather(*(lb.moderation.erase(WHO, "asked for") for _ in range(5)))
        await lb.runtime.keeper.job("note addresses").run(clock.now)
        text = await written(url)
        assert (WHO in text, "p1" in text) == (False, True)
        assert [await lb.moderation.erase(WHO, "again")] * 5 == done


async def test_a_hidden_player_stays_hidden(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        await lb.submit("best", WHO, 50, segments={"region": "eu"})
        await lb.submit("best", "p1", 40, segments={"region": "eu"})
        await lb.moderation.merge("p1", "p2", "one person")
        await lb.moderation.hide(WHO, TEXT)
        done = await lb.moderation.erase(WHO, "asked for")
        guest = await lb.moderation.erase("p1", "asked for")
        assert [s.player_id for s in (await lb.top("best")).standings] == ["p2"]
        (hidden,) = await lb.moderation.restricted()
        assert (hidden.player_id, hidden.reason) == (done.pseudonym, "erased")
        assert traces(await written(place[0]), '"p1"') == []
        await lb.moderation.split(guest.pseudonym, "two after all")
        await lb.moderation.restore(done.pseudonym, "why not")
        assert [s.player_id for s in (await lb.top("best")).standings] == [done.pseudonym, guest.pseudonym]
        assert await differences(lb) == []


async def test_the_index_of_players_follows(tmp_path, clock, monkeypatch):
    """Some of it is written when the player is erased, some is not."""
    monkeypatch.setattr("keepscore.storage.ledgers.sqlite.player_index.MAX_TAIL", 4)
    url = f"sqlite:///{tmp_path / 'scores.db'}"
    async with leaderboards(url, boards=BOARDS, clock=clock) as lb:
        for number in range(11):
            await lb.submit("best", WHO if number % 2 else f"p{number}", number, segments={"region": "eu"})
        done = await lb.moderation.erase(WHO, "asked for")
        await lb.submit("best", WHO, 3, segments={"region": "eu"})
        for _ in range(2):
            of = {board.board: len(board.events) for board in (await lb.moderation.export(done.pseudonym)).boards}
            assert (of, len((await lb.moderation.export(WHO)).boards[0].events)) == ({"best": 5}, 1)
            await lb.submit("best", "p0", 30, segments={"region": "eu"})
        await lb.moderation.erase(WHO, "asked for")
        assert traces(await written(url)) == []
    async with leaderboards(url, boards=BOARDS, clock=clock) as lb:
        assert len((await lb.moderation.export(done.pseudonym)).boards[0].events) == 5
        assert await differences(lb) == []


class Killed(BaseException):
    pass


@pytest.mark.parametrize("after", [1, 3])
async def test_what_is_cut_short_is_finished_by_the_keeper(place, clock, after, monkeypatch):
    async with leaderboards(*place, BOARDS, clock) as lb:
        for board in ("best", "sum", "rules"):
            await lb.submit(board, WHO, 50, metadata={"said": TEXT}, **({"segments": {"region": "eu"}} if board == "best" else {}))
        ledger: Ledger = lb.runtime.ledger
        rename, times = ledger.erasure.rename, iter(range(99))

        async def dying(erasure):
            await rename(erasure)
            if next(times) == after:
                raise Killed

        monkeypatch.setattr(ledger.erasure, "rename", dying)
        with pytest.raises(Killed):
            await lb.moderation.erase(WHO, "asked for")
    async with leaderboards(*place, BOARDS, clock) as lb:
        assert "e_" in next(job.result for job in (await lb.admin.run_keeper()).jobs if job.name == "finish erasures")
        assert traces(await written(place[0])) == []
        done = await lb.moderation.erase(WHO, "asked for")
        assert (done.events, done.boards) == (3, 3)
        for board in ("best", "sum", "rules"):
            assert [s.player_id for s in (await lb.top(board)).standings] == [done.pseudonym]
        assert await differences(lb) == []


async def test_winners_are_erased_when_their_rewards_are_paid(place, clock):
    prize = {"winners": 2, "review": "1h", "rewards": [{"ranks": "1", "give": "gold"}]}
    cup = Board("cup", consistency="strong", windows=["daily"], prize=prize)
    async with leaderboards(*place, [cup], clock) as lb:
        await lb.submit("cup", WHO, 50)
        await lb.submit("cup", "p1", 40)
        where = "cup", "daily", "2026-11-15"
        clock.now += 2 * DAY
        await lb.admin.run_keeper()
        await lb.prizes.finalize(*where)
        with pytest.raises(RewardSettled, match="on their way"):
            await lb.moderation.erase(WHO, "asked for")
        await lb.prizes.claim(*where, WHO)
        assert [(one.rank, one.reward, one.reward_state) for one in (await lb.moderation.export(WHO)).rewards] == [(1, "gold", "claimed")]
        done = await lb.moderation.erase(WHO, "asked for")
        winners = await lb.prizes.winners(*where)
        assert [(one.rank, one.player_id) for one in winners.winners] == [(1, done.pseudonym), (2, "p1")]
        assert winners.state == "paid"
        assert "1 winner of the list that was signed may have been erased" in (await lb.prizes.verify(*where)).problem
        assert WHO not in await written(place[0])


async def test_bad_requests_and_unknown_players_change_nothing(place, clock):
    async with leaderboards(*place, BOARDS, clock) as lb:
        with pytest.raises(InvalidPlayer):
            await lb.moderation.erase("", "asked for")
        with pytest.raises(InvalidField):
            await lb.moderation.erase(WHO, "")
        nobody = await lb.moderation.erase(WHO, "asked for")
        assert (nobody.erase_id, nobody.pseudonym, nobody.events) == (None, None, 0)
        assert [entry for entry in (await lb.audit.entries()).entries if entry.action == "erase"] == []
