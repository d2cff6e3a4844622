from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from keepscore.engines import ladder
from keepscore.engines.ladder import Ladder

# Few distinct keys, so that the same ones come and go.
KEYS = st.integers(-60, 60)


@pytest.fixture(autouse=True, scope="module")
def small_buckets():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder, "LOAD", 2)
        patch.setattr(ladder, "STRIDE", 3)
        yield


def neighbours(ordered, key):
    """The position of a key in or out of a sorted list, and those next to it."""
    at = bisect_left(ordered, key)
    after = at + (at < len(ordered) and ordered[at] == key)
    return at, ordered[at - 1] if at else None, ordered[after] if after < len(ordered) else None


class LadderBesideASortedList(RuleBasedStateMachine):
    @initialize(keys=st.sets(KEYS))
    def start(self, keys):
        self.ladder = Ladder(keys)
        self.model = sorted(keys)

    @rule(key=KEYS)
    def add_or_remove(self, key):
        present = key in self.model
        expected = neighbours(self.model, key)
        if present:
            self.model.remove(key)
        else:
            self.model.insert(expected[0], key)
        assert (self.ladder.remove(key) if present else self.ladder.add(key)) == expected

    @rule(low=KEYS, count=st.integers(1, 20))
    def fill(self, low, count):
        for key in range(low, low + count):
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
        assert self.ladder.position(key) == sum(1 for other in self.model if other < key)

    @rule(start=st.integers(-5, 90), stop=st.integers(-5, 90))
    def slice(self, start, stop):
        assert self.ladder.slice(start, stop) == self.model[max(0, start) : max(0, stop)]

    @invariant()
    def same_keys(self):
        self.ladder._check()
        assert list(self.ladder) == self.model
        assert len(self.ladder) == len(self.model)


TestLadderBesideASortedList = LadderBesideASortedList.TestCase
TestLadderBesideASortedList.settings = settings(deadline=None, max_examples=150, stateful_step_count=40)


@given(st.sets(st.binary(max_size=4)))
def test_a_ladder_of_bytes_is_sorted_whatever_the_order_of_its_keys(keys):
    made = Ladder(keys)
    made._check()
    grown = Ladder()
    for key in keys:
        grown.add(key)
    grown._check()
    assert list(made) == list(grown) == sorted(keys)


@given(st.permutations(range(30)), st.permutations(range(30)))
def test_a_ladder_that_was_filled_can_be_emptied_and_filled_again(coming, going):
    it = Ladder()
    for key in coming:
        it.add(key)
    for key in going:
        it.remove(key)
        it._check()
    assert (len(it), list(it), it.slice(0, 10), it.position(5)) == (0, [], [], 0)
    assert it.add(7) == (0, None, None)
    assert list(it) == [7]


@pytest.mark.parametrize("keys", [[], [1], [1, 3, 5, 7, 9]])
def test_the_neighbours_at_both_ends_are_none(keys):
    assert Ladder(keys).add(-1) == (0, None, keys[0] if keys else None)
    assert Ladder(keys).add(99) == (len(keys), keys[-1] if keys else None, None)


@pytest.mark.parametrize("absent", [0, 2, 6])
def test_a_key_that_is_absent_cannot_be_removed(absent):
    it = Ladder([1, 3, 5, 7])
    with pytest.raises(KeyError):
        it.remove(absent)
    it._check()
    assert list(it) == [1, 3, 5, 7]


@pytest.mark.xfail(strict=True, raises=IndexError, reason="beyond the last key it is an IndexError")
@pytest.mark.parametrize("keys", [[], [1, 3, 5, 7]])
def test_a_key_beyond_the_last_cannot_be_removed(keys):
    with pytest.raises(KeyError):
        Ladder(keys).remove(8)
