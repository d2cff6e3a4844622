"""`keepscore import --follow` and `--cut-over`: from another system to Keepscore without a pause, and back before it is done."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import TYPE_CHECKING

import msgspec
from rich.live import Live
from rich.table import Table

from keepscore.cli.following import Followed, Follower
from keepscore.cli.migration import MigrationRequest, MovedSet, Way, planned, way_to
from keepscore.cli.options import AnyLeaderboards, cell, confirm, err, new_table, out, print_json, reach
from keepscore.domain.keys import ASIDE
from keepscore.domain.nouns import counted
from keepscore.errors import ConfigError

if TYPE_CHECKING:
    from keepscore.cli.takeover import SortedSets

__all__ = ["cut_over", "follow"]

#: How often the sets are read before a cut-over while some change in between.
LAST_ROUNDS = 3

#: Told how far the sets are followed after a round, and in words within one.
Show = Callable[[list[Followed] | str], None]


def follow(sets: SortedSets, request: MigrationRequest, pause_s: float, json: bool) -> None:
    """Follow sets until the command is stopped; show after each round how far."""
    way = _following(sets, request)
    with reach(way.url, request.config, without=way.waiting) as boards, _stopped(), _shown(json) as show:
        follower = Follower(sets, way.board, boards, request, show)
        while True:
            show(follower.look(_plan(sets, way, request)))
            time.sleep(pause_s)


def cut_over(sets: SortedSets, request: MigrationRequest, yes: bool, json: bool) -> None:
    """Let the board take the place of the sets: record what is left, move them aside, and have the board take scores itself.

    A cut-over that was interrupted goes on when it is repeated.
    """
    keys = list(dict.fromkeys(key.removeprefix(ASIDE) for key in sets.keys(request.keys, or_aside=True)))
    way = way_to(request, sets)
    # Whose keys they are is not asked: the board may have taken their place before the command was interrupted.
    plan = planned(sets, way._replace(engine=None), request, keys)
    with reach(way.url, request.config, without=way.waiting) as boards:
        follower = Follower(sets, way.board, boards, request)
        done = _last_look(sets, follower, plan, yes) if way.board.following else 0
        if not way.board.following and not any(follower.recorded(one) for one in plan):
            raise ConfigError(f"board {way.board.name!r} has followed none of these sets: there is nothing to cut over")
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if way.board.following:
            boards.admin.change_board(way.board.name, {"following": None}, confirm=True)
        written = _fence(sets, boards, follower.board, plan)
        done += follower.finish(plan, at)
    _report(way.board.name, done, [ASIDE + key for key in keys if sets.exists(ASIDE + key)], json)
    if written:
        err.print(f"Somebody writes to {', '.join(written)} still: those scores are not recorded. Stop that.", style="red")


def _report(board: str, done: int, moved: list[str], json: bool) -> None:
    if json:
        return print_json({"board": board, "recorded": done, "moved": moved})
    out.print(f"Board {board} takes scores itself now. {counted(done, 'last change')} recorded; the sets are kept under {ASIDE}KEY.")
    return err.print(f"Remove 'following = true' from the definition of board {board}, if it stands in a file.")


def _last_look(sets: SortedSets, follower: Follower, plan: list[MovedSet], yes: bool) -> int:
    """Record nearly all, and see that nothing is in the way; return how many changes that were."""
    sets.check_room_aside(one.key for one in plan)
    rows = _caught_up(follower, plan)
    _check_parity(rows, plan, follower, yes)
    return sum(row.recorded for row in rows)


def _fence(sets: SortedSets, boards: AnyLeaderboards, name: str, plan: Sequence[MovedSet]) -> list[str]:
    """See that all sets lie aside, where nobody writes to them; return the keys that are written to again."""
    info = boards.admin.board(name)
    # In the board's own Redis, it has moved them itself when its rankings took their place.
    is_here = bool(info.layouts) and sets.is_kept(info.board)
    others = [one.key for one in plan if not (is_here and sets.is_listed(info.board, one.place))]
    return [key for key in others if sets.exists(key) and (sets.exists(ASIDE + key) or not sets.move_aside(key))]


def _following(sets: SortedSets, request: MigrationRequest) -> Way:
    sets.keys(request.keys)
    way = way_to(request, sets)
    if not way.board.following:
        raise ConfigError(
            f"board {request.board!r} takes scores itself: to follow another system, define it with following = true, in its file or with "
            f"PATCH /v1/boards/{request.board}. Then nobody else can send it scores, and the sets of the other system are only read"
        )
    return way


def _plan(sets: SortedSets, way: Way, request: MigrationRequest) -> list[MovedSet]:
    """Return the sets that there are now: windows begin and end while they are followed."""
    keys = sets.keys(request.keys, or_none=True)
    return planned(sets, way, request, keys) if keys else []


def _caught_up(follower: Follower, plan: list[MovedSet]) -> list[Followed]:
    """Look until little is left to record."""
    rows = follower.look(plan)
    for _ in range(LAST_ROUNDS - 1):
        if not any(row.recorded for row in rows):
            break
        again = follower.look(plan)
        rows = [after._replace(recorded=before.recorded + after.recorded) for before, after in zip(rows, again, strict=True)]
    return rows


def _check_parity(rows: Sequence[Followed], plan: Sequence[MovedSet], follower: Follower, yes: bool) -> None:
    """Ask before a cut-over that leaves differences."""
    if left := sum(row.differences for row in rows):
        for one in plan:
            for member, problem in list(follower.bad(one.key).items())[:10]:
                err.print(f"{one.key}, member {member!r}: {problem}", style="red")
        confirm(f"{counted(left, 'player differs', 'players differ')} from the sets. Cut over all the same?", yes)


@contextmanager
def _stopped() -> Iterator[None]:
    """End quietly when the command is stopped."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        err.print("Stopped following. The sets are as they were: follow again, or cut over with --cut-over, or leave it at that.")
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _shown(json: bool) -> Iterator[Show]:
    """Show rounds as a live table, on a terminal; else each as a line, where something has changed."""
    if not json and out.is_terminal:
        with Live(console=out, auto_refresh=False) as live:
            yield lambda rows: live.update(rows if isinstance(rows, str) else _table(rows), refresh=True)
        return
    last: list[object] = []

    def show(rows: list[Followed] | str) -> None:
        if isinstance(rows, str):
            return
        if json:
            print_json([msgspec.to_builtins(row._asdict()) for row in rows])
            sys.stdout.flush()
            return
        told = [(row.key, row.players, row.players_here, row.recorded_in_all, row.differences) for row in rows]
        if not last or last[0] != told:
            last[:] = [told]
            out.print(_table(rows))

    yield show


def _table(rows: Sequence[Followed]) -> Table:
    table = new_table("key", "ranking", "players", "here", "recorded", "differences", "behind")
    for row in rows:
        cells = row.key, row.place, row.players, row.players_here, row.recorded_in_all, row.differences, f"{row.behind_s:.2f} s"
        table.add_row(*map(cell, cells))
    return table
