"""Encoded answers to reads: which are kept, for how long, and how clients and a CDN may keep them.

A browser asks each time whether its copy is still right, by the tag, so that a player sees the own score at once. A CDN, which answers for
everybody, keeps an answer for as long as `Surrogate-Control` says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Literal

from msgspec import UnsetType

from keepscore.caches import ByteCache
from keepscore.domain.boards import Board
from keepscore.domain.durations import duration_ms
from keepscore.domain.results.standings import encode
from keepscore.reading.reader import Reader
from keepscore.reading.view import View
from keepscore.service.http.layer import NO_STORE, Answer, Prepared, start_of

__all__ = ["FOR_ONE", "FOR_PLAYER", "FOR_TOP", "PAGES_BYTES", "CdnTime", "Headers", "Made", "PageCache", "PageKey"]

Headers = tuple[tuple[bytes, bytes], ...]
#: What a page is known by: whose it is, and the query.
PageKey = tuple[str, bytes]

#: What a page is made of: what is told, and the position at which it was read.
Made = tuple[object, str | UnsetType]

#: Encoded pages that are kept unless the settings say otherwise, in bytes.
PAGES_BYTES = 64 << 20
#: What a page takes beside its body, in bytes.
PAGE_BYTES = 1500
#: How answers begin, in bytes; and about what each takes.
STARTS_BYTES, START_BYTES = 1 << 20, 700


#: Which of a board's times for a CDN an answer has: that of pages, or that of one player.
CdnTime = Literal["cdn_top", "cdn_rank"]
FOR_TOP: CdnTime = "cdn_top"
FOR_PLAYER: CdnTime = "cdn_rank"

#: The headers of answers that everybody may keep, by the time for which a CDN does.
_BY_TIME: dict[str, Headers] = {}


def _kept_by_cdn(board: Board, time: CdnTime) -> Headers:
    text: str = getattr(board, time)
    if (known := _BY_TIME.get(text)) is None:
        seconds = duration_ms(text) // 1000
        surrogate = b"max-age=%d" % seconds if seconds else b"no-store"
        known = _BY_TIME[text] = (b"cache-control", b"public, max-age=0, must-revalidate"), (b"surrogate-control", surrogate)
    return known


#: Where not everybody may read a board, or its answers must never be old, only the client itself may keep one, and asks each time.
FOR_ONE: Headers = (b"cache-control", b"private, max-age=0, must-revalidate"), (b"surrogate-control", b"no-store")
#: Final standings of closed windows: nobody need ask again within a day.
FINAL: Headers = (b"cache-control", b"public, max-age=86400, immutable"), (b"surrogate-control", b"max-age=86400")
FINAL_FOR_ONE: Headers = (b"cache-control", b"private, max-age=86400, immutable"), (b"surrogate-control", b"no-store")


class PageCache:
    """Encoded pages of one service, up to some bytes. Each is good for the version of its ranking for which it was made."""

    def __init__(self, reader: Reader, is_private: Callable[[str], bool], max_bytes: int = PAGES_BYTES) -> None:
        self._reader = reader
        self._versions = reader.versions
        #: Whether not everybody may read a board, by its name.
        self._is_private = is_private
        self._pages: ByteCache[tuple[PageKey, bool], tuple[Hashable, Prepared]] = ByteCache(max_bytes)
        #: How answers of a ranking's version begin.
        self._starts: ByteCache[tuple[bytes, int], dict[str, Any]] = ByteCache(min(STARTS_BYTES, max_bytes))

    def known(self, key: PageKey, view: View) -> Prepared | None:
        """Return the page that is kept, if its ranking has not changed since: the way of nearly all reads."""
        known = self._pages.get((key, self._is_private(view.live.name)))
        return known[1] if known is not None and not view.ended and known[0] == self._versions.version(view.ranking) else None

    async def page(self, key: PageKey, view: View, make: Callable[[], Awaitable[Made]]) -> Answer | Prepared:
        """Return the page that `make` returns, made once for all who ask at the same time, and keep it."""
        version, is_private = self._versions.version(view.ranking), self._is_private(view.live.name)

        async def made() -> Answer | Prepared:
            return self.answer(view, *await make(), FOR_TOP)

        if view.strong:
            return await made()
        ready = await self._reader.shared((key, is_private), view.ranking, made)
        if isinstance(ready, Prepared) and not view.ended:
            self._pages.put((key, is_private), (version, ready), PAGE_BYTES + len(ready.body["body"]))
        return ready

    def answer(self, view: View, content: object, position: str | UnsetType, time: CdnTime) -> Answer | Prepared:
        """Return an answer that clients may keep, unless it is stale, or one player's view; its tag is where it was read."""
        if getattr(content, "stale", None) is True or (view.viewer is not None and self._reader.cards.has_secrets):
            return Answer(content, headers=NO_STORE)
        is_private = self._is_private(view.live.name)
        headers = FOR_ONE if is_private or view.strong else _kept_by_cdn(view.live.board, time)
        body = encode(content)
        if isinstance(position, str):
            return self._tagged(self._versions.tag(view.ranking, position), headers, body)
        # Archives, and their revisions, change nothing in the engine: the tag is made from the answer itself.
        etag = b'"%s"' % hashlib.blake2b(body, digest_size=12).hexdigest().encode()
        if getattr(content, "archived", None) is True:
            headers = FINAL_FOR_ONE if is_private else FINAL
        return Prepared(etag, start_of(etag, headers), {"type": "http.response.body", "body": body})

    def prepared(self, view: View, position: str, time: CdnTime, body: bytes) -> Prepared:
        """Return an encoded answer with the tag of a ranking's position."""
        headers = FOR_ONE if self._is_private(view.live.name) else _kept_by_cdn(view.live.board, time)
        return self._tagged(self._versions.tag(view.ranking, position), headers, body)

    def _tagged(self, etag: bytes, headers: Headers, body: bytes) -> Prepared:
        """Return the same, which many answers have: how it begins is kept. `headers` are a constant."""
        key = etag, id(headers)
        start = self._starts.get(key) or self._starts.put(key, start_of(etag, headers), START_BYTES)
        return Prepared(etag, start, {"type": "http.response.body", "body": body})
