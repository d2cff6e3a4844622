"""The fields of a board's definition: what each means, and what it may be."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from keepscore.domain.durations import DURATION_PATTERN

__all__ = [
    "ANOMALY_FIELDS",
    "BOUNDS",
    "CHOICES",
    "COHORT_FIELDS",
    "DECAY_FIELDS",
    "FIELDS",
    "INACTIVITY_FIELDS",
    "K_FIELDS",
    "LEAGUE_FIELDS",
    "NAME_PATTERN",
    "PATTERNS",
    "PRIZE_FIELDS",
    "RANKED_FROM_FIELDS",
    "RATE_PATTERN",
    "RATING_FIELDS",
    "REWARD_FIELDS",
    "ROLLUP_FIELDS",
    "RULE_FIELDS",
    "SEGMENT_PATTERN",
    "TABLES",
    "TIER_FIELDS",
    "TYPES",
    "WINDOW_FIELDS",
    "Consistency",
    "FieldBounds",
    "Late",
    "Operator",
    "RankKind",
    "RankedBy",
    "ReadAccess",
    "SortOrder",
    "SubmitAccess",
    "Ties",
    "Transfers",
    "Weekday",
    "WindowName",
]

Operator = Literal["best", "sum", "last", "first"]
SortOrder = Literal["desc", "asc"]
Ties = Literal["first", "last", "player"]
RankKind = Literal["unique", "standard", "dense"]
Consistency = Literal["eventual", "strong"]
ReadAccess = Literal["key", "public"]
SubmitAccess = Literal["auto", "players", "server"]
Late = Literal["refuse", "open_windows"]
RankedBy = Literal["player", "team"]
Transfers = Literal["stay", "follow"]
WindowName = Literal["daily", "weekly", "monthly", "yearly", "all_time", "season"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class FieldBounds(NamedTuple):
    """The least and the most that a number may be, a list may hold, or a text may be long."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least:,} to {self.most:,}"

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.least <= value <= self.most


#: The bounds of fields, by table and field. Checks, error messages and the documentation take them from here.
BOUNDS = {
    "Board.name": FieldBounds(1, 64),
    "Board.decimals": FieldBounds(0, 9),
    "Board.segments": FieldBounds(0, 8),
    "Board.also": FieldBounds(0, 8),
    "Board.resets": FieldBounds(0, 10_000),
    "Board.keep_top": FieldBounds(1, 10**12),
    "Window.archive": FieldBounds(0, 100_000_000),
    "Rollup.of": FieldBounds(1, 16),
    "Rating.k": FieldBounds(1, 16),
    "Board.tiers": FieldBounds(0, 16),
    "League.tiers": FieldBounds(2, 16),
    "Cohort.target": FieldBounds(2, 500),
    "Board.members": FieldBounds(1, 1000),
    "Rules.require": FieldBounds(0, 1),
    "Rules.builds": FieldBounds(0, 64),
    "Prize.winners": FieldBounds(1, 1_000_000),
    "Prize.rewards": FieldBounds(0, 1000),
}

#: What names of boards and segments are made of.
NAME_PATTERN = rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{BOUNDS['Board.name'].most - 1}}}"
SEGMENT_PATTERN = r"[a-z][a-z0-9_]{0,31}"
#: How much in what time, such as `5000/1h`.
RATE_PATTERN = rf"\d{{1,16}}(\.\d{{1,9}})?/{DURATION_PATTERN}"
#: What texts of fields, or of the parts of lists, look like, by table and field.
PATTERNS = {
    "Board.name": NAME_PATTERN,
    "Board.segments": SEGMENT_PATTERN,
    "Board.also": NAME_PATTERN,
    "Board.resolution": DURATION_PATTERN,
    "Board.grace": DURATION_PATTERN,
    "Board.cdn_top": DURATION_PATTERN,
    "Board.cdn_rank": DURATION_PATTERN,
    "Board.movement": f"previous_window|{DURATION_PATTERN}",
    "Window.ttl": f"forever|{DURATION_PATTERN}",
    "Decay.half_life": DURATION_PATTERN,
    "Inactivity.after": DURATION_PATTERN,
    "Inactivity.every": DURATION_PATTERN,
    "Rollup.of": NAME_PATTERN,
    "Rules.max_increase": RATE_PATTERN,
    "Rules.max_submissions": RATE_PATTERN,
    "Rules.max_attempts": RATE_PATTERN,
    "Prize.review": DURATION_PATTERN,
    "Reward.ranks": r"[1-9]\d{0,6}(-[1-9]\d{0,6})?",
}

