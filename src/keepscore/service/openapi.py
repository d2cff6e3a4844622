"""The description of the API (OpenAPI 3.1), made from the routes. It is the only one: `/docs` renders it."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, get_args, get_origin

import msgspec

from keepscore import __version__, errors
from keepscore.domain.board_fields import BOUNDS, PATTERNS, TABLES, FieldBounds
from keepscore.domain.boards import Board, Window
from keepscore.domain.results.standings import WindowLayout
from keepscore.service.http.layer import NoBody, NoQuery, Route, Text
from keepscore.service.http.problems import INTERNAL_ERROR, Problem, status_of
from keepscore.service.routes.boards import Boards
from keepscore.service.routes.bodies import BatchBody, EntryBody, ImportBody
from keepscore.service.routes.links import links_from, operation_id
from keepscore.service.routes.meanings import PARAMETERS, PATH_EXAMPLES, meaning_of
from keepscore.service.routes.stated import PATHS, SCORE_RANGE, TEXT

__all__ = ["ERRORS", "TAGS", "describe"]

_REF = "#/components/schemas/{name}"
#: The component of a board as answers have it.
STORED = "StoredBoard"

#: Fields of boards that are scores.
SCORES = ("min_score", "max_score", "lose", "floor")

#: The groups of routes, in the order in which they are shown.
TAGS = {
    "Scores": "Submit scores and amounts. An answer means that the score is durable.",
    "Rankings": "Read ranks and pages of rankings. Answers carry an `ETag`: a client that polls gets 304 until something changes.",
    "Live": "What changes, as it changes.",
    "History": "Look back: past windows, players' histories, standings of past moments, events.",
    "Access": "API keys, and tokens for players. If keys are required, send one as `Authorization: Bearer ks_…`.",
    "Boards": "Define what is ranked, and how.",
    "Players": "Names to show.",
    "Friends": "Lists of friends, and ranks among friends.",
    "Matches": "Rate matches of players against each other, and look back at them.",
    "Leagues": "Cohorts of players of one tier, who move up or down when a window closes.",
    "Moderation": "Let scores of cheaters no longer count, and undo that. Everything is recorded with its reason.",
    "Prizes": "Who wins a window, what they get, and signed statements of that.",
    "Audit": "Who did what, when, from where and why, and the proof that nobody has changed that.",
    "Operations": "Look after boards: check, rebuild, reset, correct.",
    "Existing clients": "Routes that clients of other leaderboard services use, on one board, the default board.",
    "Service": "Health and metrics.",
}

INTRODUCTION = """Real-time leaderboards: durable, exact and fast.

JSON in and out, in snake_case. A *board* says what is ranked and how. Each of its *windows* (daily, weekly, all_time …) and *segments* \
(`region:eu`) has its own ranking. Reads take `window`, `window_id`, `segment` and `rank`."""

PROBLEM = """Errors are `application/problem+json` (RFC 9457). `type` is stable: programs compare it. `detail` names the field and the \
value, and says what would be right. A refused request leaves nothing behind. After 503, try again later. \
After 504, a submission may be recorded: send it again only with its idempotency key."""

BEARER = """An API key (`ks_…`) or a player token. Each route has a scope, `read`, `submit`, `moderate` or `admin`, and a key of that \
scope or a later one may use it. A service on its own machine needs none until the first key is created."""

#: Errors that only programs on this side of the API meet, and classes that only group others.
_INTERNAL = (errors.KeepscoreError, errors.BadInput, errors.NotFound, errors.Conflict, errors.ConfigError, errors.ServiceError)
#: Every error that the API may answer with.
ERRORS: list[type[errors.KeepscoreError]] = [
    kind for kind in (getattr(errors, name) for name in errors.__all__) if issubclass(kind, errors.KeepscoreError) and kind not in _INTERNAL
]


def describe(routes: list[Route]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes that have a tag."""
    routes = [route for route in routes if route.tag]
    types = [Problem, Board, Window, WindowLayout, EntryBody]
    for route in routes:
        types += [_entry(kind) for kind in (route.body, *route.answers.values()) if _is_struct(_entry(kind))]
    unique = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    refs = dict(zip(unique, schemas, strict=True))
    for component in components.values():
        _numbers(component)
        component["description"] = component.get("description", "").partition("\n\n    >>>")[0].strip()
    _describe_boards(components)
    _describe_fields(components)
    for body in (BatchBody, ImportBody):
        components[body.__name__]["properties"]["scores"]["items"] = refs[EntryBody]
    components[Boards.__name__]["properties"]["boards"]["items"] = {"$ref": _REF.format(name=STORED)}
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Keepscore", "version": __version__, "description": INTRODUCTION},
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": description} for name, description in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": BEARER}},
            "responses": {"Problem": _problems(refs[Problem])},
            "parameters": {
                "IdempotencyKey": _parameter("Idempotency-Key", "header", {"type": "string", **TEXT}),
                "IfMatch": _parameter("If-Match", "header", {"type": "string", "pattern": '^"?[0-9]{1,18}"?$'}),
            },
        },
    }


