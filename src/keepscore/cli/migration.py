"""Sorted sets of another system become rankings of a board: which set becomes which ranking, and the way there.

Everything is read and checked before the first set is moved. A set under another name than the ranking's own key stays where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from keepscore.cli.importing import ImportTarget
from keepscore.cli.ledger_alone import define_alone, defined, ledger_alone
from keepscore.cli.members import BadMember, Decoding, Members, bring, compare, entries_of
from keepscore.cli.options import at_service, err, reach
from keepscore.config import Settings, load_settings
from keepscore.domain.boards import Board
from keepscore.domain.durations import time_of
from keepscore.domain.key_places import KeyPlaces, RankingPlace
from keepscore.domain.keys import ASIDE
from keepscore.domain.values import moment_of
from keepscore.domain.windows import span_at, span_of
from keepscore.errors import ConfigError, KeepscoreError, LedgerInUse, UnknownBoard, UnknownWindow
from keepscore.leaderboards import now_ms

if TYPE_CHECKING:
    from keepscore.cli.takeover import SortedSets

__all__ = ["MigrationRequest", "Moved", "MovedSet", "Way", "bad_members", "import_sets", "label_of", "planned", "source_of", "way_to"]


class MigrationRequest(NamedTuple):
    """What somebody wants to take over, and where to."""

    board: str
    #: Keys, or patterns of keys.
    keys: Sequence[str]
    decoding: Decoding
    #: Where the scores come from, in the place of address and key.
    source: str | None = None
    #: The ranking, where keys do not tell it.
    window: str | None = None
    window_id: str | None = None
    segment: str | None = None
    #: The service, or the configuration.
    url: str | None = None
    config: str | None = None


class Way(NamedTuple):
    """How a board is reached: its definition, the service that has it, if one has, and the engine, where that can be opened beside it."""

    board: Board
    url: str | None
    engine: str | None
    #: Boards of the configuration that cannot be opened yet: their keys hold sets that are still to be imported.
    waiting: frozenset[str] = frozenset()


class MovedSet(NamedTuple):
    """A set, the ranking that it becomes, and whether it has the name of that ranking's own key."""

    key: str
    place: RankingPlace
    is_own: bool


class Moved(NamedTuple):
    """A set, and what became of its members."""

    key: str
    place: RankingPlace
    members: Members


def way_to(request: MigrationRequest, sets: SortedSets) -> Way:
    """Find a board. One whose own key would be in the way of a service is refused: only beside it, the set can be moved."""
    url = request.url
    if url is None:
        settings = load_settings(request.config)
        try:
            board = defined(settings, request.board)
        except LedgerInUse as exc:
            if exc.url is None:
                raise
            url = exc.url
        else:
            if board is None:
                raise UnknownBoard(f"there is no board {request.board!r}: define it in keepscore.toml or with 'keepscore boards apply'")
            waiting = _waiting(settings, sets) if sets.is_at(settings.engine) else frozenset()
            if needed := waiting & {*board.also, *board.made_from}:
                raise ConfigError(
                    f"board {board.name!r} needs board {min(needed)!r}, whose key holds a set that is to be imported: import that first"
                )
            return Way(board, None, settings.engine, waiting - {board.name})
    with at_service(url) as boards:
        info = boards.admin.board(request.board)
    # Only a service whose engine is Redis tells of layouts.
    taken = sets.in_the_way(info.board) if info.layouts and sets.is_kept(info.board) else []
    if taken:
        raise ConfigError(
            f"{taken[0]!r} is the key of board {request.board!r} itself on the service at {url}, which cannot move it: import it without "
            "--url, with the service's configuration (--config FILE, or KEEPSCORE_LEDGER_URL and KEEPSCORE_ENGINE_URL). The service may "
            "keep running"
        )
    return Way(info.board, url, None)


def _waiting(settings: Settings, sets: SortedSets) -> frozenset[str]:
    """Return the configured boards whose keys are in the way, and those that need them."""
    found = {board.name for board in settings.boards if not board.is_rollup and sets.in_the_way(board)}
    while more := {board.name for board in settings.boards if board.name not in found and found & {*board.also, *board.made_from}}:
        found |= more
    return frozenset(found)


def planned(sets: SortedSets, way: Way, request: MigrationRequest, keys: Sequence[str]) -> list[MovedSet]:
    """Return which set becomes which ranking, or raise ConfigError for the first that cannot. Nothing is changed."""
    if way.board.is_rollup:
        parts = ", ".join(repr(name) for name in way.board.made_from)
        raise ConfigError(
            f"board {way.board.name!r} is a roll-up: its scores are made from {parts}, and have no events of their own to begin with. "
            f"Import the keys that belong to {parts}; the roll-up follows"
        )
    is_here = way.engine is not None and sets.is_at(way.engine)
    given = _given_place(way.board, request, keys)
    places: Mapping[str, RankingPlace]
    places = {key: given or _place_of(key, way.board, known) for known in [KeyPlaces(way.board, now_ms())] for key in keys}
    doubled = [place for place, times in Counter(places.values()).items() if times > 1]
    if doubled:
        several = ", ".join(repr(key) for key in keys if places[key] == doubled[0])
        raise ConfigError(f"{several} would all become the ranking {doubled[0]} of board {way.board.name!r}: import one of them")
    if is_here:
        places = _without_made(sets, way.board, request, places)
    return [MovedSet(key, place, is_here and sets.is_own(key, way.board, place)) for key, place in places.items()]


