"""The fields of a board's definition: what each means, and what it may be."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = [
    "CHOICES",
    "DECAY_FIELDS",
    "FIELDS",
    "TYPES",
    "WINDOW_FIELDS",
    "Consistency",
    "Operator",
    "Order",
    "RankKind",
    "Ties",
    "Weekday",
    "WindowName",
]

Operator = Literal["best", "sum", "last", "first"]
Order = Literal["desc", "asc"]
Ties = Literal["first", "last", "player"]
RankKind = Literal["unique", "standard", "dense"]
Consistency = Literal["eventual", "strong"]
WindowName = Literal["daily", "weekly", "monthly", "yearly", "all_time", "season"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

#: What each field of a board means, for error messages and the documentation.
FIELDS: dict[str, str] = {
    "name": "the board's name: letters, digits, '_', '-' and '.', at most 64",
    "operator": "how a player's scores combine: best, sum, last or first",
    "order": "which scores are ahead: desc (high) or asc (low)",
    "decimals": "digits after the point that scores have, 0 to 9",
    "ties": "who is ahead with equal scores: first (who got there first), last or player (by player id)",
    "rank": "how ranks are numbered by default: unique (1,2,3,4), standard (1,1,3,4) or dense (1,1,2,3)",
    "resolution": "how finely times are told apart, such as '1ms' or '1s'",
    "windows": "the periods that are ranked: a list of daily, weekly, monthly, yearly, all_time and season, or a table of them",
    "timezone": "the IANA time zone in which windows begin and end, such as 'Europe/Berlin'",
    "week_start": "the day on which weeks begin, monday to sunday",
    "segments": "the attributes by which the board is also ranked apart, such as ['region', 'country']",
    "min_score": "the lowest score that is taken; without it, -max_score, and 0 on a board with decay",
    "max_score": "the highest score that is taken",
    "decay": "how scores lose worth with time, such as {half_life = '7d'}; without it, they keep it",
    "grace": "how long after a window's end late scores are taken, such as '1h'",
    "consistency": "eventual, or strong for boards with prizes (no cached or stale answers)",
    "also": "other boards to which every submission is sent on",
    "movement": "what rank_change in lists is against: the ranks some time ago, such as '1d', or the previous_window's; without it, 0",
    "inactivity": "what players lose who do not play any more, such as {after = '14d', lose = 25, every = '7d', floor = 1000}",
    "rollup": "the boards whose windows it is made from, such as {of = ['daily'], window = 'daily', into = 'weekly', aggregate = 'sum'}",
    "resets": "when the board was reset; only a reset adds to it, and a definition may leave it out",
    "keep_top": "how many players of a ranking the engine keeps, such as 1_000_000; those behind get a rank with an error bound",
}

#: What each field of a window means.
WINDOW_FIELDS: dict[str, str] = {
    "key": "template of the ranking's key, with {board}, {start} and {end}",
    "segment_key": "template of a segment's key, with {board}, {start}, {end}, {segment} and {value}",
    "ttl": "how long a ranking is kept after its last score, such as '48h'; without it, it is kept",
    "archive": "how many of a closed window's standings are archived: a number or 'all'",
    "snapshot": "when standings are archived while the window goes on: hourly, daily, weekly, monthly or a cron expression",
    "start": "season only: when it starts, a date or a time with an offset",
    "end": "season only: when it ends (not included), a date or a time with an offset",
    "cron": "season only: when a new season starts, as a cron expression in the board's time zone",
}

#: What each field of a decay means.
DECAY_FIELDS: dict[str, str] = {"half_life": "the time in which scores lose half of their worth, such as '7d'"}

#: The type of each field that is not a choice, as `check_type` names it.
TYPES = {"name": "str", "decimals": "int", "resolution": "str", "timezone": "str", "segments": "list of str"}
TYPES |= {"min_score": "int | float | null", "max_score": "int | float | null", "grace": "str", "also": "list of str"}
TYPES |= {"movement": "str | null", "keep_top": "int | null", "resets": "list of str"}
#: What may be chosen.
CHOICES: dict[str, tuple[str, ...]] = {
    "operator": get_args(Operator),
    "order": get_args(Order),
    "ties": get_args(Ties),
    "rank": get_args(RankKind),
    "week_start": get_args(Weekday),
    "consistency": get_args(Consistency),
}
