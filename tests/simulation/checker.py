"""What must hold when things are quiet."""

from __future__ import annotations

from collections import Counter

from keepscore.domain.scoring import Event
from keepscore.errors import EngineUnavailable, LedgerAway
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.load import load_engine
from keepscore.storage.engines.embedded.engine import EmbeddedEngine
from tests.simulation.clients import Request
from tests.simulation.world import Process, World
from tests.support import oracle

__all__ = ["behind", "objections"]


def behind(world: World) -> bool:
    """Whether engine or ledger lack something that the other has, or somebody is owed a restatement."""
    if world.server.is_spooling or world.server.is_late() or "" in world.server.data.epochs.values() or _is_judging(world):
        return True
    for board, writer, last in world.database.execute("SELECT board, writer, max(n) FROM events GROUP BY board, writer"):
        found = world.server.engine._boards.get(board)
        if found is None or found.applied.get(writer, 0) != last:
            return True
    return _ahead(world)


def _is_judging(world: World) -> bool:
    """Whether a decision was cut short, and is not finished yet."""
    notes = world.database.execute("SELECT value FROM ledger WHERE name LIKE 'void:%' OR name LIKE 'restriction:%'").fetchall()
    if any(word in note for (note,) in notes for word in (b'"applying"', b'"undoing"', b'"lifting"')):
        return True
    return world.database.execute("SELECT count(*) FROM queue WHERE state IN ('approving', 'rejecting')").fetchone() != (0,)


def _ahead(world: World) -> bool:
    """Whether the engine has events that the ledger has not."""
    sql = "SELECT max(n) FROM events WHERE board = ? AND writer = ?"
    marks = [(board, writer, n) for board, found in world.server.engine._boards.items() for writer, n in found.applied.items()]
    return any(n > (world.database.execute(sql, (board, writer)).fetchone()[0] or 0) for board, writer, n in marks)


async def objections(world: World, process: Process, requests: list[Request]) -> list[str]:
    """All that is wrong."""
    found = [f"{request}: {what}" for request in requests for what in request.objections]
    found += [f"outside of any request: {trouble}" for trouble in world.loop.troubles]
    found += _ledger(world, requests)
    found += _numbers(world)
    found += [f"board, writer and number {key} were given to {games}" for key, games in world.identities.items() if len(games) > 1]
    found += _order(world, requests)
    for board in world.boards:
        verification = await process.do(lambda name=board.name: process.lb.admin.verify(name))
        found += [f"verify: {board.name} {difference}" for difference in verification.differences]
        found += await _oracle(world, process, process.lb.runtime.catalog[board.name])
    return found


def _ledger(world: World, requests: list[Request]) -> list[str]:
    """I1, I2, I6: what was acknowledged is there once, what was refused is not, all else is there at most once."""
    verdicts = "'void', 'restore', 'hide', 'show'"
    sql = f"SELECT b.name, e.game_id FROM events e JOIN boards b ON b.id = e.board AND b.version = 1 WHERE kind NOT IN ({verdicts})"
    rows = world.database.execute(sql).fetchall()
    counts = Counter(rows)
    found = []
    for request in requests:
        names = [request.board.name, *request.board.also]
        if len({counts[name, request.game] for name in names}) > 1 and not request.may_be_lost(world):
            found.append(f"{request}: not on all of {names}")
        for name in names:
            count = counts.pop((name, request.game), 0)
            told = f"{request}: {count} times on {name}"
            if count == 0 and request.may_be_lost(world):
                continue
            if request.receipts and count != 1:
                found.append(f"{told}, and it was acknowledged")
            elif count > 1:
                found.append(f"{told}, and it was sent once")
            elif count and request.refused:
                found.append(f"{told}, and it was refused")
            elif count and _is_strong(world, names) and all(isinstance(a, EngineUnavailable | LedgerAway) for a in request.answers):
                found.append(f"{told}, and the answer was {request.answers[0]!r}")
    found += [f"{game} on {name} was never sent" for name, game in counts]
    return found


def _is_strong(world: World, names: list[str]) -> bool:
    return any(board.consistency == "strong" for board in world.boards if board.name in names)


def _numbers(world: World) -> list[str]:
    """Every writer's events on a board are numbered 1, 2, 3…, unless the first ones went into a ledger that is no more."""
    if world.restores:
        return []
    sql = "SELECT board, writer, min(n), max(n), count(*) FROM events GROUP BY board, writer HAVING min(n) != 1 OR max(n) != count(*)"
    rows = world.database.execute(sql).fetchall()
    return [f"board {board} has {count} events of writer {writer}, from {low} to {high}" for board, writer, low, high, count in rows]


def _order(world: World, requests: list[Request]) -> list[str]:
    """I4: the ledger's numbers follow the order of requests to a board, but for what was acknowledged while the ledger was away."""
    seqs = dict(world.database.execute("SELECT game_id, max(seq) FROM events GROUP BY game_id"))
    timed = [
        r
        for r in requests
        if r.receipts and not any(receipt.spooled is True for receipt in r.receipts) and r.game in seqs and r.begun > world.restored
    ]
    return [
        f"order: {one} was acknowledged before {other} was sent, and counts later"
        for one in timed
        for other in timed
        if one.board is other.board and one.ended < other.begun and seqs[one.game] >= seqs[other.game]
    ]


async def _oracle(world: World, process: Process, live: LiveBoard) -> list[str]:
    """I3: every ranking shows what a plain fold of the ledger's rows says, in order; so does one that is made from the checkpoint."""
    ledger = process.lb.runtime.ledger
    chunks = await process.do(lambda: _all(ledger.events.read(live.id, {})))
    events: list[Event] = [event for chunk in chunks for event in chunk]
    known = process.lb.runtime.catalog.restrictions
    await process.do(lambda: known.refresh(ledger, world.clock(), at_once=True))
    unranked = known.players_now(live.name, world.clock())
    expected = oracle.fold(live, [event for event in oracle.counting(events) if event.player not in unranked])
    loaded = EmbeddedEngine()
    await process.do(lambda: load_engine(ledger, loaded, live))
    await loaded.promote(live.id)
    found = []
    for engine, what in ((world.server.engine, "oracle"), (loaded, "checkpoint")):
        for ranking in {**expected, **dict.fromkeys(await engine.rankings(live.id))}:
            rows = (await engine.page(ranking, 0, 1000)).rows
            wanted = oracle.ranked(live.board, expected.get(ranking, {}))
            if rows != wanted:
                found.append(f"{what}: {live.name} {ranking[1:]} shows {_rows(rows)}, not {_rows(wanted)}")
    return found


async def _all(chunks):
    return [chunk async for chunk in chunks]


def _rows(rows):
    return [tuple(row) for row in rows]
