"""Queries and bodies of requests: typed, bounded, whole, and refused with the field and value that are wrong."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints
from urllib.parse import parse_qsl

import msgspec

from keepscore.caches import ByteCache
from keepscore.errors import BodyCutShort, BodyTooLarge, InvalidField, MalformedBody, UnsupportedMediaType
from keepscore.service.http.deadlines import Deadlines
from keepscore.service.http.messages import AnyQuery, AsgiReceive

__all__ = ["check_declared_type", "decoded", "query_of", "read_body"]


#: Parsed queries that are remembered, in bytes; and what each takes beside its text.
QUERIES_BYTES, QUERY_BYTES = 4 << 20, 500
#: The most parameters of a query.
MAX_PARAMETERS = 20

_queries: ByteCache[tuple[type, bytes], Any] = ByteCache(QUERIES_BYTES)


def query_of(kind: type[msgspec.Struct], text: bytes) -> Any:
    """Return a typed query. Clients ask the same again and again: parsed ones are remembered, and nobody changes them."""
    key = kind, text
    return _queries.get(key) or _queries.put(key, _parsed(kind, text), QUERY_BYTES + 2 * len(text))


def _parsed(kind: type[msgspec.Struct], text: bytes) -> Any:
    lists = getattr(kind, "LISTS", {})
    most = MAX_PARAMETERS + sum(lists.values())
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=most)
    except ValueError:
        raise InvalidField(f"{text.decode('latin-1')!r} is not a list of parameters: write name=value&name=value") from None
    given: dict[str, Any] = {}
    for name, value in pairs:
        if name.removesuffix("[]") in lists:
            # Separated by commas, or the parameter repeated, as programs write lists.
            given.setdefault(name.removesuffix("[]"), []).extend(value.split(","))
            continue
        if name in given and kind is not AnyQuery:
            raise InvalidField(f"{name} is given twice, as {_short(given[name])} and as {_short(value)}: give it once")
        given[name] = value
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as exc:
        known = ", ".join(kind.__struct_fields__) or "none"
        raise InvalidField(f"{_explained(exc, given, kind)}; this address takes the parameters: {known}") from None


async def read_body(
    receive: AsgiReceive, headers: list[tuple[bytes, bytes]], limit: int, deadlines: Deadlines, is_json: bool = True
) -> bytes:
    """Return a whole JSON body. Refuse one that is not declared to be JSON, is longer than the limit in bytes, cut short or too slow.

    Where it is not known yet whether there is to be one (`is_json` is false), nothing has to be declared.
    """
    # A server may tell only with one more, empty message that a body is whole. Whoever knows its length need not wait for that.
    length, kind = -1, b""
    for name, value in headers:
        if name == b"content-length":
            length = int(value) if value.isdigit() else -1
        elif name == b"content-type":
            kind = value
    if is_json and kind != b"application/json":
        _check_json(kind)
    if length > limit:
        raise _too_large(limit)
    with deadlines:
        return await _whole_body(receive, length, limit)


async def _whole_body(receive: AsgiReceive, length: int, limit: int) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    if len(body) != length and message.get("more_body"):
        chunks = [body]
        size = len(body)
        while size != length and message.get("more_body"):
            message = await receive()
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > limit:
                raise _too_large(limit)
        body = b"".join(chunks)
    if len(body) > limit:
        raise _too_large(limit)
    if len(body) != length and (length >= 0 or message["type"] != "http.request"):
        promised = "without its last chunk" if length < 0 else f"after {len(body)} of {length} bytes"
        raise BodyCutShort(f"the body ends {promised}: send all of it. Nothing was recorded")
    return body


def check_declared_type(headers: list[tuple[bytes, bytes]]) -> None:
    """Refuse a request without a body that declares another type than JSON: a form that any web page could send."""
    for name, value in headers:
        if name == b"content-type":
            _check_json(value)


def _check_json(kind: bytes) -> None:
    """Refuse a body that any web page could send: a browser asks first whether it may send JSON."""
    plain = kind.partition(b";")[0].strip().lower()
    if plain != b"application/json" and not (plain.startswith(b"application/") and plain.endswith(b"+json")):
        found = f"content-type: {kind.decode('latin-1')[:60]} cannot be used" if kind else "there is no content-type"
        raise UnsupportedMediaType(f"{found}: send the header 'content-type: application/json' (curl: --json instead of -d)")


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is larger than {limit} bytes, the most that this address takes")


def decoded(decoder: msgspec.json.Decoder[Any], body: bytes | msgspec.Raw) -> Any:
    """Return a typed body, or raise the error that names the wrong field and its value."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as exc:
        # A wrong type may come before the place where the text stops being JSON.
        raise InvalidField(_explained(exc, _plain(body), decoder.type)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _plain(body)
        raise


def _plain(body: bytes | msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise MalformedBody(f"the body is not JSON: {exc}") from None
    except RecursionError:
        raise MalformedBody("the body is nested too deeply") from None


def _explained(exc: msgspec.ValidationError, data: object, kind: Any) -> str:
    """Return a validation error with the field's name and value."""
    problem, _, path = str(exc).partition(" - at `")
    path = path.rstrip("`")
    value = data
    for part in path.replace("[", ".[").split(".")[1:]:
        try:
            value = value[int(part[1:-1])] if part.startswith("[") else value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError, ValueError):
            break
    where = "" if path in ("", "$") else f" in {path.removeprefix('$.')}"
    if "missing required" in problem:
        return problem + where
    if "unknown field" in problem:
        field = problem.split("`")[1]
        return f"{problem}{where}: {field} = {_short(value.get(field)) if isinstance(value, dict) else '?'}"
    field = path.removeprefix("$.") or "body"
    if "enum" in problem:
        problem = f"allowed are {', '.join(get_args(get_type_hints(kind)[field]))}"
    return f"{field} = {_short(value)} cannot be used: {problem}"


def _short(value: object) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
