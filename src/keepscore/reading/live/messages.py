"""Messages on their way to subscribers: encoded once for all of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from keepscore.domain.results.live import LiveChange, LiveEnd, LivePing, LiveState, Overtaken, WindowChange
from keepscore.domain.results.standings import encode

__all__ = ["PING", "STOPPING", "LiveNotice", "end_message"]

#: The name of the event of each kind.
NAMES: dict[type, str] = {
    LiveState: "state",
    LiveChange: "change",
    Overtaken: "overtaken",
    WindowChange: "window",
    LivePing: "ping",
    LiveEnd: "error",
}


class LiveNotice:
    """One message: what it tells, and the same as JSON, for each kind of connection."""

    def __init__(self, told: LiveState | LiveChange | Overtaken | WindowChange | LivePing | LiveEnd, name: str | None = None) -> None:
        self.told = told
        self.name = name or NAMES[type(told)]
        #: What a kind of connection has made of it: the same for all of them.
        self.prepared: dict[str, Any] = {}

    @property
    def position(self) -> str | None:
        """The position that whoever has got it may resume from."""
        return getattr(self.told, "position", None)

    @cached_property
    def body(self) -> bytes:
        """The JSON of what it tells; its kind goes beside it."""
        return encode(self.told)

    @cached_property
    def as_event(self) -> bytes:
        """The message as a server-sent event, without an id."""
        return b"event: %b\ndata: %b\n\n" % (self.name.encode(), self.body)

    @cached_property
    def as_event_with_id(self) -> bytes:
        """The same with the position as its id, for a subscription of one ranking."""
        return b"id: %b\n%b" % (self.position.encode(), self.as_event) if self.position else self.as_event


#: The process stops: whoever follows comes back, to another one maybe.
STOPPING = LiveNotice(LiveEnd("urn:keepscore:stopping", "the service stops: connect again"), "stopping")
#: Nothing has changed.
PING = LiveNotice(LivePing())


def end_message(type_: str, detail: str) -> LiveNotice:
    """Return the last message of a subscription that ends for a reason."""
    return LiveNotice(LiveEnd(type_, detail))
