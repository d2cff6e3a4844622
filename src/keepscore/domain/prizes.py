"""The prize of a board: how many win, what each rank gets, and how long the standings are reviewed before that is final. Pure.

Winners have the ranks 1, 2, 3 … of the closed window, however the board numbers ranks: where scores are equal, its `ties` decide, so that
every rank has one winner and every reward goes to one player.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from keepscore.domain.board_fields import BOUNDS, PATTERNS, PRIZE_FIELDS, REWARD_FIELDS
from keepscore.domain.durations import duration_ms

__all__ = ["Prize", "PrizeState", "Reward", "RewardRanges", "RewardState", "prize_from", "reward_id", "reward_ranges"]

#: How far a window is: it takes scores; they are being archived; its winners may still change; they are decided; all have their rewards.
PrizeState = Literal["open", "closing", "provisional", "final", "paid"]
#: How far a reward is: not decided yet, held back, decided, acknowledged by the receiver of the webhook, or claimed.
RewardState = Literal["provisional", "held", "pending", "paid", "claimed"]

#: The longest review, in milliseconds: a year.
MAX_REVIEW_MS = 366 * 86_400_000
#: Bytes of what a rank gets.
MAX_GIVE_BYTES = 256

_RANKS = re.compile(PATTERNS["Reward.ranks"], re.ASCII)


class Reward(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What some ranks get."""

    ranks: str
    give: str


class Prize(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What there is to win in each window of a board."""

    winners: int
    review: str = "48h"
    rewards: list[Reward] = []

    @property
    def review_ms(self) -> int:
        """How long the standings of a closed window are provisional."""
        return duration_ms(self.review)


class RewardRanges(NamedTuple):
    """The rewards by rank: each range begins behind the one before it, the first with rank 1."""

    #: The last rank of each range, and what its ranks get.
    ends: tuple[int, ...]
    gives: tuple[str, ...]

    def at(self, rank: int) -> str | None:
        """Return what a rank gets, if anything. O(log ranges)."""
        place = bisect_right(self.ends, rank - 1)
        return self.gives[place] if place < len(self.gives) else None

    @property
    def last(self) -> int:
        """The last rank that gets something."""
        return self.ends[-1] if self.ends else 0


def reward_ranges(prize: Prize) -> RewardRanges:
    """Return the rewards by rank, or raise a ValueError that names the ranks which overlap, are left out, or do not win.

    >>> reward_ranges(Prize(10, rewards=[Reward("2-10", "silver"), Reward("1", "gold")])).at(2)
    'silver'
    """
    ranges = sorted((*_range(reward.ranks), reward.give) for reward in prize.rewards)
    before = 0
    for first, last, _ in ranges:
        if first <= before:
            raise ValueError(f"rewards: {_ranks(first, min(last, before))} would get two: give each rank one")
        if first > before + 1:
            raise ValueError(f"rewards: {_ranks(before + 1, first - 1)} would get nothing, and later ranks something: close the hole")
        before = last
    if before > prize.winners:
        raise ValueError(f"rewards: {_ranks(prize.winners + 1, before)} would get something and not win: winners = {prize.winners}")
    return RewardRanges(tuple(last for _, last, _ in ranges), tuple(give for *_, give in ranges))


def _range(text: str) -> tuple[int, int]:
    if not _RANKS.fullmatch(text):
        raise ValueError(f"ranks = {text[:40]!r} is not a range of ranks: write '1' or '2-10'")
    first, _, last = text.partition("-")
    if last and int(last) < int(first):
        raise ValueError(f"ranks = {text!r} ends before it begins: write '{last}-{first}'")
    return int(first), int(last or first)


def _ranks(first: int, last: int) -> str:
    return f"rank {first}" if first == last else f"ranks {first}-{last}"


def prize_from(data: Any) -> Prize:
    """Read a prize from a table, or raise a ValueError that says what is allowed."""
    if not isinstance(data, Mapping) or "winners" not in data or not set(data) <= set(PRIZE_FIELDS):
        raise ValueError(f"give a table with winners; allowed: {', '.join(PRIZE_FIELDS)}")
    rewards = data.get("rewards", [])
    if not isinstance(rewards, Sequence) or isinstance(rewards, str):
        raise ValueError("rewards: give a list of tables with ranks and give")
    plain = [msgspec.structs.asdict(reward) if isinstance(reward, Reward) else reward for reward in rewards]
    if any(not isinstance(reward, Mapping) or set(reward) != set(REWARD_FIELDS) for reward in plain):
        raise ValueError(f"rewards: each is a table with {' and '.join(REWARD_FIELDS)}")
    try:
        found = msgspec.convert({**data, "rewards": plain}, Prize)
    except msgspec.ValidationError as exc:
        raise ValueError(str(exc)) from None
    if found.winners not in BOUNDS["Prize.winners"]:
        raise ValueError(f"winners: allowed are {BOUNDS['Prize.winners']}")
    if len(found.rewards) not in BOUNDS["Prize.rewards"]:
        raise ValueError(f"rewards: allowed are {BOUNDS['Prize.rewards']}")
    if found.review_ms > MAX_REVIEW_MS:
        raise ValueError("review: allowed are up to 366d")
    for reward in found.rewards:
        _check_give(reward.give)
    reward_ranges(found)
    return found


def _check_give(give: str) -> None:
    try:
        size = len(give.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= MAX_GIVE_BYTES or not give.isprintable():
        raise ValueError(f"give = {give[:40]!r}: write 1 to {MAX_GIVE_BYTES} bytes of printable text")


def reward_id(board_id: int, window: str, window_id: str, rank: int) -> str:
    """Return the id of a reward. It never changes, whoever works it out, and however often."""
    name = "\x1f".join((str(board_id), window, window_id, str(rank)))
    return f"rw_{hashlib.blake2b(name.encode(), digest_size=12).hexdigest()}"
