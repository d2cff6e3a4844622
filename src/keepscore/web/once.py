"""Changes that are not submissions, with an idempotency key: sent again, they get their first answer, and change nothing."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from keepscore.answers import encode
from keepscore.errors import IdempotencyKeyReused, LedgerUnavailable
from keepscore.guard import check_key
from keepscore.ledgers.base import Ledger
from keepscore.web.http import Answer, Request

__all__ = ["Once"]

log = logging.getLogger(__name__)

Handler = Callable[[Request[Any, Any]], Awaitable[Answer]]


class _Kept(msgspec.Struct):
    """What is kept under a key: what identifies the request, and its answer."""

    fingerprint: str
    status: int
    content: msgspec.Raw


class Once:
    """Makes of handlers such that heed the Idempotency-Key header."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __call__(self, handler: Handler) -> Handler:
        """The same handler for requests without a key, and for the first one with a key. One that is refused does not use its key up."""

        async def once(request: Request[Any, Any]) -> Answer:
            key = check_key(request.header(b"idempotency-key"))
            if key is None:
                return await handler(request)
            mark = f"once:{handler.__name__}:{'/'.join(request.path)}:{key}"
            body = encode(getattr(request, "body", None))
            fingerprint = hashlib.blake2b(body, digest_size=16).hexdigest()
            known = await self._ledger.value(mark)
            if known is not None:
                return _again(key, msgspec.json.decode(known, type=_Kept), fingerprint)
            answer = await handler(request)
            kept = _Kept(fingerprint, answer.status, msgspec.Raw(encode(answer.content)))
            try:
                await self._ledger.put_value(mark, encode(kept))
            except LedgerUnavailable as exc:
                log.warning("the answer for retries was not kept: %s", exc)
            return answer

        return once


def _again(key: str, kept: _Kept, fingerprint: str) -> Answer:
    if kept.fingerprint != fingerprint:
        raise IdempotencyKeyReused(f"idempotency key {key!r} was used here for another request")
    content = msgspec.json.decode(kept.content)
    return Answer(content if content is None else {**content, "replayed": True}, kept.status)
