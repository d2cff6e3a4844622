"""What can be done with an answer: links of the API's description, from what an answer tells to the routes that take it.

A value that begins with `$` is an OpenAPI runtime expression, such as `$response.body#/void_id`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["Link", "links_from", "operation_id"]

_SCORES = "/v1/boards/{board}/scores"
_PLAYER = "/v1/boards/{board}/players/{player_id}"
_BOARD = {"board": "$response.body#/board"}
_WHO = {**_BOARD, "player_id": "$response.body#/player_id"}
_GROUP = {"group_id": "$response.body#/group_id"}
_KEY = {"key_id": "$response.body#/id"}
_VOID = {"void_id": "$response.body#/void_id"}
_QUEUED = {"queue_id": "$response.body#/queue_id"}
_APPEAL = {"appeal_id": "$response.body#/id"}
_DEFINED = {"board": "$request.path.board"}
_REASON = {"reason": "scores of a bot"}
_OF_PLAYER = {"player_id": "$response.body#/player_id", **_REASON}


class Link(NamedTuple):
    """Where an answer leads: the route, the parts of its address, and the body that it gets."""

    method: str
    path: str
    parameters: Mapping[str, str] = MappingProxyType({})
    body: dict[str, Any] | None = None


_OF_BOARD = [
    Link("GET", "/v1/boards/{board}", _DEFINED),
    Link("POST", _SCORES, _DEFINED),
    Link("DELETE", "/v1/boards/{board}", _DEFINED),
]
#: By the route and status of an answer.
LINKS: dict[tuple[str, str, int], list[Link]] = {
    ("PUT", "/v1/boards/{board}", 200): _OF_BOARD,
    ("PUT", "/v1/boards/{board}", 201): _OF_BOARD,
    ("POST", _SCORES, 200): [
        Link("GET", _PLAYER, _WHO),
        Link("GET", f"{_PLAYER}/events", _WHO),
        Link("GET", "/v1/boards/{board}/history/{player_id}", _WHO),
        Link("DELETE", _PLAYER, _WHO),
        Link("POST", "/v1/moderation/void", body={**_WHO, **_REASON}),
        Link("POST", "/v1/moderation/correct", body={**_WHO, "score": 1, **_REASON}),
        Link("POST", "/v1/moderation/hide", body=_OF_PLAYER),
        Link("POST", "/v1/moderation/shadow", body=_OF_PLAYER),
        Link("POST", "/v1/moderation/merge", body={"from": "$response.body#/player_id", "into": "ada", **_REASON}),
        Link("POST", "/v1/moderation/erase", body=_OF_PLAYER),
        Link("GET", "/v1/players/{player_id}/export", {"player_id": "$response.body#/player_id"}),
    ],
    ("POST", _SCORES, 202): [
        Link("POST", "/v1/moderation/queue/{queue_id}/approve", _QUEUED),
        Link("POST", "/v1/moderation/queue/{queue_id}/reject", _QUEUED),
        Link(
            "POST",
            "/v1/appeals",
            body={"decision_id": "$response.body#/queue_id", "player_id": "$response.body#/player_id", "text": "I have a video of it."},
        ),
    ],
    ("POST", "/v1/boards/{board}/plays", 200): [
        Link("POST", _SCORES, _DEFINED, {"player_id": "$request.body#/player_id", "score": 1, "play_token": "$response.body#/play_token"}),
    ],
    ("POST", "/v1/moderation/void", 200): [
        Link("GET", "/v1/moderation/void/{void_id}", _VOID),
        Link("POST", "/v1/moderation/void/{void_id}/undo", _VOID),
    ],
    ("POST", "/v1/moderation/correct", 200): [Link("POST", "/v1/moderation/void/{void_id}/undo", _VOID)],
    ("DELETE", _PLAYER, 200): [Link("POST", "/v1/moderation/void/{void_id}/undo", _VOID)],
    ("POST", "/v1/moderation/hide", 200): [Link("POST", "/v1/moderation/restore", body=_OF_PLAYER)],
    ("POST", "/v1/moderation/shadow", 200): [Link("POST", "/v1/moderation/restore", body=_OF_PLAYER)],
    ("POST", "/v1/moderation/merge", 200): [Link("POST", "/v1/moderation/split", body={"from": "$response.body#/from", **_REASON})],
    ("POST", "/v1/appeals", 201): [
        Link("GET", "/v1/appeals/{appeal_id}", _APPEAL),
        Link("POST", "/v1/appeals/{appeal_id}/reply", _APPEAL),
    ],
    ("POST", "/v1/groups", 201): [
        Link("GET", "/v1/groups/{group_id}", _GROUP),
        Link("POST", "/v1/groups/{group_id}/members", _GROUP),
        Link("DELETE", "/v1/groups/{group_id}", _GROUP),
    ],
    ("POST", "/v1/keys", 201): [Link("POST", "/v1/keys/{key_id}/rotate", _KEY), Link("DELETE", "/v1/keys/{key_id}", _KEY)],
}


def operation_id(method: str, path: str) -> str:
    """Return the name of a route in the API's description."""
    return re.sub(r"\W+", "_", f"{method.lower()} {path}").strip("_")


def links_from(method: str, path: str) -> dict[str, dict[str, Any]]:
    """Return the links of a route's answers by status, as OpenAPI has them."""
    found: dict[str, dict[str, Any]] = {}
    for (of_method, of_path, status), links in LINKS.items():
        if (of_method, of_path) == (method, path):
            found[str(status)] = {operation_id(link.method, link.path): _described(link) for link in links}
    return found


def _described(link: Link) -> dict[str, Any]:
    told: dict[str, Any] = {"operationId": operation_id(link.method, link.path)}
    if link.parameters:
        told["parameters"] = dict(link.parameters)
    if link.body is not None:
        told["requestBody"] = link.body
    return told