#: What each field of a board means, for error messages, the API's description and the documentation.
FIELDS: dict[str, str] = {
    "name": f"the board's name: letters, digits, `_`, `-` and `.`, at most {BOUNDS['Board.name'].most}",
    "operator": "how a player's scores combine: `best`; `sum` of all amounts; `last` (scores replace, amounts add); or `first` (only the "
    "earliest counts)",
    "order": "which scores are ahead: `desc` (high) or `asc` (low)",
    "increments": "`best` only: whether amounts may be sent, too; an amount is added to the best score so far",
    "decimals": f"digits after the point, {BOUNDS['Board.decimals']}. Scores are stored as whole numbers and never rounded; this cannot be "
    "changed later",
    "ties": "who is ahead when scores are equal: the `first` or the `last` to reach the score, or by `player` id",
    "rank": "how ranks are numbered by default: `unique` (1, 2, 3, 4), `standard` (1, 1, 3, 4) or `dense` (1, 1, 2, 3)",
    "resolution": "how finely times of different players are compared when scores are equal, such as `1ms` or `1s`",
    "windows": "the periods to rank: a list of `daily`, `weekly`, `monthly`, `yearly`, `all_time` and `season`, or a table with "
    "settings for each. Answers are about the first one unless a request names another",
    "timezone": "the IANA time zone in which windows begin and end, such as `Europe/Berlin`",
    "week_start": "the day on which weeks begin, `monday` to `sunday`",
    "segments": "attributes that get their own rankings: names, such as `region`; tables, such as `{name = 'country', from = 'profile'}` "
    f"with `sticky` or `brackets`; and combinations, such as `['country', 'level']`; at most {BOUNDS['Board.segments'].most}",
    "min_score": "the lowest score that is accepted; by default -`max_score`, and 0 with `decay`",
    "max_score": "the highest score that is accepted; by default 2^53 − 1",
    "decay": "how scores lose value over time, such as `{half_life = '7d'}`",
    "grace": "how long after a window's end late scores are accepted, such as `1h`",
    "late": "what happens to a score for a closed window: `refuse` it, or count it only in the `open_windows`, such as `all_time`",
    "consistency": "`eventual`, or `strong` for boards with prizes: answers are never cached, and scores are refused while the "
    "engine is down",
    "read": "who may read it if keys are required: `key` (any key that covers it), or `public` (everyone)",
    "cdn_top": "how long a CDN may keep pages of a public board (`Surrogate-Control`), up to `1d`; "
    "`0s`, and on `strong` boards: not at all",
    "cdn_rank": "the same for the rank of one player",
    "submit": "who may submit: `server` (API keys only), `players` (player tokens, too), or `auto`: `server` on a `strong` board, and "
    "`players` on others",
    "also": f"other boards that get every submission too, in the same transaction; at most {BOUNDS['Board.also'].most}. Their own "
    "`also` is not followed",
    "movement": "what `rank_change` in lists compares with: the ranks some time ago, such as `1d`, or those of the `previous_window`",
    "inactivity": "what players lose when they stop playing, such as `{after = '14d', lose = 25, every = '7d', floor = 1000}`",
    "rollup": "the boards that this one is made from, such as `{of = ['daily'], window = 'daily', into = 'weekly', aggregate = 'sum'}`",
    "rating": "how matches change the ratings that the board ranks, such as `{system = 'elo', k = 32, initial = 1000}`; such a board takes "
    "matches and no scores, and its operator is `sum`",
    "tiers": "labels for players, the best first, such as `[{name = 'gold', top = '1%'}, {name = 'silver', top = '10%'}, "
    "{name = 'bronze'}]`",
    "league": "cohorts of players of one tier in each window, some of whom move up or down when it closes, such as `{tiers = ['bronze', "
    "'silver'], cohort = {target = 30, min = 8}, promote = [10], demote = [5], window = 'weekly'}`",
    "rules": "what submissions must keep to, or they are refused or put in quarantine, such as `{max_submissions = {daily = 10}}`",
    "prize": "what there is to win in each window, on a `strong` board, such as `{winners = 100, review = '48h', rewards = [{ranks = '1', "
    "give = 'gold'}]}`",
    "by": "what is ranked: each `player`, or each `team`, which is the `team` of players' profiles",
    "members": "`by = 'team'` only: what makes a team's score: the `sum` of its members' scores, that of its `best` member, or "
    f"`{{mean_of_best = 5}}`, the mean of its best members, {BOUNDS['Board.members']}; by default `sum`, or `best` where scores do not "
    "add up",
    "transfers": "`by = 'team'` only: whether points `stay` with the team for which they were earned, or `follow` the player to another; "
    "by default `stay`",
    "resets": "when the board was reset. Only a reset adds to it; a definition may leave it out",
    "keep_top": f"how many players of each ranking the engine keeps, {BOUNDS['Board.keep_top']}; those behind get an estimated rank. By "
    "default all",
    "following": "whether another system still keeps the scores: Keepscore follows its sorted sets, takes scores from `keepscore import` "
    "alone, and has its rankings under `keepscore:following:KEY`",
}

