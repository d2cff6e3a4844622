"""The home page, the demo, and boards in other pages."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.service.running import Service


def test_the_first_visit_sees_a_board_that_moves(page: Page, service: Service) -> None:
    page.goto("/")
    card = page.locator(".board-card", has_text="keepscore-demo")
    expect(card).to_contain_text("30 players", timeout=10_000)
    expect(card).to_contain_text("demo")
    before = card.locator(".leaders").inner_text()
    expect(card.locator(".leaders")).not_to_have_text(before, timeout=15_000)


def test_the_demo_never_touches_other_boards(service: Service) -> None:
    service.client.get("/")
    boards = service.client.get("/v1/boards").json()["boards"]
    events = {board["name"]: service.client.get(f"/v1/boards/{board['name']}/events").json()["events"] for board in boards}
    made_up = {event["player_id"] for event in events.pop("keepscore-demo", [])}
    assert not [event for others in events.values() for event in others if event["player_id"] in made_up]


def test_an_embedded_board_is_live(page: Page, service: Service) -> None:
    service.client.post("/v1/boards/quiet/scores", json={"player_id": "zoe", "score": 5})
    page.goto("/embed/quiet?rows=3&theme=overlay")
    board = page.locator("keepscore-board")
    expect(board).to_contain_text("zoe")
    service.client.post("/v1/boards/quiet/scores", json={"player_id": "yan", "score": 9})
    expect(board.locator("li").first).to_contain_text("yan", timeout=5000)


def test_a_badge_tells_who_leads_or_a_rank(service: Service) -> None:
    service.client.post("/v1/boards/quiet/scores", json={"player_id": "a<b>", "score": 1})
    leader = service.client.get("/badge/quiet")
    assert leader.headers["content-type"] == "image/svg+xml"
    assert "leads with" in leader.text
    rank = service.client.get("/badge/quiet", params={"player_id": "a<b>"})
    assert "#" in rank.text
    assert "<b>" not in rank.text
    assert "not ranked" in service.client.get("/badge/quiet", params={"player_id": "nobody"}).text


def test_a_shared_link_has_a_card_with_names_escaped(service: Service) -> None:
    service.client.put("/v1/boards/shared", json={})
    service.client.post("/v1/boards/shared/scores", json={"player_id": '"><script>', "score": 1})
    text = service.client.get("/boards/shared").text
    assert 'property="og:title" content="shared · Keepscore"' in text
    assert "&quot;&gt;&lt;script&gt; leads with 1" in text
    assert "<script>" not in text.split("</title>")[1].split("<link")[0]


@pytest.mark.parametrize(("mode", "home", "plays"), [("public", 200, False), ("off", 404, False), ("demo", 200, True)])
def test_who_may_look_and_play_is_a_setting(tmp_path: Path, mode: str, home: int, plays: bool) -> None:
    running = Service(tmp_path, f'[server]\npage = "{mode}"\nembed_origins = ["https://club.example.com"]\n')
    try:
        with httpx.Client(base_url=running.url) as client:
            answer = client.get("/")
            assert answer.status_code == home
            assert (f'data-page="{mode}"' in answer.text) == (home == 200)
            assert client.get("/docs").status_code == 200
            embed = client.get("/embed/quiet")
            assert embed.status_code == home
            if home == 200:
                assert "frame-ancestors 'self' https://club.example.com" in embed.headers["content-security-policy"]
                assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            names = [board["name"] for board in client.get("/v1/boards").json()["boards"]]
            assert plays or names == []
    finally:
        running.stop()
