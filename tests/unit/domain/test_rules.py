"""Rules of boards: how they are written, and what breaks them."""

import itertools

import pytest

from keepscore import Board
from keepscore.domain.board_changes import consequences
from keepscore.domain.boards import board_from_dict
from keepscore.domain.plays import Play
from keepscore.domain.rule_checks import Facts, RulePast, Tally, attempts_since, breaches
from keepscore.domain.scoring import Event, Scope, State
from keepscore.domain.verdicts import verdict_on
from keepscore.domain.windows import span_at
from keepscore.errors import GameCounted, InvalidBoard, RuleBroken

#: 2026-11-15T12:00:00Z
NOON = 1_794_744_000_000
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


def ruled(operator="best", given=None, **rules):
    return Board("b", operator, rules=rules, **(given or {}))


def event(n, kind, amount, received=NOON, **fields):
    return Event(1, 1, n, "ada", kind, amount, fields.pop("at", received), received, seq=n, **fields)


def error(board, past, kind, amount, received=NOON, **fields):
    facts = Facts(kind, amount, fields.pop("at", received), received, **fields)
    return next(iter(breaches(board, board.limits, facts, past)), None)


class Sender:
    """Sends to a board as a group does: what is accepted is taken."""

    def __init__(self, board, events=()):
        self.board, self.past = board, RulePast(board, events)

    def send(self, kind, amount, received=NOON, **fields):
        facts = Facts(kind, amount, fields.pop("at", received), received, **fields)
        found = next(iter(breaches(self.board, self.board.limits, facts, self.past)), None)
        if found is None:
            self.past.take(facts)
        return found if found is None else (found.rule, found.limit, found.value)


# -- how they are written ------------------------------------------------------------------------------------------------


def test_rules_come_back_as_they_were():
    rules = {"max_increase": [10.5, "50/1h"], "max_submissions": [{"daily": 3}, "2/1m"], "max_attempts": "9/1d"}
    rules |= {"score_per_second": 2.5, "require": ["game_id"], "builds": ["1.4.*"]}
    board = board_from_dict({"name": "b", "decimals": 2, "rules": rules})
    assert board.to_dict()["rules"] == rules
    assert board_from_dict(board.to_dict()) == board
    assert [limit[:1] + limit[2:] for limit in board.limits.increase] == [(1050, None, None), (5000, HOUR, None)]
    assert [limit[:1] + limit[2:] for limit in board.limits.submissions] == [(3, None, "daily"), (2, MINUTE, None)]
    assert board.limits.per_second == 250


def test_a_board_without_rules_has_none():
    assert Board("b").limits is None
    assert Board("b", rules={}) == Board("b", rules={"require": [], "builds": ()}) == Board("b")
    assert not ruled(builds=["1"], score_per_second=1).limits.needs_events


def test_a_change_of_rules_rebuilds_nothing():
    assert consequences(ruled(max_increase=5), ruled(max_increase=6), is_replaced=False) == []
    assert consequences(ruled(max_increase=5), Board("b"), is_replaced=True) == ["rules = {'max_increase': 5} is lost"]
    assert ruled(max_increase=5).same_meaning(Board("b"))


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([], "give a table"),
        ({"most": 5}, "allowed: max_increase"),
        ({"max_score": 0.5}, "too many decimals"),
        ({"max_score": 5, "min_score": 6}, "at most max_score"),
        ({"max_score": 5, "on_break": "ignore"}, "on_break"),
        ({"max_score": 5, "on_break": {"require": "quarantine"}}, "allowed rules are max_increase"),
        ({"max_increase": 0}, "above 0"),
        ({"max_increase": -5}, "above 0"),
        ({"max_increase": 0.5}, "too many decimals"),
        ({"max_increase": True}, "max_increase"),
        ({"max_increase": float("nan")}, "finite"),
        ({"max_increase": 2**53}, "outside"),
        ({"max_increase": "5"}, "is no rate"),
        ({"max_increase": "5/hour"}, "is no rate"),
        ({"max_increase": "5/1ms"}, "1s or more"),
        ({"max_increase": "0/1h"}, "above 0"),
        ({"max_increase": []}, "allowed are 1 to 8 values"),
        ({"max_submissions": 5}, "max_submissions"),
        ({"max_submissions": "1.5/1h"}, "whole number"),
        ({"max_submissions": {"daily": 0}}, "above 0"),
        ({"max_submissions": {"daily": 1.5}}, "Expected `int`"),
        ({"max_submissions": {"hourly": 5}}, "is no window"),
        ({"max_submissions": {"season": 5}}, "season only"),
        ({"max_attempts": ["5/1h"] * 9}, "allowed are 1 to 8 values"),
        ({"score_per_second": 0}, "above 0"),
        ({"score_per_second": float("inf")}, "above 0"),
        ({"score_per_second": "5"}, "score_per_second"),
        ({"require": ["name"]}, "require"),
        ({"builds": "1.4.*"}, "builds"),
        ({"builds": [""]}, "1 to 128"),
        ({"builds": ["x"] * 65}, "allowed are 0 to 64"),
    ],
)
def test_wrong_rules_are_refused_with_what_is_allowed(rules, said):
    with pytest.raises(InvalidBoard, match="rules = ") as caught:
        Board("b", rules=rules)
    assert said in str(caught.value)


