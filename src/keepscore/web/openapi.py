"""The description of the API (OpenAPI 3.1), made from the routes."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from keepscore import __version__
from keepscore.boards import FIELDS, Board
from keepscore.web.bodies import BatchBody, EntryBody
from keepscore.web.http import NoBody, NoQuery, Route
from keepscore.web.problems import Problem

__all__ = ["describe"]

_REF = "#/components/schemas/{name}"


def describe(routes: list[Route]) -> dict[str, Any]:
    """The OpenAPI document of some routes."""
    types = [Problem, Board, EntryBody]
    for route in routes:
        types += [kind for kind in (route.body, *route.answers.values()) if _is_struct(kind)]
    unique = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(unique, ref_template=_REF)
    refs = dict(zip(unique, schemas, strict=True))
    for field, meaning in FIELDS.items():
        components["Board"]["properties"][field]["description"] = meaning
    components[BatchBody.__name__]["properties"]["scores"] = {"type": "array", "maxItems": 10_000, "items": refs[EntryBody]}
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Keepscore", "version": __version__, "description": "Real-time leaderboards: durable, exact and fast."},
        "paths": paths,
        "components": {"schemas": components},
    }


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
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if name == "rank" else "string"}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.query is not NoQuery:
        schema = msgspec.json.schema_components([route.query])[1][route.query.__name__]
        found += [{"name": name, "in": "query", "schema": kind} for name, kind in schema["properties"].items()]
    if route.method == "POST" and route.body is not NoBody and "lookup" not in route.path:
        found.append({"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": 128}})
    return found


def _response(kind: Any, refs: dict[Any, Any]) -> dict[str, Any]:
    if kind is None:
        return {"description": "Done"}
    schema = refs[kind] if _is_struct(kind) else refs[Board]
    media = "application/problem+json" if kind is Problem else "application/json"
    return {"description": (getattr(kind, "__doc__", None) or "").split("\n")[0], "content": {media: {"schema": schema}}}
