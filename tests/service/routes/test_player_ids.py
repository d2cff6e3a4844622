"""Player ids of every kind work everywhere."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.service.running import Service, taken

PLAYERS = {
    "latin": "Zoë Müller",
    "cyrillic": "Дмитрий",
    "arabic": "سلمى",
    "hebrew": "שָׁלוֹם",
    "hindi": "नमस्ते",
    "chinese": "玩家一",
    "emoji": "👩‍🚀🏆",
    "spaces": " two  spaces ",
    "slash": "guild/a/b",
    "slashes": "//",
    "backslash": "a\\b",
    "quotes": 'it\'s "quoted" `now`',
    "percent": "100%",
    "encoded": "a%2Fb",
    "plus": "a+b",
    "query": "a?b=c&d#e",
    "dot": ".",
    "dots": "..",
    "lookup": "lookup",
    "digits": "0012",
    "zero": "0",
    "null": "null",
    "colon": "region:eu",
    "semicolon": "a;b,c",
    "braces": "{player}",
    "markup": "<script>alert(1)</script>",
    "sql": "'; DROP TABLE events; --",
    "longest": "x" * 128,
    "longest-bytes": "é" * 64,
    "astral": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "composed": "é",
    "decomposed": "e\u0301",
    "nbsp": "a\u00a0b",
    "joiner": "\u200b",
}


@pytest.fixture(scope="module")
def crowd(service: Service) -> str:
    """A board on which all of them play."""
    name = service.define("crowd", operator="last")
    for number, player in enumerate(PLAYERS.values()):
        service.submit(name, player, number)
    return name


def address(client: httpx.Client, path: str) -> httpx.URL:
    # As bytes, so that no client tidies the path up.
    return httpx.URL(client.base_url, raw_path=path.encode())


def encoded(player: str) -> str:
    return quote(player, safe="").replace(".", "%2E")


@pytest.mark.parametrize("label", PLAYERS)
def test_a_player_is_found_everywhere(service: Service, crowd: str, label: str) -> None:
    player = PLAYERS[label]
    score = list(PLAYERS).index(label)
    rank = len(PLAYERS) - score
    place = taken(service.client.get(address(service.client, f"/v1/boards/{crowd}/players/{encoded(player)}?around=1")))
    assert (place["player_id"], place["rank"], place["score"], place["total_players"]) == (player, rank, score, len(PLAYERS))
    assert player in [standing["player_id"] for standing in place["around"]]
    assert service.order(crowd, offset=rank - 1, limit=1) == [player]
    assert [s["player_id"] for s in service.get(crowd, f"ranks/{rank}", around=0)["standings"]] == [player]
    events = taken(service.client.get(address(service.client, f"/v1/boards/{crowd}/players/{encoded(player)}/events")))
    assert (events["player_id"], events["events"][0]["amount"]) == (player, score)
    found = taken(service.post(crowd, "players/lookup", {"player_ids": [player, "nobody"]}))
    assert ([s["player_id"] for s in found["standings"]], found["missing"]) == ([player], ["nobody"])


@pytest.mark.parametrize("label", PLAYERS)
def test_a_player_is_written_by_every_route(service: Service, label: str) -> None:
    player = PLAYERS[label]
    service.define("writes", operator="last")
    service.submit("writes", player, 1)
    service.increment("writes", player, 2)
    batch: Any = {"scores": [{"player_id": player, "amount": 4}]}
    assert taken(service.post("writes", "scores/batch", batch)) == {"accepted": 1, "rejected": []}
    found = taken(service.post("writes", "players/lookup", {"player_ids": [player]}))
    assert found["standings"][0]["score"] == 7


@pytest.mark.parametrize("label", PLAYERS)
def test_a_player_has_a_profile(service: Service, label: str) -> None:
    player = PLAYERS[label]
    profile = address(service.client, f"/v1/players/{encoded(player)}")
    assert taken(service.client.put(profile, json={"name": f"N {label}"})) == {"player_id": player, "name": f"N {label}"}
    assert taken(service.client.get(profile))["name"] == f"N {label}"
    service.client.put(profile, json={"name": None})


@pytest.mark.parametrize("value", ["eu", "日本", "a b", "a:b", "a/b", "100%", "a+b", "👑", "a&b=c", "x" * 64])
def test_segment_values_of_every_kind(service: Service, value: str) -> None:
    name = service.define("slices", segments=["region"])
    service.submit(name, f"from {value}", 1, segments={"region": value})
    page = service.get(name, "top", segment=f"region:{value}")
    assert (page["segment"], [s["player_id"] for s in page["standings"]]) == (f"region:{value}", [f"from {value}"])
