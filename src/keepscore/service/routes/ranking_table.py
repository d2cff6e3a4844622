"""The routes of `/v1` that submit scores and read rankings."""

from __future__ import annotations

from keepscore.domain.results import standings as answers
from keepscore.domain.results.distribution import Distribution
from keepscore.service.http.layer import Example, Route
from keepscore.service.routes.boards import Api
from keepscore.service.routes.bodies import (
    AmountBody,
    AroundQuery,
    BatchBody,
    BatchQuery,
    CountQuery,
    DistributionQuery,
    ExplainQuery,
    LookupBody,
    PlayerQuery,
    ScoreBody,
    TopQuery,
    ViewQuery,
)
from keepscore.service.routes.declarations import BOARD, board_read

__all__ = ["MAX_BATCH_BODY_BYTES", "ranking_routes"]

#: Bytes of a batch.
MAX_BATCH_BODY_BYTES = 8 << 20


def ranking_routes(api: Api) -> list[Route]:
    """Return them all."""
    return [*_submissions(api), *_reads(api)]


def _submissions(api: Api) -> list[Route]:
    receipt = {200: answers.Receipt, 202: answers.Receipt}
    return [
        Route(
            "POST",
            BOARD + "/scores",
            api.submit,
            "Submit a score",
            scope="submit",
            players=True,
            keyed=True,
            query=ExplainQuery,
            body=ScoreBody,
            answers=receipt,
            tag="Scores",
            description="Records a score and returns the player's new rank in every window. The score is durable when the answer comes. "
            "202 means: recorded, and ranked as soon as the ranking engine is back.",
            example=Example(body={"player_id": "ada", "score": 1500, "segments": {"region": "eu"}}),
        ),
        Route(
            "POST",
            BOARD + "/increments",
            api.increment,
            "Add to a score",
            scope="submit",
            players=True,
            keyed=True,
            query=ExplainQuery,
            body=AmountBody,
            answers=receipt,
            tag="Scores",
            description="Adds an amount to a player's score, on boards with the operator `sum` or `last`. Send an `Idempotency-Key`: "
            "without one, a retry adds twice.",
            example=Example(body={"player_id": "ada", "amount": 25}),
        ),
        Route(
            "POST",
            BOARD + "/scores/batch",
            api.submit_batch,
            "Submit up to 10,000 scores or amounts",
            scope="submit",
            players=True,
            cost="heavy",
            keyed=True,
            query=BatchQuery,
            body=BatchBody,
            answers={200: answers.BatchReceipt, 202: answers.BatchReceipt},
            max_body=MAX_BATCH_BODY_BYTES,
            tag="Scores",
            description="Each entry is checked by itself: bad ones are listed in `rejected`, and the others count.",
            example=Example({"results": True}, {"scores": [{"player_id": "ada", "score": 1500}, {"player_id": "bruno", "score": 1450}]}),
        ),
    ]


def _reads(api: Api) -> list[Route]:
    return [
        board_read(
            BOARD + "/top",
            api.top,
            "Get a page of a ranking",
            query=TopQuery,
            answers={200: answers.Top},
            tag="Rankings",
            description="Returns players in rank order. Continue with `next_cursor`: pages then neither skip nor repeat a player when "
            "scores change in the meantime. With `min` or `max`, returns only players with such a score, with their ranks among all "
            "players.",
            example=Example({"limit": 10}),
        ),
        board_read(
            BOARD + "/players/{player_id}",
            api.player,
            "Get a player's rank",
            cost="light",
            query=PlayerQuery,
            answers={200: answers.PlayerPlace},
            tag="Rankings",
            description="Returns a player's rank, score and percentile and, with `around`, the players just above and below.",
            example=Example({"around": 5}),
        ),
        board_read(
            BOARD + "/ranks/{rank}",
            api.around,
            "Get the players around a rank",
            query=AroundQuery,
            answers={200: answers.Around},
            tag="Rankings",
            description="Returns the player at a rank, with players above and below.",
            example=Example({"around": 5}),
        ),
        Route(
            "POST",
            BOARD + "/players/lookup",
            api.lookup,
            "Rank up to 1,000 players, such as friends",
            scope="read",
            players=True,
            query=ViewQuery,
            body=LookupBody,
            answers={200: answers.Lookup},
            tag="Rankings",
            description="Returns the given players in rank order, with their ranks among all players.",
            example=Example(body={"player_ids": ["ada", "bruno"]}),
        ),
        board_read(
            BOARD + "/count",
            api.count,
            "Count players",
            cost="light",
            query=CountQuery,
            answers={200: answers.Count},
            tag="Rankings",
            description="Returns how many players there are, or how many have a score from `min` to `max`.",
            example=Example({"min": 1000}),
        ),
        board_read(
            BOARD + "/distribution",
            api.distribution,
            "Get the distribution of scores",
            query=DistributionQuery,
            answers={200: Distribution},
            tag="Rankings",
            description="Returns how many players have which scores: equal parts of the range, from the lowest score to the highest.",
            example=Example({"bins": 10}),
        ),
    ]
