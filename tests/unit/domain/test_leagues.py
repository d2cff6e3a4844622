"""What a league may be, who is put into which cohort, and who moves."""

import pytest

from keepscore import Board
from keepscore.domain.boards import board_from_dict
from keepscore.domain.leagues.cohorts import Cohort, Home, PastSeason, Placement, SeasonBefore, cohort_named, merges, outcomes
from keepscore.domain.leagues.definition import league_from
from keepscore.errors import InvalidBoard

GOOD = {"tiers": ["bronze", "silver", "gold"], "cohort": {"target": 30, "min": 8}, "promote": [10, 7], "demote": [5, 5]}


def league(**changes):
    return league_from(["weekly"], {**GOOD, **changes})


def test_a_definition_is_complete_and_comes_back_as_it_was():
    board = Board("xp", operator="sum", windows=["all_time", "weekly", "daily"], league=GOOD)
    assert (board.league.window, board.league.idle, board.league.cohort.by) == ("weekly", "stay", "arrival")
    assert board_from_dict(board.to_dict()) == board
    assert league(cohort={"target": 4}, promote=[1, 1], demote=[1, 1]).cohort.min == 4
    assert league(demote=[]).demote == [0, 0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tiers": ["gold"]}, "2 to 16"),
        ({"tiers": ["a", "a", "b"]}, "different"),
        ({"tiers": ["a", "b-c", "d"]}, "printable characters"),
        ({"tiers": ["a", "", "d"]}, "printable characters"),
        ({"promote": [1]}, "give 2"),
        ({"demote": [1, 2, 3]}, "give 2"),
        ({"promote": [-1, 1]}, "a count"),
        ({"promote": [1.5, 1]}, "a count"),
        ({"promote": ["120%", 1]}, "a count"),
        ({"promote": ["ten", 1]}, "a count"),
        ({"promote": [True, 1]}, "promote"),
        ({"promote": [20, 20], "demote": [20, 20]}, "smaller numbers"),
        ({"promote": 10}, "Expected `array`"),
        ({"cohort": {"target": 1}}, "2 to 500"),
        ({"cohort": {"target": 10, "min": 11}}, "1 to target"),
        ({"cohort": {"target": 10, "by": "luck"}}, "luck"),
        ({"cohort": {"size": 10}}, "target, min, by"),
        ({"idle": "leave"}, "leave"),
        ({"window": "all_time"}, "that closes"),
        ({"window": "daily"}, "it has weekly"),
        ({"seasons": 3}, "allowed: tiers"),
    ],
)
def test_what_a_league_cannot_be(changes, words):
    with pytest.raises(InvalidBoard) as caught:
        Board("xp", windows=["weekly"], league={**GOOD, **changes})
    assert words in str(caught.value)
    assert "league = " in str(caught.value)


@pytest.mark.parametrize(
    "board",
    [
        {"windows": ["all_time"]},
        {"windows": ["weekly"], "decay": {"half_life": "7d"}},
        {"windows": ["weekly"], "keep_top": 100},
        {"windows": ["weekly"], "segments": ["cohort"]},
        {"windows": ["weekly"], "following": True},
    ],
)
def test_what_does_not_go_together(board):
    with pytest.raises(InvalidBoard):
        board_from_dict({"name": "xp", "league": GOOD, **board})


@pytest.mark.parametrize(
    ("promote", "demote", "size", "moves"),
    [
        (2, 1, 6, "UUsssD"),
        (2, 1, 2, "UU"),
        (2, 1, 3, "UUD"),
        (3, 3, 4, "UUUD"),
        (0.5, "25%", 8, "UUUUssDD"),
        (0.5, "25%", 3, "Uss"),
        (0, 0, 3, "sss"),
    ],
)
def test_who_goes_up_and_down(promote, demote, size, moves):
    found = outcomes(league(promote=[1, promote], demote=[demote, 1]), "silver", [f"p{i}" for i in range(size)], ["away"])
    assert "".join({"promoted": "U", "stayed": "s", "demoted": "D"}[one.result] for one in found[:-1]) == moves
    assert (found[-1].rank, found[-1].result) == (None, "stayed")


def test_the_lowest_and_the_highest_tier_have_an_end():
    lowest = outcomes(league(idle="demote"), "bronze", ["a"] * 20, ["away"])
    assert {one.result for one in lowest[10:]} == {"stayed"}
    highest = outcomes(league(idle="demote"), "gold", [f"p{i}" for i in range(8)], ["away"])
    assert [one.result for one in highest] == ["stayed"] * 3 + ["demoted"] * 6
    assert {one.tier for one in highest} == {"gold", "silver"}


def test_who_stays_away_goes_down_for_each_season():
    before = [SeasonBefore(n, True) for n in range(5)]
    for idle, tier in (("demote", "bronze"), ("stay", "gold")):
        placement = Placement(league(idle=idle), before)
        assert placement.home(PastSeason(2, "gold", 3)) == Home(tier, 0)
        assert placement.home(PastSeason(4, "gold", 3)) == Home("gold", 0)
        assert placement.home(PastSeason(4, "diamond", 3)) == Home("bronze", 0)
    waiting = Placement(league(), [*before, SeasonBefore(5, False)])
    assert (waiting.home(None), waiting.home(PastSeason(5, "gold", 3))) == (Home("bronze", 0), None)


def test_small_cohorts_go_into_the_nearest():
    one, two, three, other = Cohort("a", 0, 1), Cohort("a", 0, 2), Cohort("a", 3, 1), Cohort("b", 0, 1)
    assert merges(3, {one: 3, two: 1, three: 3, other: 1}) == [(two, one)]
    assert merges(3, {one: 1, two: 1, three: 1}) == [(three, one), (two, one)]
    assert merges(3, {three: 2, one: 5, Cohort("a", 2, 1): 9}) == [(three, Cohort("a", 2, 1))]


@pytest.mark.parametrize(
    "label", ["", "bronze", "bronze-", "bronze-01", "bronze-1-2-3", "bronze-٣", "-1", "bronze-0-1", "bronze-9999999999"]
)
def test_names_of_no_cohort(label):
    assert cohort_named(label) is None
