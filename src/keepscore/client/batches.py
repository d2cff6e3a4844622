"""Batches as a client sends them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from keepscore.client.calls import Decode, HttpAnswer, decoder
from keepscore.domain.inputs import Entry, Number
from keepscore.domain.results.standings import BatchReceipt, Rejection, encode
from keepscore.errors import InvalidField, InvalidScore, KeepscoreError

__all__ = ["BatchCall", "sendable"]

#: What the service rejects, in the place of an entry that cannot be sent.
NOTHING = msgspec.Raw(b"null")

R = TypeVar("R", bound=BatchReceipt)


class BatchCall:
    """The entries of one batch. A batch has a key, or its entries have: where some have one, the others get one."""

    def __init__(self, entries: Sequence[Entry | KeepscoreError]) -> None:
        self._unsendable: dict[int, Rejection] = {}
        self.has_keys = any(isinstance(entry, Entry) and entry.idempotency_key is not None for entry in entries)
        self.body = {"scores": [self._raw(index, entry) for index, entry in enumerate(entries)]}

    def _raw(self, index: int, entry: Entry | KeepscoreError) -> msgspec.Raw:
        """Encode an entry as JSON: one that cannot be sent must not spoil the others."""
        try:
            if isinstance(entry, KeepscoreError):
                raise entry
            fields = entry.given()
            fields |= {name: sendable(name, fields[name]) for name in ("score", "amount") if name in fields}
            if self.has_keys:
                fields.setdefault("idempotency_key", uuid.uuid4().hex)
            return msgspec.Raw(_encoded(fields))
        except KeepscoreError as exc:
            self._unsendable[index] = Rejection(index, exc.type, exc.detail)
            return NOTHING

    def receipt(self, kind: type[R]) -> Decode[R]:
        """Return what decodes the answer. Entries that could not be sent are rejected with their own errors."""
        decode = decoder(kind)

        def read(answer: HttpAnswer) -> R:
            receipt = decode(answer)
            receipt.rejected = [self._unsendable.get(rejection.index, rejection) for rejection in receipt.rejected]
            return receipt

        return read


def _encoded(fields: dict[str, Any]) -> bytes:
    try:
        return encode(fields)
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise InvalidField(f"the entry cannot be written as JSON: {exc}") from None


def sendable(field: str, number: Number) -> int | Decimal:
    """Return a number as JSON can hold it."""
    exact = Decimal(repr(number)) if isinstance(number, float) else number
    if isinstance(exact, bool) or not isinstance(exact, int | Decimal):
        raise InvalidScore(f"{field} = {number!r} is not a number")
    if isinstance(exact, Decimal) and not exact.is_finite():
        raise InvalidScore(f"{field} = {exact} is not a score: write a finite number")
    return exact
