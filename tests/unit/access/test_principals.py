"""Scopes, patterns of boards, and what no rule allows."""

from __future__ import annotations

from typing import Any

import pytest

from keepscore.access.gate import BoardAccess, Demand, check_access
from keepscore.access.principals import ANONYMOUS, OPEN, SCOPES, Principal, check_patterns, check_scope, matches
from keepscore.errors import Forbidden, InvalidField, Unauthenticated


@pytest.mark.parametrize("scope", SCOPES)
def test_each_scope_includes_the_ones_before_it(scope: str) -> None:
    principal = Principal(scope)
    for needed in SCOPES:
        if SCOPES.index(needed) <= SCOPES.index(scope):
            principal.check_scope(needed)
        else:
            with pytest.raises(Forbidden, match=f"{scope!r}.*{needed!r}"):
                principal.check_scope(needed)


@pytest.mark.parametrize("scope", ["", "Admin", "write", "open", None, 1])
def test_an_unknown_scope_is_refused(scope: Any) -> None:
    with pytest.raises(InvalidField, match="read, submit, moderate, admin"):
        check_scope(scope)


@pytest.mark.parametrize(
    ("patterns", "board", "fits"),
    [
        (["*"], "anything", True),
        (["season-*"], "season-", True),
        (["season-*"], "Season-1", False),
        (["season-*"], "my-season-1", False),
        (["season-?"], "season-10", False),
        (["season-[12]"], "season-2", True),
        (["season-[!12]"], "season-2", False),
        (["a", "b*"], "b", True),
        (["a.b"], "axb", False),
    ],
)
def test_patterns(patterns: list[str], board: str, fits: bool) -> None:
    assert matches(patterns, board) is fits
    assert Principal("read", [tuple(patterns)]).may_use(board) is fits


@pytest.mark.parametrize("boards", [["a b"], ["ü"], [""], ["x" * 129], ["a"] * 33, [1], "season-*", ["a\n"]])
def test_what_is_no_pattern_is_refused(boards: Any) -> None:
    with pytest.raises(InvalidField, match="pattern"):
        check_patterns(boards)


def test_a_token_is_limited_by_its_own_patterns_and_by_those_of_its_key() -> None:
    principal = Principal("submit", [("season-*",), ("*-1", "open")], "k", "ada")
    assert [principal.may_use(board) for board in ("season-1", "season-2", "other-1", "open")] == [True, False, False, False]
    assert not Principal("submit", [("*",), ("a", "*")]).is_limited


def test_what_no_rule_allows_is_denied() -> None:
    demand = Demand("read", filters=False, for_players=False)
    with pytest.raises(Unauthenticated):
        check_access(demand, ANONYMOUS, None, None)
    with pytest.raises(Forbidden, match="player tokens"):
        check_access(demand, Principal("submit", [], "k", "ada"), None, None)
    with pytest.raises(Forbidden, match="all boards"):
        check_access(demand, Principal("admin", [("a",)], "k"), None, None)
    check_access(demand, OPEN, None, None)


@pytest.mark.parametrize("scope", ["submit", "moderate", "admin"])
def test_a_public_board_is_open_to_reads_only(scope: str) -> None:
    public = BoardAccess(is_public=True, takes_players=True)
    check_access(Demand("read", False, True), ANONYMOUS, "b", public)
    with pytest.raises(Unauthenticated):
        check_access(Demand(scope, False, True), ANONYMOUS, "b", public)
    with pytest.raises(Forbidden):
        check_access(Demand("submit", False, True), Principal("admin", [("a",)], "k"), "b", public)


@pytest.mark.parametrize(
    ("principal", "actor"),
    [
        (OPEN, "anonymous"),
        (ANONYMOUS, "anonymous"),
        (Principal("admin", [], "5hVqT0aWm3Kd", key_name="operations"), "key 5hVqT0aWm3Kd operations"),
        (Principal("submit", [], "5hVqT0aWm3Kd", "ada", key_name="game server"), "player ada"),
    ],
)
def test_the_audit_knows_who_it_is(principal: Principal, actor: str) -> None:
    assert principal.actor == actor
