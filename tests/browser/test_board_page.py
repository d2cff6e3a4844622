"""The page of a board: live rows, windows, players, plots, and what it is for those who do not look."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.service.running import Service


def submit(service: Service, board: str, player: str, score: float, **fields: object) -> None:
    """Submit a score over HTTP."""
    answer = service.client.post(f"/v1/boards/{board}/scores", json={"player_id": player, "score": score, **fields})
    assert answer.status_code == 200, answer.text


def names(page: Page) -> list[str]:
    """Return the players in the order in which the page shows them."""
    return page.locator("#rows .row .name bdi").all_inner_texts()


@pytest.fixture
def arena(service: Service) -> Service:
    """The board `arena`, with three players."""
    for player, score in (("ada", 300), ("ben", 200), ("eve", 100)):
        submit(service, "arena", player, score)
    return service


def test_a_score_shows_in_an_open_page_within_a_second(page: Page, arena: Service) -> None:
    page.goto("/boards/arena")
    expect(page.locator("#rows .row").first).to_contain_text("ada")
    submit(arena, "arena", "fay", 250)
    expect(page.locator("#rows .row").nth(1)).to_contain_text("fay", timeout=1500)


def test_two_players_swap_places(page: Page, arena: Service) -> None:
    page.goto("/boards/arena")
    expect(page.locator("#rows .row").first).to_contain_text("ada")
    submit(arena, "arena", "eve", 999)
    expect(page.locator("#rows .row").first).to_contain_text("eve", timeout=3000)
    expect(page.locator("#rows .row").first.locator(".move")).to_contain_text("▲")
    assert names(page)[:2] == ["eve", "ada"]
    submit(arena, "arena", "eve", 100)
    expect(page.locator("#rows .row").first).to_contain_text("ada", timeout=3000)


def test_the_address_holds_what_is_looked_at(page: Page, arena: Service) -> None:
    submit(arena, "arena", "pia", 50, segments={"region": "eu"})
    page.goto("/boards/arena?window=daily&segment=region%3Aeu&player=pia")
    expect(page.locator("#rows .row")).to_have_count(1)
    expect(page.locator("#rows .row")).to_contain_text("pia")
    expect(page.locator("#found")).to_contain_text("#1 of 1 player")
    expect(page.get_by_role("button", name="daily")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="all time").click()
    expect(page).to_have_url(re.compile("window=all_time"))
    page.go_back()
    expect(page.get_by_role("button", name="daily")).to_have_attribute("aria-pressed", "true")


def test_a_player_is_found_with_place_neighbours_and_spread(page: Page, arena: Service) -> None:
    page.goto("/boards/arena")
    page.get_by_placeholder("name or player id").fill("ben")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("#found")).to_contain_text("ben")
    expect(page.get_by_label("The players around")).to_contain_text("ada")
    expect(page.locator("#spread svg")).to_contain_text("you are here")
    page.get_by_role("button", name="This is me").click()
    expect(page.locator("#rows .row.mine")).to_contain_text("ben")


def test_endless_scroll_over_a_long_ranking(page: Page, service: Service) -> None:
    scores = [{"player_id": f"p{n:05}", "score": 100_000 - n} for n in range(20_000)]
    for first in range(0, len(scores), 10_000):
        service.client.post("/v1/boards/large/scores/batch", json={"scores": scores[first : first + 10_000]}, timeout=60)
    page.goto("/boards/large")
    expect(page.locator("#shown")).to_contain_text("20,000 players")
    page.locator("#list").evaluate("list => list.scrollTop = 15000 * 48")
    expect(page.locator("#rows")).to_contain_text("p15003")
    assert page.locator("#rows .row").count() < 60, "only rows in sight exist"
    page.get_by_role("button", name="Back to the top").click()
    expect(page.locator("#rows .row").first).to_contain_text("p00000")


def test_names_are_text_and_long_scores_fit_a_phone(page: Page, service: Service) -> None:
    service.client.put("/v1/players/evil", json={"name": "<img src=x onerror=alert(1)>"})
    service.client.put("/v1/players/rtl", json={"name": "مرحبا بالعالم"})
    submit(service, "laps", "evil", 1234567890.123)
    submit(service, "laps", "rtl", 83.25)
    page.set_viewport_size({"width": 375, "height": 700})
    page.goto("/boards/laps")
    expect(page.locator("#rows")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator("#rows")).to_contain_text("1,234,567,890.123")
    row = page.locator("#rows .row").nth(1)
    name, score = row.locator(".name").bounding_box(), row.locator(".score").bounding_box()
    assert name is not None
    assert score is not None
    assert name["x"] + name["width"] <= score["x"] + 1, "name and score do not overlap"
    assert score["x"] + score["width"] <= 375
    assert page.evaluate("document.documentElement.scrollWidth") <= 375, "nothing is wider than the phone"


def test_keyboard_alone_reaches_a_player(page: Page, arena: Service) -> None:
    page.goto("/boards/arena")
    expect(page.locator("#rows .row").first).to_be_visible()
    page.locator("#list").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_contain_text("#2")


@pytest.mark.parametrize("path", ["/", "/boards/arena", "/docs"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_readers(page: Page, arena: Service, path: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(path)
    page.wait_for_load_state("networkidle") if path == "/docs" else expect(page.locator("body")).to_contain_text("ada")
    found = Axe().run(page).response["violations"]
    serious = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_the_race_is_replayed_from_the_ledger(page: Page, arena: Service) -> None:
    page.goto("/boards/arena")
    page.get_by_role("button", name="Replay").click()
    expect(page.locator("#race")).to_contain_text("ada", timeout=10_000)


def test_an_empty_board_says_what_comes_first(page: Page, service: Service) -> None:
    page.goto("/boards/quiet")
    expect(page.locator("#empty")).to_contain_text("Nobody has played here yet")
