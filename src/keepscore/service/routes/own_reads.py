"""Reads that are made for one reader: they wait for a position where one is given, and their tag is made from the answer itself."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from keepscore.domain.positions import parse_position
from keepscore.domain.results.standings import encode
from keepscore.leaderboards import Leaderboards
from keepscore.service.http.layer import NO_STORE, Answer, Prepared, Request, start_of
from keepscore.service.routes.page_cache import FOR_ONE

__all__ = ["reached", "tagged"]


async def reached(leaderboards: Leaderboards, request: Request[Any, Any], windows: Sequence[str] = ()) -> None:
    """Wait until the ranking that a read is about shows all up to `min_seq`; of several windows, the one whose position that is."""
    query = request.query
    if query.min_seq is None:
        return
    reader, wanted = leaderboards.runtime.reader, parse_position(query.min_seq, "min_seq")
    window_id, segment = getattr(query, "window_id", None), getattr(query, "segment", None)
    names = [*windows] or [query.window]
    views = [reader.view(request.path[0], name, window_id, segment, None) for name in names]
    positions = await leaderboards.runtime.engine.positions.read([view.ranking for view in views])
    found = zip(views, positions, strict=True)
    own = next((view for view, here in found if here is not None and here.epoch == wanted.epoch), views[0])
    await reader.at_least(own, query.min_seq, lambda: reader.count(own))


def tagged(content: Any) -> Answer | Prepared:
    """Return an answer that its reader may keep, and asks about each time."""
    if getattr(content, "stale", None) is True:
        return Answer(content, headers=NO_STORE)
    body = encode(content)
    etag = b'"%s"' % hashlib.blake2b(body, digest_size=12).hexdigest().encode()
    return Prepared(etag, start_of(etag, FOR_ONE), {"type": "http.response.body", "body": body})