def test_rules_that_do_not_fit_the_board():
    with pytest.raises(InvalidBoard, match="never gets better"):
        ruled("first", max_increase=5)
    with pytest.raises(InvalidBoard, match="a roll-up has none"):
        Board("b", windows=["weekly"], rollup={"of": ["a"], "window": "daily", "into": "weekly"}, rules={"max_increase": 5})
    assert ruled(given={"windows": {"season": {"cron": "0 0 1 * *"}}}, max_submissions={"season": 5}).limits.submissions


# -- how much --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", ["sum", "last"])
def test_amounts_of_one_submission(operator):
    sender = Sender(ruled(operator, max_increase=100))
    assert [sender.send("increment", amount) for amount in (100, 101, -500, 100)] == [None, ("max_increase", "100", 101), None, None]


@pytest.mark.parametrize("operator", ["best", "last"])
def test_a_score_is_compared_with_the_one_before(operator):
    sender = Sender(ruled(operator, max_increase=100))
    # The first has nothing to be better than.
    assert [sender.send("score", score) for score in (1000, 1100, 1201, 3, 1200)] == (
        [None, None, ("max_increase", "100", 101), None, None]
        if operator == "best"
        else [None, None, ("max_increase", "100", 101), None, ("max_increase", "100", 1197)]
    )


def test_low_scores_get_better_downwards():
    sender = Sender(ruled("best", {"order": "asc"}, max_increase=5))
    assert [sender.send("score", score) for score in (60, 90, 55, 49, 50)] == [None, None, None, ("max_increase", "5", 6), None]


def test_decimals_are_in_the_scale_of_the_board():
    sender = Sender(ruled("sum", {"decimals": 2}, max_increase=[1.5, "2.25/1h"]))
    assert sender.send("increment", 151)[2].as_tuple().exponent == -2
    assert [sender.send("increment", amount) and "broken" for amount in (150, 75, 1)] == [None, None, "broken"]


def test_increases_of_a_time_add_up():
    sender = Sender(ruled("sum", max_increase="100/1h"))
    assert sender.send("increment", 60) is None
    assert sender.send("increment", -60, NOON + 1) is None
    assert sender.send("increment", 41, NOON + MINUTE) == ("max_increase", "100/1h", 101)
    assert sender.send("increment", 40, NOON + MINUTE) is None
    assert sender.send("increment", 60, NOON + HOUR - 1) == ("max_increase", "100/1h", 160)
    assert sender.send("increment", 60, NOON + HOUR) is None


def test_times_that_clients_give_do_not_matter():
    sender = Sender(ruled("sum", max_increase="100/1h", max_submissions="2/1h"))
    assert sender.send("increment", 60, at=NOON - DAY) is None
    assert sender.send("increment", 60, at=NOON - 2 * DAY) == ("max_increase", "100/1h", 120)