#: What each field of a window means.
WINDOW_FIELDS: dict[str, str] = {
    "key": "template of the ranking's key, with `{board}`, `{start}` and `{end}`, such as `lb:{board}:{start:%Y-%m-%d}`",
    "segment_key": "template of a segment's key, with `{board}`, `{start}`, `{end}`, `{segment}` and `{value}`",
    "live_key": "the ranking's key while its window is the current one, with `{board}` only, such as `lb:{board}:daily`; when the window "
    "ends, it is renamed to `key`",
    "live_segment_key": "the same for a segment's key, with `{board}`, `{segment}` and `{value}`; when the window ends, it is renamed to "
    "`segment_key`",
    "ttl": "how long a ranking is kept after its last score, such as `48h`, but not less than its window and the grace; on a roll-up, "
    "and with a live key, after its window's end. By default it leaves the engine 8 days after its end, once it is archived; `forever`: "
    "it stays",
    "archive": f"how many of a closed window's standings are archived: {BOUNDS['Window.archive']}, or `all`",
    "snapshot": "when standings are archived while the window is open: `hourly`, `daily`, `weekly`, `monthly` or five cron fields in the "
    "board's time zone",
    "start": "season only: when it starts, a date or a time with an offset",
    "end": "season only: when it ends (not included), a date or a time with an offset",
    "cron": "season only: when a new season starts, five cron fields in the board's time zone, such as `0 0 1 */3 *`",
}

#: What each field of a decay means.
DECAY_FIELDS: dict[str, str] = {"half_life": "the time in which scores lose half of their value, `1h` to `36500d`, such as `7d`"}

#: What each field of an inactivity means.
INACTIVITY_FIELDS: dict[str, str] = {
    "after": "how long after their last score players first lose, `1m` or more, such as `14d`",
    "lose": "what they lose each time, more than 0",
    "every": "how long after a loss they lose again, `1m` or more, such as `7d`",
    "floor": "the score that losses stop at; by default `min_score`",
}

