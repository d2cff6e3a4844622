"""The description of the API (OpenAPI 3.1), made from the routes."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from keepscore import __version__
from keepscore.board_inactivity import INACTIVITY_FIELDS, Inactivity
from keepscore.boards import DECAY_FIELDS, FIELDS, WINDOW_FIELDS, Board, Decay, Window
from keepscore.rollups import ROLLUP_FIELDS, Rollup
from keepscore.web.bodies import BatchBody, EntryBody
from keepscore.web.http import NoBody, NoQuery, Route
from keepscore.web.problems import Problem
from keepscore.web.routes import Boards

__all__ = ["describe"]

_REF = "#/components/schemas/{name}"


#: What parameters mean, by name.
PARAMETERS = {
    "board": "the board's name",
    "player_id": "the player's id, percent-encoded",
    "window": "daily, weekly, monthly, yearly, all_time or season; without it, the board's first (of windows: all)",
    "window_id": "which one, such as 2026-W46; without it, the present one",
    "segment": "a slice of the board, such as region:eu",
    "rank": "how ranks are numbered, unique, standard or dense; in the path, the rank in the middle",
    "limit": "how many, 1 to 1,000 (of a board's events 10,000)",
    "offset": "how many to pass over",
    "cursor": "next_cursor of the page before",
    "at": "the moment, with an offset, such as 2026-11-15T19:30:00Z; not in the future",
    "around": "how many players above and below, up to 500",
    "min": "the lowest score that counts",
    "max": "the highest score that counts",
    "results": "whether to answer with the receipt of each submission",
    "repair": "whether to put right what differs, and to compare again",
    "backfill": "whether scores count in windows that are closed, too",
    "dry_run": "whether only to check what would be taken, and record nothing",
    "n": "how many players, 1 to 1,000",
    "type": "global or regional",
    "period": "daily, weekly, monthly or all_time",
    "region": "the region, for type=regional",
    "range": "how many players above and below, up to 500",
    "Idempotency-Key": "sent again with the same key, a request counts once and gets its first answer",
}


def describe(routes: list[Route]) -> dict[str, Any]:
    """The OpenAPI document of some routes."""
    types = [Problem, Board, Window, EntryBody]
    for route in routes:
        types += [kind for kind in (route.body, *route.answers.values()) if _is_struct(kind)]
    unique = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    refs = dict(zip(unique, schemas, strict=True))
    for component in components.values():
        _numbers(component)
        component["description"] = component.get("description", "").partition("\n\n    >>>")[0].strip()
    _describe_boards(components)
    components[BatchBody.__name__]["properties"]["scores"] = {"type": "array", "maxItems": 10_000, "items": refs[EntryBody]}
    components[Boards.__name__]["properties"]["boards"]["items"] = refs[Board]
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Keepscore", "version": __version__, "description": "Real-time leaderboards: durable, exact and fast."},
        "paths": paths,
        "components": {"schemas": components},
    }


def _describe_boards(components: dict[str, Any]) -> None:
    board = components["Board"]
    own = {Board: FIELDS, Window: WINDOW_FIELDS, Decay: DECAY_FIELDS, Rollup: ROLLUP_FIELDS, Inactivity: INACTIVITY_FIELDS}
    for kind, fields in own.items():
        for field, meaning in fields.items():
            components[kind.__name__]["properties"][field]["description"] = meaning
    board["properties"]["version"] = {"type": "integer", "description": "how often the definition was changed, from 1"}
    # The address has the name.
    board["required"] = []


def _numbers(schema: Any) -> None:
    """Scores are written as numbers, with decimals or without."""
    if isinstance(schema, dict):
        if schema.get("format") == "decimal":
            schema.clear()
            schema["type"] = "number"
        for part in list(schema.values()):
            _numbers(part)
    elif isinstance(schema, list):
        for part in schema:
            _numbers(part)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not NoBody


def _operation(route: Route, refs: dict[Any, Any]) -> dict[str, Any]:
    name = re.sub(r"\W+", "_", f"{route.method.lower()} {route.path}").strip("_")
    operation: dict[str, Any] = {"operationId": name, "summary": route.summary, "parameters": _parameters(route)}
    if route.body is not NoBody:
        schema = refs[route.body] if _is_struct(route.body) else refs[Board]
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    operation["responses"] = {str(status): _response(kind, refs) for status, kind in route.answers.items()}
    problem = {"application/problem+json": {"schema": refs[Problem]}}
    operation["responses"].setdefault("default", {"description": "What was wrong", "content": problem})
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        _parameter(name, "path", {"type": "integer" if name == "rank" else "string"}) | {"required": True}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.query is not NoQuery:
        schema = msgspec.json.schema_components([route.query])[1][route.query.__name__]
        _numbers(schema)
        found += [_parameter(name, "query", kind) for name, kind in schema["properties"].items() if name != "at"]
        if "at" in schema["properties"]:
            # A query has a default for everything, but there is no moment to take for this one.
            found.append(_parameter("at", "query", {"type": "string", "format": "date-time"}) | {"required": True})
    if route.method != "GET" and not re.search("lookup|keeper|verify|rebuild", route.path):
        found.append(_parameter("Idempotency-Key", "header", {"type": "string", "maxLength": 128}))
    return found


def _parameter(name: str, place: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": place, "description": PARAMETERS[name], "schema": schema}


def _response(kind: Any, refs: dict[Any, Any]) -> dict[str, Any]:
    if kind is None:
        return {"description": "Done"}
    schema = refs[kind] if _is_struct(kind) else refs[Board]
    media = "application/problem+json" if kind is Problem else "application/json"
    description = kind.__doc__.split("\n")[0] if _is_struct(kind) else "The board's definition and version."
    return {"description": description, "content": {media: {"schema": schema}}}