def test_the_past_comes_from_events_that_count():
    board = ruled("best", max_increase="100/1h", max_submissions="3/1h")
    events = [event(1, "score", 1000), event(2, "score", 1100), event(3, "score", 1090)]
    assert error(board, RulePast(board, events), "score", 1).rule == "max_submissions"
    voided = [*events, event(4, "void", 0, game_id="v_1", metadata=verdict_on(events[1]))]
    for order in itertools.permutations(voided):
        assert error(board, RulePast(board, order), "score", 1100) is None
        assert error(board, RulePast(board, order), "score", 1101).value == 101
    restored = [*voided, event(5, "restore", 0, game_id="v_1", metadata=verdict_on(events[1]))]
    assert error(board, RulePast(board, restored), "score", 1).rule == "max_submissions"


def test_corrections_are_compared_with_the_sum_of_their_window():
    board = ruled("sum", {"windows": ["daily", "all_time"]}, max_increase=10)
    events = [event(1, "increment", 500, NOON - 2 * DAY), event(2, "increment", 7)]
    day, ever = span_at(board, "daily", NOON), span_at(board, "all_time", NOON)
    sender = Sender(board, [*events, event(3, "correction", 5, scope=Scope(("daily",)))])
    assert sender.send("score", 22, span=day, windows=("daily",)) is None
    assert sender.send("score", 33, span=day, windows=("daily",)) == ("max_increase", "10", 11)
    assert sender.send("score", 517, span=ever, windows=("all_time",)) is None
    opened = RulePast(board, [], {("daily", day.id): State(100, NOON)})
    assert error(board, opened, "score", 111, span=day).value == 11


def test_amounts_on_a_best_board_are_recorded_as_scores_in_parts():
    board = ruled("best", {"windows": ["daily", "all_time"], "increments": True}, max_increase="100/1h", max_submissions="2/1h")
    parts = [event(2, "raise", 60, scope=Scope(("daily",))), event(3, "raise", 1060, scope=Scope(("all_time",)))]
    past = RulePast(board, [event(1, "score", 1000, NOON - 2 * DAY), *parts])
    assert past.taken.since(NOON) == 1
    assert error(board, past, "increment", 41).value == 101
    assert error(board, past, "increment", 40) is None
    again = [event(4, "raise", 100, scope=Scope(("daily",))), event(5, "raise", 1100, scope=Scope(("all_time",)))]
    past = RulePast(board, [event(1, "score", 1000, NOON - 2 * DAY), *parts, *again])
    assert (past.taken.since(NOON), past.gains.since(NOON)) == (2, 100)


def test_amounts_on_a_best_board_within_a_group():
    sender = Sender(ruled("best", {"windows": ["daily"], "increments": True}, max_increase="100/1h"))
    assert [sender.send("increment", amount) for amount in (60, 40, 1)] == [None, None, ("max_increase", "100/1h", 101)]
    # The score is 100 by now.
    assert sender.send("score", 100, NOON + HOUR) is None
    assert sender.send("score", 201, NOON + HOUR) == ("max_increase", "100/1h", 101)


def test_dropped_events_have_left_their_states():
    board = ruled("best", {"windows": ["daily", "all_time"]}, max_increase=10)
    opened = {("all_time", "all_time"): State(90, NOON - DAY), ("daily", "2026-11-15"): State(50, NOON)}
    assert error(board, RulePast(board, [], opened), "score", 101).value == 11
    last = ruled("last", {"windows": ["daily", "all_time"]}, max_increase=10)
    assert error(last, RulePast(last, [], opened), "score", 61).value == 11


def test_losses_are_nobodys_submissions():
    inactivity = {"after": "14d", "lose": 25, "every": "7d"}
    board = ruled("last", {"inactivity": inactivity}, max_increase=10, max_submissions={"all_time": 2})
    past = RulePast(board, [event(1, "score", 1000), event(2, "increment", -25, game_id="inactivity:1")])
    assert error(board, past, "score", 985) is None
    assert error(board, past, "score", 986).value == 11


# -- how often -------------------------------------------------------------------------------------------------------------


