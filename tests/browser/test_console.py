"""The console: signing in, a cheater who is voided after the difference was shown, and undoing that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.access_rig import created
from tests.service.running import Service


class Guarded(Service):
    """A service with an administrator's key."""

    def __init__(self, directory: Path) -> None:
        (directory / "keepscore.toml").write_text(f'[ledger]\nurl = "sqlite:///{directory / "scores.db"}"\n')
        self.key = created(directory, "root", "--scope", "admin")["key"]
        super().__init__(directory)
        self.client.headers["Authorization"] = f"Bearer {self.key}"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    running = Guarded(tmp_path_factory.mktemp("console"))
    running.define("arena", windows=["all_time"])
    for player, score in (("ada", 300), ("bot", 999), ("eve", 100)):
        running.submit("arena", player, score)
    yield running
    running.stop()


@pytest.fixture
def console(browser: Browser, guarded: Guarded) -> Iterator[Page]:
    """The console, signed in; the browser's own console stays empty."""
    context = browser.new_context(base_url=guarded.url, viewport={"width": 1400, "height": 900})
    page = context.new_page()
    said: list[str] = []
    # A change that needs a confirmation is refused first, and browsers note that by themselves.
    page.on("console", lambda message: "409 (Conflict)" in message.text or said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept("a bot played"))
    page.goto("/console")
    page.get_by_label("API key").fill(guarded.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#who")).to_contain_text("root · admin · all boards")
    yield page
    context.close()
    assert said == []


def test_a_cheater_is_voided_after_the_difference_was_shown_and_that_is_undone(console: Page, guarded: Guarded) -> None:
    console.goto("/console#players/arena%7Cbot")
    expect(console.locator("#panel")).to_contain_text("#1 of 3 with 999")
    console.get_by_role("button", name="Void all events…").click()
    expect(console.locator("#panel")).to_contain_text("999 (#1)")
    expect(console.locator("#panel")).to_contain_text("not ranked")
    assert guarded.order("arena") == ["bot", "ada", "eve"], "nothing is done before it is applied"
    console.get_by_role("button", name="Apply").click()
    expect(console.locator("#panel")).to_contain_text("Applied as v_")
    # The rank that is shown is the one by now: without that, nothing tells when the undo is done.
    expect(console.locator("#panel")).to_contain_text("arena: not ranked now")
    assert guarded.order("arena") == ["ada", "eve"]
    expect(console.locator("#call")).to_contain_text("/v1/moderation/void")
    console.get_by_role("button", name="Undo").click()
    expect(console.locator("#panel")).to_contain_text("#1 of 3 with 999")
    assert guarded.order("arena") == ["bot", "ada", "eve"]


def test_a_board_is_made_and_changed_with_a_warning_before_something_is_rebuilt(console: Page, guarded: Guarded) -> None:
    console.goto("/console#boards")
    console.get_by_label("Name of a new board").fill("laps")
    console.get_by_role("button", name="Create").click()
    expect(console.locator("#panel h2")).to_have_text("laps")
    guarded.submit("laps", "ada", 5)
    console.locator("select[name=order]").select_option("asc")
    console.get_by_role("button", name="Save").click()
    console.get_by_role("button", name="Change it all the same").click()
    expect(console.locator("#panel")).to_contain_text("v2")
    assert guarded.client.get("/v1/boards/laps").json()["order"] == "asc"


@pytest.mark.parametrize(
    ("section", "shows"),
    [
        ("queue", "Nothing waits for a decision"),
        ("appeals", "Nobody has appealed"),
        ("windows/arena", "all_time"),
        ("prizes", "No board has a prize"),
        ("keys", "root"),
        ("keeper", "close"),
        ("audit", "put_board"),
        ("health", "Ready"),
    ],
)
def test_every_section_shows_what_there_is(console: Page, section: str, shows: str) -> None:
    console.goto(f"/console#{section}")
    expect(console.locator("#panel")).to_contain_text(shows)


def test_the_audit_is_proved(console: Page) -> None:
    console.goto("/console#audit")
    console.get_by_role("button", name="Prove").click()
    expect(console.locator("#panel")).to_contain_text("entries are whole")


def test_signing_out_ends_the_session(console: Page) -> None:
    console.get_by_role("button", name="Sign out").click()
    expect(console.get_by_label("API key")).to_be_visible()
    assert console.context.cookies() == []


def test_the_component_shows_a_private_board_with_a_token_and_asks_for_another_when_it_has_ended(
    browser: Browser, guarded: Guarded
) -> None:
    guarded.define("members", operator="last")
    guarded.submit("members", "ada", 5)
    token = guarded.client.post("/v1/tokens", json={"player_id": "ada"}).json()["token"]
    context = browser.new_context(base_url=guarded.url)
    page = context.new_page()
    page.goto("/console")
    page.evaluate(
        """() => new Promise((resolve) => {
          const script = { type: "module", src: "/static/keepscore-board.js", onload: resolve };
          document.head.append(Object.assign(document.createElement("script"), script));
        })"""
    )
    page.evaluate(
        """() => {
          const board = document.createElement("keepscore-board");
          board.dataset.asked = "";
          board.addEventListener("token-needed", () => { board.dataset.asked += "!"; });
          board.setAttribute("board", "members");
          document.body.append(board);
        }"""
    )
    board = page.locator("keepscore-board")
    expect(board).to_have_attribute("data-asked", "!")
    page.evaluate("(token) => { document.querySelector('keepscore-board').token = token; }", token)
    expect(board.locator("li").first).to_contain_text("ada")
    guarded.submit("members", "eve", 9)
    expect(board.locator("li").first).to_contain_text("eve")
    assert token not in page.content()
    page.evaluate("() => { document.querySelector('keepscore-board').token = 'expired'; }")
    expect(board).to_have_attribute("data-asked", "!!")
    context.close()
