"""Segments of a board: where each comes from, and which slices an event counts in. Pure.

A board lists names, tables and combinations: `["mode", {name = "country", from = "profile"}, ["region", "level"]]`. The value of a
segment comes with each submission, or from the player's profile. The slices of an event are labelled `country:BR`, those of a combination
`region+level:eu+10`, which readers name as `region:eu,level:10`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, permutations
from typing import Any, NamedTuple

from keepscore.domain.board_fields import BOUNDS, SEGMENT_PATTERN
from keepscore.domain.profiles import TEXT_BYTES

__all__ = ["SegmentRule", "Slicing", "canonical_segments", "check_segment_name", "shown_label", "slicing_of"]

#: Names of one combination, and bounds of one list of brackets, at most.
MAX_COMBINED, MAX_BRACKETS = 4, 100

_NAME = re.compile(SEGMENT_PATTERN)
_FIELDS = ("name", "from", "sticky", "brackets")


class SegmentRule(NamedTuple):
    """Where the values of one segment come from."""

    name: str
    is_profile: bool = False
    sticky: bool = False
    brackets: tuple[int, ...] = ()
    #: Whether a submission takes the value that the profile has then, and keeps it.
    is_kept: bool = False


def canonical_segments(given: object) -> list[Any]:
    """Return one form for each list of segments, or raise ValueError: names where nothing else is said, tables and lists."""
    if not isinstance(given, list | tuple):
        raise ValueError(f"expected `list of str`, tables and combinations, got `{type(given).__name__}`")
    found = [_canonical(one) for one in given]
    names = [str(one if isinstance(one, str) else one["name"]) for one in found if not isinstance(one, list)]
    combined = [tuple(sorted(one)) for one in found if isinstance(one, list)]
    if len(found) not in BOUNDS["Board.segments"] or len({*names, *combined}) < len(found):
        raise ValueError(f"at most {BOUNDS['Board.segments'].most}, each once")
    return found


def _canonical(given: Any) -> Any:
    if isinstance(given, str):
        return _name(given)
    if isinstance(given, list | tuple):
        names = [_name(name) for name in given]
        if not 2 <= len(names) <= MAX_COMBINED or len(set(names)) < len(names):
            raise ValueError(f"a combination has 2 to {MAX_COMBINED} names, each once")
        return names
    if not isinstance(given, Mapping):
        raise ValueError(f"expected `list of str`, tables and combinations, and it holds `{type(given).__name__}`")
    for field in given:
        if field not in _FIELDS:
            raise ValueError(f"unknown field {str(field)[:40]!r} of a segment; allowed: {', '.join(_FIELDS)}")
    source, sticky, brackets = given.get("from", "submission"), given.get("sticky", False), given.get("brackets")
    table: dict[str, Any] = {"name": _name(given.get("name"))}
    if source not in ("submission", "profile"):
        raise ValueError(f"from = {str(source)[:40]!r}: allowed are 'submission' and 'profile'")
    if source == "profile":
        table["from"] = source
    if type(sticky) is not bool or (sticky and source == "profile"):
        raise ValueError("sticky is true or false, and for segments from the submission")
    if sticky:
        table["sticky"] = True
    if brackets is not None:
        if source != "profile":
            raise ValueError("brackets are for segments from the profile")
        table["brackets"] = _brackets(brackets)
    return table if len(table) > 1 else table["name"]


def check_segment_name(given: str) -> None:
    """Check that a segment can be called so, or raise ValueError."""
    if not _NAME.fullmatch(given):
        raise ValueError("allowed: lower-case letters, digits and '_', at most 32, a letter first")


def _name(given: Any) -> str:
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise ValueError(f"name {str(given)[:40]!r}: allowed are lower-case letters, digits and '_', at most 32, a letter first")
    return given


def _brackets(given: Any) -> list[int]:
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MAX_BRACKETS or any(type(bound) is not int for bound in given):
        raise ValueError(f"brackets are 1 to {MAX_BRACKETS} whole numbers, such as [1, 10, 50, 100]")
    if any(low >= high for low, high in pairwise(given)):
        raise ValueError(f"brackets = {list(given)} do not ascend: give each bound once, the lowest first")
    return list(given)


def slicing_of(segments: Sequence[Any], own: str | None = None, follows: bool = False) -> Slicing:
    """Return what canonical segments mean; and one of its `own`, whose value is the profile's at every moment, or when a score came."""
    rules = {} if own is None else {own: SegmentRule(own, is_profile=follows, is_kept=not follows)}
    for one in segments:
        if isinstance(one, Mapping):
            table = SegmentRule(one["name"], one.get("from") == "profile", one.get("sticky", False), tuple(one.get("brackets", ())))
            rules[table.name] = table
        elif isinstance(one, str):
            rules[one] = SegmentRule(one)
    singles = tuple(rules)
    combinations = tuple(tuple(one) for one in segments if isinstance(one, list))
    for name in (name for names in combinations for name in names):
        rules.setdefault(name, SegmentRule(name))
    return Slicing(rules, singles, combinations)


