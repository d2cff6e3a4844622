"""What Redis answers, whatever others have put there: names that are no text, and watermarks of nobody."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any

import msgspec

from keepscore.domain.ordering import Place
from keepscore.domain.positions import Position
from keepscore.domain.scoring import NO_TIME

__all__ = ["REPLACED", "places_from", "unpack", "watermarks_from"]

#: What stands for bytes that are no text.
REPLACED = "\ufffd"
#: The bytes before a text and before a list in msgpack, by the first of them, where that does not tell the length itself.
_TEXTS = {0xD9: 2, 0xDA: 3, 0xDB: 5}
_LISTS = (0xDC, 0xDD)

_decode = msgspec.msgpack.Decoder().decode
_parts = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


def unpack(answer: bytes) -> Any:
    r"""Decode the answer of a script.

    >>> unpack(b"\x92\xa2ab\x07"), unpack(b"\x92\xa2a\xff\x07")
    (['ab', 7], ['a�', 7])
    """
    try:
        return _decode(answer)
    except UnicodeDecodeError:
        return _replaced(answer)


def _replaced(answer: bytes) -> Any:
    """Decode the same, part by part."""
    first = answer[0]
    if first >> 4 == 0x9 or first in _LISTS:
        return [_replaced(bytes(part)) for part in _parts(answer)]
    if first >> 5 == 0b101 or first in _TEXTS:
        return answer[_TEXTS.get(first, 1) :].decode(errors="replace")
    return _decode(answer)


def watermarks_from(found: Mapping[bytes, bytes]) -> dict[int, int]:
    """Return how far each writer's events are applied. What is no writer's is passed over."""
    return {int(writer): int(n) for writer, n in found.items() if writer.isdigit() and n.isdigit()}


def places_from(found: list[Any], count: int, position: Position | None) -> list[Place | None]:
    """Return where each of so many players stands, from what the script `places` tells in columns."""
    total, scores, sinces, uniques, standards, denses, *_ = found
    if not scores:
        return [None] * count
    columns = zip(scores, sinces or repeat(NO_TIME), uniques, standards or repeat(0), denses or repeat(0), strict=False)
    return [
        None if score is False else Place(score, since, unique, standard, dense, total, None, position)
        for score, since, unique, standard, dense in columns
    ]
