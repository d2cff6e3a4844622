"""How scores are distributed: parts of the range that hold everybody once."""

from __future__ import annotations

from random import Random

import pytest

from tests.service.running import Service


@pytest.mark.parametrize(("decimals", "order"), [(0, "desc"), (2, "asc")])
@pytest.mark.parametrize("bins", [1, 7, 100])
def test_every_player_is_in_one_part(service: Service, decimals: int, order: str, bins: int) -> None:
    board = service.define(f"spread-{decimals}-{bins}", decimals=decimals, order=order)
    dice = Random(bins)
    scores = [round(dice.gauss(100, 40), decimals) for _ in range(200)]
    entries = [{"player_id": f"p{place}", "score": score} for place, score in enumerate(scores)]
    assert service.post(board, "scores/batch", {"scores": entries}).json()["rejected"] == []
    found = service.get(board, "distribution", bins=bins)
    assert found["total_players"] == 200
    assert len(found["bins"]) <= bins
    assert found["bins"][0]["min"] == min(scores)
    assert found["bins"][-1]["max"] == max(scores)
    for part in found["bins"]:
        assert part["players"] == sum(part["min"] <= score <= part["max"] for score in scores), part
    assert sum(part["players"] for part in found["bins"]) == 200


def test_a_board_without_players_has_no_parts(service: Service) -> None:
    board = service.define("spread-none")
    assert service.get(board, "distribution")["bins"] == []


@pytest.mark.parametrize("bins", ["0", "101", "-1", "many"])
def test_other_numbers_of_parts_are_refused(service: Service, bins: str) -> None:
    board = service.define("spread-bad")
    answer = service.client.get(f"/v1/boards/{board}/distribution", params={"bins": bins})
    assert answer.status_code == 422, answer.text