#: What each field of a roll-up means.
ROLLUP_FIELDS: dict[str, str] = {
    "of": f"the boards that it is made from, {BOUNDS['Rollup.of']}",
    "window": "which of their windows counts: `daily` or `monthly`",
    "into": "this board's only window: `weekly`, `monthly` or `yearly` from days, `yearly` from months",
    "aggregate": "how scores become one: `sum`, `max`, `min` or `average`",
    "best": "how many of the best parts an `average` takes; by default all",
    "weights": "what the scores of a board are multiplied by, a whole number; by default 1",
}

#: What each field of the rules means.
RULE_FIELDS: dict[str, str] = {
    "max_increase": "by how much one submission may make a player's score better, such as `1000`, or all of some time together, such as "
    "`'5000/1h'`; or a list of both",
    "max_submissions": "how many submissions of a player are accepted: `{daily = 10}` in each window, `'10/1h'` in any time of that "
    "length; or a list of both",
    "max_attempts": "the same for attempts: submissions that are accepted, and those that another rule refuses",
    "score_per_second": "the highest score or amount for each second since its play began; needs a play token",
    "require": "`['game_id']`: every submission names its game, and each game of a player counts once",
    "builds": "patterns of the game's builds that may send scores, such as `['1.4.*']`; needs a play token",
    "max_score": "the highest score or amount that one submission may bring; unlike the board's own, it can be put in quarantine",
    "min_score": "the lowest one, for boards where low scores are better",
    "on_break": "what happens to a submission that breaks a rule: `refuse` it, or `quarantine` it until a moderator decides; or a table by "
    "rule, such as `{max_increase = 'quarantine'}`",
    "anomalies": "what happens to scores that stand out: `flag`, `quarantine`, or a table with limits",
}

#: What each field of a rating means.
RATING_FIELDS: dict[str, str] = {
    "system": "how ratings are worked out: `elo`, `glicko2` or `openskill`",
    "k": "how much a match can change a rating, such as `32`; or steps, of which the first that fits counts, such as "
    "`[{games = 30, k = 40}, {below = 2400, k = 20}, {k = 10}]`",
    "initial": "the rating that a player starts from in each window; with deviations, the mean: `1500` for glicko2, `25` for openskill",
    "deviation": "how uncertain the rating of a new player is: `350` for glicko2, a third of `initial` for openskill",
    "volatility": "how unsteady a new player is taken to be, for glicko2: `0.06`",
    "tau": "how fast volatilities change, for glicko2: `0.5`",
    "z": "how many deviations below the mean the shown rating is: `2` for glicko2, `3` for openskill",
    "idle_per_day": "by how much the deviation grows in a day without a match: a thousandth of `deviation`; `0`: not at all",
    "ranked_from": "from when on players are ranked, such as `{games = 5}` or `{deviation = 100}`; before, they have a provisional rating",
}

#: What each field of `ranked_from` means.
RANKED_FROM_FIELDS: dict[str, str] = {
    "games": "players are ranked once they have had so many matches, 1 to 10,000",
    "deviation": "players are ranked once their deviation after a match is not more than this",
}

#: What each field of a tier means.
TIER_FIELDS: dict[str, str] = {
    "name": "the label",
    "top": "who gets it: the first players, a share such as `'1%'`, or a number such as `100`",
    "rank": "the same as a number in `top`: the last rank that gets it",
    "score": "who gets it: players with this score or a better one",
}

#: What each field of a league means.
LEAGUE_FIELDS: dict[str, str] = {
    "tiers": f"the names of the tiers, the lowest first, {BOUNDS['League.tiers']}; new players begin in the first",
    "cohort": "how large cohorts are, such as `{target = 30, min = 8}`",
    "promote": "how many of the first of a cohort go up, for each tier but the highest: a count such as `10`, or a share such as `0.2` or "
    "`'20%'`",
    "demote": "how many of the last of a cohort go down, for each tier but the lowest, in the same way; by default none",
    "idle": "what becomes of players without a score in a window: they `stay`, or `demote`: they go down one tier",
    "window": "the window that is a season of the league; by default the first one that closes",
}

