"""The validation of whole definitions: types, names, windows and what does not go together. `board_checks` checks single values.

A definition that passes is in its one canonical form: lists of its own, tables as structs, `windows` as a list where all are plain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import msgspec
from msgspec.structs import force_setattr

from keepscore.domain.board_checks import (
    FOREVER_KEPT,
    brief,
    check_cron,
    check_movement,
    check_schedule,
    check_template,
    check_ttl,
    check_type,
    half_life_of,
)
from keepscore.domain.board_fields import BOUNDS, CHOICES, FIELDS, NAME_PATTERN, TYPES, WINDOW_FIELDS, Transfers, WindowName
from keepscore.domain.board_parts import Decay, Window
from keepscore.domain.durations import duration_ms
from keepscore.domain.inactivity import Inactivity, inactivity_from
from keepscore.domain.leagues.definition import COHORT, league_from
from keepscore.domain.prizes import Prize, prize_from
from keepscore.domain.ratings.definition import Rating, rating_from
from keepscore.domain.rollups import Rollup, rollup_from
from keepscore.domain.rules import Rules, rules_from
from keepscore.domain.segments import canonical_segments, check_segment_name
from keepscore.domain.team_definition import TEAMS_SUFFIX, members_from
from keepscore.domain.tiers import tiers_from
from keepscore.errors import InvalidBoard

if TYPE_CHECKING:
    from keepscore.domain.boards import Board

__all__ = ["check_board", "checked", "wrong"]

T = TypeVar("T")

_WINDOWS: tuple[str, ...] = get_args(WindowName)
_KEY_FIELDS = ("board", "start", "end")
_SEGMENT_KEY_FIELDS = (*_KEY_FIELDS, "segment", "value")
#: What each template of a key may hold: a live key is the same for all windows of a name.
_TEMPLATES = {
    "key": _KEY_FIELDS,
    "segment_key": _SEGMENT_KEY_FIELDS,
    "live_key": ("board",),
    "live_segment_key": ("board", "segment", "value"),
}
_NAME = re.compile(NAME_PATTERN)

#: Milliseconds for which a CDN keeps an answer at most: a day.
MAX_CDN_MS = 86_400_000


def wrong(board: Board, field: str, value: object, allowed: str) -> InvalidBoard:
    """Return the error for a field: its value, what is allowed, and what the field means."""
    meaning = FIELDS.get(field) or WINDOW_FIELDS.get(field.rpartition(".")[2]) or f"a table of {', '.join(WINDOW_FIELDS)}"
    return InvalidBoard(f"board {brief(board.name)}: {field} = {brief(value)} cannot be used; {allowed}. {field} is {meaning}")


def checked(board: Board, field: str, value: Any, check: Callable[[Any], T]) -> T:
    """Return what a check makes of a value, or raise the error for its field."""
    try:
        return check(value)
    except ValueError as exc:
        raise wrong(board, field, value, str(exc)) from None


def check_board(board: Board) -> None:
    """Check a definition, and bring it into its canonical form."""
    _check_types(board)
    _check_names(board)
    if board.decimals not in BOUNDS["Board.decimals"]:
        raise wrong(board, "decimals", board.decimals, f"allowed: {BOUNDS['Board.decimals']}")
    for field in ("resolution", "grace", "cdn_top", "cdn_rank"):
        checked(board, field, getattr(board, field), duration_ms)
    for field in ("cdn_top", "cdn_rank"):
        if duration_ms(getattr(board, field)) > MAX_CDN_MS:
            raise wrong(board, field, getattr(board, field), "allowed: 0s (a CDN keeps nothing) to 1d")
    if board.resolution_ms < 1:
        raise wrong(board, "resolution", board.resolution, "allowed: 1ms or more")
    try:
        board.zone  # noqa: B018 - looks the zone up
    except (OSError, ValueError, KeyError, ImportError):
        raise wrong(board, "timezone", board.timezone, "write an IANA name such as 'UTC' or 'America/New_York'") from None
    if board.decay is not None:
        given = msgspec.structs.asdict(board.decay) if isinstance(board.decay, Decay) else board.decay
        half_life = checked(board, "decay", given, partial(half_life_of, board.operator, board.order))
        force_setattr(board, "decay", Decay(half_life))
    if board.increments and (board.operator != "best" or board.order != "desc" or board.decay is not None):
        allowed = (
            "it works on best boards with high scores and without decay: sum and last boards take amounts anyway, first boards never do"
        )
        raise wrong(board, "increments", board.increments, allowed)
    if board.movement is not None:
        checked(board, "movement", board.movement, partial(check_movement, list(board.windows)))
    low, high = board.bounds
    if low < 0 and board.decay is not None:
        raise wrong(board, "min_score", board.min_score, "a board with decay has no scores below 0")
    if low > high:
        raise wrong(board, "min_score", board.min_score, f"it is above max_score = {board.max_score}")
    board.cuts  # noqa: B018 - checks the resets
    force_setattr(board, "windows", _canonical_windows(board))
    if board.rollup is not None:
        _check_rollup(board)
    if board.rating is not None:
        _check_rating(board)
    _check_teams(board)
    if board.tiers:
        force_setattr(board, "tiers", checked(board, "tiers", board.tiers, partial(tiers_from, board.order)))
        for tier in board.tiers:
            board.bound("tiers", tier.score or 0)
    elif not isinstance(board.tiers, list):
        raise wrong(board, "tiers", board.tiers, "give a list of tiers")
    if board.league is not None:
        _check_league(board)
    if board.inactivity is not None:
        _check_inactivity(board)
    if board.rules is not None:
        given = msgspec.structs.asdict(board.rules) if isinstance(board.rules, Rules) else board.rules
        force_setattr(board, "rules", checked(board, "rules", given, rules_from))
        board.limits  # noqa: B018 - checks them
    if board.prize is not None:
        _check_prize(board)
    if board.keep_top is not None:
        _check_keep_top(board, board.keep_top)
    if board.following and (board.rollup, board.decay, board.inactivity) != (None, None, None):
        raise wrong(board, "following", True, "roll-ups, and boards with decay or inactivity, change scores themselves: take one away")


def _check_types(board: Board) -> None:
    for field, expected in TYPES.items():
        checked(board, field, getattr(board, field), partial(check_type, expected))
    for field in ("also", "resets"):
        # Lists of its own: a caller's may change, and may be a tuple.
        force_setattr(board, field, list(getattr(board, field)))
    for field, choices in CHOICES.items():
        if getattr(board, field) not in choices:
            raise wrong(board, field, getattr(board, field), f"allowed: {', '.join(choices)}")


def _check_names(board: Board) -> None:
    form = f"allowed: letters, digits, '_', '-', '.', at most {BOUNDS['Board.name'].most}, a letter or digit first"
    if not _NAME.fullmatch(board.name if board.by == "player" else board.name.removesuffix(TEAMS_SUFFIX)):
        raise wrong(board, "name", board.name, form)
    for segment in board.segments if isinstance(board.segments, list | tuple) else ():
        if isinstance(segment, str):
            checked(board, "segments", segment, check_segment_name)
    force_setattr(board, "segments", checked(board, "segments", board.segments, canonical_segments))
    if board.slicing.profile:
        for field in ("keep_top", "inactivity", "following"):
            if getattr(board, field):
                raise wrong(board, field, getattr(board, field), "a board with segments from the profile has none: remove one of the two")
    if len(board.also) not in BOUNDS["Board.also"] or len(set(board.also)) < len(board.also) or board.name in board.also:
        raise wrong(board, "also", board.also, f"at most {BOUNDS['Board.also'].most} other boards, each once")
    for other in board.also:
        if not _NAME.fullmatch(other):
            raise wrong(board, "also", other, form)


def _check_keep_top(board: Board, keep_top: int) -> None:
    if keep_top not in BOUNDS["Board.keep_top"]:
        raise wrong(board, "keep_top", keep_top, f"allowed: {BOUNDS['Board.keep_top']}")
    if board.rollup is not None:
        raise wrong(board, "keep_top", keep_top, "a roll-up keeps all players: remove one of the two")
    if board.decay is not None:
        raise wrong(board, "keep_top", keep_top, "a board with decay keeps all players: its scores cannot be recomputed exactly")
    if board.ttls_ms:
        raise wrong(board, "keep_top", keep_top, "a board with a ttl keeps all players: remove one of the two")


def _check_prize(board: Board) -> None:
    given = msgspec.structs.asdict(board.prize) if isinstance(board.prize, Prize) else board.prize
    force_setattr(board, "prize", checked(board, "prize", given, prize_from))
    if board.consistency != "strong":
        raise wrong(board, "prize", given, "it needs consistency = 'strong', so that nothing unrecorded decides")


def _check_rollup(board: Board) -> None:
    given = msgspec.structs.asdict(board.rollup) if isinstance(board.rollup, Rollup) else board.rollup
    rollup = checked(board, "rollup", given, partial(rollup_from, board.name))
    force_setattr(board, "rollup", rollup)
    for field in ("segments", "also", "min_score", "max_score", "decay", "inactivity", "rules", "prize", "resets"):
        if getattr(board, field):
            raise wrong(board, field, getattr(board, field), "a roll-up has none")
    if board.operator != "best":
        raise wrong(board, "operator", board.operator, "a roll-up has an aggregate instead")
    if list(board.periods) != [rollup.into]:
        raise wrong(board, "windows", list(board.periods), f"a roll-up has only the window of into, {rollup.into}")


def _check_rating(board: Board) -> None:
    given = msgspec.to_builtins(board.rating) if isinstance(board.rating, Rating) else board.rating
    rating = checked(board, "rating", given, rating_from)
    force_setattr(board, "rating", rating)
    for field in ("rollup", "decay", "also", "rules", "increments", "following"):
        if getattr(board, field):
            raise wrong(board, field, msgspec.to_builtins(getattr(board, field)), "a board with a rating has none")
    if board.order != "desc":
        raise wrong(board, "order", board.order, "ratings rank from high to low")
    if board.operator not in ("best", "sum"):
        raise wrong(board, "operator", board.operator, "changes of ratings add up: write sum, or leave it out")
    force_setattr(board, "operator", "sum")
    if rating.has_deviations:
        _check_levels(board, rating)
        return
    low, high = board.bounds
    if not low <= board.bound("rating", rating.initial or 0) <= high:
        raise wrong(board, "rating", given, "initial is outside min_score to max_score")


def _check_levels(board: Board, rating: Rating) -> None:
    """Refuse what does not go with ratings that become less certain with time."""
    for field in ("min_score", "max_score", "inactivity"):
        if getattr(board, field) is not None:
            value = msgspec.to_builtins(getattr(board, field))
            raise wrong(board, field, value, f"a board with a rating by {rating.system} has none")
    farthest = abs(rating.start) + float(rating.z or 0) * (float(rating.deviation or 0) + 200 * 365 * float(rating.idle_per_day or 0))
    board.bound("rating", 8 * ceil(farthest))


def _check_league(board: Board) -> None:
    given = msgspec.to_builtins(board.league)
    force_setattr(board, "league", checked(board, "league", given, partial(league_from, list(board.periods))))
    for field in ("rollup", "decay", "keep_top", "following"):
        if getattr(board, field):
            raise wrong(board, field, msgspec.to_builtins(getattr(board, field)), "a board with a league has none: remove one of the two")
    if board.rating is not None and board.rating.has_deviations:
        system = board.rating.system
        raise wrong(board, "league", given, f"ratings by {system!r} change with time alone: a league ranks scores, or ratings by 'elo'")
    if COHORT in board.slicing.rules:
        raise wrong(board, "segments", board.segments, f"a board with a league has its own segment {COHORT!r}: use another name")


def _check_teams(board: Board) -> None:
    if board.by == "player":
        for field in ("members", "transfers"):
            if getattr(board, field) is not None:
                raise wrong(board, field, getattr(board, field), "it is for boards with by = 'team'")
        return
    for field in ("segments", "rollup", "rating", "decay", "inactivity", "prize", "league", "keep_top", "following"):
        if getattr(board, field):
            raise wrong(board, field, msgspec.to_builtins(getattr(board, field)), "a board of teams has none")
    if any(window.ttl not in (None, FOREVER_KEPT) for window in board.periods.values()):
        raise wrong(board, "windows", msgspec.to_builtins(board.windows), "a board of teams keeps its rankings: leave ttl out")
    force_setattr(board, "members", checked(board, "members", board.members, partial(members_from, board.operator)))
    force_setattr(board, "transfers", "stay" if board.transfers is None else board.transfers)
    if board.transfers not in get_args(Transfers):
        raise wrong(board, "transfers", board.transfers, f"allowed: {', '.join(get_args(Transfers))}")


def _check_inactivity(board: Board) -> None:
    given = msgspec.structs.asdict(board.inactivity) if isinstance(board.inactivity, Inactivity) else board.inactivity
    force_setattr(board, "inactivity", rule := checked(board, "inactivity", given, inactivity_from))
    if not board.adds_up or board.order != "desc" or board.decay or board.also or list(board.periods) != ["all_time"]:
        allowed = "it works on last and sum boards with high scores and the window all_time only, without decay and also"
        raise wrong(board, "inactivity", given, allowed)
    for value in (rule.lose, rule.floor or 0):
        board.bound("inactivity", value)


def _canonical_windows(board: Board) -> list[str] | dict[str, Window]:
    """Return one form for each set of windows, so that equal definitions are equal boards: names if all are plain, or a table."""
    given: Any = board.windows
    if not isinstance(given, Mapping | list | tuple):
        raise wrong(board, "windows", given, "give a list or a table")
    if not given:
        raise wrong(board, "windows", given, "a board has at least one window")
    for name in given:
        if name not in _WINDOWS:
            raise wrong(board, "windows", given, f"{brief(name)} is not a window; allowed: {', '.join(_WINDOWS)}")
    if len(set(given)) < len(given):
        raise wrong(board, "windows", given, "give each window once")
    table = given if isinstance(given, Mapping) else dict.fromkeys(given, Window())
    windows = {name: _window(board, name, window) for name, window in table.items()}
    return list(windows) if all(window == Window() for window in windows.values()) else windows


def _window(board: Board, name: str, given: object) -> Window:
    fields = msgspec.structs.asdict(given) if isinstance(given, Window) else given
    if not isinstance(fields, Mapping):
        raise wrong(board, f"windows.{name}", given, "give a table")
    for field, value in fields.items():
        if field not in WINDOW_FIELDS:
            allowed = ", ".join(WINDOW_FIELDS)
            raise InvalidBoard(f"board {board.name!r}: unknown field {brief(field)} in windows.{name}; allowed: {allowed}")
        if field != "archive":
            checked(board, f"windows.{name}.{field}", value, partial(check_type, "str | null"))
    window = Window(**fields)
    _check_window(board, f"windows.{name}", window)
    return window


def _check_window(board: Board, place: str, window: Window) -> None:
    archive: object = window.archive
    if archive != "all" and (type(archive) is not int or archive not in BOUNDS["Window.archive"]):
        raise wrong(board, f"{place}.archive", archive, f"allowed: {BOUNDS['Window.archive']}, or 'all'")
    if window.ttl is not None:
        checked(board, f"{place}.ttl", window.ttl, check_ttl)
    if window.snapshot is not None:
        checked(board, f"{place}.snapshot", window.snapshot, check_schedule)
    for field, fields in _TEMPLATES.items():
        template = getattr(window, field)
        if template is not None:
            checked(board, f"{place}.{field}", template, partial(check_template, fields))
            if field.startswith("live_") and place == "windows.all_time":
                raise wrong(board, f"{place}.{field}", template, f"all_time never ends, and is not renamed: write {field[5:]}")
    if place == "windows.season":
        _check_season(board, window)
        return
    for field in ("start", "end", "cron"):
        if getattr(window, field) is not None:
            raise wrong(board, f"{place}.{field}", getattr(window, field), "only a season has it")


def _check_season(board: Board, window: Window) -> None:
    if (window.cron is None) == (window.start is None) or (window.start is None) != (window.end is None):
        raise wrong(board, "windows.season", msgspec.to_builtins(window), "give start and end, or cron")
    if window.cron is not None:
        checked(board, "windows.season.cron", window.cron, check_cron)
        return
    start, end = board.season_moment("start", window.start), board.season_moment("end", window.end)
    # In UTC: two times of one zone are compared by what its clocks show, though these may have been put back.
    if start.astimezone(UTC) >= end.astimezone(UTC):
        raise wrong(board, "windows.season.end", window.end, f"it must be later than start = {window.start!r}")
