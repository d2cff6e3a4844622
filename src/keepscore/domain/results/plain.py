"""What all answers share: how they are written as JSON, and as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

__all__ = ["Result", "encode"]

#: An answer as JSON. Scores with decimals are written out as numbers, digit by digit.
encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode


class Result(msgspec.Struct):
    """An answer of the library."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, as the HTTP API sends it: times are texts, and what does not apply is left out."""
        plain: dict[str, Any] = msgspec.json.decode(encode(self))
        return plain
