"""Live subscriptions over HTTP: server-sent events, resumed by the client itself."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from keepscore.client.addresses import httpx, signed
from keepscore.client.calls import HttpAnswer, read
from keepscore.client.outcomes import error_of
from keepscore.domain.results.live import LiveChange, LiveMessage, LiveMode, LiveState, Overtaken, WindowChange

__all__ = ["LiveClient"]

#: Seconds after which a connection that was cut is opened again, at least and at most.
RETRY_S = 0.5, 5.0
#: Seconds without a sign of life after which a connection counts as cut.
SILENCE_S = 60.0
#: What each event tells.
KINDS: dict[str, type[LiveMessage]] = {"state": LiveState, "change": LiveChange, "overtaken": Overtaken, "window": WindowChange}


class LiveClient:
    """The part of the client that follows rankings."""

    url: str
    _http: Any
    _signing_key: str | None

    async def live(
        self,
        board: str,
        *,
        top: int | None = None,
        player_id: str | None = None,
        around: int | None = None,
        friends_of: str | None = None,
        group: str | None = None,
        window: str | None = None,
        segment: str | None = None,
        rank: str | None = None,
        mode: LiveMode = "stream",
        resume_from: str | None = None,
    ) -> AsyncIterator[LiveMessage]:
        """Follow the `top` rows of a ranking, those `around` a player, a player's friends, or a group: the state, then each change.

        Several boards, comma-separated, come one after the other. With `mode="cache"`, only the latest state comes. A connection that was
        cut is resumed by itself; `resume_from` is the position of the last message that another program has got.
        """
        rows = {"top": top, "player_id": player_id, "around": around, "friends_of": friends_of, "group": group}
        query = {"board": board, "window": window, "segment": segment, "rank": rank, "mode": mode, **rows}
        target = read(_nothing, "live", query=query).target
        last, pause_s = resume_from, RETRY_S[0]
        while True:
            headers = {"accept": "text/event-stream"} | ({"last-event-id": last} if last else {})
            if self._signing_key is not None:
                headers["authorization"] = signed(self._signing_key, "GET", target, None)
            try:
                async with self._http.stream("GET", self.url + target, headers=headers, timeout=SILENCE_S) as answer:
                    if 400 <= answer.status_code < 500 or answer.status_code == 501:
                        raise error_of(HttpAnswer(answer.status_code, answer.headers, await answer.aread()))
                    if answer.status_code == 200:
                        async for event in _events(answer):
                            pause_s = RETRY_S[0]
                            last = event.get("id", last)
                            if event["event"] == "error":
                                raise error_of(_problem(event["data"]))
                            if (kind := KINDS.get(event["event"])) is not None:
                                yield msgspec.json.decode(event["data"], type=kind)
            except httpx.RequestError:
                # The service restarts, or the network does: the position says where to go on.
                pass
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))
            pause_s = min(2 * pause_s, RETRY_S[1])


async def _events(answer: Any) -> AsyncIterator[dict[str, str]]:
    """Yield the events of a stream, each as its fields."""
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield fields
            fields = {}


def _problem(data: str) -> HttpAnswer:
    """Return the reason for which a stream has ended as the answer that it would have been."""
    told = {"title": "", "status": 403, "request_id": "", **msgspec.json.decode(data)}
    return HttpAnswer(403, {"content-type": "application/problem+json"}, msgspec.json.encode(told))


def _nothing(answer: HttpAnswer) -> None:
    return None
