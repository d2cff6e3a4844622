"""Two leaderboards with the same submissions: one drops old events, the other, its twin, keeps all of them."""

import random
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

from keepscore import Board
from keepscore.domain.inputs import Entry
from keepscore.domain.scoring import State, same_state
from keepscore.errors import NotKept
from keepscore.lifecycle.jobs.retention import month_of
from tests.contract.both import own_redis
from tests.contract.opened import DAY, HOUR, Clock, at
from tests.support.opening import leaderboards
from tests.support.postgres_servers import shared_postgres

#: 2027-01-05T12:00:00Z: later than the clock of any server, so that nothing expires there by itself.
START = round(datetime(2027, 1, 5, 12, tzinfo=UTC).timestamp() * 1000)
#: How long the one of the two keeps events.
KEEP = 31 * DAY

BOARDS = {
    "best": Board("best", windows={"all_time": {}, "weekly": {"archive": 3}, "monthly": {"archive": 3}}, segments=["region"]),
    "best, low, by player": Board(
        "low", order="asc", ties="player", windows={"all_time": {}, "season": {"start": "2027-01-01", "end": "2027-03-25"}}
    ),
    "sum": Board("sum", operator="sum", windows=["all_time", "weekly"], segments=["region"]),
    "last": Board("last", operator="last", windows=["all_time", "monthly"], resolution="1s"),
    "first, and a roll-up": Board("first", operator="first", windows=["daily", "yearly"]),
    "last, and a roll-up": Board("last_days", operator="last", windows=["daily"]),
    "decay, sum": Board("worth", operator="sum", decay={"half_life": "7d"}, windows=["all_time", "monthly"]),
    "decay, last": Board("heat", operator="last", decay={"half_life": "7d"}),
    "keep_top": Board("many", operator="sum", keep_top=5),
    "inactivity": Board("rating", operator="last", inactivity={"after": "14d", "lose": 2, "every": "7d", "floor": 10}),
    "expiry": Board("ttl", operator="sum", windows={"all_time": {"ttl": "9d"}, "daily": {"ttl": "3d"}, "monthly": {}}),
    "expiry, last": Board("ttl_last", operator="last", windows={"all_time": {"ttl": "9d"}, "monthly": {"ttl": "3d"}}),
}


def rollup_of(board):
    rollup = {"of": [board.name], "window": "daily", "into": "yearly", "aggregate": "average", "best": 40}
    return Board("years", windows=["yearly"], rollup=rollup)


class Place:
    """A ledger and an engine of some kind, empty at first, on which leaderboards are opened again and again."""

    def __init__(self, ledger, engine, folder, clock, keep_events):
        self.ledger = f"sqlite:///{folder / 'scores.db'}" if ledger == "sqlite" else shared_postgres().new_database()
        self.engine = own_redis() if engine == "redis" else "embedded://"
        self.clock, self.keep_events = clock, keep_events

    @asynccontextmanager
    async def opened(self, *boards):
        async with leaderboards(self.ledger, self.engine, boards, self.clock, keep_events=self.keep_events) as lb:
            yield lb