def _problems(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the response for errors, with an example of each type."""
    found = {kind.type: (kind.title, _status(kind), kind.__doc__ or "") for kind in ERRORS}
    found[INTERNAL_ERROR] = ("Internal error", 500, "Something that should not happen. The service's log has the cause.")
    examples = {
        name.rpartition(":")[2]: {
            "summary": meaning,
            "value": {"type": name, "title": title, "status": status, "detail": meaning, "request_id": "5bd1e995c0ffee00"},
        }
        for name, (title, status, meaning) in sorted(found.items(), key=lambda item: (item[1][1], item[0]))
    }
    return {"description": PROBLEM, "content": {"application/problem+json": {"schema": schema, "examples": examples}}}


def _status(kind: type[errors.KeepscoreError]) -> int:
    return status_of(kind.__new__(kind))


def _describe_boards(components: dict[str, Any]) -> None:
    for name, fields in TABLES.items():
        properties = components[name]["properties"]
        for field, meaning in fields.items():
            properties[field]["description"] = meaning
            if f"{name}.{field}" in BOUNDS:
                _bound(properties[field], BOUNDS[f"{name}.{field}"])
            if f"{name}.{field}" in PATTERNS:
                _shape(properties[field], f"^(?:{PATTERNS[f'{name}.{field}']})$")
            if field in SCORES:
                properties[field] |= SCORE_RANGE
    board = components["Board"]
    # Beside names, segments are tables and combinations.
    segment = {"type": "string", "pattern": f"^(?:{PATTERNS['Board.segments']})$"}
    combination = {"type": "array", "items": segment}
    board["properties"]["segments"]["items"] = {"anyOf": [segment, {"type": "object"}, combination]}
    board["properties"]["version"] = {"type": "integer", "description": "how often the definition was changed, from 1"}
    # The address has the name.
    board["required"] = []
    told = {
        "replayed": {"type": "boolean", "description": meaning_of(STORED, "replayed")},
        "layouts": {
            "type": "object",
            "additionalProperties": {"$ref": _REF.format(name=WindowLayout.__name__)},
            "description": meaning_of(STORED, "layouts"),
        },
    }
    components[STORED] = {**board, "title": STORED, "properties": {**board["properties"], **told}}


def _bound(schema: dict[str, Any], bounds: FieldBounds) -> None:
    """Add the bounds of a number, a list or a text."""
    for part in schema.get("anyOf", [schema]):
        words = {"integer": ("minimum", "maximum"), "array": ("minItems", "maxItems"), "string": ("minLength", "maxLength")}
        if part.get("type") in words:
            part.update(zip(words[part["type"]], bounds, strict=True))


def _shape(schema: dict[str, Any], pattern: str) -> None:
    """Add the pattern of a text, or of the texts of a list."""
    for part in schema.get("anyOf", [schema]):
        if part.get("type") in ("string", "array"):
            part.get("items", part)["pattern"] = pattern


def _describe_fields(components: dict[str, Any]) -> None:
    for name, component in components.items():
        if name not in TABLES and name != STORED:
            for field, schema in component.get("properties", {}).items():
                schema["description"] = meaning_of(name, field)


def _numbers(schema: Any) -> None:
    """Declare scores as numbers, with decimals or without."""
    if isinstance(schema, dict):
        if schema.get("format") == "decimal":
            schema.clear()
            schema["type"] = "number"
        for part in list(schema.values()):
            _numbers(part)
    elif isinstance(schema, list):
        for part in schema:
            _numbers(part)


def _entry(kind: Any) -> Any:
    """Return what a list is of, and anything else as it is."""
    return get_args(kind)[0] if get_origin(kind) is list else kind


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not NoBody


def _operation(route: Route, refs: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": operation_id(route.method, route.path),
        "tags": [route.tag],
        "summary": route.summary,
        "description": route.description,
        "x-scope": route.scope,
        "x-cost": route.cost,
        "x-boards": route.about,
        "x-player-tokens": route.players,
        "security": [] if route.scope == "open" else [{"bearer": []}],
        "parameters": _parameters(route),
    }
    if route.body is not NoBody:
        schema = refs[route.body] if _is_struct(route.body) else refs[Board]
        media = {"schema": schema, "example": route.example.body}
        operation["requestBody"] = {"required": not route.takes_no_body, "content": {"application/json": media}}
    operation["responses"] = {str(status): _response(kind, status, refs) for status, kind in route.answers.items()}
    for status, links in links_from(route.method, route.path).items():
        operation["responses"][status]["links"] = links
    operation["responses"]["default"] = {"$ref": "#/components/responses/Problem"}
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    examples = route.example.parameters
    found: list[dict[str, Any]] = []
    for name in re.findall(r"{(\w+)}", route.path):
        example = examples.get(name, PATH_EXAMPLES.get(name))
        found.append(_parameter(name, "path", PATHS[name], example) | {"required": True})
    if route.query is not NoQuery:
        schema = msgspec.json.schema_components([route.query])[1][route.query.__name__]
        _numbers(schema)
        for name, kind in schema["properties"].items():
            # A query has a default for everything, but there is no moment to take for this one.
            if name == "at":
                kind.pop("default")
            found.append(_parameter(name, "query", kind, examples.get(name)) | ({"required": True} if name == "at" else {}))
    if route.versioned:
        found.append({"$ref": "#/components/parameters/IfMatch"})
    if route.keyed:
        found.append({"$ref": "#/components/parameters/IdempotencyKey"})
    return found


def _parameter(name: str, place: str, schema: dict[str, Any], example: Any = None) -> dict[str, Any]:
    meaning = PARAMETERS.get(f"{place} {name}") or PARAMETERS[name]
    parameter = {"name": name, "in": place, "description": meaning, "schema": schema}
    # Only what the example sends has one.
    return parameter if example is None else {**parameter, "example": example}


def _response(kind: Any, status: int, refs: dict[Any, Any]) -> dict[str, Any]:
    if kind is None:
        return {"description": "Done." if status < HTTPStatus.BAD_REQUEST else f"{HTTPStatus(status).phrase}, without a body."}
    if kind is Text:
        return {"description": "Plain text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    if not _is_struct(_entry(kind)):
        return {
            "description": "The board's definition and version.",
            "content": {"application/json": {"schema": {"$ref": _REF.format(name=STORED)}}},
        }
    schema = refs[_entry(kind)] if _is_struct(kind) else {"type": "array", "items": refs[_entry(kind)]}
    media = "application/problem+json" if kind is Problem else "application/json"
    return {"description": _entry(kind).__doc__.split("\n")[0], "content": {media: {"schema": schema}}}
