"""Steps that drive an engine as the writer does."""

from keepscore.domain.ordering import Row
from keepscore.domain.scoring import Event, State
from keepscore.projection.live_boards import LiveBoard
from keepscore.storage.engines.base import Batch, Loaded, Ranking
from keepscore.storage.ledgers.boards import BoardRecord

#: 2026-11-15T12:00:00Z, a Sunday.
NOON = 1_794_744_000_000
DAY = 86_400_000


def live_board(board, board_id=1, version=1):
    return LiveBoard(BoardRecord(board_id, version, board, version))


def event(n, player, amount, at=0, kind="score", segments=None, writer=1, board=1, received=None, seq=None):
    """An event `at` milliseconds after noon. It came at that time, which the service has given, unless it was `received` at another."""
    return Event(board, writer, n, player, kind, amount, NOON + at, NOON + (at if received is None else received), segments, seq=seq)


def unnumbered(events):
    """Events as they were before the ledger gave them its numbers."""
    return [event._replace(seq=None) for event in events]


def batch(live, *events, ranked=True, shadow=False, rank=None):
    """The batch that brings consecutive events."""
    first, last = events[0], events[-1]
    updates = [live.update(e, ranked) for e in events]
    seqs = None if first.seq is None else (first.seq, last.seq)
    return Batch(live.id, first.writer, first.n - 1, last.n, updates, rank or live.board.rank, shadow, seqs=seqs)


async def given(*parts):
    for part in parts:
        yield part


async def start(engine, live, states=None, applied=None, expiry=0, fresh=False, seq=0):
    """Give the engine a board: {ranking: {player: (score, since)}}."""
    parts = [Loaded(r, expiry, [Row(p, *s) for p, s in players.items()], fresh) for r, players in (states or {}).items()]
    await engine.load(live.id, live.board, given(*parts), applied or {}, seq)
    await engine.promote(live.id)


async def apply(engine, live, *events, **options):
    (outcomes,) = await engine.apply([batch(live, *events, **options)])
    return outcomes


def all_time(live, segment=""):
    return Ranking(live.id, "all_time", "all_time", segment)


async def table(engine, ranking):
    """A whole ranking as [(player, score, since after noon)]."""
    return [(p, score, since - NOON) for p, score, since in (await engine.page(ranking, 0, 1000)).rows]


def state(score, at=0):
    return State(score, NOON + at)


async def restate(engine, ranking, player, state, shadow=False):
    """Set one player's state, or (None) remove the player, whatever the watermarks are."""
    await engine.restate_all(ranking.board, {ranking: {player: state}}, shadow)