class Slicing:
    """The segments of one board."""

    def __init__(self, rules: Mapping[str, SegmentRule], singles: tuple[str, ...], combinations: tuple[tuple[str, ...], ...]) -> None:
        #: All names, those of combinations included.
        self.rules = rules
        self.combinations = combinations
        #: The names that labels begin with.
        self.labels = (*singles, *("+".join(names) for names in combinations))
        self.profile = tuple(rule for rule in rules.values() if rule.is_profile)
        #: Those whose values submissions get from the profile, to be kept.
        self.kept = tuple(rule for rule in rules.values() if rule.is_kept)
        self.sticky = tuple(rule.name for rule in rules.values() if rule.sticky)
        self._singles = frozenset(singles)
        #: Whether each slice is one name with its value, as the submission says.
        self.is_plain = not combinations and not self.profile and not self.kept
        #: Whether a combination has values from submissions and from profiles.
        self.is_mixed = any(len({rules[name].is_profile for name in names}) == 2 for names in combinations)

    def slices(self, segments: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the slices, name and value, of an event with these values."""
        for name, value in segments.items():
            if name in self._singles:
                yield name, value
        for names in self.combinations:
            if all(name in segments for name in names):
                yield "+".join(names), "+".join(_escaped(segments[name]) for name in names)

    def following(self, segments: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield those of them that depend on the profile."""
        profile = {rule.name for rule in self.profile}
        return (slice_ for slice_ in self.slices(segments) if not profile.isdisjoint(slice_[0].split("+")))

    def conditions(self, label: str) -> dict[str, str]:
        """Return the values that the label of a slice stands for, by name."""
        name, _, value = label.partition(":")
        return dict(zip(name.split("+"), map(_plain, value.split("+")), strict=False)) if "+" in name else {name: value} if name else {}

    def followed(self, label: str) -> dict[str, str]:
        """Return those of them that come from the profile."""
        found = self.conditions(label) if self.profile else {}
        return {name: value for name, value in found.items() if name in self.rules and self.rules[name].is_profile}

    def follows_only(self, label: str) -> bool:
        """Return whether a slice is everybody, restricted by the profile."""
        return bool(label) and self.followed(label) == self.conditions(label)

    def values(self, traits: Mapping[str, object]) -> dict[str, str]:
        """Return the values that a profile gives to segments."""
        found = ((rule.name, _value(rule, traits.get(rule.name))) for rule in self.profile)
        return {name: value for name, value in found if value is not None}

    def filled(self, given: Mapping[str, str] | None, traits: Mapping[str, object], is_recorded: bool = False) -> dict[str, str] | None:
        """Return what a submission names, with what the profile says in the place of the rest. What `is_recorded` keeps its values."""
        own = {name: value for name, value in (given or {}).items() if name not in self.rules or not self.rules[name].is_profile}
        for rule in self.kept:
            value = own.pop(rule.name, None) if is_recorded else _value(rule, traits.get(rule.name))
            own.pop(rule.name, None)
            if value is not None:
                own[rule.name] = value
        return {**own, **self.values(traits)} or None

    def label_named(self, text: str) -> str | None:
        """Return the label of a slice that a reader names as `region:eu` or `region:eu,level:10`; None: the board has no such segment."""
        name, colon, _ = text.partition(":")
        if colon and name in self._singles and not any(f",{other}:" in text for other in self.rules):
            return text
        for names in self.combinations:
            if text.partition(":")[0] == "+".join(names):
                return text
            for order in permutations(names):
                match = re.fullmatch(",".join(f"{re.escape(one)}:(.+)" for one in order), text)
                if match is not None:
                    values = dict(zip(order, match.groups(), strict=True))
                    return "+".join(names) + ":" + "+".join(_escaped(values[one]) for one in names)
        return text if colon and name in self._singles else None


def shown_label(label: str) -> str:
    """Return the label of a slice as readers name it.

    >>> shown_label("region+level:eu+10"), shown_label("region:a+b")
    ('region:eu,level:10', 'region:a+b')
    """
    name, _, value = label.partition(":")
    if "+" not in name:
        return label
    return ",".join(f"{one}:{_plain(own)}" for one, own in zip(name.split("+"), value.split("+"), strict=False))


def _escaped(value: str) -> str:
    return value.replace("%", "%25").replace("+", "%2B")


def _plain(value: str) -> str:
    return value.replace("%2B", "+").replace("%25", "%")


def _value(rule: SegmentRule, trait: object) -> str | None:
    if trait is None:
        return None
    if rule.brackets:
        if isinstance(trait, bool) or not isinstance(trait, int | float) or trait < rule.brackets[0]:
            return None
        return str(rule.brackets[bisect_right(rule.brackets, trait) - 1])
    text = str(trait).lower() if isinstance(trait, bool) else str(trait)
    return text if 0 < len(text.encode("utf-8", "replace")) <= TEXT_BYTES and text.isprintable() else None
