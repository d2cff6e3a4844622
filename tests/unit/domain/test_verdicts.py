"""What counts: any order of verdicts gives the same, and a void stands until it is taken back."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from keepscore.domain.scoring import Event
from keepscore.domain.verdicts import named_event, that_count, verdict_on


def score(n):
    return Event(1, 7, n, "p", "score", n, 1000 + n, 1000 + n)


def verdict(n, kind, decision, about):
    return Event(1, 8, n, "p", kind, 0, about.at, 5000, game_id=decision, metadata=verdict_on(about))


def test_a_void_stands_until_it_is_taken_back():
    first, second = score(1), score(2)
    void = verdict(1, "void", "v_a", first)
    assert that_count([first, second]) == [first, second]
    assert that_count([first, second, void]) == [second]
    assert that_count([first, second, void, verdict(2, "restore", "v_b", first)]) == [second]
    assert that_count([first, second, void, verdict(3, "restore", "v_a", first)]) == [first, second]
    assert named_event(void) == (7, 1)


def test_an_event_counts_when_all_voids_of_it_are_taken_back():
    event = score(1)
    both = [event, verdict(1, "void", "v_a", event), verdict(2, "void", "v_b", event)]
    assert that_count([*both, verdict(3, "restore", "v_a", event)]) == []
    assert that_count([*both, verdict(3, "restore", "v_a", event), verdict(4, "restore", "v_b", event)]) == [event]


@given(st.lists(st.tuples(st.sampled_from(["void", "restore"]), st.sampled_from("abc"), st.integers(1, 5)), max_size=12), st.integers())
def test_order_and_duplicates_do_not_matter(made, seed):
    scores = [score(n) for n in range(1, 6)]
    verdicts = [verdict(n, kind, decision, scores[about - 1]) for n, (kind, decision, about) in enumerate(made, 1)]
    standing = {(d, n) for kind, d, n in made if kind == "void"} - {(d, n) for kind, d, n in made if kind == "restore"}
    expected = {one for one in scores if all(n != one.n for _, n in standing)}
    mixed = [*scores, *verdicts, *verdicts[:3]]
    Random(seed).shuffle(mixed)
    assert set(that_count(mixed)) == expected
