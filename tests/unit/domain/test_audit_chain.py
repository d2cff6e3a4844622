"""The chain of the audit: whatever one does to one entry is found, and the first broken link is named."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keepscore.domain.actors import Actor, acting, current_actor
from keepscore.domain.audit_chain import EMPTY_HEAD, AuditEntry, ChainCheck, chained, first_broken_link

TEXTS = st.text(max_size=8)
MAYBE = st.none() | TEXTS
FIELDS = ["at", "actor", "address", "action", "board", "reason", "detail", "hash"]


@st.composite
def chains(draw, least=1):
    """A chain and its head. Ids have holes, as those of entries from before there was a chain may have."""
    contents = st.tuples(st.integers(0, 2**53), TEXTS, MAYBE, TEXTS, TEXTS, MAYBE, TEXTS, st.integers(1, 3))
    entries, head = [], EMPTY_HEAD
    for *fields, step in draw(st.lists(contents, min_size=least, max_size=8)):
        entry, head = chained(head, AuditEntry(head.last_id + step, *fields))
        entries.append(entry)
    return entries, head


def another(draw, entry, field):
    """A value of a field that it does not have."""
    known = {"at": st.integers(0, 2**53), "hash": st.binary(min_size=32, max_size=32), "address": MAYBE, "reason": MAYBE}
    value = draw(known.get(field, TEXTS))
    assume(value != getattr(entry, field))
    return value


@given(chains(least=0), st.integers(1, 3))
def test_a_chain_is_whole_however_it_is_read(chain, size):
    entries, head = chain
    assert first_broken_link(entries, head) is None
    check = ChainCheck(head)
    for first in range(0, len(entries), size):
        assert check.follow(entries[first : first + size]) is None
    assert check.finish() is None
    assert check.at == head


@given(st.data(), chains(), st.sampled_from(FIELDS))
def test_any_change_is_found(data, chain, field):
    entries, head = chain
    place = data.draw(st.integers(0, len(entries) - 1))
    entries[place] = entries[place]._replace(**{field: another(data.draw, entries[place], field)})
    assert first_broken_link(entries, head).id == entries[place].id


@given(st.data(), chains())
def test_any_removal_is_found(data, chain):
    entries, head = chain
    place = data.draw(st.integers(0, len(entries) - 1))
    del entries[place]
    last = entries[-1].id if entries else 0
    assert first_broken_link(entries, head).id == (entries[place].id if place < len(entries) else last + 1)


@given(st.data(), chains(least=2), st.booleans())
def test_any_exchange_is_found(data, chain, renumbered):
    entries, head = chain
    one, other = sorted(data.draw(st.lists(st.integers(0, len(entries) - 1), min_size=2, max_size=2, unique=True)))
    first, second = entries[one], entries[other]
    if renumbered:
        # What was done, in another order, under the ids and hashes that there were.
        assume(first[1:-1] != second[1:-1])
        entries[one] = second._replace(id=first.id, hash=first.hash)
        entries[other] = first._replace(id=second.id, hash=second.hash)
    else:
        entries[one], entries[other] = second, first
    assert first_broken_link(entries, head).id == entries[one].id


@given(st.data(), chains(), st.booleans())
def test_any_insertion_is_found(data, chain, linked):
    """A forger who knows how hashes are made breaks the link behind the new entry, or passes the head."""
    entries, head = chain
    place = data.draw(st.integers(0, len(entries)))
    before = ChainCheck(None)
    before.follow(entries[:place])
    # Room for it, at the end of the chain where there is none.
    new_id = before.at.last_id + 1
    assume(place == len(entries) or new_id < entries[place].id)
    new = AuditEntry(new_id, 0, "nobody", None, "void", "b", "why not", "{}", b"x" * 32)
    new = chained(before.at, new)[0] if linked else new
    entries.insert(place, new)
    found = first_broken_link(entries, head).id
    assert found == (entries[place + 1].id if linked and place < len(entries) - 1 else new_id)


@given(st.data(), chains(least=2))
def test_a_chain_that_was_rewritten_does_not_lead_to_its_head(data, chain):
    entries, head = chain
    place = data.draw(st.integers(0, len(entries) - 1))
    forged, at = [], EMPTY_HEAD
    for number, entry in enumerate(entries):
        entry, at = chained(at, entry._replace(reason="forged" if number == place else entry.reason))
        forged.append(entry)
    assume(at != head)
    assert first_broken_link(forged, head).id == head.last_id


@pytest.mark.parametrize(
    ("wrong", "broken", "said"),
    [
        (lambda head: None, None, "the head is gone"),
        (lambda head: head._replace(entries=9), None, "counts 9 entries, and there are 2"),
        (lambda head: head._replace(hash=bytes(32)), 2, "not the one of the head"),
        (lambda head: head._replace(last_id=1), 2, "added past the head"),
        (lambda head: head._replace(last_id=5), 3, "entries 3 to 5 are missing"),
        (lambda head: head._replace(last_id=3), 3, "entry 3 is missing"),
    ],
)
def test_a_wrong_head_is_found(wrong, broken, said):
    one, head = chained(EMPTY_HEAD, AuditEntry(1, 0, "a", None, "x", "", None, "{}"))
    two, head = chained(head, AuditEntry(2, 0, "a", None, "x", "", None, "{}"))
    found = first_broken_link([one, two], wrong(head))
    assert found.id == broken
    assert said in found.problem


def test_fields_do_not_run_into_each_other():
    entry = AuditEntry(1, 0, "ab", "c", "d", "e", None, "{}")
    hashes = {chained(EMPTY_HEAD, other)[0].hash for other in (entry, entry._replace(actor="a", address="bc"), entry._replace(reason=""))}
    assert len(hashes) == 3


@pytest.mark.parametrize("odd", [None, 5, 1.5, b"abc", "5"])
def test_a_value_of_another_type_is_a_change(odd):
    entry, head = chained(EMPTY_HEAD, AuditEntry(1, 0, "a", None, "x", "b", "5x", "{}"))
    for field in ("at", "actor", "reason", "hash"):
        assert first_broken_link([entry._replace(**{field: odd})], head).id == 1


def test_actors_are_those_of_their_context():
    assert current_actor() is None
    with acting("a", "192.0.2.1"):
        with acting("b"):
            assert current_actor() == Actor("b")
        assert current_actor() == Actor("a", "192.0.2.1")
    assert current_actor() is None
