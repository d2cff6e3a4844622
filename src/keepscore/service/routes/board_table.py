"""The routes of `/v1` that define and look after boards, and tell whether the service works."""

from __future__ import annotations

from typing import Any

from keepscore.domain.results import standings as answers
from keepscore.service.http.layer import Example, Route
from keepscore.service.http.problems import Problem
from keepscore.service.routes.boards import Api, Boards, ReadinessAnswer, Status
from keepscore.service.routes.bodies import ChangeQuery, ReviseBody, RunBody, VerifyQuery
from keepscore.service.routes.declarations import BOARD, board_read

__all__ = ["board_routes"]


def board_routes(api: Api) -> list[Route]:
    """Return them all."""
    return [*_boards(api), *_rebuilds(api), *_health(api)]


def _boards(api: Api) -> list[Route]:
    return [
        board_read(
            "/v1/boards",
            api.boards,
            "List boards",
            about="visible",
            answers={200: Boards},
            tag="Boards",
            description="Returns the definitions of all boards that the client may read, by name.",
        ),
        board_read(
            BOARD,
            api.board,
            "Get a board",
            cost="light",
            answers={200: dict},
            tag="Boards",
            description="Returns a board's definition and version.",
        ),
        Route(
            "PUT",
            BOARD,
            api.put_board,
            "Define or replace a board",
            scope="admin",
            cost="heavy",
            keyed=True,
            versioned=True,
            query=ChangeQuery,
            body=dict[str, Any],
            answers={200: dict, 201: dict},
            tag="Boards",
            description="Fields that are left out get their defaults. A change that would lose or rebuild something is refused (409) with "
            "a list of it, unless you confirm it with `confirm=true`, or name the version that you have read with `If-Match` or `version`. "
            "If somebody else has changed the board since that version, it is refused (409), too. A change of what rankings mean rebuilds "
            "them; readers see the old ones until then.",
            example=Example({"board": "arcade", "confirm": True}, {"operator": "best", "windows": ["daily", "all_time"]}),
        ),
        Route(
            "PATCH",
            BOARD,
            api.change_board,
            "Change some fields of a board",
            scope="admin",
            cost="heavy",
            keyed=True,
            versioned=True,
            query=ChangeQuery,
            body=dict[str, Any],
            answers={200: dict},
            tag="Boards",
            description="Fields that are left out stay as they are; `null` sets a field back to its default. A change that would drop or "
            "rebuild rankings is refused (409) with a list of it, unless you confirm it as with `PUT`.",
            example=Example({"board": "arcade"}, {"grace": "10m"}),
        ),
        Route(
            "DELETE",
            BOARD,
            api.delete_board,
            "Delete a board",
            scope="admin",
            cost="heavy",
            keyed=True,
            answers={204: None},
            tag="Boards",
            description="Removes a board and its rankings. Its events stay in the ledger.",
            example=Example({"board": "arcade"}),
        ),
    ]


def _rebuilds(api: Api) -> list[Route]:
    return [
        Route(
            "POST",
            BOARD + "/verify",
            api.verify,
            "Check rankings against the ledger",
            scope="admin",
            cost="heavy",
            query=VerifyQuery,
            answers={200: answers.Verification},
            tag="Operations",
            description="Compares everything a board shows with its events, and lists what differs. With `repair`, fixes it.",
        ),
        Route(
            "POST",
            BOARD + "/rebuild",
            api.rebuild,
            "Rebuild rankings from the ledger",
            scope="admin",
            cost="heavy",
            answers={200: answers.Rebuild},
            tag="Operations",
            description="Builds a board's rankings again from all of its events. Readers see the old ones until the new ones are complete.",
        ),
        Route(
            "POST",
            BOARD + "/windows/{window}/{window_id}/revise",
            api.revise,
            "Correct the final standings of a window",
            scope="moderate",
            cost="heavy",
            keyed=True,
            body=ReviseBody,
            answers={200: answers.Revision},
            tag="Operations",
            description="Archives a closed window again from the ledger, as its next revision. The reason goes into the audit.",
            example=Example({"window": "weekly", "window_id": "2026-W02"}, {"reason": "scores of a bot were removed"}),
        ),
        Route(
            "GET",
            "/v1/keeper",
            api.keeper,
            "Get the keeper's jobs",
            scope="admin",
            answers={200: answers.KeeperStatus},
            tag="Operations",
            description="The keeper closes windows, archives, checkpoints and heals. Returns when each job ran, and whether it failed.",
        ),
        Route(
            "POST",
            "/v1/keeper/run",
            api.run_keeper,
            "Run the keeper's jobs now",
            scope="admin",
            cost="heavy",
            body=RunBody,
            answers={200: answers.KeeperRun},
            tag="Operations",
            description="Runs what is due now, or was due at a past moment.",
            example=Example(body={}),
        ),
    ]


def _health(api: Api) -> list[Route]:
    return [
        Route(
            "GET",
            "/healthz",
            api.healthz,
            "Is the process alive?",
            scope="open",
            cost="light",
            answers={200: Status},
            tag="Service",
            description="For load balancers and supervisors. Touches nothing else.",
        ),
        Route(
            "GET",
            "/readyz",
            api.readyz,
            "Do the ledger and the engine work?",
            scope="open",
            answers={200: ReadinessAnswer, 503: Problem},
            tag="Service",
            description="Does a real ledger write and runs the engine's real script. 200 with `degraded`: something is broken, but "
            "scores are still taken. 503: no board takes scores.",
        ),
    ]
