"""One browser for all tests of the pages, and a service that shows them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.service.running import Service

#: Chromium looks for updates and reports to its makers unless it is told not to.
QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"]

#: Milliseconds for which a page may take to show something, unless a test is about how soon it does: a busy machine is slow.
expect.set_options(timeout=20_000)

BOARDS = """
[[board]]
name = "arena"
operator = "last"
windows = ["all_time", "daily"]
segments = ["region"]

[[board]]
name = "laps"
order = "asc"
decimals = 3
min_score = 0

[[board]]
name = "large"

[[board]]
name = "quiet"
"""


# Not for the whole run: its event loop runs as long as it is open, and no other can run beside it.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium: `make test` installs it where it may, and leaves these tests out where it may not."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "there is no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu", *QUIET])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service that shows itself."""
    running = Service(tmp_path_factory.mktemp("browser"), '[server]\npage = "demo"\n' + BOARDS)
    yield running
    running.stop()


@pytest.fixture
def page(browser: Browser, service: Service) -> Iterator[Page]:
    """A page of its own, whose console has to stay empty."""
    context = browser.new_context(base_url=service.url, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    context.close()
    assert said == [], "the browser's console stays empty"