class Twins:
    """The two, open, with one board and maybe a roll-up of it."""

    def __init__(self, ledger, engine, folder, board, seed=1):
        for name in ("one", "other"):
            (folder / name).mkdir()
        self.clock = Clock(START)
        self.board, self.boards = board, [board, rollup_of(board)] if board.name in ("first", "last_days") else [board]
        self.chance = random.Random(seed)
        self.place = Place(ledger, engine, folder / "one", self.clock, "31d")
        self.other_place = Place("sqlite", engine, folder / "other", self.clock, "forever")
        self._open = AsyncExitStack()

    async def __aenter__(self):
        self.one = await self._open.enter_async_context(self.place.opened(*self.boards))
        self.other = await self._open.enter_async_context(self.other_place.opened(*self.boards))
        return self

    async def __aexit__(self, *error):
        await self._open.aclose()

    async def restart(self):
        await self._open.aclose()
        await self.__aenter__()

    @property
    def both(self):
        return self.one, self.other

    async def submit(self, late=2 * DAY):
        """Some random scores, as of now or up to `late` ago, of players some of whom are seen once in a while only."""
        entries = []
        # Where rankings expire, each late score on a `last` board is a fold of all events; a roll-up looks at all days for each.
        for _ in range({"ttl_last": 3, "first": 5, "last_days": 5}.get(self.board.name, 12)):
            player = f"p{min(self.chance.randrange(12), self.chance.randrange(12))}"
            if self.clock.now < START + 9 * DAY:
                # Some are never seen again.
                player = self.chance.choice([player, "q1", "q2"])
            ago = self.chance.choice([0, 0, self.chance.randrange(min(late, HOUR)), self.chance.randrange(late)])
            # Few different times, so that some are equal.
            when = at((self.clock.now - ago) // 500 * 500)
            segments = {"region": self.chance.choice(["eu", "us"])} if self.board.segments else None
            amounts = self.board.operator == "sum" or (self.board.operator == "last" and self.chance.random() < 0.9)
            value = self.chance.randrange(1, 300)
            kind = {"amount": value} if amounts else {"score": value}
            entries.append(Entry(player_id=player, at=when, segments=segments, **kind))
        answers = [await lb.submit_many(self.board.name, entries) for lb in self.both]
        assert answers[0] == answers[1]
        return answers[0]

    async def keep(self):
        """The keeper's jobs, on both, but for the one that repairs what it finds wrong. Answers what was told of drops."""
        told = []
        # Where processes share an engine, openings are announced a minute before they are made.
        for _ in range(2 if self.place.engine.startswith("redis") else 1):
            self.clock.now += 61_000
            for lb in self.both:
                for job in [job for job in lb.runtime.keeper.jobs if job.for_leader and job.name != "verify"]:
                    done = await job.run(self.clock.now)
                    told += [done] if job.name == "drop events" and done else []
        return told

    async def live_through(self, days):
        """Let time pass, with scores, and with the keeper now and then. Answers what was told of drops."""
        told = []
        step = 4.0 if self.place.engine.startswith("redis") else 2.0
        end = self.clock.now + days * DAY
        while self.clock.now < end:
            before = month_of(self.clock.now)
            self.clock.now += round(step * self.chance.uniform(0.3, 1.7) * DAY)
            month = month_of(self.clock.now)
            if month > before and self.board.name.startswith("ttl") and at(month).month % 2 == 0:
                # Rankings are over before the next score comes.
                self.clock.now += 10 * DAY
            elif month > before:
                # Late ones around the end of a month.
                for seconds in range(-1, 3):
                    self.clock.now = month + 1000 * seconds
                    await self.submit(late=3000)
            await self.submit()
            if self.chance.random() < 0.4:
                told += await self.keep()
        return told + await self.keep()

    # -- comparing ------------------------------------------------------------------------------------------------------

    async def compare(self):
        """All that both show is the same, and is what each ledger says."""
        for board in self.boards:
            shown = [await self._shown(lb, board.name) for lb in self.both]
            assert shown[0].keys() == shown[1].keys()
            for name, rows in shown[0].items():
                assert _same(board, rows, shown[1][name]), (name, rows, shown[1][name])
            assert (await self._archives(self.one, board.name)) == (await self._archives(self.other, board.name))
            for lb in self.both:
                found = await lb.admin.verify(board.name)
                assert found.ok, found
        await self._compare_past()

    async def _compare_past(self):
        opening = await self.one.runtime.ledger.openings.current(self.one.runtime.catalog[self.board.name].id)
        moments = [self.clock.now - self.chance.randrange(60 * DAY) for _ in range(3)]
        window = "all_time" if "all_time" in self.board.periods else None
        for moment in moments if self.board.half_life is None else ():
            told = await self.other.history.as_of(self.board.name, at(moment), window=window)
            try:
                assert (await self.one.history.as_of(self.board.name, at(moment), window=window)) == told
            except NotKept:
                assert opening is not None
                assert moment < opening.received
        for player in ("p0", "p1", "p11", "q1"):
            for window in self.board.periods if self.board.half_life is None else ():
                histories = [await lb.history.of(self.board.name, player, window=window) for lb in self.both]
                assert histories[0] == histories[1]
            mine = (await self.one.history.events(self.board.name, player, 1000)).events
            theirs = (await self.other.history.events(self.board.name, player, 1000)).events
            if opening is not None:
                theirs = [e for e in theirs if not (e.received < at(opening.received) and e.at < at(opening.at))]
            assert [e[:-2] for e in map(_fields, mine)] == [e[:-2] for e in map(_fields, theirs)]

    async def _shown(self, lb, name):
        live = lb.runtime.catalog[name]
        await lb.runtime.engine.expire(self.clock.now)
        rankings = await lb.runtime.engine.rankings(live.id)
        return {ranking[1:]: (await lb.runtime.engine.page(ranking, 0, 1000)).rows for ranking in rankings}

    async def _archives(self, lb, name):
        found = await lb.runtime.ledger.archives.find(lb.runtime.catalog[name].id)
        return [(a.slot, a.kind, a.number, a.players, lb.runtime.catalog[name].half_life is None and a.digest) for a in found]


def _same(board, rows, others):
    if board.keep_top is not None:
        # Who is behind is there or not.
        rows, others = rows[: board.keep_top], others[: board.keep_top]
    if [row.player for row in rows] != [row.player for row in others]:
        return False
    return all(same_state(board, State(*row[1:]), State(*other[1:])) for row, other in zip(rows, others, strict=True))


def _fields(event):
    return tuple(getattr(event, name) for name in event.__struct_fields__)


def covered_month(now):
    """The end of the months whose events are due."""
    return month_of(now - KEEP - HOUR)
