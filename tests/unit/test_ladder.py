from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from keepscore.engines import ladder
from keepscore.engines.ladder import GROUP, Ladder


def key_of(number):
    """A key for each number, in the order of the numbers, five to a group."""
    return (number // 5).to_bytes(GROUP, "big") + bytes([number % 5])


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
        yield


def rung(ordered, key):
    """Where a key is in a sorted list: its position, the groups up to it and the keys next to it."""
    at = bisect_left(ordered, key)
    groups = len({other[:GROUP] for other in ordered[: at + 1]})
    return at, groups, ordered[at - 1] if at else None, ordered[at + 1] if at + 1 < len(ordered) else None


class LadderBesideASortedList(RuleBasedStateMachine):
    @initialize(keys=st.sets(KEYS))
    def start(self, keys):
        self.ladder = Ladder(keys)
        self.model = sorted(keys)

    @rule(key=KEYS)
    def add_or_remove(self, key):
        position = bisect_left(self.model, key)
        if key in self.model:
            assert self.ladder.rung(key) == rung(self.model, key)
            self.model.remove(key)
            assert self.ladder.remove(key) == position
        else:
            self.model.insert(position, key)
            assert self.ladder.add(key) == position
            assert self.ladder.rung(key) == rung(self.model, key)

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
        assert self.ladder.position(key) == sum(1 for other in self.model if other < key)

    @rule(key=KEYS)
    def groups_upto(self, key):
        assert self.ladder.groups_upto(key) == len({other[:GROUP] for other in self.model if other <= key})

    @rule(start=st.integers(-5, 90), stop=st.integers(-5, 90))
    def slice(self, start, stop):
        assert self.ladder.slice(start, stop) == self.model[max(0, start) : max(0, stop)]

    @invariant()
    def same_keys(self):
        self.ladder._check()
        assert list(self.ladder) == self.model
        assert len(self.ladder) == len(self.model)
        assert self.ladder.groups == len({key[:GROUP] for key in self.model})


TestLadderBesideASortedList = LadderBesideASortedList.TestCase
TestLadderBesideASortedList.settings = settings(deadline=None, max_examples=150, stateful_step_count=40)


@given(st.sets(st.binary(min_size=GROUP, max_size=GROUP + 2)))
def test_a_ladder_is_sorted_whatever_the_order_of_its_keys(keys):
    made = Ladder(keys)
    made._check()
    grown = Ladder()
    for key in keys:
        grown.add(key)
    grown._check()
    assert list(made) == list(grown) == sorted(keys)
    assert made.groups == grown.groups == len({key[:GROUP] for key in keys})


@given(st.permutations(keys_of(range(30))), st.permutations(keys_of(range(30))))
def test_a_ladder_that_was_filled_can_be_emptied_and_filled_again(coming, going):
    it = Ladder()
    for key in coming:
        it.add(key)
    for key in going:
        it.remove(key)
        it._check()
    assert (len(it), it.groups, list(it), it.slice(0, 10), it.position(key_of(5))) == (0, 0, [], [], 0)
    assert it.add(key_of(7)) == 0
    assert it.rung(key_of(7)) == (0, 1, None, None)
    assert list(it) == [key_of(7)]


@pytest.mark.parametrize("keys", [[], keys_of([1]), keys_of([1, 3, 5, 7, 9])])
def test_the_neighbours_at_both_ends_are_none(keys):
    it = Ladder(keys)
    assert (it.add(key_of(0)), it.add(key_of(99))) == (0, len(keys) + 1)
    assert it.rung(key_of(0))[2:] == (None, keys[0] if keys else key_of(99))
    assert it.rung(key_of(99))[2:] == (keys[-1] if keys else key_of(0), None)


@pytest.mark.parametrize("keys", [[], keys_of([1, 3, 5, 7])])
@pytest.mark.parametrize("absent", keys_of([0, 2, 6, 8]))
def test_a_key_that_is_absent_cannot_be_removed(keys, absent):
    it = Ladder(keys)
    with pytest.raises(KeyError):
        it.remove(absent)
    it._check()
    assert list(it) == keys
