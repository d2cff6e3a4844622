"""Boards of a configuration: what changes when a process starts, and what it says about that."""

import logging
import socket

import pytest

from keepscore import Board, Leaderboards
from tests.contract.both import own_redis

DAY = Board("b", windows=["daily"])
WEEK = Board("b", windows=["weekly"])


@pytest.fixture(params=["embedded", "redis"])
def place(request, tmp_path):
    """Where processes open their leaderboards, one after the other."""
    return f"sqlite:///{tmp_path / 'scores.db'}", own_redis() if request.param == "redis" else "embedded://"


async def windows(place, board):
    """Start with a definition, and stop: the windows that there are."""
    async with Leaderboards.open(*place, [board]) as lb:
        return list((await lb.admin.board("b")).board.periods)


async def test_what_a_changed_file_rebuilds_is_logged(place, caplog):
    caplog.set_level(logging.INFO)
    assert await windows(place, DAY) == ["daily"]
    assert "changes board" not in caplog.text
    assert await windows(place, WEEK) == ["weekly"]
    (told,) = [record for record in caplog.records if "changes board 'b'" in record.getMessage()]
    assert told.levelno == logging.WARNING
    assert "window 'daily' and its rankings are dropped" in told.getMessage()
    assert "window 'weekly' is added" in told.getMessage()
    assert await windows(place, DAY) == ["daily"], "a file that is changed back takes effect"


async def test_hosts_with_different_files_do_not_change_a_board_back_and_forth(tmp_path, monkeypatch, caplog):
    place = f"sqlite:///{tmp_path / 'scores.db'}", own_redis()

    async def start(host, board):
        monkeypatch.setattr(socket, "gethostname", lambda: host)
        caplog.clear()
        found = await windows(place, board)
        return found, [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]

    assert await start("one", DAY) == (["daily"], [])
    assert await start("two", WEEK) == (["weekly"], [])
    for _ in range(2):
        found, (error,) = await start("one", DAY)
        assert (found, "another host" in error, "'b'" in error, "boards apply" in error) == (["weekly"], True, True, True)
        assert await start("two", WEEK) == (["weekly"], [])
    both = Board("b", windows=["daily", "weekly"])
    assert await start("one", both) == (["daily", "weekly"], [])
    assert await start("two", both) == (["daily", "weekly"], [])