def _without_made(
    sets: SortedSets, board: Board, request: MigrationRequest, places: Mapping[str, RankingPlace]
) -> Mapping[str, RankingPlace]:
    """Leave out what the board has made itself; raise ConfigError where the command names it, or nothing is left."""
    made = [key for key, place in places.items() if sets.is_made(key, board, place)]
    if made and (len(made) == len(places) or any(key in request.keys for key in made)):
        named = next((key for key in made if key in request.keys), made[0])
        raise ConfigError(f"{named!r} is already Keepscore's own key, of board {board.name!r}: there is nothing to take over")
    return {key: place for key, place in places.items() if key not in made}


def _given_place(board: Board, request: MigrationRequest, keys: Sequence[str]) -> RankingPlace | None:
    """Return the ranking that the command names; None: keys tell it."""
    window, window_id, at = request.window, request.window_id, request.decoding.at
    only = [*board.periods] == ["all_time"] and not any(KeyPlaces(board, now_ms()).find(key.removeprefix(ASIDE)) for key in keys)
    if (window, window_id, request.segment) == (None, None, None) and not only:
        return None
    if len(keys) > 1:
        raise ConfigError(f"one ranking is named, and {len(keys)} keys are: import them one by one, or leave --window and --segment out")
    window = window or board.first_window
    if window not in board.periods:
        raise UnknownWindow(f"board {board.name!r} has no window {window!r}: it has {', '.join(board.periods)}")
    moment = now_ms() if at is None else moment_of(at)
    span = span_of(board, window, window_id) if window_id is not None else span_at(board, window, moment)
    if span is None:
        raise UnknownWindow(f"board {board.name!r} has no season at {time_of(moment).isoformat()}: name one with --window-id")
    return RankingPlace(window, span.id, request.segment or "")


def _place_of(key: str, board: Board, places: KeyPlaces) -> RankingPlace:
    found = places.find(key.removeprefix(ASIDE))
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(f"{key!r} may be {' or '.join(map(str, found))} of board {board.name!r}: say which with --window and --segment")
    raise ConfigError(
        f"{key!r} is the key of no ranking of board {board.name!r}, by its templates: name the ranking with --window and --window-id (and "
        "--segment), or leave the key out"
    )


def label_of(sets: SortedSets, key: str) -> dict[str, str]:
    """Return what the events of a set are labelled with."""
    return {"source": sets.address, "key": key.removeprefix(ASIDE)}


def source_of(sets: SortedSets, key: str, request: MigrationRequest) -> str:
    """Return what members are known by, beside their ranking, player and score."""
    return request.source or f"{sets.address} {key.removeprefix(ASIDE)}"


def import_sets(sets: SortedSets, request: MigrationRequest, dry_run: bool) -> list[Moved]:
    """Import sets, or tell what an import would do. Return what became of each."""
    # Before the ledger is opened, which may create it.
    keys = sets.keys(request.keys)
    way = way_to(request, sets)
    plan = planned(sets, way, request, keys)
    own = [one.key for one in plan if one.is_own]
    if dry_run:
        return _compared(sets, plan, request, way)
    if not own:
        return _brought(sets, {one.key: one.key for one in plan}, plan, request, way)
    sets.check_room_aside(own)
    # All is read and checked before the first set is moved.
    _compared(sets, plan, request, way)
    if left := [key for key in sets.in_the_way(way.board) if key not in own]:
        define_alone(load_settings(request.config), request.board)
    moved: list[str] = []
    try:
        for key in own:
            sets.move_aside(key)
            moved.append(key)
        done = _brought(sets, {one.key: ASIDE + one.key if one.is_own else one.key for one in plan}, plan, request, way)
    except KeepscoreError as exc:
        kept = [key for key in moved if not sets.move_back(key)]
        if not kept:
            raise
        raise ConfigError(f"{exc} (the sets are kept under {ASIDE}: repeat the command with --key '{ASIDE}{kept[0]}' to go on)") from exc
    if left:
        err.print(f"Import {', '.join(left)} as well: until then, board {request.board!r} takes no scores.", markup=False, highlight=False)
    return done


def _compared(sets: SortedSets, plan: list[MovedSet], request: MigrationRequest, way: Way) -> list[Moved]:
    with ExitStack() as stack:
        target: Any
        if any(one.is_own for one in plan):
            # Until they are moved aside, the board cannot be opened.
            target = stack.enter_context(ledger_alone(load_settings(request.config), request.board))
        else:
            target = ImportTarget(stack.enter_context(reach(way.url, request.config, without=way.waiting)), request.board)
        found = []
        for key, place, _ in plan:
            entries = entries_of(sets.read(key), request.decoding, label_of(sets, key))
            found.append(Moved(key, place, compare(entries, place, target)))
        return found


def _brought(sets: SortedSets, where: dict[str, str], plan: list[MovedSet], request: MigrationRequest, way: Way) -> list[Moved]:
    """Bring the sets, each from where it lies now."""
    with reach(way.url, request.config, without=way.waiting) as boards:
        target = ImportTarget(boards, request.board)
        found = []
        for key, place, _ in plan:
            entries = entries_of(sets.read(where[key]), request.decoding, label_of(sets, key))
            found.append(Moved(key, place, bring(entries, source_of(sets, key, request), place, target)))
        return found


def bad_members(moved: Sequence[Moved]) -> list[tuple[str, BadMember]]:
    """Return all members that cannot be players, each with its key."""
    return [(one.key, bad) for one in moved for bad in sorted(one.members.bad)]