def test_submissions_of_a_window_and_of_any_time():
    sender = Sender(ruled("sum", {"timezone": "Asia/Tokyo"}, max_submissions=[{"daily": 3}, "2/1h"]))
    assert [sender.send("increment", 1, NOON + minutes * MINUTE) for minutes in (0, 30, 59, 60, 119)] == [
        None,
        None,
        ("max_submissions", "2/1h", 3),
        None,
        ("max_submissions", "3 daily", 4),
    ]
    # 15:00 UTC is midnight in Tokyo.
    assert sender.send("increment", 1, NOON + 3 * HOUR - 1) == ("max_submissions", "3 daily", 4)
    assert sender.send("increment", 1, NOON + 3 * HOUR) is None


def test_between_two_seasons_nothing_is_counted():
    season = {"windows": {"season": {"start": "2026-11-01", "end": "2026-11-10"}, "all_time": {}}}
    sender = Sender(ruled("sum", season, max_submissions={"season": 1}))
    assert [sender.send("increment", 1) for _ in range(3)] == [None] * 3


def test_attempts_are_those_that_were_accepted_or_refused():
    board = ruled("sum", max_attempts="3/1h")
    past = RulePast(board, [event(1, "increment", 1)])
    past.refused.add(NOON - HOUR, 5)
    past.refused.add(NOON - 1, 2)
    assert error(board, past, "increment", 1).value == 4
    assert error(board, past, "increment", 1, NOON + HOUR - 1) is None
    assert attempts_since(board, board.limits, NOON) == NOON - HOUR + 1
    assert attempts_since(board, ruled(max_increase=5).limits, NOON) is None


def test_a_tally_is_the_sum_of_what_it_got():
    for order in itertools.permutations([(5, 1), (3, 10), (3, 100), (9, 1000)]):
        tally = Tally()
        for moment, number in order:
            tally.add(moment, number)
        assert [tally.since(moment) for moment in (0, 3, 4, 5, 6, 9, 10)] == [1111, 1111, 1001, 1001, 1000, 1000, 0]


# -- plays and games -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "ms", "is_broken"), [(25, 10_000, False), (26, 10_000, True), (0, 0, False), (1, 0, True), (1, -5, True), (-5, 0, False)]
)
def test_scores_are_plausible_for_their_time(amount, ms, is_broken):
    board = ruled("sum", score_per_second=2.5)
    found = error(board, RulePast(board), "increment", amount, play=Play("p", NOON - ms, None))
    assert (found is not None) == is_broken
    if is_broken:
        assert (found.rule, found.limit, found.value) == ("score_per_second", "2.5", amount)


def test_what_needs_a_play_says_so():
    board = ruled(score_per_second=5)
    assert "no play_token was sent" in str(error(board, RulePast(board), "score", 1))
    board = ruled(builds=["1.4.*", "2.?"])
    assert "no play_token was sent" in str(error(board, RulePast(board), "score", 1))
    assert "begun without a build" in str(error(board, RulePast(board), "score", 1, play=Play("p", NOON, None)))


@pytest.mark.parametrize(("build", "is_taken"), [("1.4.2", True), ("2.0", True), ("1.40", False), ("1.5.0", False), ("2.10", False)])
def test_builds(build, is_taken):
    board = ruled(builds=["1.4.*", "2.?"])
    found = error(board, RulePast(board), "score", 1, play=Play("p", NOON, build))
    assert (found is None) == is_taken
    if not is_taken:
        assert (found.limit, found.value) == ("1.4.*, 2.?", build)


def test_a_game_counts_once_also_when_it_was_voided():
    board = ruled(require=["game_id"])
    played = event(1, "score", 5, game_id="g1")
    past = RulePast(board, [played, event(2, "void", 0, game_id="v_1", metadata=verdict_on(played))])
    assert isinstance(error(board, past, "score", 1), RuleBroken)
    assert isinstance(error(board, past, "score", 1, game_id="g1"), GameCounted)
    # The id of a void is no game.
    assert error(board, past, "score", 1, game_id="v_1") is None


def test_the_message_names_rule_limit_and_value():
    board = ruled("sum", max_increase="100/1h")
    found = error(board, RulePast(board), "increment", 130)
    assert found.type == "urn:keepscore:rule-broken"
    assert str(found) == "max_increase = 100/1h of board 'b' is broken: the player's score would get better by 130 in that time"
