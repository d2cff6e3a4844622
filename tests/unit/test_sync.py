"""The blocking library is the async one, method by method."""

import inspect

import pytest

from keepscore import Board, Entry, leaderboards, sync
from keepscore.errors import LedgerUnavailable, UnknownBoard
from keepscore.lifecycle.administration import Administration
from keepscore.players.profiles import Players
from keepscore.reading.history import History


@pytest.mark.parametrize(
    ("library", "twin", "some"),
    [
        (leaderboards.Leaderboards, sync.Leaderboards, {"submit", "increment", "submit_many", "top", "rank", "around", "lookup", "count"}),
        (History, sync.History, {"windows", "of", "as_of", "events"}),
        (Players, sync.Players, {"name", "profile"}),
        (Administration, sync.Administration, {"put_board", "verify", "run_keeper", "import_scores"}),
    ],
    ids=["facade", "history", "players", "admin"],
)
def test_it_has_every_public_method_with_the_same_signature(library, twin, some):
    public = {name: f for name, f in inspect.getmembers(library, inspect.iscoroutinefunction) if name[0] != "_"}
    assert some <= set(public)
    for name, function in public.items():
        blocking = getattr(twin, name)
        assert inspect.signature(blocking) == inspect.signature(function), name
        assert blocking.__doc__ == function.__doc__


def test_it_works_from_a_thread_without_a_loop():
    with sync.Leaderboards.open(ledger="sqlite:///:memory:", boards=[Board("b", operator="sum")]) as lb:
        assert lb.increment("b", "alice", 5).rank == 1
        assert lb.submit_many("b", [Entry(player_id="bob", amount=7)]).accepted == 1
        assert [standing.player_id for standing in lb.top("b").standings] == ["bob", "alice"]
        assert lb.players.name("alice", "Alice").name == "Alice"
        assert lb.history.of("b", "bob").history[0].rank == 1
        assert lb.admin.verify("b").ok
        with pytest.raises(UnknownBoard):
            lb.top("nothing")


def test_it_says_why_it_cannot_open(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(LedgerUnavailable), sync.Leaderboards.open(ledger=f"sqlite:///{tmp_path}/file/scores.db"):
        pass
