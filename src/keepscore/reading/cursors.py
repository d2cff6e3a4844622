"""Cursors: the last row of a page, sealed, so that the next page can be asked for, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import hmac

import msgspec

from keepscore.domain.ordering import Row
from keepscore.errors import InvalidPage
from keepscore.storage.engines.base import Ranking

__all__ = ["Cursors"]


class Cursors:
    """Cursors under a secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sealed(self, ranking: Ranking, row: Row) -> str:
        """Return the cursor behind a row of a ranking."""
        text = msgspec.json.encode([ranking, row])
        mark = hmac.digest(self._secret, text, "sha256")[:16]
        return base64.urlsafe_b64encode(mark + self._veiled(mark, text)).decode().rstrip("=")

    def _veiled(self, mark: bytes, text: bytes) -> bytes:
        """Return a text that nobody can read without the secret, or the text of such a one: the row may be of somebody who is hidden."""
        veil = hashlib.shake_256(b"cursor:" + self._secret + mark).digest(len(text))
        return (int.from_bytes(text) ^ int.from_bytes(veil)).to_bytes(len(text))

    def opened(self, ranking: Ranking, cursor: str) -> Row:
        """Return the row that a cursor of a ranking is behind."""
        wrong = InvalidPage("cursor was not returned by this service for this ranking: pass next_cursor unchanged")
        try:
            sealed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            own, row = msgspec.json.decode(self._veiled(sealed[:16], sealed[16:]), type=tuple[Ranking, Row])
        except (ValueError, msgspec.MsgspecError):
            raise wrong from None
        # The whole text is compared: the last letter of base64 has bits that decoding passes over.
        if own != ranking or not hmac.compare_digest(self.sealed(ranking, row).encode(), cursor.encode()):
            raise wrong
        return row
