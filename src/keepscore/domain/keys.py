"""The keys of rankings, from the templates of a board. Pure.

The hash tag of a key, the part in braces, decides in which slot of a Redis Cluster it lies. A segment's value never does: where its
braces would, they are replaced by characters that no value has.

A ranking has a key of its own: templates that give one key to two rankings are refused when the board is defined (`check_keys`), and a
segment's value that makes a slice look like the whole, when it comes.

With `live_key` and `live_segment_key`, the rankings of the present window lie under keys without a date, and are renamed to their own when
it ends. Which window that is by now, the engine knows.

While a board follows another system's sorted sets, these have the keys of its templates, and its own rankings have others: with
`keepscore:following:` in front.

On a board that was reset, the present part of a window keeps the key of the template. The version before, `v1`, has `KEY:v1`, and
`keepscore:v1:KEY` for a slice, whose key may end in any value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice

from keepscore.domain.boards import Board
from keepscore.domain.windows import FOREVER_MS, Span, span_at, span_of, uncut, whole_at
from keepscore.errors import InvalidBoard

__all__ = ["ASIDE", "FOLLOWING", "check_keys", "key_of", "live_key_of", "moves_tag", "sample_keys", "tag_of"]

#: What keys begin with while a board follows another system.
FOLLOWING = "keepscore:following:"
#: What the keys of sets begin with that a board has followed until its rankings took their place.
ASIDE = "keepscore:before:"

_DAY_MS = 86_400_000
#: From when on, and how many windows are looked at: more than two years, so that a template without the year is seen.
_FIRST_MS = 1_700_000_000_000
#: Resets that are looked at, the latest.
_RESETS = 100
#: Braces of segment values, and the characters in their place; values are printable, and so have none of these.
_ESCAPED = str.maketrans("{}", "\x02\x03")
_IN_A_ROW = {"daily": 800, "weekly": 120, "monthly": 30, "yearly": 6, "all_time": 1, "season": 6}


def key_of(board: Board, span: Span, segment: str) -> str:
    """Return the key of a ranking: a window of a board, and a segment (`region:eu`) or the whole (``)."""
    if board.resets:
        whole, version = uncut(board, span)
        key = _key_of(board, whole, segment)
        return key if not version else f"keepscore:{version}:{key}" if segment else f"{key}:{version}"
    return _key_of(board, span, segment)


def _key_of(board: Board, span: Span, segment: str) -> str:
    return FOLLOWING + _template_key(board, span, segment) if board.following else _template_key(board, span, segment)


def _template_key(board: Board, span: Span, segment: str) -> str:
    window = board.periods[span.window]
    names = {"board": board.name, "start": _moment(board, span.start), "end": _moment(board, span.end)}
    whole = window.key.format(**names) if window.key is not None else _default(board, span)
    if not segment:
        return whole
    if window.segment_key is None:
        return f"{whole}:{segment}"
    return _slice_key(window.segment_key, names, segment)


def live_key_of(board: Board, window: str, segment: str) -> str | None:
    """Return the key that a ranking has while its window is the live one; None: its own."""
    template = board.periods[window].live_segment_key if segment else board.periods[window].live_key
    if template is None:
        return None
    key = _slice_key(template, {"board": board.name}, segment) if segment else template.format(board=board.name)
    return FOLLOWING + key if board.following else key


def _slice_key(template: str, names: Mapping[str, object], segment: str) -> str:
    name, _, value = segment.partition(":")
    key = template.format(**names, segment=name, value=value)
    if "{" in value or "}" in value:
        escaped = template.format(**names, segment=name, value=value.translate(_ESCAPED))
        if tag_of(escaped) not in ("", tag_of(key)):
            return escaped
    return key


def tag_of(key: str) -> str:
    """Return the part of a key by which a Redis Cluster chooses its slot; empty: the whole key decides."""
    _, brace, rest = key.partition("{")
    tag, closed, _ = rest.partition("}")
    return tag if brace and closed else ""


def moves_tag(board: Board) -> bool:
    """Return whether a segment's value stands where its braces would decide the slot of a key."""
    spans = [span for name in board.periods for span in islice(_spans(board, name), 1)]
    slices = [(span, f"{segment}:{{") for span in spans for segment in board.slicing.labels]
    return any("\x02" in _key_of(board, *one) + (live_key_of(board, one[0].window, one[1]) or "") for one in slices)


def _default(board: Board, span: Span) -> str:
    # The braces make all keys of a board lie in one slot of a Redis Cluster.
    return f"keepscore:{{{board.name}}}:{span.window}" + (f":{span.id}" if span.id != span.window else "")


def _moment(board: Board, ms: int) -> datetime:
    # The end of what never ends is beyond the calendar.
    return datetime.fromtimestamp(min(ms, FOREVER_MS - 2 * _DAY_MS) / 1000, board.zone)


def sample_keys(board: Board, thorough: bool = False) -> list[str]:
    """Return keys of some rankings of a board, all different: of two windows in a row, or of two years of them (thorough)."""
    slices = [f"{name}:{value}" for name in board.slicing.labels for value in ("x", "y")]
    keys = []
    for name in board.periods:
        for i, span in enumerate(islice(_spans(board, name), None if thorough else 2)):
            keys += [_key_of(board, span, segment) for segment in (["", *slices] if i < 2 else [""])]
        keys += [key for segment in ["", *slices] if (key := live_key_of(board, name, segment)) is not None]
    return keys + _version_keys(board, slices) if thorough else keys


def _version_keys(board: Board, slices: list[str]) -> list[str]:
    """Return keys of the versions that resets have left, and of slices whose values look like versions."""
    keys: set[tuple[Span, str]] = set()
    for name, cut in ((name, cut) for name in board.periods for cut in board.cuts[-_RESETS:]):
        span = span_at(board, name, cut - 1)
        if span is not None and (version := uncut(board, span)[1]):
            present = span_of(board, name, span.id.partition(".v")[0])
            keys |= {(span, segment) for segment in ["", *slices]} | {(present, f"{segment}:{version}") for segment in board.slicing.labels}
    return [key_of(board, span, segment) for span, segment in keys]


def _spans(board: Board, name: str) -> Iterator[Span]:
    moment = _FIRST_MS
    if name == "season" and board.season is not None:
        moment = round(board.season[0].timestamp() * 1000)
    for _ in range(_IN_A_ROW[name]):
        span = whole_at(board, name, moment)
        if span is None:
            return
        yield span
        if span.end >= FOREVER_MS:
            return
        moment = span.end


def check_keys(board: Board, others: Iterable[Board]) -> None:
    """Refuse a board two of whose rankings, or one of whose and one of another board's, would have the same key."""
    keys = sample_keys(board, thorough=True)
    doubled = sorted(key for key, count in Counter(keys).items() if count > 1)
    if doubled:
        raise InvalidBoard(
            f"board {board.name!r}: several of its rankings would have the key {doubled[0]!r}: templates need {{start}} in recurring "
            "windows, {segment} and {value} in segment_key and live_segment_key, and something that distinguishes windows, and live keys "
            "from the others"
        )
    for other in others:
        shared = sorted({*keys} & {*sample_keys(other)})
        if shared and other.name != board.name:
            raise InvalidBoard(
                f"board {board.name!r}: its ranking {shared[0]!r} would have the same key as one of board {other.name!r}: "
                "put {board} into it"
            )
