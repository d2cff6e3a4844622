from bisect import bisect_left, insort

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from keepscore.storage.engines.embedded import ladder
from keepscore.storage.engines.embedded.ladder import Ladder


def key_of(number):
    """A key for each number, in the order of the numbers: every fifth begins another score, and scores may be below zero."""
    return b"%04d" % number


def score_of(key):
    return float(int(key) // 5 - 10)


def keys_of(numbers):
    return [key_of(number) for number in numbers]


# Few distinct keys, so that the same ones come and go.
NUMBERS = st.integers(0, 120)
KEYS = NUMBERS.map(key_of)


@pytest.fixture(autouse=True, scope="module")
def small_buckets():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder, "LOAD", 2)
        patch.setattr(ladder, "STRIDE", 3)
        patch.setattr(ladder, "READS_BEFORE_OFFSETS", 2)
        yield


def rung(ordered, key):
    """Where a key is in a sorted list: its position, the scores up to it, and whether the ones beside it have the same score."""
    at = bisect_left(ordered, key)
    scores = [score_of(other) for other in ordered]
    equal = scores[at - 1] == scores[at] if at else False
    return at, len(set(scores[: at + 1])), equal, at + 1 < len(scores) and scores[at + 1] == scores[at]


class LadderBesideASortedList(RuleBasedStateMachine):
    @initialize(keys=st.sets(KEYS))
    def start(self, keys):
        self.ladder = Ladder(keys, score_of)
        self.model = sorted(keys)

    @rule(key=KEYS)
    def add_or_remove(self, key):
        position = bisect_left(self.model, key)
        if key in self.model:
            assert self.ladder.rung(key, score_of(key)) == rung(self.model, key)
            self.model.remove(key)
            assert self.ladder.remove(key, score_of(key)) == position
        else:
            self.model.insert(position, key)
            assert self.ladder.add(key, score_of(key)) == position
            assert self.ladder.rung(key, score_of(key)) == rung(self.model, key)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), to=KEYS)
    def move(self, data, to):
        key = data.draw(st.sampled_from(self.model))
        if to in self.model:
            return
        before = self.model.index(key)
        self.model.remove(key)
        insort(self.model, to)
        assert self.ladder.move(key, score_of(key), to, score_of(to)) == (before, self.model.index(to))

    @rule(low=NUMBERS, count=st.integers(1, 20))
    def fill(self, low, count):
        for key in keys_of(range(low, low + count)):
            if key not in self.model:
                self.add_or_remove(key)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def clear_a_stretch(self, data):
        start = data.draw(st.integers(0, len(self.model) - 1))
        for key in self.model[start : start + 10]:
            self.add_or_remove(key)

    @rule(key=KEYS)
    def position(self, key):
        assert self.ladder.position(key, score_of(key)) == sum(1 for other in self.model if other < key)

    @rule(score=st.integers(-12, 16).map(float))
    def scores(self, score):
        assert self.ladder.below(score) == sum(1 for other in self.model if score_of(other) < score)
        assert self.ladder.upto(score) == sum(1 for other in self.model if score_of(other) <= score)

    @rule()
    def every_rung(self):
        for key in self.model:
            assert self.ladder.rung(key, score_of(key)) == rung(self.model, key)

    @rule()
    def copy(self):
        before, self.ladder = self.ladder, self.ladder.copy()
        before.add(b"9999", score_of(b"9999"))
        assert list(self.ladder) == self.model

    @rule(start=st.integers(-5, 90), stop=st.integers(-5, 90))
    def slice(self, start, stop):
        assert self.ladder.slice(start, stop) == self.model[max(0, start) : max(0, stop)]

    @invariant()
    def same_keys(self):
        self.ladder.check_invariants()
        assert list(self.ladder) == self.model
        assert self.ladder.size == len(self.model)
        assert self.ladder.groups == len({score_of(key) for key in self.model})


TestLadderBesideASortedList = LadderBesideASortedList.TestCase
TestLadderBesideASortedList.settings = settings(deadline=None, max_examples=150, stateful_step_count=40)


@given(st.sets(KEYS))
def test_a_ladder_is_sorted_whatever_the_order_of_its_keys(keys):
    made = Ladder(keys, score_of)
    made.check_invariants()
    grown = Ladder((), score_of)
    for key in keys:
        grown.add(key, score_of(key))
    grown.check_invariants()
    assert list(made) == list(grown) == sorted(keys)
    assert made.groups == grown.groups == len({score_of(key) for key in keys})


@given(st.permutations(keys_of(range(30))), st.permutations(keys_of(range(30))))
def test_a_ladder_that_was_filled_can_be_emptied_and_filled_again(coming, going):
    it = Ladder((), score_of)
    for key in coming:
        it.add(key, score_of(key))
    for key in going:
        it.remove(key, score_of(key))
        it.check_invariants()
    assert (it.size, it.groups, list(it), it.slice(0, 10), it.position(key_of(5), 0.0)) == (0, 0, [], [], 0)
    assert it.add(key_of(7), 1.0) == 0
    assert it.rung(key_of(7), 1.0) == (0, 1, False, False)
    assert list(it) == [key_of(7)]


def test_one_score_for_all():
    it = Ladder((), lambda key: 0.0)
    for number in range(50):
        assert it.add(key_of(number), 0.0) == number
    it.check_invariants()
    assert (it.groups, it.below(0.0), it.upto(0.0)) == (1, 0, 50)
    assert [it.rung(key_of(number), 0.0) for number in (0, 25, 49)] == [(0, 1, False, True), (25, 1, True, True), (49, 1, True, False)]


@pytest.mark.parametrize("keys", [[], keys_of([1, 3, 5, 7])])
@pytest.mark.parametrize("absent", keys_of([0, 2, 6, 8, 99]))
def test_a_key_that_is_absent_cannot_be_removed(keys, absent):
    it = Ladder(keys, score_of)
    with pytest.raises(KeyError):
        it.remove(absent, score_of(absent))
    it.check_invariants()
    assert list(it) == keys
