"""The page on Redis and PostgreSQL with two workers: whichever of them a score or a reader comes to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.contract.both import own_redis
from tests.service.running import Service
from tests.support.postgres_servers import shared_postgres


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    config = f'[server]\nworkers = 2\n[engine]\nurl = "{own_redis()}"\n[[board]]\nname = "arena"\noperator = "last"\n'
    running = Service(tmp_path_factory.mktemp("workers"), config, ledger=shared_postgres().new_database())
    yield running
    running.stop()


@pytest.fixture
def pages(browser: Browser, workers: Service) -> Iterator[list[Page]]:
    """Several pages, so that each worker has some; what is said of a cut connection is the browser's own."""
    contexts = [browser.new_context(base_url=workers.url) for _ in range(3)]
    yield [context.new_page() for context in contexts]
    for context in contexts:
        context.close()


def test_scores_show_on_all_pages_and_after_the_connection_was_cut(pages: list[Page], workers: Service) -> None:
    workers.submit("arena", "ada", 100)
    for page in pages:
        page.goto("/boards/arena")
        expect(page.locator("#rows .row").first).to_contain_text("ada")
    for n, player in enumerate(("ben", "eve", "fay"), 1):
        workers.submit("arena", player, 100 + n)
        for page in pages:
            expect(page.locator("#rows .row").first).to_contain_text(player, timeout=5000)
    for page in pages:
        page.context.set_offline(True)
    workers.submit("arena", "gil", 500)
    workers.submit("arena", "fay", 50)
    for page in pages:
        page.context.set_offline(False)
        expect(page.locator("#rows .row").first).to_contain_text("gil")
        expect(page.locator("#rows .row")).to_have_count(5)
        expect(page.locator("#rows .row").last).to_contain_text("fay")
