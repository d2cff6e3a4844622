"""What a client asks of the service: each request as plain data, made from a method's parameters."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from keepscore.domain.imports import Part
from keepscore.domain.results.access import ApiKey, KeyList
from keepscore.domain.results.moderation import RestrictedPlayer, RestrictedPlayers, Void, VoidList
from keepscore.domain.results.players import DeletedProfile
from keepscore.domain.results.standings import BoardInfo, Deleted, encode
from keepscore.errors import InvalidField

__all__ = [
    "NO_KEY",
    "Call",
    "Decode",
    "HttpAnswer",
    "RequestKey",
    "board_of",
    "boards_of",
    "change",
    "decoder",
    "deleted",
    "keys_of",
    "nothing",
    "parts_of",
    "profile_deleted",
    "read",
    "reasons_of",
    "restricted_of",
    "view_of",
    "voids_of",
]

#: The status that tells that a board is new.
CREATED = 201

T = TypeVar("T")


class HttpAnswer(NamedTuple):
    """An answer that came as a whole. Names of headers are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


#: What makes a method's result of a good answer.
Decode = Callable[[HttpAnswer], T]


@dataclass(frozen=True, kw_only=True)
class Call(Generic[T]):
    """One request."""

    method: str
    target: str
    decode: Decode[T]
    body: bytes | None = None
    is_change: bool = False
    #: Whether it reads or rebuilds whole boards, which takes its time.
    is_long: bool = False
    #: What makes it safe to send it again: it is done once.
    key: str | None = None
    #: Whether the body has the key, or keys of its parts; else a header has it.
    key_in_body: bool = False
    #: Whether the service can take it without its key while the ledger is away.
    may_spool: bool = False

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be sent again while the service may still be at work on it."""
        return self.key is not None or self.key_in_body or not (self.is_change or self.is_long)


class RequestKey(NamedTuple):
    """How a change gets its idempotency key. Without a text, the client creates one where the service takes it."""

    text: str | None = None
    #: Whether the body has the key, or keys of its parts.
    in_body: bool = False
    is_taken: bool = True
    #: Whether the service can take the change without its key while the ledger is away.
    may_spool: bool = False


NEW_KEY = RequestKey()
NO_KEY = RequestKey(is_taken=False)


def read(
    decode: Decode[T], *path: str, query: Mapping[str, Any] | None = None, body: object = None, is_long: bool = False, under: str = "/v1"
) -> Call[T]:
    """Build a request that changes nothing."""
    method = "GET" if body is None else "POST"
    return Call(method=method, target=under + _target(path, query), decode=decode, body=_body(body), is_long=is_long)


def change(
    decode: Decode[T],
    method: str,
    *path: str,
    query: Mapping[str, Any] | None = None,
    body: object = None,
    key: RequestKey = NEW_KEY,
    is_long: bool = False,
) -> Call[T]:
    """Build a request that changes something."""
    if key.text is not None and not key.in_body:
        _check_header_key(key.text)
    is_new = key.text is None and not key.in_body
    return Call(
        method=method,
        target="/v1" + _target(path, query),
        decode=decode,
        body=_body(body),
        is_change=True,
        is_long=is_long,
        key=uuid.uuid4().hex if is_new and key.is_taken else key.text,
        key_in_body=key.in_body,
        may_spool=key.may_spool and is_new,
    )


def view_of(
    window: str | None,
    window_id: str | None,
    segment: str | None,
    rank: str | None = None,
    min_seq: str | None = None,
    *,
    viewer: str | None = None,
) -> dict[str, str | None]:
    """Return the parameters of a query that name a ranking, how its ranks are numbered, which position it must be at, and who looks."""
    return {"window": window, "window_id": window_id, "segment": segment, "rank": rank, "min_seq": min_seq, "viewer": viewer}


def decoder(kind: type[T]) -> Decode[T]:
    """Return a function that decodes an answer's JSON into a struct."""
    hashable: Any = kind
    decode = _decoder(hashable).decode
    return lambda answer: decode(answer.body)


@lru_cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def nothing(answer: HttpAnswer) -> None:
    """Pass over an answer that says no more than its status."""


def deleted(name: str) -> Decode[Deleted]:
    """Return a function that makes a struct of an answer without a body."""
    return lambda answer: Deleted(name, True if answer.headers.get("idempotency-replayed") == "true" else msgspec.UNSET)


def profile_deleted(player_id: str) -> Decode[DeletedProfile]:
    """Return a function that makes a struct of an answer without a body."""
    return lambda answer: DeletedProfile(player_id, True if answer.headers.get("idempotency-replayed") == "true" else msgspec.UNSET)


def reasons_of(answer: HttpAnswer) -> list[str]:
    """Read what does not work in a service that serves all the same."""
    return list(msgspec.json.decode(answer.body, type=dict[str, Any])["reasons"])


def board_of(answer: HttpAnswer) -> BoardInfo:
    """Read a definition."""
    info = BoardInfo.from_dict(msgspec.json.decode(answer.body, type=dict[str, Any]))
    info.created = answer.status == CREATED
    return info


def boards_of(answer: HttpAnswer) -> list[BoardInfo]:
    """Read all definitions."""
    return [BoardInfo.from_dict(board) for board in msgspec.json.decode(answer.body, type=dict[str, list[dict[str, Any]]])["boards"]]


def keys_of(answer: HttpAnswer) -> list[ApiKey]:
    """Read API keys."""
    return msgspec.json.decode(answer.body, type=KeyList).keys


def voids_of(answer: HttpAnswer) -> list[Void]:
    """Read voids."""
    return msgspec.json.decode(answer.body, type=VoidList).voids


def restricted_of(answer: HttpAnswer) -> list[RestrictedPlayer]:
    """Read hidden and shadowed players."""
    return msgspec.json.decode(answer.body, type=RestrictedPlayers).players


def parts_of(answer: HttpAnswer) -> list[Part]:
    """Read imported parts of files."""
    return msgspec.json.decode(answer.body, type=dict[str, list[Part]])["parts"]


def _target(path: Sequence[str], query: Mapping[str, Any] | None) -> str:
    given = {name: _parameter(value) for name, value in (query or {}).items() if value is not None}
    try:
        return "".join("/" + _part(part) for part in path) + ("?" + urlencode(given) if given else "")
    except UnicodeEncodeError as exc:
        raise _half_a_pair(exc) from None


def _part(text: str) -> str:
    # A part that is a dot or two would be taken for a step within the path.
    return "%2E" * len(text) if text in (".", "..") else quote(text, safe="")


def _parameter(value: Any) -> str:
    # Times and numbers as JSON has them.
    return "true" if value is True else "false" if value is False else str(msgspec.to_builtins(value))


def _body(body: object) -> bytes | None:
    try:
        return None if body is None else encode(body)
    except UnicodeEncodeError as exc:
        raise _half_a_pair(exc) from None
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise InvalidField(f"the request cannot be written as JSON: {exc}") from None


def _half_a_pair(error: UnicodeEncodeError) -> InvalidField:
    return InvalidField(f"{error.object[:40]!r} holds half a surrogate pair, which is not a character")


def _check_header_key(key: str) -> None:
    if not key or not key.isascii() or not key.isprintable() or key != key.strip():
        raise InvalidField(f"idempotency_key = {key[:40]!r} cannot be sent here: use printable ASCII characters, and no space at the ends")