#: What each field of the cohorts of a league means.
COHORT_FIELDS: dict[str, str] = {
    "target": f"how many players a cohort takes, {BOUNDS['Cohort.target']}",
    "min": "a cohort with fewer players is merged with another before the window closes, 1 to `target`",
    "by": "who is put together: players in order of `arrival`, or those of similar `activity` in the last season",
}

#: What each field of a step of K means.
K_FIELDS: dict[str, str] = {
    "k": "the K of these players, more than 0",
    "below": "it is for players with a rating below this",
    "games": "it is for players who have had fewer matches than this",
}

#: What each field of a prize means.
PRIZE_FIELDS: dict[str, str] = {
    "winners": f"how many of the first players of a window win, {BOUNDS['Prize.winners']}; `ties` decides between equal scores, so that "
    "each rank has one winner",
    "review": "how long after a window has closed its winners are provisional, `0s` to `366d`, such as `48h`",
    "rewards": f"what ranks get, at most {BOUNDS['Prize.rewards'].most} ranges that begin with rank 1 and leave none out; winners behind "
    "the last get nothing but their place",
}

#: What each field of a reward means.
REWARD_FIELDS: dict[str, str] = {
    "ranks": "one rank, such as `1`, or several, such as `2-10`",
    "give": "what they get, in the words of your game: 1 to 256 bytes",
}

#: What each field of the anomalies means.
ANOMALY_FIELDS: dict[str, str] = {
    "action": "what happens to a score that stands out: `flag` it (it counts, and goes to the moderators), or `quarantine` it",
    "own": "how many deviations from the median of the player's own scores are too many; 0: that is not looked at",
    "board": "the same for the scores of everybody on the board",
    "top": "a score that leads into so many first places, from behind ten times as many or from nowhere, is a jump; 0: none is",
    "accounts": "from how many accounts on the board one address may send scores; 0: from any number",
}

#: The fields of every table of a definition, by the name of its struct.
TABLES = {
    "Board": FIELDS,
    "Window": WINDOW_FIELDS,
    "Decay": DECAY_FIELDS,
    "Inactivity": INACTIVITY_FIELDS,
    "Rollup": ROLLUP_FIELDS,
    "Rules": RULE_FIELDS,
    "Anomalies": ANOMALY_FIELDS,
    "Rating": RATING_FIELDS,
    "Tier": TIER_FIELDS,
    "League": LEAGUE_FIELDS,
    "CohortRule": COHORT_FIELDS,
    "KStep": K_FIELDS,
    "RankedFrom": RANKED_FROM_FIELDS,
    "Prize": PRIZE_FIELDS,
    "Reward": REWARD_FIELDS,
}

#: The type of each field that is not a choice, as `check_type` names it.
TYPES = {"name": "str", "decimals": "int", "resolution": "str", "timezone": "str"}
TYPES |= {
    "min_score": "int | float | null",
    "max_score": "int | float | null",
    "grace": "str",
    "cdn_top": "str",
    "cdn_rank": "str",
    "also": "list of str",
}
TYPES |= {"increments": "bool", "following": "bool", "movement": "str | null", "keep_top": "int | null", "resets": "list of str"}
#: What may be chosen.
CHOICES: dict[str, tuple[str, ...]] = {
    "operator": get_args(Operator),
    "order": get_args(SortOrder),
    "ties": get_args(Ties),
    "rank": get_args(RankKind),
    "week_start": get_args(Weekday),
    "consistency": get_args(Consistency),
    "read": get_args(ReadAccess),
    "submit": get_args(SubmitAccess),
    "late": get_args(Late),
    "by": get_args(RankedBy),
}
